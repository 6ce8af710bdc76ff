// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/dpaccountant/accountant/client"
	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/persist"
)

// The file is taken away from a running daemon: no charge is acknowledged into a file
// that nobody will find, the daemon ends with status 1 and says why, and the next start
// makes no new store in its place.
func TestFileTakenAway(t *testing.T) {
	for name, c := range map[string]struct {
		take  func(dir, file string) error
		again string // what the next start says
	}{
		"deleted":   {func(_, file string) error { return os.Remove(file) }, "start once with --init"},
		"renamed":   {func(_, file string) error { return os.Rename(file, file+"-moved") }, "start once with --init"},
		"replaced":  {func(_, file string) error { return replace(file, file+".older") }, "was acknowledged"},
		"truncated": {func(_, file string) error { return replace(file, os.DevNull) }, "start once with --init"},
		"moved":     {func(dir, _ string) error { return os.Rename(dir, dir+".moved") }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := dataDir(t)
			t.Cleanup(func() { _ = os.RemoveAll(dir + ".moved") })
			file := filepath.Join(dir, persist.FileName)
			d := start(t, dir)
			create(t, dial(t, "unix:"+d.ready["socket"]), "l")
			d.stop(syscall.SIGTERM)
			if err := replace(file+".older", file); err != nil {
				t.Fatal(err)
			}
			d = start(t, dir)
			c1, err := client.New(client.Config{Server: d.ready["listen"], MaxAttempts: 1, Timeout: 2 * time.Minute})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = c1.Close() })
			charge := func(n int) (acknowledged int) {
				ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
				defer cancel()
				for range n {
					if _, err := c1.Report(ctx, "l",
						[]*pb.Event{client.Event(client.Gaussian(2), 1)}, nil); err == nil {
						acknowledged++
					}
				}
				return acknowledged
			}
			if n := charge(3); n != 3 {
				t.Fatalf("%d of 3 acknowledged", n)
			}
			if err := c.take(dir, file); err != nil {
				t.Fatal(err)
			}
			if n := charge(30); n != 0 {
				t.Errorf("%d of 30 acknowledged into a file that was %s", n, name)
			}
			select {
			case <-d.done:
			case <-time.After(5 * time.Minute):
				t.Fatal("the daemon goes on")
			}
			if code, log := d.command.ProcessState.ExitCode(),
				d.stderr.String(); code != 1 || !strings.Contains(log, "store failed") ||
				!strings.Contains(log, "the open file is no longer there") {
				t.Errorf("exit %d, %s", code, log)
			}
			if c.again == "" {
				return
			}
			code, _, stderr := exitCode(t, "--listen", "", "--http", "", "--data", dir)
			if code != 1 || !strings.Contains(stderr, c.again) {
				t.Errorf("the next start: exit %d, %s; want %q", code, stderr, c.again)
			}
		})
	}
}

// replace gives a path the content of another file, in a file of its own.
func replace(path, from string) error {
	content, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(path+"-new", content, 0o600)
	}
	if err == nil {
		err = os.Rename(path+"-new", path)
	}
	return err
}

// Nobody asks anything of a daemon whose file is gone: it ends all the same.
func TestIdleWithoutItsFile(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	d := start(t, dir)
	if err := os.Remove(filepath.Join(dir, persist.FileName)); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-d.done:
		if err == nil {
			t.Errorf("exit 0, %s", d.stderr)
		}
	case <-time.After(5 * time.Minute):
		t.Fatal("the daemon goes on")
	}
}

// A directory in which nothing of a store is needs no flag; one in which a store has
// been does, and one that has a store refuses it.
func TestInit(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	start := func() *daemon {
		t.Helper()
		return start(t, dir)
	}
	refused := func(says string, args ...string) {
		t.Helper()
		before, _ := os.ReadDir(dir)
		code, _, stderr := exitCode(t, append([]string{"--listen", "", "--http", "", "--data", dir}, args...)...)
		if after, _ := os.ReadDir(dir); code != 1 || !strings.Contains(stderr, says) || len(before) != len(after) {
			t.Errorf("exit %d, %s; want 1 and %q, and nothing made: %v", code, stderr, says, after)
		}
	}
	for _, name := range []string{"lost+found", "notes"} { // of others
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	d := start()
	store := d.ready["store"]
	d.stop(syscall.SIGTERM)
	refused("there is a store", "--init")
	file := filepath.Join(dir, persist.FileName)
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	refused(persist.FileName + ".acknowledged shows that a store has been here")
	if err := os.Remove(file + ".acknowledged"); err != nil {
		t.Fatal(err)
	}
	// That it was verified is noted beside it, if the daemon had time to.
	if err := os.Remove(file + ".note-verification"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	refused(keyFile + " shows that a store has been here")
	if err := os.WriteFile(file, nil, 0o600); err != nil { // of no bytes
		t.Fatal(err)
	}
	refused(keyFile + " shows that a store has been here")
	if err := os.WriteFile(file+".restoring", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	refused("a restore to it goes on or was cut off")
	d = startBy(t, binary, "--listen", "127.0.0.1:0", "--http", "", "--data", dir, "--init")
	if d.ready["store"] == store {
		t.Error("the same store")
	}
	d.stop(syscall.SIGTERM)
	refused("there is a store", "--init")
	start().stop(syscall.SIGTERM)
}
