// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/dpaccountant/accountant/internal/persist/postgres/pgtest"
)

// mover runs moves until one succeeds. All but the last are killed at any moment.
type mover struct {
	random *rand.Rand
	killed int
}

func (m *mover) move(t *testing.T, from, to string) (out string) {
	t.Helper()
	for patience := 5 * time.Millisecond; ; patience += patience / 4 {
		c := exec.Command(binary, "move", from, to)
		var stdout, stderr bytes.Buffer
		c.Stdout, c.Stderr = &stdout, &stderr
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		kill := time.AfterFunc(time.Duration(m.random.Int64N(int64(2*patience))), func() { _ = c.Process.Kill() })
		err := c.Wait()
		kill.Stop()
		if err == nil {
			return stdout.String()
		}
		if c.ProcessState.Exited() {
			t.Fatalf("%v: %s%s", err, stdout.String(), stderr.String())
		}
		m.killed++
	}
}

// Ledgers move under load from a directory to another one, to a database, to another database and back, and each move
// is killed at any moment, again and again. The clients notice nothing but a daemon that is away for a while, every
// step is there once, and both sides have the same contents.
func TestMoveThroughKills(t *testing.T) {
	ctl := accountctl(t)
	files := dataDir(t)
	data := func(name string) string { return filepath.Join(files, name) }
	socket := "unix:" + data("s")
	serve := func(place string) []string {
		args := []string{"--listen", "unix://" + data("s"), "--http", "", "--data", place}
		if strings.Contains(place, "://") {
			args = append(args[:len(args)-1], dataDir(t), "--store", place, "--signing-key", data(keyFile))
		}
		return args
	}
	d := startBy(t, binary, serve(data("first"))...)
	store := d.ready["store"]
	if content, err := os.ReadFile(filepath.Join(data("first"), keyFile)); err != nil ||
		os.WriteFile(data(keyFile), content, 0o600) != nil {
		t.Fatal(err)
	}
	api := dial(t, socket)
	names := []string{"move/a", "move/b"}
	for _, name := range names {
		create(t, api, name)
	}
	l := startLoad(t, socket, 4, names...)
	m := mover{random: rand.New(rand.NewPCG(1, 2))}
	contents := func(place string) string {
		t.Helper()
		flag := "--data"
		if strings.Contains(place, "://") {
			flag = "--store"
		}
		code, out := ctl("verify", flag, place)
		_, digest, _ := strings.Cut(out, "contents: SHA-256 ")
		if digest, _, _ = strings.Cut(digest, " "); code != 0 || len(digest) != 64 {
			t.Fatalf("verify %s: %d: %s", place, code, out)
		}
		return digest
	}
	from := data("first")
	for _, to := range []string{data("second"), pgtest.Database(t), pgtest.Database(t), data("last")} {
		l.more(t, 50)
		if !strings.Contains(from, "://") { // the daemons of a database may run
			d.stop(syscall.SIGTERM)
		}
		moved := m.move(t, from, to)
		if strings.Contains(from, "://") {
			d.stop(syscall.SIGTERM)
		}
		before, after := contents(from), contents(to)
		if !strings.Contains(moved, "moved: 2 ledgers with ") || before != after || !strings.Contains(moved, after) {
			t.Errorf("%s; contents before %s, and then %s", moved, before, after)
		}
		if code, _, stderr := exitCode(t, "move", from, data("other")); code != 1 ||
			!strings.Contains(stderr, "its ledgers were moved to ") {
			t.Errorf("to another place: %d, %s", code, stderr)
		}
		if code, _, stderr := exitCode(t, serve(from)...); code != 1 || !strings.Contains(stderr, "were moved to") {
			t.Errorf("a daemon on the old place: %d, %s", code, stderr)
		}
		if !strings.Contains(to, "://") {
			if err := os.Rename(data(keyFile), filepath.Join(to, keyFile)); err != nil {
				t.Fatal(err)
			}
		}
		d = startBy(t, binary, serve(to)...)
		if d.ready["store"] != store {
			t.Errorf("store %s; want %s", d.ready["store"], store)
		}
		if !strings.Contains(to, "://") {
			if err := os.Rename(filepath.Join(to, keyFile), data(keyFile)); err != nil { // it was read
				t.Fatal(err)
			}
		}
		from = to
	}
	gone := data("second") // which the ledgers have left, as nobody could tell from the first store
	if err := os.RemoveAll(gone); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := exitCode(t, "move", data("first"), gone); code != 1 ||
		!strings.Contains(stderr, "nothing is there any more") {
		t.Errorf("once more, to a place that is gone: %d, %s", code, stderr)
	}
	l.more(t, 50)
	l.finish()
	t.Logf("%d moves were killed, %d steps", m.killed, l.acknowledged())
	if m.killed < 5 {
		t.Errorf("only %d moves were killed", m.killed)
	}
	if n, steps := checkTrainers(t, api, l, names), l.acknowledged(); uint64(n) != steps {
		t.Errorf("%d entries; want %d", n, steps)
	}
	d.stop(syscall.SIGTERM)
	verified(t, from)
}

// Where no store can be made, nothing is moved, and the ledgers are served as before.
func TestMoveToAnotherProgramsTables(t *testing.T) {
	from := dataDir(t)
	startBy(t, binary, "--listen", "", "--http", "", "--data", from).stop(syscall.SIGTERM)
	to := pgtest.Database(t)
	db, err := pgx.Connect(t.Context(), to)
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.Exec(t.Context(), "CREATE TABLE ledgers (a int)")
	if err := errors.Join(err, db.Close(t.Context())); err != nil {
		t.Fatal(err)
	}
	code, _, stderr := exitCode(t, "move", from, to)
	if code != 1 || !strings.Contains(stderr, "nothing was moved: ") || !strings.Contains(stderr, "a table ledgers") {
		t.Errorf("exit %d, %s", code, stderr)
	}
	startBy(t, binary, "--listen", "", "--http", "", "--data", from).stop(syscall.SIGTERM)
}
