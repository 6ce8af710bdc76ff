// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"filippo.io/age"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist"
	"github.com/dpaccountant/accountant/internal/persist/blobs"
	"github.com/dpaccountant/accountant/internal/persist/blobs/blobstest"
	"github.com/dpaccountant/accountant/internal/persist/storetest"
	"github.com/dpaccountant/accountant/internal/persist/verify"
)

// house is a store with its archive.
type house struct {
	*testing.T
	dir   string // of the archive, or its bucket
	key   blobs.Key
	store *persist.Store
	note  string // where is noted what the archive has
	now   time.Time
	made  map[string]int // ledgers, with how often they were charged

	committing func() // called while a commit goes on that nobody sees yet
}

func open(t *testing.T, a **Archive) *house {
	t.Helper()
	h := &house{T: t, dir: filepath.Join(t.TempDir(), "kept"), now: time.Unix(1_800_000_000, 0), made: map[string]int{}}
	path := filepath.Join(t.TempDir(), persist.FileName)
	h.note = path + ".note-" + noteName
	store, err := persist.Open(persist.Config{Path: path,
		Changing: func(name string) {
			if *a != nil {
				(*a).Changed(name)
			}
			if f := h.committing; f != nil {
				h.committing = nil
				f()
			}
		}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	h.store = store
	*a = h.reopen()
	return h
}

func (h *house) reopen() *Archive {
	h.Helper()
	return New(Place{Dir: h.dir, Key: h.key})
}

func (h *house) place() Place { return Place{Dir: h.dir, Key: h.key} }

func (h *house) charge(name string) {
	h.Helper()
	if _, there := h.made[name]; !there {
		if _, _, err := h.store.Create(storetest.Genesis(name)); err != nil {
			h.Fatal(err)
		}
	}
	if err := storetest.Charge(h.store, name, h.made[name]); err != nil {
		h.Fatal(err)
	}
	h.made[name]++
}

func (h *house) write(a *Archive) (segments int) {
	h.Helper()
	h.now = h.now.Add(time.Minute)
	n, err := a.Write(h.Context(), h.store, h.now)
	if err != nil {
		h.Fatal(err)
	}
	return n
}

// heads are those of the store's ledgers, each with its hash.
func heads(t *testing.T, s ledger.Store) string {
	t.Helper()
	list, err := s.List("", "", 1000)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, l := range list {
		fmt.Fprintf(&b, "%s %d %s %d\n", l.Genesis.Spec.Name, l.Head.Position, l.Head.Hash, l.Total)
	}
	return b.String()
}

// rebuilt restores an archive and returns the heads that its copy had.
func rebuilt(t *testing.T, from Place, until time.Time) (string, time.Time, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "rebuilt")
	at, err := Rebuild(t.Context(), from, until, path, func(uint64, uint64) {})
	if err != nil {
		return "", at, err
	}
	if _, err := verify.File(t.Context(), verify.Config{Path: path, AnyRoot: true,
		Progress: func(uint64, uint64) {}}); err != nil {
		t.Fatal(err)
	}
	// The same heads, before the restore adds entries of its own: what is closed gets none, so read them by moving.
	to := filepath.Join(t.TempDir(), "r", persist.FileName)
	if _, err := persist.Restore(t.Context(), persist.RestoreConfig{Backup: path, Path: to}); err != nil {
		t.Fatal(err)
	}
	s, err := persist.Open(persist.Config{Path: to})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	list, err := s.List("", "", 1000)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, l := range list {
		record, err := s.Records(l.Genesis.Spec.Name, l.Head.Position, 1)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s %d %s %d\n", l.Genesis.Spec.Name, l.Head.Position-1, record[0].Previous, l.Total)
	}
	return b.String(), at, nil
}

// Whatever is written when, and however often the archive is opened again, it makes the store again as it was at each
// time that something was added.
func TestArchiveHasEveryMoment(t *testing.T) {
	t.Parallel()
	var a *Archive
	h := open(t, &a)
	random := rand.New(rand.NewPCG(1, 2))
	type moment struct {
		at    time.Time
		heads string
	}
	var moments []moment
	for range 30 {
		for range random.IntN(6) {
			h.charge(fmt.Sprintf("l%d", random.IntN(5)))
		}
		n := h.write(a)
		if was := heads(t, h.store); n > 0 {
			moments = append(moments, moment{h.now, was})
		} else if was != moments[len(moments)-1].heads {
			t.Fatalf("%s: nothing was added, and the store has %s", h.now, was)
		}
		if random.IntN(3) == 0 {
			a = h.reopen()
		}
	}
	for _, m := range moments {
		got, at, err := rebuilt(t, h.place(), m.at.Add(30*time.Second))
		if err != nil || got != m.heads || !at.Equal(m.at) {
			t.Errorf("%s: %v, %v\n%swant\n%s", m.at, at, err, got, m.heads)
		}
	}
	if _, _, err := rebuilt(t, h.place(), moments[0].at.Add(-time.Hour)); !errors.As(err, new(*NoMomentError)) {
		t.Errorf("before the first: %v", err)
	}
}

// What is committed while something is added is not seen then; it is added the next time, and not only once its ledger
// is written to again.
func TestArchiveWhileCommitting(t *testing.T) {
	t.Parallel()
	var a *Archive
	h := open(t, &a)
	h.charge("a")
	h.write(a)
	for _, name := range []string{"a", "b"} { // there, and about to be made
		h.committing = func() {
			if _, err := a.Write(h.Context(), h.store, h.now); err != nil {
				t.Error(err)
			}
		}
		h.charge(name)
		h.write(a)
	}
	if got, at, err := rebuilt(t, h.place(), time.Time{}); err != nil || got != heads(t, h.store) {
		t.Errorf("%v, %v\n%swant\n%s", at, err, got, heads(t, h.store))
	}
}

// Where the directory fails, nothing is lost, and the next time everything is added.
func TestArchiveAfterAFailure(t *testing.T) {
	t.Parallel()
	var a *Archive
	h := open(t, &a)
	h.charge("a")
	h.write(a)
	away := h.dir + ".away"
	for i := range 3 {
		if err := os.Rename(h.dir, away); err != nil {
			t.Fatal(err)
		}
		h.charge("a")
		h.charge(fmt.Sprint("b", i))
		if n, err := a.Write(h.Context(), h.store, h.now); err == nil {
			t.Fatalf("%d segments were added to a directory that is not there", n)
		}
		if err := os.Rename(away, h.dir); err != nil {
			t.Fatal(err)
		}
	}
	h.write(a)
	if got, _, err := rebuilt(t, h.place(), time.Time{}); err != nil || got != heads(t, h.store) {
		t.Errorf("%v\n%s", err, got)
	}

	// Another daemon's segment is not overwritten.
	other := h.reopen()
	h.charge("a")
	h.write(other)
	h.charge("a")
	if _, err := a.Write(h.Context(), h.store, h.now); err == nil || !strings.Contains(err.Error(), "another daemon") {
		t.Errorf("two daemons: %v", err)
	}
}

// untilThere is a context that ends once a file is there.
type untilThere struct {
	context.Context
	path string
}

func (c untilThere) Err() error {
	if _, err := os.Stat(c.path); err == nil {
		return context.Canceled
	}
	return nil
}

func (c untilThere) Done() <-chan struct{} {
	if c.Err() == nil {
		return nil
	}
	done := make(chan struct{})
	close(done)
	return done
}

// A daemon that stops while a segment is written finds it there, and adds what came after it: it has no other time.
func TestArchiveStopped(t *testing.T) {
	t.Parallel()
	var a *Archive
	h := open(t, &a)
	for range 3 {
		h.charge("a")
		stopped := untilThere{h.Context(), filepath.Join(h.dir, name(a.number+1))}
		if _, err := a.Write(stopped, h.store, h.now); !errors.Is(err, context.Canceled) {
			t.Fatalf("stopped: %v", err)
		}
		h.charge("a")
		h.write(a)
		if got, _, err := rebuilt(t, h.place(), time.Time{}); err != nil || got != heads(t, h.store) {
			t.Errorf("%v\n%s", err, got)
		}
	}
}

// A segment that was cut off, damaged in any byte, renamed, put back or taken away is named, and never taken for one
// that is empty.
func TestDamagedSegments(t *testing.T) {
	t.Parallel()
	var a *Archive
	h := open(t, &a)
	for range 3 {
		h.charge("a")
		h.write(a)
	}
	second := h.place().fileOf(2)
	whole, err := os.ReadFile(second)
	if err != nil {
		t.Fatal(err)
	}
	damage := func(what string, content []byte) {
		t.Helper()
		if err := os.WriteFile(second, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(h.note); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		_, err := h.reopen().Write(h.Context(), h.store, h.now)
		if damaged := (*DamagedError)(nil); !errors.As(err, &damaged) || damaged.Path != second &&
			damaged.Path != h.place().fileOf(3) {
			t.Errorf("%s: %v", what, err)
		}
		if _, _, err := rebuilt(t, h.place(), time.Time{}); !errors.As(err, new(*DamagedError)) {
			t.Errorf("%s: restored: %v", what, err)
		}
	}
	for i := range whole {
		content := append([]byte{}, whole...)
		content[i] ^= 1 << (i % 8)
		damage(fmt.Sprint("byte ", i), content)
	}
	for n := range len(whole) {
		damage(fmt.Sprint("cut off at ", n), whole[:n])
	}
	if err := os.WriteFile(second, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"000000000002 (copy).segment", "notes.segment", "2.segment"} { // of others
		if err := os.WriteFile(filepath.Join(h.dir, name), whole, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got, _, err := rebuilt(t, h.place(), time.Time{}); err != nil || got != heads(t, h.store) {
		t.Errorf("beside files of others: %v\n%s", err, got)
	}
	first, err := os.ReadFile(h.place().fileOf(1))
	if err != nil {
		t.Fatal(err)
	}
	damage("the first one in its place", first)
	if err := os.Remove(second); err != nil {
		t.Fatal(err)
	}
	if _, err := h.reopen().Write(h.Context(), h.store, h.now); err == nil ||
		!strings.Contains(err.Error(), second+" is missing") {
		t.Errorf("taken away: %v", err)
	}
}

// A store that was put back to an older state is noticed, also after it has caught up: the archive has what it lacks.
func TestArchiveOfAnOlderStore(t *testing.T) {
	t.Parallel()
	var a *Archive
	h := open(t, &a)
	h.charge("a")
	h.write(a)
	was := a.known[idOf("a")]
	refused := func(what string, head ledger.Head) {
		t.Helper()
		a.known[idOf("a")], a.whole = persist.SeenAt(head), false
		if _, err := a.Write(h.Context(), h.store, h.now); err == nil ||
			!strings.Contains(err.Error(), "put back to an older state") {
			t.Errorf("%s: %v", what, err)
		}
	}
	refused("lacks some", ledger.Head{Position: 5})
	refused("has others", ledger.Head{Position: 1, Hash: ledger.Hash{1}})
	h.charge("a")
	refused("has others and more", ledger.Head{Position: 1, Hash: ledger.Hash{1}})
	a.known[idOf("a")] = was
	h.write(a)
}

// Where another directory stands in the place of the archive's, nothing is added to it: it would be of no use.
func TestArchiveExchanged(t *testing.T) {
	t.Parallel()
	var a *Archive
	h := open(t, &a)
	h.charge("a")
	h.write(a)
	if err := errors.Join(os.Rename(h.dir, h.dir+".away"), os.Mkdir(h.dir, 0o700)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if n, err := a.Write(h.Context(), h.store, h.now); err == nil ||
			!strings.Contains(err.Error(), h.place().fileOf(1)+" is missing") {
			t.Errorf("%d segments, %v", n, err)
		}
		h.charge("a")
	}
	// Nor after a start.
	if n, err := h.reopen().Write(h.Context(), h.store, h.now); err == nil ||
		!strings.Contains(err.Error(), "is empty, and had 1 segments") {
		t.Errorf("%d segments, %v", n, err)
	}
	if err := errors.Join(os.Remove(h.dir), os.Rename(h.dir+".away", h.dir)); err != nil {
		t.Fatal(err)
	}
	h.write(a)

	// Nor to the archive of another store that has as many segments, of which each alone looks as it should.
	var b *Archive
	other := open(t, &b)
	for other.charge("a"); b.number < a.number; other.charge("a") {
		other.write(b)
	}
	swap := func() {
		t.Helper()
		if err := errors.Join(os.Rename(h.dir, h.dir+".away"), os.Rename(other.dir, h.dir),
			os.Rename(h.dir+".away", other.dir)); err != nil {
			t.Fatal(err)
		}
	}
	swap()
	h.charge("a")
	for _, says := range []string{" is not what was added there", " is of store "} {
		if n, err := a.Write(h.Context(), h.store, h.now); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%d segments, %v; want that it%s", n, err, says)
		}
	}
	swap()
	h.write(a)
	other.write(b)
	for _, h := range []*house{h, other} {
		if got, _, err := rebuilt(t, h.place(), time.Time{}); err != nil || got != heads(t, h.store) {
			t.Errorf("%v\n%s", err, got)
		}
	}
}

// What is too much for one segment goes into several, of which the last one is complete.
func TestManySegments(t *testing.T) {
	t.Parallel()
	var a *Archive
	h := open(t, &a)
	a.most = 2000
	for i := range 50 {
		h.charge(fmt.Sprint("l", i))
	}
	if n := h.write(a); n < 3 {
		t.Errorf("%d segments", n)
	}
	if got, _, err := rebuilt(t, h.place(), time.Time{}); err != nil || got != heads(t, h.store) {
		t.Errorf("%v\n%s", err, got)
	}
	newest := h.place().fileOf(a.number)
	if err := errors.Join(os.Remove(newest), os.Remove(h.note)); err != nil { // the daemon was killed before it
		t.Fatal(err)
	}
	if _, _, err := rebuilt(t, h.place(), time.Time{}); !errors.As(err, new(*NoMomentError)) {
		t.Errorf("without the complete one: %v", err)
	}
	a = h.reopen()
	h.write(a)
	if got, _, err := rebuilt(t, h.place(), time.Time{}); err != nil || got != heads(t, h.store) {
		t.Errorf("%v\n%s", err, got)
	}
}

// An encrypted archive in an object store is one as in a directory. Wherever the object store fails, nothing is lost,
// and the next time goes on.
func TestArchiveInBucket(t *testing.T) {
	b := blobstest.New(t)
	identity, err := age.GenerateX25519Identity()
	var a *Archive
	h := open(t, &a)
	h.dir, h.key = b.Place, blobs.Key(filepath.Join(t.TempDir(), "key"))
	if err := errors.Join(err, os.WriteFile(string(h.key), []byte(identity.String()), 0o600)); err != nil {
		t.Fatal(err)
	}
	a = h.reopen()
	failures := 0
	for step := range int64(40) {
		h.charge("a")
		h.charge(fmt.Sprint("b", step))
		if step%2 == 0 {
			b.Fail.Store(step/2%8 + 1)
		}
		h.now = h.now.Add(time.Minute)
		if _, err := a.Write(h.Context(), h.store, h.now); err != nil {
			failures++
		}
		b.Fail.Store(0)
		if step%5 == 0 {
			a = h.reopen()
		}
	}
	if _, err := a.Write(h.Context(), h.store, h.now); err != nil {
		t.Fatal(err)
	}
	if failures < 10 || failures > 20 {
		t.Errorf("%d of 20 failed", failures)
	}
	got, _, err := rebuilt(t, h.place(), time.Time{})
	if err != nil || got != heads(t, h.store) {
		t.Errorf("%v\n%s", err, got)
	}
	if _, _, err := rebuilt(t, Place{Dir: b.Place}, time.Time{}); !errors.As(err, new(*DamagedError)) ||
		!strings.Contains(err.Error(), "is encrypted, and no key was given") {
		t.Errorf("without the key: %v", err)
	}
	b.Remove(t, name(2))
	if _, _, err := rebuilt(t, h.place(), time.Time{}); !errors.As(err, new(*DamagedError)) ||
		!strings.Contains(err.Error(), name(2)+" is missing") {
		t.Errorf("without a segment: %v", err)
	}
}

// A start reads what was added after the note, and the newest segment before it to know the archive again. Whatever is
// wrong with the note, or however old it is, nothing is lost.
func TestArchiveReadsWhatIsNew(t *testing.T) {
	b := blobstest.New(t)
	var a *Archive
	h := open(t, &a)
	h.dir = b.Place
	a = h.reopen()
	noted := func() []byte {
		t.Helper()
		a.note(h.store) // as when a daemon stops
		note, err := os.ReadFile(h.note)
		if err != nil {
			t.Fatal(err)
		}
		return note
	}
	var old []byte
	for i := range 60 {
		h.charge(fmt.Sprint("l", i%7))
		if h.write(a); i == 49 {
			old = noted()
		}
	}
	newest := noted()
	torn, flipped := newest[:len(newest)/2], append([]byte{}, newest...)
	flipped[len(flipped)-1] ^= 1
	for _, c := range []struct {
		what  string
		note  []byte
		files int64
	}{{"the newest note", newest, 1}, {"an older one", old, 11}, {"none", nil, 60}, {"a torn one", torn, 60},
		{"a damaged one", flipped, 60}} {
		if err := os.WriteFile(h.note, c.note, 0o600); err != nil {
			t.Fatal(err)
		}
		read := b.Read.Load()
		if n, err := h.reopen().Write(h.Context(), h.store, h.now); n > 0 || err != nil {
			t.Errorf("%s: %d segments, %v", c.what, n, err)
		}
		if n := b.Read.Load() - read; n != c.files {
			t.Errorf("%s: %d files were read; want %d", c.what, n, c.files)
		}
	}
	for range 5 { // each time from the note of the time before
		a = h.reopen()
		h.charge("l1")
		h.charge("new")
		h.write(a)
	}
	if got, _, err := rebuilt(t, h.place(), time.Time{}); err != nil || got != heads(t, h.store) {
		t.Errorf("%v\n%s", err, got)
	}
	b.Remove(t, name(3))
	_, err := h.reopen().Write(h.Context(), h.store, h.now)
	if !errors.As(err, new(*DamagedError)) || !strings.Contains(err.Error(), name(3)+" is missing") {
		t.Errorf("without an old segment: %v", err)
	}
}

// A key that was exchanged is noticed at the next start, at the next segment, and by whoever asks.
func TestArchiveKeyExchanged(t *testing.T) {
	var a *Archive
	h := open(t, &a)
	h.key = blobs.Key(filepath.Join(t.TempDir(), "key"))
	write := func() string {
		t.Helper()
		identity, err := age.GenerateX25519Identity()
		if err := errors.Join(err, os.WriteFile(string(h.key), []byte(identity.String()+"\n"), 0o600)); err != nil {
			t.Fatal(err)
		}
		return identity.String() + "\n"
	}
	first := write()
	a = h.reopen()
	h.charge("a")
	h.write(a)
	second := write()
	for what, err := range map[string]error{"asked": a.CheckKey(), "a start": h.reopen().Check(h.Context(), h.store),
		"the next": func() error { h.charge("a"); _, err := a.Write(h.Context(), h.store, h.now); return err }()} {
		if err == nil || !strings.Contains(err.Error(), "lacks a key that has sealed what is there") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := os.WriteFile(string(h.key), []byte(second+first), 0o600); err != nil {
		t.Fatal(err)
	}
	h.write(a)
	if err := h.reopen().Check(h.Context(), h.store); err != nil {
		t.Error(err)
	}
	if got, _, err := rebuilt(t, h.place(), time.Time{}); err != nil || got != heads(t, h.store) {
		t.Errorf("%v\n%s", err, got)
	}
}
