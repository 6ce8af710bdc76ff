// SPDX-License-Identifier: Apache-2.0

package main

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/persist"
	"github.com/dpaccountant/accountant/internal/persist/postgres/pgtest"
)

// Ledgers move under the load of clients, again and again. The daemon is killed at any moment of a
// final backup, and the restore too; then the daemon's own file is moved. The clients notice nothing
// but a daemon that is away for a while, and every step is there once.
func TestMoveThroughKills(t *testing.T) {
	ctl := accountctl(t)
	dir, files := dataDir(t), t.TempDir()
	d := start(t, dir)
	socket, store := "unix:"+d.ready["socket"], d.ready["store"]
	api := dial(t, socket)
	names := []string{"move/a", "move/b"}
	for _, name := range names {
		create(t, api, name)
	}
	l := startLoad(t, socket, 4, names...)
	random := rand.New(rand.NewPCG(1, 2))
	outcomes := map[string]int{}
	for round := range 8 {
		l.more(t, 20)
		backup := filepath.Join(files, "final")
		var asking sync.WaitGroup
		asking.Go(func() { ctl("backup", backup, "--final", "--yes", "--force", "--server", socket) })
		if round > 0 {
			time.Sleep(time.Duration(random.IntN(120)) * time.Millisecond)
		} else {
			asking.Wait() // once in order
		}
		d.kill()
		asking.Wait()
		source := filepath.Join(dir, persist.FileName)
		_, err := persist.Examine(persist.Config{Path: source})
		moved := err != nil && strings.Contains(err.Error(), "were moved away")
		if err != nil && !moved {
			t.Fatal(err)
		}
		outcome := "not moved"
		if moved {
			outcome = "moved, the backup did not arrive"
			from := source
			if _, err := os.Stat(backup); err == nil {
				outcome, from = "moved", backup
			}
			if err := os.Rename(dir, dir+".old"); err != nil {
				t.Fatal(err)
			}
			if from == source {
				from = filepath.Join(dir+".old", persist.FileName)
			}
			code, out, stderr := exitCode(t, "restore", from, "--data", dir)
			if code != 0 || !strings.Contains(out, "moved: 2 ledgers with ") {
				t.Fatalf("%d: %s%s", code, out, stderr)
			}
			key := filepath.Join(dir, keyFile)
			if err := os.Rename(filepath.Join(dir+".old", keyFile), key); err != nil {
				t.Fatal(err)
			}
			if err := os.RemoveAll(dir + ".old"); err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{backup, backup + ".restored"} {
				_ = os.Remove(name)
			}
		}
		outcomes[outcome]++
		d = start(t, dir)
		if d.ready["store"] != store {
			t.Errorf("store %s; want %s", d.ready["store"], store)
		}
	}
	l.finish()
	t.Logf("%v, %d steps", outcomes, l.acknowledged())
	if outcomes["moved"] == 0 {
		t.Errorf("%v", outcomes)
	}
	entries := map[string]*pb.Entry{} // by writer and sequence
	for _, name := range names {
		readEntries(t, api, name, entries)
	}
	if steps := l.acknowledged(); uint64(len(entries)) != steps {
		t.Errorf("%d entries; want %d", len(entries), steps)
	}
	for _, r := range l.trainers {
		checkTrainer(t, api, r, entries)
	}
	d.stop(syscall.SIGTERM)
	verified(t, dir)
}

// Ledgers move under load from a directory to a database, and back. The clients notice nothing but a
// daemon that is away for a while, and every step is there once.
func TestMoveToDatabase(t *testing.T) {
	url := pgtest.Database(t)
	ctl := accountctl(t)
	dir, files := dataDir(t), t.TempDir()
	d := start(t, dir)
	socket, store := "unix:"+d.ready["socket"], d.ready["store"]
	api := dial(t, socket)
	names := []string{"move/a", "move/b"}
	for _, name := range names {
		create(t, api, name)
	}
	l := startLoad(t, socket, 4, names...)
	key := filepath.Join(files, keyFile)
	lost := func(backup string) { // and the daemons have ended: the database makes it again
		t.Helper()
		if err := os.Remove(backup); err != nil {
			t.Fatal(err)
		}
		if code, out := ctl("backup", backup, "--final", "--yes", "--store", url); code != 0 {
			t.Fatalf("the backup again: %d: %s", code, out)
		}
	}
	move := func(backup string, to ...string) {
		t.Helper()
		backup = filepath.Join(files, backup)
		l.more(t, 100)
		if code, out := ctl("backup", backup, "--final", "--yes", "--server", socket); code != 0 {
			t.Fatalf("%d: %s", code, out)
		}
		d.stop(syscall.SIGTERM)
		if _, err := os.Stat(filepath.Join(dir, keyFile)); err == nil {
			if err := os.Rename(filepath.Join(dir, keyFile), key); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		if to[0] == "--data" {
			lost(backup)
		}
		code, out, stderr := exitCode(t, append([]string{"restore", backup}, to...)...)
		if code != 0 || !strings.Contains(out, "moved: 2 ledgers with ") {
			t.Fatalf("%d: %s%s", code, out, stderr)
		}
		_, verified := ctl("verify", "--backup", backup)
		_, digest, _ := strings.Cut(out, "contents: SHA-256 ")
		if digest, _, _ = strings.Cut(digest, ";"); len(digest) != 64 || !strings.Contains(verified, digest) {
			t.Errorf("%s: %s", out, verified)
		}
	}
	move("first", "--store", url)
	d = start(t, dir, "--store", url, "--signing-key", key)
	if d.ready["store"] != store {
		t.Errorf("store %s; want %s", d.ready["store"], store)
	}
	if code, out := ctl("backup", filepath.Join(files, "early"), "--final", "--yes", "--store", url); code == 0 ||
		!strings.Contains(out, "were not moved away") {
		t.Errorf("of a database that serves: %d: %s", code, out)
	}
	move("second", "--data", dir)
	if err := os.Rename(key, filepath.Join(dir, keyFile)); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := exitCode(t, "--store", url, "--signing-key", filepath.Join(dir, keyFile), "--data",
		t.TempDir()); code != 1 || !strings.Contains(stderr, "were moved away") {
		t.Errorf("the database's store: %d, %s", code, stderr)
	}
	d = start(t, dir)
	l.more(t, 100)
	l.finish()
	entries := map[string]*pb.Entry{}
	for _, name := range names {
		readEntries(t, api, name, entries)
	}
	if steps := l.acknowledged(); uint64(len(entries)) != steps {
		t.Errorf("%d entries; want %d", len(entries), steps)
	}
	for _, r := range l.trainers {
		checkTrainer(t, api, r, entries)
	}
	d.stop(syscall.SIGTERM)
	verified(t, dir)
}
