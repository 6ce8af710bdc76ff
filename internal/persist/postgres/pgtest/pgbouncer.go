// SPDX-License-Identifier: Apache-2.0

package pgtest

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Pool starts pgbouncer before a server, which hands out the server's sessions in a mode, such as session or
// transaction, and returns the connection string of a database through it. It ends with the test, which is skipped
// where pgbouncer is not installed.
func Pool(t testing.TB, to, mode string) (through string) {
	t.Helper()
	program, err := exec.LookPath("pgbouncer")
	if err != nil {
		t.Skip("pgbouncer is not installed")
	}
	u, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "pgbouncer")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	port, err := freePort()
	if err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(dir, "pgbouncer.ini")
	host, at, _ := net.SplitHostPort(u.Host)
	text := fmt.Sprintf("[databases]\n* = host=%s port=%s\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = %d\n"+
		"unix_socket_dir =\nauth_type = any\npool_mode = %s\nlogfile = %s/log\n", host, at, port, mode, dir)
	text = strings.Replace(text, "* = host", fmt.Sprintf("* = user=%s host", u.User.Username()), 1)
	for _, err := range []error{own(dir), writeOwned(config, []byte(text))} {
		if err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(program, config)
	if err := asUser(cmd); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()
	})
	u.Host = fmt.Sprintf("127.0.0.1:%d", port)
	err = await("pgbouncer", func() error {
		c, err := net.Dial("tcp", u.Host)
		if err == nil {
			err = c.Close()
		}
		return err
	})
	if err != nil {
		log, _ := os.ReadFile(filepath.Join(dir, "log")) // there may be none
		t.Fatalf("%v\n%s", err, log)
	}
	return u.String()
}
