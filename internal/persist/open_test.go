// SPDX-License-Identifier: Apache-2.0

package persist

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/storetest"
)

func TestOpenMakesPrivateFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	path := filepath.Join(dir, "s.db")
	s := mustOpen(t, Config{Path: path})
	defer s.Close()
	for what, want := range map[string]os.FileMode{path: 0o600, dir: 0o700 | os.ModeDir,
		filepath.Dir(dir): 0o700 | os.ModeDir} {
		info, err := os.Stat(what)
		if err != nil || info.Mode() != want {
			t.Errorf("%s has mode %v, %v; want %v", what, info.Mode(), err, want)
		}
	}
	if _, err := Open(Config{}); err == nil {
		t.Error("Open without a path succeeded")
	}
}

func TestSecondOpener(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	s := mustOpen(t, Config{Path: path})
	if _, err := Open(Config{Path: path, LockTimeout: 60 * time.Millisecond}); err == nil {
		t.Fatal("two have the store open")
	} else if text := err.Error(); !strings.Contains(text, path) || !strings.Contains(text, "another process") {
		t.Errorf("%q does not say which file another process has open", text)
	}
	mustCreate(t, s, "a") // the first goes on
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = mustOpen(t, Config{Path: path})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestUnknownVersion(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	if err := mustOpen(t, Config{Path: path}).Close(); err != nil {
		t.Fatal(err)
	}
	setVersion(t, path, 7)
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the refusal releases the file
		_, err := Open(Config{Path: path, LockTimeout: 60 * time.Millisecond})
		if err == nil || errors.Is(err, ledger.ErrDamaged) {
			t.Fatalf("Open of format version 7 = %v", err)
		}
		if text := err.Error(); !strings.Contains(text, path) || !strings.Contains(text, "version 7") ||
			!strings.Contains(text, "supports 1") {
			t.Errorf("%q does not name the file, the version found and the one supported", text)
		}
	}
	after, err := os.ReadFile(path)
	if err != nil || string(before) != string(after) {
		t.Errorf("a store that was refused was changed (%v)", err)
	}
}

func TestNoStore(t *testing.T) {
	dir := t.TempDir()
	other := filepath.Join(dir, "other.db")
	db, err := bolt.Open(other, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bolt.Tx) error {
		_, err := tx.CreateBucket([]byte("something else"))
		return err
	})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	text := filepath.Join(dir, "notes.txt")
	if err := os.WriteFile(text, []byte(strings.Repeat("no database\n", 4096)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{other, text, dir, filepath.Join(text, "s.db")} {
		if _, err := Open(Config{Path: path}); err == nil {
			t.Errorf("Open(%s) succeeded", path)
		} else if !strings.Contains(err.Error(), path) {
			t.Errorf("%q does not name %s", err, path)
		}
	}
}

// TestEmptyFile opens what a crash may leave before anything was acknowledged:
// an empty file, and a bbolt file without buckets.
func TestEmptyFile(t *testing.T) {
	dir := t.TempDir()
	empty, fresh := filepath.Join(dir, "empty.db"), filepath.Join(dir, "fresh.db")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	db, err := bolt.Open(fresh, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{empty, fresh} {
		s := mustOpen(t, Config{Path: path})
		mustCreate(t, s, "a")
		id := s.ID()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = mustOpen(t, Config{Path: path})
		if _, created, err := s.Create(storetest.Genesis("a")); created || err != nil || s.ID() != id {
			t.Errorf("%s: Create again = %v, %v; store %s, want %s", path, created, err, s.ID(), id)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
