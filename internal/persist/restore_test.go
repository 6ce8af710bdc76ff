// SPDX-License-Identifier: Apache-2.0

package persist

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dpaccountant/accountant/internal/audit"
	"github.com/dpaccountant/accountant/internal/audit/audittest"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/persist/verify"
	"github.com/dpaccountant/accountant/internal/record"
)

// backedUp is a backup of n ledgers of each kind and a closed one.
func backedUp(t *testing.T, n int) (file, store string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "backup")
	s := mustOpen(t,
		Config{Path: filepath.Join(t.TempDir(), FileName), AllocationStep: 1 << 16, hooks: hooks{noSync: true}})
	for i := range n * audittest.Kinds {
		audittest.Fill(t, s, audittest.Spec(fmt.Sprintf("open/%d", i), i%audittest.Kinds), 30, uint64(5*i+1))
	}
	audittest.Fill(t, s, audittest.Spec("closed", 0), 30, 5)
	writeBackup(t, s, file)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return file, s.ID()
}

func writeBackup(t *testing.T, s *Store, file string) {
	t.Helper()
	content, _, err := s.Backup()
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	_, err = b.ReadFrom(content)
	if err := errors.Join(err, content.Close(), os.WriteFile(file, b.Bytes(), 0o600)); err != nil {
		t.Fatal(err)
	}
}

// checkRestoredStore: each ledger that was open has all its records, one more that
// says that it was restored, and nothing reserved.
func checkRestoredStore(t *testing.T, file, path string, done RestoredStore) {
	t.Helper()
	verified, err := verify.File(context.Background(), verify.Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	if verified.Ledgers != done.Ledgers+done.Closed {
		t.Errorf("%d ledgers; want %d + %d", verified.Ledgers, done.Ledgers, done.Closed)
	}
	source := filepath.Join(t.TempDir(), "source.db")
	content, err := os.ReadFile(file)
	if err := errors.Join(err, os.WriteFile(source, content, 0o600)); err != nil {
		t.Fatal(err)
	}
	before, after := mustOpen(t, Config{Path: source, hooks: hooks{noSync: true, alone: true}}),
		mustOpen(t, Config{Path: path, hooks: hooks{noSync: true}})
	defer before.Close()
	defer after.Close()
	if after.ID() != done.StoreID || before.ID() != done.From || after.ID() == before.ID() {
		t.Errorf("store %s of %s; want %+v", after.ID(), before.ID(), done)
	}
	names, err := before.List("", "", 1000)
	if err != nil {
		t.Fatal(err)
	}
	for _, sum := range names {
		name := sum.Genesis.Spec.Name
		old, err := before.Records(name, 1, 1000)
		if err != nil {
			t.Fatal(err)
		}
		now, err := after.Records(name, 1, 1000)
		if err != nil {
			t.Fatal(err)
		}
		same := func(a, b ledger.Record) bool { return a.Hash == b.Hash && bytes.Equal(a.Raw, b.Raw) }
		if sum.Closed {
			if !slices.EqualFunc(old, now, same) {
				t.Errorf("%s: a closed ledger was changed", name)
			}
			continue
		}
		if len(now) != len(old)+1 || !slices.EqualFunc(old, now[:len(old)], same) {
			t.Fatalf("%s: %d records; want those %d and one more", name, len(now), len(old))
		}
		was, err := before.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		from := ledger.NewState(was).StoreOf(was.Head.Position)
		v, ok := now[len(old)].Entry.Action.(ledger.Restored)
		if !ok || v.From != from || v.StoreID != after.ID() || v.Copy != done.SHA256 || !v.Newest.Equal(done.Newest) {
			t.Errorf("%s: %+v; want %+v", name, now[len(old)].Entry, done)
		}
		held := uint64(0)
		for _, r := range was.Open {
			held += r.Total()
		}
		snapshot, err := after.Load(name)
		if err != nil || !snapshot.Unreconciled || len(snapshot.Open) > 0 || snapshot.Total != was.Total+held {
			t.Errorf("%s: %+v, %v; want %d charged", name, snapshot.Summary, err, was.Total+held)
		}
	}
	if reserving, err := after.Reserving(); err != nil || len(reserving) > 0 {
		t.Errorf("reserving: %v, %v", reserving, err)
	}
}

func TestRestore(t *testing.T) {
	file, store := backedUp(t, 3)
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "deep", "data", FileName)
	steps := map[RestoreStep]bool{}
	done, err := Restore(context.Background(),
		RestoreConfig{Backup: file, Path: path, Progress: func(step RestoreStep, n, of uint64) {
			steps[step] = true
			if n > of {
				t.Errorf("%s: %d of %d", step, n, of)
			}
		}})
	if err != nil {
		t.Fatal(err)
	}
	if done.From != store || done.Ledgers != 3*audittest.Kinds || done.Closed != 1 || len(steps) != 3 {
		t.Errorf("%+v, %v", done, steps)
	}
	checkRestoredStore(t, file, path, done)
	if after, err := os.ReadFile(file); err != nil || !bytes.Equal(content, after) {
		t.Errorf("the backup was changed: %v", err)
	}
	// What was restored is reconciled, charged, backed up and restored once more.
	s := mustOpen(t, Config{Path: path, hooks: hooks{noSync: true}})
	for i := range 3 * audittest.Kinds {
		reconcile(t, s, fmt.Sprintf("open/%d", i), i%2 == 0)
	}
	audittest.Append(t, s, "open/3", 50, 7)
	again := filepath.Join(t.TempDir(), "again")
	writeBackup(t, s, again)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := verify.File(context.Background(), verify.Config{Path: again}); err != nil {
		t.Fatal(err)
	}
	// Together they are too large for one Append.
	path = filepath.Join(t.TempDir(), FileName)
	if done, err = Restore(context.Background(), RestoreConfig{Backup: again, Path: path, maxBatch: 4000}); err != nil {
		t.Fatal(err)
	}
	checkRestoredStore(t, again, path, done)
}

