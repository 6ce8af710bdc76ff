// SPDX-License-Identifier: Apache-2.0

package endpoint

import (
	"log/slog"
	"net"
	"testing"
)

// Without TLS only what stays on the machine is private: a token that came otherwise may have been read.
func TestPrivate(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		local, remote string
		origin        origin
		want          bool
	}{
		{"127.0.0.1", "127.0.0.1", fromTCP, true}, {"::1", "::1", fromTCP, true},
		{"127.0.0.1", "127.0.0.9", fromTCP, true}, {"192.0.2.1", "192.0.2.7", fromTCP, false},
		{"127.0.0.1", "192.0.2.7", fromTCP, false}, {"192.0.2.1", "127.0.0.1", fromTCP, false},
		{"2001:db8::1", "2001:db8::1", fromTCP, false},
		{"", "", fromSocket, true}, {"", "", fromOwn, true},
	} {
		connection := &accepted{Conn: addressed{nil, c.local, c.remote}, origin: c.origin, all: NewConnections()}
		_, info, err := Credentials(nil, slog.New(slog.DiscardHandler)).ServerHandshake(connection)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.(Proof).Private; got != c.want {
			t.Errorf("from %q to %q: %v; want %v", c.remote, c.local, got, c.want)
		}
	}
}

// addressed is a connection between two addresses.
type addressed struct {
	net.Conn
	local, remote string
}

func (a addressed) LocalAddr() net.Addr  { return &net.TCPAddr{IP: net.ParseIP(a.local)} }
func (a addressed) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.ParseIP(a.remote)} }
