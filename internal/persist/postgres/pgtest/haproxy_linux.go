// SPDX-License-Identifier: Apache-2.0

package pgtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Proxied puts haproxy before the servers: URL is then its address, and it asks Patroni each second which server is the
// primary. It ends with the test, which is skipped where haproxy is not installed.
func (p *Patroni) Proxied(t testing.TB) {
	t.Helper()
	path, err := exec.LookPath("haproxy")
	if err != nil {
		t.Skipf("this needs haproxy: %v", err)
	}
	port, err := freePort()
	if err != nil {
		t.Fatal(err)
	}
	var servers strings.Builder
	for _, n := range p.Nodes {
		fmt.Fprintf(&servers, "  server %s 127.0.0.1:%d check port %d\n", n.name, n.Port, n.API)
	}
	config := filepath.Join(p.dir, "haproxy", "haproxy.cfg")
	text := fmt.Sprintf(`defaults
  mode tcp
  timeout connect 5s
  timeout client 1h
  timeout server 1h
listen primary
  bind 127.0.0.1:%d
  option httpchk GET /primary
  http-check expect status 200
  default-server inter 1s fall 2 rise 1 on-marked-down shutdown-sessions
%s`, port, servers.String())
	if err := makeOwned(filepath.Dir(config), config, text); err != nil {
		t.Fatal(err)
	}
	haproxy := &program{dir: filepath.Dir(config), log: filepath.Join(filepath.Dir(config), "log"), path: path,
		args: []string{"-db", "-f", config}}
	t.Cleanup(haproxy.end)
	if err := haproxy.start(); err != nil {
		t.Fatal(err)
	}
	p.proxy = port
	err = await("one primary behind haproxy", func() error { // at first it takes all servers for primaries
		told, err := os.ReadFile(haproxy.log)
		if down := strings.Count(string(told), " is DOWN"); err == nil && down < len(p.Nodes)-1 {
			err = fmt.Errorf("%d servers are none; %s", down, told)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// makeOwned makes a directory with a file for the user that servers run as.
func makeOwned(dir, file, text string) error {
	for _, err := range []error{os.Mkdir(dir, 0o700), own(dir), writeOwned(file, []byte(text))} {
		if err != nil {
			return err
		}
	}
	return nil
}
