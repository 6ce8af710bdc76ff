// SPDX-License-Identifier: Apache-2.0

package persist

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/dpaccountant/accountant/internal/audit"
	"github.com/dpaccountant/accountant/internal/audit/audittest"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/storetest"
	"github.com/dpaccountant/accountant/internal/persist/verify"
)

// copies lists what copies have left beside a store.
func copies(t *testing.T, path string) (names []string) {
	t.Helper()
	files, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if strings.Contains(f.Name(), copySuffix) {
			names = append(names, f.Name())
		}
	}
	return names
}

// A copy made while others write is a whole store, with all that was acknowledged
// before it was asked for.
func TestBackupWhileServing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	s := mustOpen(t, Config{Path: path, AllocationStep: 1 << 16, hooks: hooks{noSync: true}})
	defer s.Close()
	names := []string{"a", "b", "c"}
	stop, writers := make(chan struct{}), sync.WaitGroup{}
	for i, name := range names {
		audittest.Fill(t, s, audittest.Spec(name, i), 20, 1)
		writers.Go(func() {
			for seed := uint64(1); ; seed++ {
				select {
				case <-stop:
					return
				default:
					audittest.Append(fatal{t}, s, name, 10, 5*seed+1)
				}
			}
		})
	}
	defer writers.Wait()
	defer close(stop)
	for i := range 8 {
		var kept []audit.Witness
		for _, name := range names {
			snapshot, err := s.Load(name)
			if err != nil {
				t.Fatal(err)
			}
			kept = append(kept,
				audit.Witness{Source: "kept", Ledger: name, Position: snapshot.Head.Position, Hash: snapshot.Head.Hash})
		}
		content, size, err := s.Backup()
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(content)
		if err = errors.Join(err, content.Close()); err != nil || int64(len(b)) != size {
			t.Fatalf("%d of %d bytes, %v", len(b), size, err)
		}
		copied := filepath.Join(t.TempDir(), fmt.Sprint(i))
		if err := os.WriteFile(copied, b, 0o600); err != nil {
			t.Fatal(err)
		}
		done, err := verify.File(context.Background(), verify.Config{Path: copied, Kept: kept})
		if err != nil || done.Ledgers != 3 || done.Witnesses != 3 {
			t.Fatalf("copy %d: %+v, %v", i, done, err)
		}
		checkMarked(t, copied)
	}
	if left := copies(t, path); left != nil {
		t.Errorf("left: %v", left)
	}
}

// checkMarked: no daemon starts on a backup, whichever of its root pages is damaged.
func checkMarked(t *testing.T, path string) {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for page := -1; page < 2; page++ {
		f := rootFile{store: content}
		if page >= 0 {
			f = f.damage(page, 40)
		}
		copied := f.write(t)
		if _, err := Open(Config{Path: copied}); err == nil ||
			!strings.Contains(err.Error(), "accountantd restore "+copied) {
			t.Errorf("root page %d is damaged: opened with %v", page, err)
		}
		if after, err := os.ReadFile(copied); err != nil || !bytes.Equal(after, f.store) {
			t.Errorf("root page %d is damaged: it was changed, %v", page, err)
		}
	}
}

// fatal ends a test from another goroutine.
type fatal struct{ *testing.T }

func (f fatal) Fatal(args ...any) { panic(fmt.Sprint(args...)) }

// A store whose pages are damaged is not copied as if it were whole, and takes nothing more.
func TestBackupOfDamage(t *testing.T) {
	content, _ := small(t)
	by := kinds(aims(t, content))
	for _, kind := range []string{"tail/leaf/header", "tail/leaf/element", "writers/inline/key", "root/leaf/element"} {
		path := filepath.Join(t.TempDir(), "s.db")
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		// a backup
		s := mustOpen(t, Config{Path: path, AllocationStep: 1 << 16, hooks: hooks{noSync: true, alone: true}})
		if len(by[kind]) == 0 {
			t.Fatalf("no %s", kind)
		}
		at := by[kind][len(by[kind])/2]
		writeByte(t, path, at, content[at]^1)
		if _, _, err := s.Backup(); !errors.Is(err, ledger.ErrDamaged) || s.Damage() == nil {
			t.Errorf("%s: %v; %v", kind, err, s.Damage())
		}
		if _, _, err := s.Create(storetest.Genesis("new")); !errors.Is(err, ledger.ErrDamaged) {
			t.Errorf("%s: %v", kind, err)
		}
		_ = s.Close()
	}
}

func TestBackupLeavesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	open := func() *Store {
		return mustOpen(t, Config{Path: path, AllocationStep: 1 << 16, hooks: hooks{noSync: true}})
	}
	s := open()
	content, _, err := s.Backup()
	if err != nil {
		t.Fatal(err)
	}
	if err := content.Close(); err != nil { // given up before it was read
		t.Error(err)
	}
	s.config.AllocationStep = 1 << 58 // of which no disk has four
	if _, _, err := s.Backup(); err == nil || !strings.Contains(err.Error(), "bytes are free; allowed: at least") {
		if _, statErr := os.Stat("/proc/self"); statErr == nil { // elsewhere nobody can tell
			t.Errorf("without room: %v", err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Backup(); !errors.Is(err, ledger.ErrUnavailable) {
		t.Errorf("closed: %v", err)
	}
	if left := copies(t, path); left != nil {
		t.Errorf("left: %v", left)
	}
	// A process that died leaves a copy to the next; other files are not touched.
	other := filepath.Join(filepath.Dir(path), "other.db"+copySuffix+"1")
	for _, name := range []string{path + copySuffix + "1", other} {
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s = open()
	defer s.Close()
	if left := copies(t, path); len(left) != 1 || left[0] != filepath.Base(other) {
		t.Errorf("left: %v", left)
	}
}
