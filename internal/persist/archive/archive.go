// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"sync"
	"time"

	recordv1 "github.com/dpaccountant/accountant/gen/accountant/record/v1"
	"github.com/dpaccountant/accountant/internal/persist"
	"github.com/dpaccountant/accountant/internal/persist/blobs"
	"github.com/dpaccountant/accountant/internal/persist/rows"
)

// segmentBytes is about how many bytes of entries a segment has at most.
const segmentBytes = 8 << 20

// partBytes is about how much memory a part takes beside its content.
const partBytes = 200

// Source is the store that an archive is of.
type Source interface {
	ID() string
	Since(ctx context.Context, ledgers []string, after func(ledger string) (at persist.Seen, known bool),
		each func(persist.Written) error) ([]rows.BoundKey, error)
	// Note keeps a text under a name beside the store, and Noted returns it, nil if there is none.
	Note(name string, text []byte) error
	Noted(name string) ([]byte, error)
}

// Archive adds segments to a place. Changed may be called by any goroutine, all else by one at a time.
type Archive struct {
	place  Place
	opened bool // what is there is known
	state
	unnoted int  // about how many bytes were added since the state was noted
	whole   bool // the place and the store were compared
	most    int  // about how many bytes a segment has

	mu      sync.Mutex
	sealed  blobs.Prints // of the keys that have sealed segments
	begun   bool         // a comparison, which may not see what changes from then on
	changed map[string]bool
}

// New makes an archive, of which nothing is read yet.
func New(p Place) *Archive {
	return &Archive{place: p, changed: map[string]bool{}, most: segmentBytes}
}

// Check refuses a key's file that cannot be read or lacks a key that has sealed segments, and an archive of another
// store, which its first segment says. Whatever else is wrong with it keeps no daemon from starting: Write says so
// then, again and again.
func (a *Archive) Check(ctx context.Context, from Source) error {
	noted := a.remember(from)
	if err := a.CheckKey(); err != nil || noted {
		return err
	}
	at, err := blobs.At(a.place.Dir)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, briefly)
	defer cancel()
	first, _, err := a.place.read(ctx, at, 1, nil)
	if err != nil {
		return nil //nolint:nilerr // Write says so
	}
	return a.of(first, from)
}

// CheckKey refuses a key's file without all keys that have sealed segments. Anybody may call it at any time.
func (a *Archive) CheckKey() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.place.Key.Has(a.sealed)
}

// of refuses a segment of another store.
func (a *Archive) of(s *recordv1.Segment, from Source) error {
	if id := s.GetStoreId(); id != from.ID() {
		return fmt.Errorf("archive %s is of store %s, and this daemon's store is %s; allowed: an empty directory, "+
			"or one that is not there", a.place.Dir, id, from.ID())
	}
	return nil
}

// open finds out what the archive has: from the note, and the segments that came after it, or else from all segments.
// That none is missing is seen in any case. A directory that is not there is made.
func (a *Archive) open(ctx context.Context, from Source) error {
	at, err := blobs.At(a.place.Dir)
	if err == nil {
		err = at.Make(ctx)
	}
	if err != nil {
		return err
	}
	last, missing, err := newest(ctx, at)
	if err == nil && missing > 0 {
		err = &DamagedError{a.place.fileOf(missing), "is missing"}
	}
	if err != nil {
		return err
	}
	took := func(s *recordv1.Segment, sum []byte) (bool, error) {
		a.took(s, sum)
		return true, a.of(s, from)
	}
	remembered := a.remember(from)
	if remembered && last == 0 { // perhaps its disk is not mounted
		return &DamagedError{a.place.Dir, fmt.Sprintf("is empty, and had %d segments", a.number)}
	}
	if remembered && a.number <= last && a.ends(ctx, at) == nil {
		err = a.place.each(ctx, at, a.number+1, last, a.previous, took)
		var damaged *DamagedError
		if !errors.As(err, &damaged) {
			a.opened = err == nil
			return err
		}
	}
	a.state, a.unnoted = state{known: map[id]persist.Seen{}}, math.MaxInt/2
	err = a.place.each(ctx, at, 1, last, nil, took)
	a.opened = err == nil
	return err
}

// took notes what a segment has, and the SHA-256 of its file.
func (a *Archive) took(s *recordv1.Segment, sum []byte) {
	a.number, a.complete, a.previous = s.GetNumber(), s.GetComplete(), sum
	for _, p := range s.GetParts() {
		w := written(p)
		a.known[idOf(p.GetLedger())] = persist.SeenAt(w.End())
		for _, e := range w.Entries {
			a.unnoted += len(e)
		}
	}
}

// note keeps what the archive has. Where that fails, the next start reads more.
func (a *Archive) note(from Source) {
	a.mu.Lock()
	note := a.state.note(from.ID(), a.place.Dir, a.sealed)
	a.mu.Unlock()
	if from.Note(noteName, note) == nil {
		a.unnoted = 0
	}
}

// remember takes what was noted. It reports whether there is a note of this archive.
func (a *Archive) remember(from Source) bool {
	note, err := from.Noted(noteName)
	s, sealed, ok := parseNote(note, from.ID(), a.place.Dir)
	if err != nil || !ok {
		return false
	}
	a.state, a.unnoted = s, 0
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sealed = sealed
	return true
}

