// SPDX-License-Identifier: Apache-2.0

package reach

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
)

// server answers each connection as answer says, and closes it.
func server(t *testing.T, answer func(*pgproto3.Backend, net.Conn)) (hostPort string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			answer(pgproto3.NewBackend(c, c), c)
			_ = c.Close()
		}
	}()
	return l.Addr().String()
}

// refusing is a server that refuses every connection with this state.
func refusing(t *testing.T, state string) string {
	t.Helper()
	return server(t, func(b *pgproto3.Backend, _ net.Conn) {
		if _, err := b.ReceiveStartupMessage(); err == nil {
			b.Send(&pgproto3.ErrorResponse{Severity: "FATAL", Code: state, Message: "no"})
			_ = b.Flush()
		}
	})
}

func TestHeals(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	closing := server(t, func(*pgproto3.Backend, net.Conn) {})
	silent := server(t, func(_ *pgproto3.Backend, c net.Conn) {
		_, _ = c.Read(make([]byte, 1000))
		_, _ = c.Read(make([]byte, 1)) // until the client has given up
	})
	web := server(t, func(_ *pgproto3.Backend, c net.Conn) { fmt.Fprint(c, "HTTP/1.1 400 Bad Request\r\n\r\n") })
	dir := t.TempDir()
	for _, c := range []struct {
		what, url, password string
		want                bool
	}{
		{"nobody listens", "postgres://u@" + gone + "/d?sslmode=disable", "", true},
		{"a socket that is not there yet", "postgres://u@/d?host=" + dir, "", true},
		{"a proxy without a server", "postgres://u@" + closing + "/d?sslmode=disable", "", true},
		{"a server that does not answer", "postgres://u@" + silent + "/d?sslmode=disable", "", true},
		{"it starts", "postgres://u@" + refusing(t, "57P03") + "/d?sslmode=disable", "", true},
		{"it stops", "postgres://u@" + refusing(t, "57P01") + "/d?sslmode=disable", "", true},
		{"too many connections", "postgres://u@" + refusing(t, "53300") + "/d?sslmode=disable", "", true},
		{"a wrong password", "postgres://u@" + refusing(t, "28P01") + "/d?sslmode=disable", "", false},
		{"nobody let in", "postgres://u@" + refusing(t, "28000") + "/d?sslmode=disable", "", false},
		{"no such database", "postgres://u@" + refusing(t, "3D000") + "/d?sslmode=disable", "", false},
		{"no right", "postgres://u@" + refusing(t, "42501") + "/d?sslmode=disable", "", false},
		{"the first refuses, the second is away", "postgres://u@" + refusing(t, "28P01") + "," + gone +
			"/d?sslmode=disable", "", false},
		{"the first is away, the second refuses", "postgres://u@" + gone + "," + refusing(t, "28P01") +
			"/d?sslmode=disable", "", false},
		{"the first is away, the second starts", "postgres://u@" + gone + "," + refusing(t, "57P03") +
			"/d?sslmode=disable", "", true},
		{"another protocol", "postgres://u@" + web + "/d?sslmode=disable", "", false},
		{"no password file", "postgres://u@" + gone + "/d?sslmode=disable", filepath.Join(dir, "none"), false},
		{"no authority", "postgres://u@" + gone + "/d?sslmode=verify-full&sslrootcert=" + filepath.Join(dir, "none"),
			"", false},
	} {
		conn, err := Address{URL: c.url, PasswordFile: c.password}.Connect(context.Background(), "test", time.Second)
		if err == nil {
			_ = conn.Close(context.Background())
			t.Errorf("%s: connected", c.what)
		} else if got := Heals(err); got != c.want {
			t.Errorf("%s: waiting heals it: %v; want %v (%v)", c.what, got, c.want, err)
		}
	}
	if !Heals(&net.DNSError{IsTemporary: true}) || Heals(&net.DNSError{IsNotFound: true}) {
		t.Error("a name that is not known now is waited for, and one that is not known is not")
	}
	if Heals(nil) || Heals(os.ErrNotExist) {
		t.Error("what is no failure to connect is waited for")
	}
}
