package server_test

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dpaccountant/accountant/internal/server"
)

func TestConfigCheck(t *testing.T) {
	for _, c := range []struct {
		config server.Config
		field  string // "" if it is good
		wants  string
	}{
		{server.Config{Listen: []string{"127.0.0.1:0"}, HTTP: "[::1]:0"}, "", ""},
		{server.Config{Listen: []string{"127.1.2.3:7878"}}, "", ""},
		{server.Config{}, "", ""},
		{server.Config{Listen: []string{"0.0.0.0:7878"}, Insecure: true}, "", ""},
		{server.Config{Listen: []string{"0.0.0.0:7878"}}, "listen", "--insecure"},
		{server.Config{Listen: []string{":7878"}}, "listen", "--insecure"},
		{server.Config{Listen: []string{"[::]:7878"}}, "listen", "--insecure"},
		{server.Config{Listen: []string{"192.0.2.1:7878"}}, "listen", "--insecure"},
		{server.Config{HTTP: "0.0.0.0:7879"}, "http", "--insecure"},
		{server.Config{Listen: []string{"7878"}}, "listen", "host:port"},
		{server.Config{Listen: []string{"127.0.0.1:70000"}}, "listen", "host:port"},
		{server.Config{Listen: []string{"127.0.0.1:0"}, Socket: "/" + strings.Repeat("s", 107)},
			"socket", "at most 107 bytes"},
	} {
		err := c.config.Check()
		if c.field == "" {
			if err != nil {
				t.Errorf("%+v: %v", c.config, err)
			}
			continue
		}
		var wrong *server.ConfigError
		if !errors.As(err, &wrong) || wrong.Field != c.field || !strings.Contains(wrong.Allowed, c.wants) {
			t.Errorf("%+v: %v; want %s, allowed %s", c.config, err, c.field, c.wants)
		}
	}
}

// shortDir is a directory whose path leaves room for a socket's name.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "s")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// stale leaves a socket file on which nobody listens, as a killed process does.
func stale(t *testing.T, path string) {
	t.Helper()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestSocket(t *testing.T) {
	t.Parallel()
	for mode, name := range map[fs.FileMode]string{0o700: "its own directory", 0o755: "a directory of others"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testSocket(t, mode)
		})
	}
}

func testSocket(t *testing.T, mode fs.FileMode) {
	dir := shortDir(t)
	if err := os.Chmod(dir, mode); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "accountant.sock")
	stale(t, path)
	if mode == 0o700 {
		stale(t, filepath.Join(dir, "s.new")) // of a process that died before it renamed it
	}
	listener, err := server.ListenUnix(path)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode() != fs.ModeSocket|0o600 {
		t.Errorf("mode %v, %v; want a socket of mode 0600", info.Mode(), err)
	}
	if names, err := os.ReadDir(dir); err != nil || len(names) != 1 {
		t.Errorf("left behind: %v, %v", names, err)
	}
	conn, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
	if _, err := server.ListenUnix(path); err == nil || !strings.Contains(err.Error(), "another process listens") {
		t.Errorf("a second listener: %v; want a refusal", err)
	}
	if err := listener.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after closing: %v; want no file", err)
	}
	if err := os.WriteFile(path, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := server.ListenUnix(path); err == nil || !strings.Contains(err.Error(), "not a socket") {
		t.Errorf("over a file: %v; want a refusal", err)
	}
	if content, err := os.ReadFile(path); err != nil || string(content) != "mine" {
		t.Errorf("the file: %q, %v; want it untouched", content, err)
	}
}