// Changed notes that a ledger is written to. What a transaction shows was noted before, and what is acknowledged was
// noted after it could be seen.
func (a *Archive) Changed(ledger string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.begun {
		a.changed[ledger] = true
	}
}

// take returns the ledgers that have changed, nil for all where nobody knows.
func (a *Archive) take() (ledgers []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.whole {
		ledgers = make([]string, 0, len(a.changed))
		for name := range a.changed {
			ledgers = append(ledgers, name)
		}
	}
	a.begun, a.changed = true, map[string]bool{}
	return ledgers
}

// there refuses a place that has not, or no more, what was added to it: what came next would be of no use there.
func (a *Archive) there(ctx context.Context) error {
	if a.number == 0 {
		return nil
	}
	at, err := blobs.At(a.place.Dir)
	if err != nil {
		return err
	}
	f, err := at.Open(ctx, name(a.number))
	if errors.Is(err, fs.ErrNotExist) {
		return &DamagedError{a.place.fileOf(a.number), "is missing"}
	}
	if err != nil {
		return err
	}
	return f.Close()
}

// ends refuses a place in which the segment that was added last is another one, as when the directories of two archives
// were exchanged: what came next would be of no use there, and stand in the other one's way.
func (a *Archive) ends(ctx context.Context, at blobs.Place) error {
	last, err := blobs.Read(ctx, at, name(a.number))
	if sum := sha256.Sum256(last); err == nil && !bytes.Equal(sum[:], a.previous) {
		err = &DamagedError{a.place.fileOf(a.number), "is not what was added there"}
	}
	return err
}

// Write adds what was written to the store since the last time, if anything was. Where it is cut off, what is there
// stays, and the next time goes on from that.
func (a *Archive) Write(ctx context.Context, from Source, now time.Time) (segments int, err error) {
	if !a.opened {
		err = a.open(ctx, from)
	} else {
		err = a.there(ctx)
	}
	if err == nil {
		err = a.CheckKey()
	}
	if err != nil {
		return 0, err
	}
	ledgers := a.take()
	if a.whole && len(ledgers) == 0 {
		return 0, nil
	}
	defer func() {
		if err != nil {
			a.whole = false // what was taken is looked for again
		}
	}()
	s := &recordv1.Segment{}
	size, first := 0, a.number
	flush := func() error {
		s.StoreId, s.Number, s.Previous = from.ID(), a.number+1, a.previous
		at, err := blobs.At(a.place.Dir)
		if err == nil && a.number == first && first > 0 {
			err = a.ends(ctx, at)
		}
		if err == nil {
			err = a.seals()
		}
		var sum [sha256.Size]byte
		if err == nil {
			sum, err = a.place.write(ctx, s)
		}
		if err != nil {
			a.opened = false // the segment may be there nevertheless, or the next time says more
			return err
		}
		a.took(s, sum[:])
		s, size = &recordv1.Segment{}, 0
		return nil
	}
	after := func(name string) (persist.Seen, bool) {
		at, known := a.known[idOf(name)]
		return at, known
	}
	keys, err := from.Since(ctx, ledgers, after, func(w persist.Written) error {
		s.Parts = append(s.Parts, &recordv1.SegmentPart{Ledger: w.Ledger, Genesis: w.Genesis, After: w.After,
			Before: w.Before[:], Entries: w.Entries})
		size += len(w.Ledger) + len(w.Genesis) + partBytes
		for _, e := range w.Entries {
			size += len(e) + 4
		}
		if size < a.most {
			return nil
		}
		return flush()
	})
	if err != nil {
		return int(a.number - first), err
	}
	if a.whole = true; size == 0 && a.complete {
		return 0, nil // nothing was written after all
	}
	for _, k := range keys {
		s.Keys = append(s.Keys, k.Append(nil))
	}
	s.Complete, s.TimeUnixNanos = true, now.UnixNano()
	if err := flush(); err != nil {
		return int(a.number - first), err
	}
	if a.unnoted >= len(a.known)*seenBytes {
		a.note(from)
	}
	return int(a.number - first), nil
}

// seals remembers the key that seals the next segment.
func (a *Archive) seals() error {
	sealing, err := a.place.Key.Sealing()
	if err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if with := a.sealed.With(sealing); with != a.sealed {
		a.sealed, a.unnoted = with, math.MaxInt/2
	}
	return nil
}

// briefly is how long a start waits for the place, and how long the last time may take: what is not added then is added
// after the next start.
const briefly = 5 * time.Second

// Run writes again and again until ctx ends, which ends what goes on, and once more then. wrote hears how each time
// ended, but for what was cut off.
func (a *Archive) Run(ctx context.Context, from Source, every time.Duration, wrote func(at time.Time, err error)) {
	write := func(ctx context.Context) {
		now := time.Now()
		if _, err := a.Write(ctx, from, now); !errors.Is(ctx.Err(), context.Canceled) {
			wrote(now, err)
		}
	}
	for ctx.Err() == nil {
		write(ctx)
		select {
		case <-ctx.Done():
		case <-time.After(every):
		}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), briefly)
	defer cancel()
	write(ctx)
	if a.opened && a.unnoted > 0 {
		a.note(from)
	}
}

// Is reports whether a path leads to a directory or a bucket, as an archive is one.
func Is(path string) bool {
	info, err := os.Stat(path)
	return blobs.IsBucket(path) || err == nil && info.IsDir()
}