// reconcile accepts the loss, or charges what it was.
func reconcile(t *testing.T, s *Store, name string, accept bool) {
	t.Helper()
	v := ledger.Reconcile{AcceptLoss: accept, Reason: "r"}
	if !accept {
		v.Events = []mechanism.Event{{Mechanism: audittest.Mechanism(1), Count: 100_000}} // more than any has
		v.Contribution = ledger.OverAll
	}
	snapshot, err := s.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	b := ledger.NewBatch(ledger.NewState(snapshot))
	if d := b.Decide(ledger.Request{Writer: audittest.Writer(999), Sequence: 1, Digest: record.Digest(v), Action: v},
		ledger.Lane{}, audittest.Time(9)); d.Err != nil {
		t.Fatal(d.Err)
	}
	if _, err := s.Append([]ledger.Proposal{b.Proposal()}); err != nil {
		t.Fatal(err)
	}
}

// Wherever a restore is cut off, the directory has nothing, what no daemon starts
// from, or all of it.
func TestRestoreCutOff(t *testing.T) {
	file, _ := backedUp(t, 2)
	dir := filepath.Join(t.TempDir(), "data")
	path := filepath.Join(dir, FileName)
	points, outcomes := 0, map[string]int{}
	done, err := Restore(context.Background(), RestoreConfig{Backup: file, Path: path, at: func() {
		points++
		if _, err := os.Stat(dir); err != nil {
			t.Fatal(err)
		}
		cut := filepath.Join(t.TempDir(), "data")
		if err := os.CopyFS(cut, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
		left, err := os.ReadDir(cut)
		if err != nil {
			t.Fatal(err)
		}
		if len(left) == 0 {
			outcomes["nothing"]++
			return
		}
		name := left[0].Name()
		outcomes[name]++
		s, err := Open(Config{Path: filepath.Join(cut, FileName)})
		if err == nil {
			defer s.Close()
		}
		if cutOff := err != nil &&
			strings.Contains(err.Error(), "a restore to it goes on or was cut off"); len(left) > 1 ||
			cutOff != (name == FileName+restoringSuffix) {
			t.Errorf("%v: opened with %v", left, err)
		}
		if err == nil {
			return
		}
		if _, err := Restore(context.Background(),
			RestoreConfig{Backup: file, Path: filepath.Join(cut, FileName)}); err == nil ||
			!strings.Contains(err.Error(), "goes on or was cut off") {
			t.Errorf("a restore beside it: %v", err)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	if outcomes["nothing"] != 1 || outcomes[FileName+restoringSuffix] < 4 ||
		outcomes[FileName] != 1 || len(outcomes) != 3 {
		t.Errorf("%d points: %v", points, outcomes)
	}
	checkRestoredStore(t, file, path, done)
}

// A restore that is given up leaves nothing.
func TestRestoreGivenUp(t *testing.T) {
	file, _ := backedUp(t, 1)
	for stop := range 6 {
		ctx, cancel := context.WithCancel(context.Background())
		dir, n := filepath.Join(t.TempDir(), "data"), 0
		_, err := Restore(ctx, RestoreConfig{Backup: file, Path: filepath.Join(dir, FileName), at: func() {
			if n++; n > stop {
				cancel()
			}
		}})
		cancel()
		if _, gone := os.Stat(dir); err == nil && stop < 3 ||
			err != nil && (!errors.Is(err, context.Canceled) || !errors.Is(gone, fs.ErrNotExist)) {
			t.Errorf("given up at %d: %v, left: %v", stop, err, gone)
		}
	}
}

func TestRestoreRefuses(t *testing.T) {
	file, _ := backedUp(t, 1)
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	damaged := filepath.Join(t.TempDir(), "damaged")
	content = bytes.ReplaceAll(content, []byte("unverified:p"), []byte("unverified:q")) // in every copy of a page
	if err := os.WriteFile(damaged, content, 0o600); err != nil {
		t.Fatal(err)
	}
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "x"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	absent := filepath.Join(t.TempDir(), "absent")
	for _, c := range []struct{ name, backup, dir, says string }{
		{"damaged", damaged, absent, "is refused, nothing was written: "},
		{"no file", absent, absent, "no such file"},
		{"no store", filepath.Join(full, "x"), absent, "allowed: a store's file"},
		{"not empty", file, full, "has x; allowed: an empty directory"},
		{"no directory", file, file, "not a directory"},
	} {
		_, err := Restore(context.Background(), RestoreConfig{Backup: c.backup, Path: filepath.Join(c.dir, FileName)})
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v; want %q", c.name, err, c.says)
		}
		if _, err := os.Stat(absent); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: left: %v", c.name, err)
		}
	}
	var finding *audit.Finding
	if _, err := Restore(context.Background(),
		RestoreConfig{Backup: damaged, Path: filepath.Join(absent, FileName)}); !errors.As(err, &finding) {
		t.Errorf("a damaged backup: %v; want a finding", err)
	}
}
