// SPDX-License-Identifier: Apache-2.0

package persist

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/pages"
	"github.com/dpaccountant/accountant/internal/persist/roots"
	"github.com/dpaccountant/accountant/internal/persist/verify"
)

// rootFile is a store's file, and what is noted beside it, at one moment.
type rootFile struct{ store, note []byte }

func readRootFile(t *testing.T, path string) (f rootFile) {
	t.Helper()
	var err, noteErr error
	f.store, err = os.ReadFile(path)
	f.note, noteErr = os.ReadFile(path + roots.Suffix)
	if err := errors.Join(err, noteErr); err != nil {
		t.Fatal(err)
	}
	return f
}

func (f rootFile) write(t *testing.T) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), FileName)
	err := os.WriteFile(path, f.store, 0o600)
	if f.note != nil {
		err = errors.Join(err, os.WriteFile(path+roots.Suffix, f.note, 0o600))
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// damage returns the file with a bit flipped in one of the fields of a root page.
func (f rootFile) damage(page, field int) rootFile {
	f.store = append([]byte(nil), f.store...)
	f.store[page*os.Getpagesize()+16+field] ^= 4
	return f
}

// The table of docs/decisions/roots.md. Each file is opened and verified.
func TestRoots(t *testing.T) {
	path := filepath.Join(t.TempDir(), FileName)
	s := mustOpen(t, Config{Path: path, AllocationStep: 1 << 16, hooks: hooks{noSync: true}})
	mustCreate(t, s, "a")
	charged := func() rootFile {
		t.Helper()
		if _, err := s.Append([]ledger.Proposal{propose(t, s, "a", lane1(0))}); err != nil {
			t.Fatal(err)
		}
		return readRootFile(t, path)
	}
	before := charged()
	after := charged()
	newest := s.published.tx % 2 // bbolt: the page of a transaction
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	stopped := readRootFile(t, path)
	unknown := func(f rootFile) rootFile { f.note = nil; return f }
	note := func(f rootFile, change func(*roots.Acknowledged)) rootFile {
		known := roots.Acknowledged{Store: s.id, Transaction: uint64(s.published.tx) - 2, Boot: s.boot}
		change(&known)
		f.note = known.Line()
		return f
	}
	noteOf := func(f rootFile, change func([]byte) []byte) rootFile {
		f.note = change(bytes.Clone(f.note))
		return f
	}
	type file struct {
		name string
		rootFile
		entries uint64
		says    string // "" if it is opened
	}
	files := []file{
		{"running", after, 2, ""},
		{"stopped in order", stopped, 2, ""},
		{"of an earlier program", unknown(after), 2, ""},
		{"put back", rootFile{before.store, after.note}, 1, "was acknowledged"},
		{"of another store",
			note(after, func(a *roots.Acknowledged) { a.Store = "11111111-1111-4111-8111-111111111111" }),
			2, "was kept for store"},
		{"a note that is damaged", rootFile{after.store, []byte("x")}, 2, "move "},
		{"a note that is damaged in one bit",
			noteOf(after, func(b []byte) []byte { b[80] ^= 1; return b }), 2, "nothing shows"},
		{"a note that was cut short", noteOf(after, func(b []byte) []byte { return b[:100] }), 2, "nothing shows"},
		{"a note with something after it",
			noteOf(after, func(b []byte) []byte { return append(b, 'x') }), 2, "nothing shows"},
		{"a damaged note beside a file that was put back", rootFile{before.store, []byte("x")}, 1, "nothing shows"},
		{"a note that nothing was written to", noteOf(after, func([]byte) []byte { return []byte{} }), 2, ""},
		{"a note of zeros", noteOf(after, func(b []byte) []byte { return make([]byte, len(b)) }), 2, ""},
		{"a note of an earlier boot", note(after, func(a *roots.Acknowledged) { a.Boot = "earlier" }), 2, ""},
		{"a note that an earlier program has left behind",
			note(after, func(a *roots.Acknowledged) { a.Transaction -= 2 }), 2, ""},
	}
	for field := range 64 / 4 { // of four bytes
		newestGone, olderGone := after.damage(newest, 4*field), after.damage(1-newest, 4*field)
		files = append(files,
			file{"newest", newestGone, 1, "was acknowledged"},
			file{"newest, nothing known", unknown(newestGone), 1, "perhaps a commit"},
			file{"newest, with a damaged note", rootFile{newestGone.store, []byte("x")}, 1, "perhaps a commit"},
			file{"newest, which nobody was told of", rootFile{newestGone.store, before.note}, 1, ""},
			file{"newest, known of an earlier boot",
				note(newestGone, func(a *roots.Acknowledged) { a.Boot, a.Transaction = "earlier", a.Transaction-1 }),
				1, "perhaps a commit"},
			file{"newest, no boots here",
				note(newestGone, func(a *roots.Acknowledged) { a.Boot, a.Transaction = "", a.Transaction-1 }),
				1, "perhaps a commit"},
			file{"older", olderGone, 2, ""},
			file{"older, nothing known", unknown(olderGone), 2, "perhaps a commit"},
			file{"first of a store that was stopped", stopped.damage(0, 4*field), 2, "closed in order"},
			file{"second of a store that was stopped", stopped.damage(1, 4*field), 2, "closed in order"},
			file{"first of a copy of it", unknown(stopped.damage(0, 4*field)), 2, "closed in order"},
			file{"second of a copy of it", unknown(stopped.damage(1, 4*field)), 2, "closed in order"},
		)
	}
	for _, f := range files {
		if s.boot == "" && f.says == "" && f.entries == 1 {
			continue // nothing can be proven here
		}
		path := f.write(t)
		done, err := verify.File(t.Context(), verify.Config{Path: path})
		if said := err != nil && strings.Contains(err.Error(), f.says); said != (f.says != "") ||
			err != nil && f.says == "" || done.Entries != f.entries {
			t.Errorf("%s: verify: %d entries, %v; want %d, %q", f.name, done.Entries, err, f.entries, f.says)
		}
		s, err := Open(Config{Path: path, AllocationStep: 1 << 16, hooks: hooks{noSync: true}})
		if f.says != "" {
			if err == nil || !strings.Contains(err.Error(), f.says) || !strings.Contains(err.Error(), path) {
				t.Errorf("%s: opened with %v; want %q", f.name, err, f.says)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", f.name, err)
			continue
		}
		if _, err := s.Append([]ledger.Proposal{propose(t, s, "a", lane1(0))}); err != nil {
			t.Errorf("%s: %v", f.name, err)
		}
		if err := s.Close(); err != nil {
			t.Errorf("%s: %v", f.name, err)
		}
		content := readRootFile(t, path)
		if isTorn(t, &pages.File{Reader: bytes.NewReader(content.store), PageSize: int64(os.Getpagesize())}) {
			t.Errorf("%s: a root page is still damaged", f.name)
		}
		if done, err := verify.File(t.Context(), verify.Config{Path: unknown(content).write(t)}); err != nil ||
			done.Entries != f.entries+1 {
			t.Errorf("%s: afterwards %d entries, %v", f.name, done.Entries, err)
		}
	}
}

// A damaged file is what a restore goes on from: nothing else has more.
func TestRestoreDamagedRoot(t *testing.T) {
	path := filepath.Join(t.TempDir(), FileName)
	s := mustOpen(t, Config{Path: path, hooks: hooks{noSync: true}})
	mustCreate(t, s, "a")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for page := range 2 {
		damaged := readRootFile(t, path).damage(page, 40).write(t)
		restored := filepath.Join(t.TempDir(), "new", FileName)
		done, err := Restore(t.Context(), RestoreConfig{Backup: damaged, Path: restored})
		if err != nil || done.Ledgers != 1 {
			t.Fatalf("root page %d: %+v, %v", page, done, err)
		}
		if _, err := verify.File(t.Context(), verify.Config{Path: restored}); err != nil {
			t.Error(err)
		}
		if files, err := filepath.Glob(restored + "*"); err != nil || len(files) != 1 {
			t.Errorf("made: %v, %v", files, err)
		}
		again := mustOpen(t, Config{Path: restored})
		if err := again.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A disk without room for the two commits of an orderly stop stops all the same.
func TestCloseWithoutRoom(t *testing.T) {
	full := false
	path := filepath.Join(t.TempDir(), FileName)
	s := mustOpen(t,
		Config{Path: path, AllocationStep: 4096,
			hooks: hooks{noSync: true, allocate: func(f *os.File, from, to int64) error {
				if full {
					return os.ErrDeadlineExceeded
				}
				return allocate(f, from, to)
			}}})
	mustCreate(t, s, "a")
	full = true
	s.space.allocated = 0 // as if all that was allocated ahead were used up
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	before := readRootFile(t, path)
	s = mustOpen(t, Config{Path: path, hooks: hooks{noSync: true}})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	// A store that nobody has written to since is closed without a commit.
	after := readRootFile(t, path)
	s = mustOpen(t, Config{Path: path, hooks: hooks{noSync: true}})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if again := readRootFile(t, path); string(before.note) == string(after.note) ||
		string(after.note) != string(again.note) {
		t.Errorf("closed without room, with it, and again: %s%s%s", before.note, after.note, again.note)
	}
}
