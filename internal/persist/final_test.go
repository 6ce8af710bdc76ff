// SPDX-License-Identifier: Apache-2.0

package persist

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
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

func writeFinal(t testing.TB, s *Store, file string) {
	t.Helper()
	content, size, err := s.Final()
	if err != nil {
		t.Fatal(err)
	}
	all, err := io.ReadAll(content)
	if err := errors.Join(err, content.Close(), os.WriteFile(file, all, 0o600)); err != nil || int64(len(all)) != size {
		t.Fatalf("%d bytes of %d: %v", len(all), size, err)
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

// A final backup ends a store, and the one that is made of it has every row of it.
func TestFinal(t *testing.T) {
	dir := t.TempDir()
	path, file, to := filepath.Join(dir, FileName), filepath.Join(dir, "final"), filepath.Join(dir, "to", FileName)
	config := Config{Path: path, AllocationStep: 1 << 16}
	s := filled(t, config)
	id := s.ID()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	before := dump(t, path)
	verified, err := verify.File(context.Background(), verify.Config{Path: path})
	if err != nil || verified.Final != nil {
		t.Fatal(verified.Final, err)
	}

	s = mustOpen(t, config)
	next := propose(t, s, "open/0", audittest.Writer(900))
	writeFinal(t, s, file)
	for name, err := range refusals(s, next) {
		if !errors.Is(err, ledger.ErrUnavailable) || !strings.Contains(err.Error(), "were moved away by a final") {
			t.Errorf("%s: %v", name, err)
		}
	}
	writeFinal(t, s, file+".again")
	if s.Failure() != nil || s.Damage() != nil {
		t.Errorf("%v, %v", s.Failure(), s.Damage())
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := same(dump(t, file), dump(t, file+".again")); err != nil && !strings.Contains(err.Error(), "meta/") {
		t.Errorf("a second final backup: %v", err)
	}
	for _, path := range []string{path, file} {
		if _, err := Open(Config{Path: path}); err == nil ||
			!strings.Contains(err.Error(), "accountantd restore "+path) {
			t.Errorf("%s: opened, or %v", path, err)
		}
		if _, err := Examine(Config{Path: path}); err == nil || !strings.Contains(err.Error(), "accountantd restore") {
			t.Errorf("%s: nothing wrong, or %v", path, err)
		}
		v, err := verify.File(context.Background(), verify.Config{Path: path})
		if err != nil || v.Final == nil || v.Contents.Sum() != verified.Contents.Sum() {
			t.Errorf("%s: %+v, %v", path, v.Final, err)
		}
	}

	done, err := Restore(context.Background(), RestoreConfig{Backup: file, Path: to})
	if err != nil || !done.Moved || done.StoreID != id || done.Contents.Sum() != verified.Contents.Sum() ||
		done.Contents.Ledgers != 2*audittest.Kinds+1 || done.Contents.Entries != verified.Entries {
		t.Fatalf("%+v, %v", done, err)
	}
	if err := same(before, dump(t, to)); err != nil {
		t.Error(err)
	}
	s = mustOpen(t, Config{Path: to})
	defer s.Close()
	if _, err := s.Append([]ledger.Proposal{next}); err != nil { // decided on the source
		t.Error(err)
	}
}

// refusals asks a store for everything.
func refusals(s *Store, p ledger.Proposal) map[string]error {
	all := map[string]error{}
	_, all["Append"] = s.Append([]ledger.Proposal{p})
	_, _, all["Create"] = s.Create(ledger.Genesis{Spec: audittest.Spec("new", 0), Time: audittest.Time(1)})
	_, _, all["Load"] = s.Load("open/0")
	_, all["List"] = s.List("", "", 1)
	_, _, all["Writer"] = s.Writer("open/0", audittest.Writer(1))
	_, all["Records"] = s.Records("open/0", 1, 1)
	_, all["Reserving"] = s.Reserving()
	_, _, all["Backup"] = s.Backup()
	all["BindKey"] = s.BindKey(rows.BoundKey{})
	return all
}

// What is acknowledged while the final backup is made is in it, and nothing is acknowledged after it.
func TestFinalWhileServing(t *testing.T) {
	dir := t.TempDir()
	s := mustOpen(t, Config{Path: filepath.Join(dir, FileName), AllocationStep: 1 << 16, hooks: hooks{noSync: true}})
	defer s.Close()
	var writers sync.WaitGroup
	heads := make([]ledger.Head, 8)
	started := make(chan struct{}, len(heads))
	for i := range heads {
		name := fmt.Sprint("l", i)
		mustCreate(t, s, name)
		writers.Go(func() {
			snapshot, tail, err := s.Load(name)
			if err != nil {
				t.Error(err)
				return
			}
			for n := uint64(0); ; n++ {
				p := proposeOn(ledger.NewState(snapshot, tail), audittest.Writer(1), n)
				hashes, err := s.Append([]ledger.Proposal{p})
				if err != nil {
					if !errors.Is(err, ledger.ErrUnavailable) {
						t.Error(err)
					}
					return
				}
				heads[i] = ledger.Head{Position: n + 1, Hash: hashes[0][0]}
				tail = append(tail, ledger.Record{Entry: p.Entries[0], Hash: hashes[0][0]})
				if n == 20 {
					started <- struct{}{}
				}
			}
		})
	}
	for range heads {
		<-started
	}
	file := filepath.Join(dir, "final")
	writeFinal(t, s, file)
	writers.Wait()
	to := filepath.Join(dir, "to", FileName)
	if _, err := Restore(context.Background(), RestoreConfig{Backup: file, Path: to}); err != nil {
		t.Fatal(err)
	}
	moved := mustOpen(t, Config{Path: to})
	defer moved.Close()
	for i, head := range heads {
		snapshot, _, err := moved.Load(fmt.Sprint("l", i))
		if err != nil || snapshot.Head != head {
			t.Errorf("l%d: %v, %v; acknowledged was %v", i, snapshot.Head, err, head)
		}
	}
}

// A final backup that fails has either left the store as it was or moved it away with all that it
// has; then the store's own file is as good as the backup.
func TestFinalFails(t *testing.T) {
	injected := errors.New("injected")
	for name, c := range map[string]struct {
		commit func(tx *bolt.Tx, n int) error // the n-th commit of Final
		moved  bool
	}{
		"first mark lost": {func(tx *bolt.Tx, _ int) error { return errors.Join(injected, tx.Rollback()) }, false},
		"first mark kept": {func(tx *bolt.Tx, _ int) error { return errors.Join(injected, tx.Commit()) }, true},
		"second mark lost": {func(tx *bolt.Tx, n int) error {
			if n == 1 {
				return tx.Commit()
			}
			return errors.Join(injected, tx.Rollback())
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), FileName)
			failing, n := false, 0
			s := filled(t, Config{Path: path, AllocationStep: 1 << 16, hooks: hooks{noSync: true,
				commit: func(tx *bolt.Tx) error {
					if !failing {
						return tx.Commit()
					}
					n++
					return c.commit(tx, n)
				}}})
			id := s.ID()
			failing = true
			if _, _, err := s.Final(); !errors.Is(err, ledger.ErrUnknown) {
				t.Errorf("%v; want ErrUnknown", err)
			}
			_ = s.Close()
			s, err := Open(Config{Path: path})
			if c.moved != (err != nil) {
				t.Fatalf("opened with %v", err)
			}
			if err == nil {
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				return
			}
			done, err := Restore(context.Background(),
				RestoreConfig{Backup: path, Path: filepath.Join(t.TempDir(), "to", FileName)})
			if err != nil || !done.Moved || done.StoreID != id || done.Contents.Ledgers != 2*audittest.Kinds+1 {
				t.Errorf("%+v, %v", done, err)
			}
		})
	}
}

// Without room nothing is marked, and the store goes on.
func TestFinalOnAFullDisk(t *testing.T) {
	full := false
	s := filled(t, Config{Path: filepath.Join(t.TempDir(), FileName), AllocationStep: 1 << 16,
		hooks: hooks{noSync: true, allocate: func(f *os.File, from, to int64) error {
			if full {
				return errors.New("injected: no space left on device")
			}
			return allocate(f, from, to)
		}}})
	defer s.Close()
	full, s.space.allocated = true, 0
	if _, _, err := s.Final(); !errors.Is(err, ledger.ErrUnavailable) || s.Moved() != nil {
		t.Fatalf("%v, moved: %v", err, s.Moved())
	}
	full = false
	if _, err := s.Append([]ledger.Proposal{propose(t, s, "open/0", audittest.Writer(900))}); err != nil {
		t.Error(err)
	}
}

// A final backup makes one store.
func TestRestoreFinalTwice(t *testing.T) {
	dir := t.TempDir()
	file, to := filepath.Join(dir, "final"), filepath.Join(dir, "to", FileName)
	s := filled(t, Config{Path: filepath.Join(dir, FileName), hooks: hooks{noSync: true}})
	defer s.Close()
	writeFinal(t, s, file)
	restore := func(to string) error {
		_, err := Restore(context.Background(), RestoreConfig{Backup: file, Path: to})
		return err
	}
	if err := restore(to); err != nil {
		t.Fatal(err)
	}
	if err := restore(to); err == nil || !strings.Contains(err.Error(), "allowed: an empty directory") {
		t.Errorf("into a store that is there: %v", err)
	}
	elsewhere := filepath.Join(dir, "elsewhere", FileName)
	if err := restore(elsewhere); err == nil || !strings.Contains(err.Error(), "it was restored to "+to+" before") {
		t.Errorf("into another one: %v", err)
	}
	if _, err := os.Stat(filepath.Dir(elsewhere)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("left: %v", err)
	}
	done, err := Restore(context.Background(), RestoreConfig{Backup: file, Path: elsewhere, AsCopy: true})
	if err != nil || done.Moved || done.StoreID == s.ID() {
		t.Fatalf("as a copy: %+v, %v", done, err)
	}
	copied := mustOpen(t, Config{Path: elsewhere})
	defer copied.Close()
	if snapshot, _, err := copied.Load("open/0"); err != nil || !snapshot.Unreconciled {
		t.Errorf("%+v, %v", snapshot.Summary, err)
	}
}

// Wherever the restore of a final backup is cut off, no daemon starts on what is left, no restore to
// another place begins, and the same restore makes the store when it is done again.
func TestRestoreFinalCutOff(t *testing.T) {
	dir := t.TempDir()
	file, to := filepath.Join(dir, "final"), filepath.Join(dir, "to", FileName)
	s := filled(t, Config{Path: filepath.Join(dir, FileName), hooks: hooks{noSync: true}})
	defer s.Close()
	writeFinal(t, s, file)
	restore := func(to string, stop int) (cut bool, err error) {
		defer func() { cut = recover() != nil }()
		n := 0
		_, err = Restore(context.Background(), RestoreConfig{Backup: file, Path: to, at: func() {
			if n++; n > stop {
				panic("killed") // the deferred functions find no error, and take nothing away
			}
		}})
		return false, err
	}
	points := 0
	for ; ; points++ {
		cut, err := restore(to, points)
		if err != nil {
			t.Fatal(err)
		}
		_, named := os.Stat(to)
		if _, err := restore(filepath.Join(dir, "elsewhere", FileName), 1000); err == nil ||
			!strings.Contains(err.Error(), "it was restored to "+to) {
			t.Errorf("cut off at %d: elsewhere: %v", points, err)
		}
		if !cut {
			break
		}
		if named == nil { // all of it is there
			if err := os.Remove(to); err != nil {
				t.Fatal(err)
			}
			continue
		}
		left, err := os.ReadDir(filepath.Dir(to))
		if err != nil {
			t.Fatal(err)
		}
		if len(left) == 0 {
			continue
		}
		if _, err := Open(Config{Path: to}); err == nil || !strings.Contains(err.Error(), "cut off") {
			t.Errorf("cut off at %d: opened with %v", points, err)
		}
		if err := os.Remove(to + restoringSuffix); err != nil {
			t.Fatal(err)
		}
	}
	if points < 5 {
		t.Errorf("%d points", points)
	}
	s = mustOpen(t, Config{Path: to})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// A note that was cut off while it was written says nothing, and is written anew.
func TestCutOffNote(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "final")
	s := filled(t, Config{Path: filepath.Join(dir, FileName), hooks: hooks{noSync: true}})
	defer s.Close()
	writeFinal(t, s, file)
	if err := os.WriteFile(file+claimSuffix, []byte("/some/whe"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Restore(context.Background(),
		RestoreConfig{Backup: file, Path: filepath.Join(dir, "to", FileName)}); err != nil {
		t.Fatal(err)
	}
}

// A final backup that was damaged or cut short on its way is refused before anything is written, or has
// been damaged where nothing is.
func TestRestoreDamagedFinal(t *testing.T) {
	dir := t.TempDir()
	file, damaged := filepath.Join(dir, "final"), filepath.Join(dir, "damaged")
	s := filled(t, Config{Path: filepath.Join(dir, FileName), hooks: hooks{noSync: true}})
	defer s.Close()
	writeFinal(t, s, file)
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want, err := verify.File(context.Background(), verify.Config{Path: file})
	if err != nil {
		t.Fatal(err)
	}
	refused := 0
	try := func(name string, content []byte) {
		if err := os.WriteFile(damaged, content, 0o600); err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(dir, "to", FileName)
		done, err := Restore(context.Background(), RestoreConfig{Backup: damaged, Path: to})
		_, note := os.Stat(damaged + claimSuffix)
		if err != nil {
			refused++
			_, left := os.Stat(filepath.Dir(to))
			if !errors.Is(left, fs.ErrNotExist) || !errors.Is(note, fs.ErrNotExist) {
				t.Errorf("%s: left %v, %v after %v", name, left, note, err)
			}
			return
		}
		if done.Contents.Sum() != want.Contents.Sum() || !done.Moved {
			t.Errorf("%s: %+v", name, done)
		}
		if err := errors.Join(os.RemoveAll(filepath.Dir(to)), os.Remove(damaged+claimSuffix)); err != nil {
			t.Fatal(err)
		}
	}
	cuts := []int{0, 1, 4096, len(whole) / 2, len(whole) - 4096, len(whole) - 1}
	for _, n := range cuts {
		if try(fmt.Sprintf("cut to %d bytes", n), whole[:n]); refused == 0 {
			t.Errorf("cut to %d bytes: restored", n)
		}
	}
	if refused != len(cuts) {
		t.Errorf("%d cuts refused; want %d", refused, len(cuts))
	}
	const flips = 60
	for i := range flips {
		content := bytes.Clone(whole)
		at := i * (len(content) - 1) / (flips - 1)
		content[at] ^= 1 << (i % 8)
		try(fmt.Sprintf("bit %d of byte %d", i%8, at), content)
	}
	if refused < len(cuts)+flips/4 {
		t.Errorf("only %d were refused", refused)
	}
}
