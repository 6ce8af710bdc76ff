// SPDX-License-Identifier: Apache-2.0

package persist

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/dpaccountant/accountant/internal/audit/audittest"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/rows"
	"github.com/dpaccountant/accountant/internal/persist/verify"
)

// filled opens a store with ledgers of each kind, reservations among them, and a closed one.
func filled(t testing.TB, c Config) *Store {
	t.Helper()
	s := mustOpen(t, c)
	for i := range 2 * audittest.Kinds {
		audittest.Fill(t, s, audittest.Spec(fmt.Sprintf("open/%d", i), i%audittest.Kinds), 30, uint64(5*i+1))
	}
	audittest.Fill(t, s, audittest.Spec("closed", 0), 30, 5)
	return s
}

// leave marks a store as moved to a place.
func leave(t testing.TB, path, to string) {
	t.Helper()
	if err := Leave(t.Context(), path, to, nil); err != nil {
		t.Fatal(err)
	}
}

// dump is every row of a store's file, but for those that say in which transaction it was closed
// and whether it is a backup.
func dump(t testing.TB, path string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := rows.OpenToRead(path, 0, func(tx *bolt.Tx, _ io.ReaderAt) error {
		return tx.ForEach(func(name []byte, b *bolt.Bucket) error {
			return b.ForEach(func(key, value []byte) error {
				if string(name) != rows.MetaBucket.String() || !bytes.Equal(key, rows.StoppedKey) {
					all[fmt.Sprintf("%s/%x", name, key)] = string(value)
				}
				return nil
			})
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func same(a, b map[string]string) error {
	for key, value := range a {
		if b[key] != value {
			return fmt.Errorf("%s: %x and %x", key, value, b[key])
		}
	}
	if len(a) != len(b) {
		return fmt.Errorf("%d rows and %d", len(a), len(b))
	}
	return nil
}

// A store that was moved away is used no more, and the one that is made of it has every row of it.
func TestLeave(t *testing.T) {
	dir := t.TempDir()
	path, to := filepath.Join(dir, FileName), filepath.Join(dir, "to", FileName)
	s := filled(t, Config{Path: path, AllocationStep: 1 << 16})
	id := s.ID()
	next := propose(t, s, "open/0", audittest.Writer(900))
	if err := Leave(t.Context(), path, to, nil); !errors.Is(err, ErrInUse) {
		t.Errorf("while a daemon has it open: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	before := dump(t, path)
	verified, err := verify.File(t.Context(), verify.Config{Path: path})
	if left, e := Left(path); err != nil || verified.Left != nil || left != nil || e != nil {
		t.Fatalf("%+v, %v, %v, %v", verified.Left, left, err, e)
	}
	leave(t, path, "elsewhere")
	leave(t, path, to) // the first place was given up
	if left, err := Left(path); err != nil || left.To != to {
		t.Errorf("%+v, %v", left, err)
	}
	_, opened := Open(Config{Path: path})
	_, examined := Examine(Config{Path: path})
	for _, err := range []error{opened, examined} {
		if err == nil || !strings.Contains(err.Error(), "were moved to "+to) {
			t.Errorf("opened, or %v", err)
		}
	}
	if v, err := verify.File(t.Context(), verify.Config{Path: path}); err != nil || v.Left.To != to ||
		v.Contents.Sum() != verified.Contents.Sum() {
		t.Errorf("%+v, %v", v.Left, err)
	}
	for range 2 { // the second time it is there
		done, err := Arrive(t.Context(), path, to, nil)
		if err != nil || done.StoreID != id || done.Contents.Sum() != verified.Contents.Sum() ||
			done.Contents.Ledgers != 2*audittest.Kinds+1 || done.Contents.Entries != verified.Entries {
			t.Fatalf("%+v, %v", done, err)
		}
		if err := same(before, dump(t, to)); err != nil {
			t.Error(err)
		}
	}
	if files, err := os.ReadDir(filepath.Dir(to)); err != nil || len(files) != 1 {
		t.Errorf("%v, %v; want the store alone", files, err)
	}
	s = mustOpen(t, Config{Path: to})
	if _, err := s.Append([]ledger.Proposal{next}); err != nil { // decided on the source
		t.Error(err)
	}
	if _, err := Arrive(t.Context(), path, to, nil); !errors.Is(err, ErrInUse) {
		t.Errorf("while a daemon uses it: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Arrive(t.Context(), path, to, nil); err == nil || !strings.Contains(err.Error(), "has gone on since") {
		t.Errorf("after a daemon has used it: %v", err)
	}
	lost := filepath.Join(dir, "lost", FileName) // of a store that was moved and lost, the old one makes another
	done, err := Restore(t.Context(), RestoreConfig{Backup: path, Path: lost})
	if err != nil || done.StoreID == id {
		t.Fatalf("%+v, %v", done, err)
	}
	s = mustOpen(t, Config{Path: lost})
	defer s.Close()
	if snapshot, err := s.Load("open/0"); err != nil || !snapshot.Unreconciled {
		t.Errorf("%+v, %v", snapshot.Summary, err)
	}
}

// Wherever it is cut off that a store arrives, no daemon starts on what is left, and another run makes the store.
func TestArriveCutOff(t *testing.T) {
	dir := t.TempDir()
	path, to := filepath.Join(dir, FileName), filepath.Join(dir, "to", FileName)
	s := filled(t, Config{Path: path, hooks: hooks{noSync: true}})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	leave(t, path, to)
	arrive := func(stop int) (cut bool, err error) {
		defer func() { cut = recover() != nil }()
		n := 0
		_, err = Restore(t.Context(), RestoreConfig{Backup: path, Path: to, moving: true, at: func() {
			if n++; n > stop {
				panic("killed") // the deferred functions find no error, and take nothing away
			}
		}})
		return false, err
	}
	points := 0
	for cut := true; cut; points++ {
		var err error
		if cut, err = arrive(points); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(to + restoringSuffix); err == nil {
			if _, err := Open(Config{Path: to}); err == nil || !strings.Contains(err.Error(), "cut off") {
				t.Errorf("cut off at %d: opened with %v", points, err)
			}
		}
		if _, err := Arrive(t.Context(), path, to, nil); err != nil {
			t.Fatalf("cut off at %d: %v", points, err)
		}
		if err := mustOpen(t, Config{Path: to}).Close(); err != nil {
			t.Fatal(err)
		}
		if err := os.RemoveAll(filepath.Dir(to)); err != nil {
			t.Fatal(err)
		}
	}
	if points < 5 {
		t.Errorf("%d points", points)
	}
}

// Two runs do not disturb each other.
func TestArriveTwiceAtOnce(t *testing.T) {
	dir := t.TempDir()
	path, to := filepath.Join(dir, FileName), filepath.Join(dir, "to", FileName)
	s := filled(t, Config{Path: path, hooks: hooks{noSync: true}})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	leave(t, path, to)
	other := false
	_, err := Arrive(t.Context(), path, to, func(step RestoreStep, _, _ uint64) {
		if step == StepCopy && !other {
			other = true
			_, err := Arrive(t.Context(), path, to, nil)
			if err == nil || !strings.Contains(err.Error(), "another run") {
				t.Errorf("beside the first one: %v", err)
			}
		}
	})
	if err != nil || !other {
		t.Errorf("%v, %v", other, err)
	}
}

// What is damaged or cut short is marked nowhere and arrives nowhere, or has been damaged where nothing is.
func TestMoveDamaged(t *testing.T) {
	dir := t.TempDir()
	path, damaged := filepath.Join(dir, FileName), filepath.Join(dir, "damaged")
	s := filled(t, Config{Path: path, AllocationStep: 1 << 16, hooks: hooks{noSync: true}})
	used := int(s.Size())
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want, err := verify.File(t.Context(), verify.Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	refused := 0
	try := func(name string, content []byte) {
		t.Helper()
		if err := os.WriteFile(damaged, content, 0o600); err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(dir, "to", FileName)
		if err := Leave(t.Context(), damaged, to, nil); err != nil {
			refused++
			if after, e := os.ReadFile(damaged); e != nil || !bytes.Equal(after, content) {
				t.Errorf("%s: changed, or %v, after %v", name, e, err)
			}
		}
		done, err := Arrive(t.Context(), damaged, to, nil)
		if err == nil && done.Contents.Sum() != want.Contents.Sum() {
			t.Errorf("%s: %+v", name, done)
		}
		if _, there := os.Stat(to); (err == nil) != (there == nil) {
			t.Errorf("%s: %v; there: %v", name, err, there)
		}
		if err := os.RemoveAll(filepath.Dir(to)); err != nil {
			t.Fatal(err)
		}
	}
	cuts := []int{0, 1, 4096, used / 2}
	for _, n := range cuts {
		if try(fmt.Sprintf("cut to %d bytes", n), whole[:n]); refused == 0 {
			t.Errorf("cut to %d bytes: moved", n)
		}
	}
	if refused != len(cuts) {
		t.Errorf("%d cuts refused; want %d", refused, len(cuts))
	}
	const flips = 60
	for i := range flips {
		content := bytes.Clone(whole)
		at := i * (used - 1) / (flips - 1)
		content[at] ^= 1 << (i % 8)
		try(fmt.Sprintf("bit %d of byte %d", i%8, at), content)
	}
	if refused < len(cuts)+flips/4 {
		t.Errorf("only %d were refused", refused)
	}
}
