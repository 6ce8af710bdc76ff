// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// use holds the lock that a program which uses a directory holds.
func use(t *testing.T, dir string) *os.File {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(dir, localLock), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_SH); err != nil { // waits for a daemon that ends
		t.Fatal(err)
	}
	return f
}

// A private daemon stays while anybody uses its directory, and a program that comes when it ends
// waits until it has given the store back.
func TestLocal(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	one := use(t, dir)
	d := startBy(t, binary, "local", "--data", dir)
	if d.ready["listen"] != "" || d.ready["http"] != "" || d.ready["socket"] != filepath.Join(dir, localSocket) {
		t.Errorf("ready: %v", d.ready)
	}
	two := use(t, dir)
	if note, err := os.ReadFile(two.Name()); err != nil || !strings.HasPrefix(string(note), "process ") {
		t.Errorf("note %q, %v", note, err)
	}
	_ = one.Close()
	select {
	case <-time.After(2 * localGrace):
	case <-d.done:
		t.Fatalf("it ended while it was used\n%s", d.stderr)
	}
	_ = two.Close()
	for {
		three := use(t, dir)
		if _, err := os.Stat(filepath.Join(dir, localSocket)); err != nil {
			break // it has ended, and with it the lock
		}
		_ = three.Close()
		time.Sleep(2 * localGrace) // nobody uses it for so long
	}
	next := startBy(t, binary, "local", "--data", dir) // the store is free
	if err := <-d.done; err != nil {
		t.Errorf("%v\n%s", err, d.stderr)
	}
	if next.ready["store"] != d.ready["store"] {
		t.Errorf("store %s; want %s", next.ready["store"], d.ready["store"])
	}
}

// Without anybody who uses it, a private daemon ends by itself.
func TestLocalUnused(t *testing.T) {
	t.Parallel()
	d := startBy(t, binary, "local", "--data", dataDir(t))
	if err := <-d.done; err != nil || d.stderr.String() != "" {
		t.Errorf("%v\n%s", err, d.stderr)
	}
}

func TestLocalUsage(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ args, want string }{
		{"local", "--data: missing; allowed: a directory"},
		{"local more", `argument: "more"; allowed: --data DIR`},
		{"local --data /nonexistent/dir", "/nonexistent/dir: no such file or directory"},
		{"local --listen x", "unknown flag: --listen"},
	} {
		err := run(t.Context(), strings.Fields(c.args), nil, nil, nil)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %s", c.args, err, c.want)
		}
	}
}
