// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"

	recordv1 "github.com/dpaccountant/accountant/gen/accountant/record/v1"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist"
	"github.com/dpaccountant/accountant/internal/persist/rows"
)

// segmentBytes is about how many bytes of entries a segment has at most.
const segmentBytes = 8 << 20

// partBytes is about how much memory a part takes beside its content.
const partBytes = 200

// Source is the store that an archive is of.
type Source interface {
	ID() string
	Since(ledgers []string, after func(ledger string) (at ledger.Head, known bool),
		each func(persist.Written) error) ([]rows.BoundKey, error)
}

// Archive adds segments to a directory. Changed may be called by any goroutine, all else by one at a time.
type Archive struct {
	dir      string
	number   uint64 // of the newest segment
	previous []byte // SHA-256 of its file
	store    string // "" as long as there is no segment
	complete bool   // the newest segment is
	known    map[string]ledger.Head
	whole    bool // the directory and the store were compared
	most     int  // about how many bytes a segment has

	mu      sync.Mutex
	changed map[string]bool
}

// Open reads what an archive has. A directory that is not there is made.
func Open(dir string) (*Archive, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	a := &Archive{dir: dir, known: map[string]ledger.Head{}, changed: map[string]bool{}, most: segmentBytes}
	var err error
	a.previous, err = Each(dir, func(s *recordv1.Segment) (bool, error) {
		a.took(s)
		return true, nil
	})
	return a, err
}

// took notes what a segment has.
func (a *Archive) took(s *recordv1.Segment) {
	a.store, a.number, a.complete = s.GetStoreId(), s.GetNumber(), s.GetComplete()
	for _, p := range s.GetParts() {
		a.known[p.GetLedger()] = written(p).End()
	}
}

// Changed notes that a ledger is written to. What a transaction shows was noted before, and what is acknowledged was
// noted after it could be seen.
func (a *Archive) Changed(ledger string) {
	a.mu.Lock()
	a.changed[ledger] = true
	a.mu.Unlock()
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
	clear(a.changed)
	return ledgers
}

// Check refuses an archive of another store.
func (a *Archive) Check(from Source) error {
	if a.store != "" && a.store != from.ID() {
		return fmt.Errorf("archive %s is of store %s, and this daemon's store is %s; allowed: an empty directory, "+
			"or one that is not there", a.dir, a.store, from.ID())
	}
	return nil
}

// there refuses a directory that has not, or no more, what was added to it: what came next would be of no use there.
func (a *Archive) there() error {
	newest := fileOf(a.dir, a.number)
	_, err := os.Lstat(newest)
	if a.number == 0 || err == nil {
		return nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = &DamagedError{newest, "is missing"}
	}
	return err
}

// Write adds what was written to the store since the last time, if anything was. Where it is cut off, what is there
// stays, and the next time goes on from that.
func (a *Archive) Write(from Source, now time.Time) (segments int, err error) {
	if err := a.Check(from); err != nil {
		return 0, err
	}
	if err := a.there(); err != nil {
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
		sum, err := write(a.dir, s)
		if err != nil {
			return err
		}
		a.previous = sum[:]
		a.took(s)
		s, size = &recordv1.Segment{}, 0
		return nil
	}
	after := func(name string) (ledger.Head, bool) {
		at, known := a.known[name]
		return at, known
	}
	keys, err := from.Since(ledgers, after, func(w persist.Written) error {
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
	return int(a.number-first) + 1, flush()
}

// Run writes again and again until ctx ends, and once more then. wrote hears how each time ended.
func (a *Archive) Run(ctx context.Context, from Source, every time.Duration, wrote func(at time.Time, err error)) {
	for {
		now := time.Now()
		_, err := a.Write(from, now)
		wrote(now, err)
		if ctx.Err() != nil {
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(every):
		}
	}
}

// Is reports whether a path leads to a directory, as an archive is one.
func Is(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
