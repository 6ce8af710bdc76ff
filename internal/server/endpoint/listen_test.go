// SPDX-License-Identifier: Apache-2.0

package endpoint

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dpaccountant/accountant/internal/testaid"
)

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
	dir := testaid.ShortDir(t)
	if err := os.Chmod(dir, mode); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "accountant.sock")
	stale(t, path)
	if mode == 0o700 {
		stale(t, filepath.Join(dir, "s.new")) // of a process that died before it renamed it
	}
	listener, err := listenUnix(path, private)
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
	if _, err := listenUnix(path, private); err == nil || !strings.Contains(err.Error(), "another process listens") {
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
	if _, err := listenUnix(path, private); err == nil || !strings.Contains(err.Error(), "not a socket") {
		t.Errorf("over a file: %v; want a refusal", err)
	}
	if content, err := os.ReadFile(path); err != nil || string(content) != "mine" {
		t.Errorf("the file: %q, %v; want it untouched", content, err)
	}
}
