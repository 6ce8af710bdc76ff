// SPDX-License-Identifier: Apache-2.0

package persist

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/pages"
	"github.com/dpaccountant/accountant/internal/persist/rows"
	"github.com/dpaccountant/accountant/internal/record"
)

// Written is what was written to a ledger after a position, as stored.
type Written struct {
	Ledger  string
	Genesis []byte // the first record, where After is the ledger's beginning and that is wanted, too
	After   uint64
	Before  ledger.Hash // of the entry at After, or of the first record
	Entries [][]byte
}

// End is the ledger's head after it.
func (w Written) End() ledger.Head {
	at := ledger.Head{Position: w.After + uint64(len(w.Entries)), Hash: w.Before}
	for _, e := range w.Entries {
		at.Hash = record.EntryHash(at.Hash, e)
	}
	return at
}

// Seen is up to where a ledger is known. Of the entry's hash half is kept, which nobody meets by another entry, since
// there may be a million of them in memory.
type Seen struct {
	Position uint64
	Hash     [16]byte
}

// SeenAt is the one at a head.
func SeenAt(h ledger.Head) Seen { return Seen{h.Position, [16]byte(h.Hash[:16])} }

const (
	sinceTogether = 256     // how many entries of a ledger are read at once
	viewedRows    = 4096    // how many rows a view reads before it is replaced
	sinceBytes    = 8 << 20 // how many bytes of entries are told at once, unless one alone has more
)

// Since calls each with what was written to ledgers, of all of them as they are at one moment. after says up to which
// entry a ledger is known, and whether anything of it is; ledgers is nil for all. It returns the keys that the store is
// bound to. Segments are read until ctx ends, also once the store's other calls to their place have ended
// (Config.Stop).
//
// The moment is held in a transaction, during which no page of the file is used again: each must not wait for what is
// slow, and no segment is waited for longer than fetchPatience.
func (s *Store) Since(ctx context.Context, ledgers []string, after func(ledger string) (at Seen, known bool),
	each func(Written) error) (keys []rows.BoundKey, err error) {
	err = s.view(func(v *rows.View) error {
		if keys, err = v.Keys(); err != nil {
			return err
		}
		v.Fetch = func(a *rows.AwayError) ([]byte, error) { return s.fetch(ctx, a) }
		r := reader{View: v}
		next := r.allOf()
		if ledgers != nil {
			next = inOrder(ledgers)
		}
		for {
			name, err := next()
			if name == "" || err != nil {
				return errors.Join(err, r.View.Used())
			}
			if err := r.since(name, after, each); err != nil {
				return err
			}
		}
	})
	return keys, err
}

// reader reads much in one transaction. A view remembers each page that it has checked, so it is replaced now and then.
type reader struct {
	*rows.View
	rows int
}

// forget has read so many rows more.
func (r *reader) forget(n int) error {
	if r.rows += n; r.rows < viewedRows {
		return nil
	}
	err := r.Used()
	r.View, r.rows = &rows.View{Tx: r.Tx, File: r.File, Paths: &pages.Paths{}, Fetch: r.Fetch}, 0
	return err
}

// allOf returns the names of all ledgers, one after the other, and then "".
func (r *reader) allOf() func() (string, error) {
	last := ""
	return func() (string, error) {
		key, _, err := r.From(rows.LedgersBucket, []byte(last+"\x00"))
		last = string(key)
		return last, err
	}
}

func inOrder(names []string) func() (string, error) {
	names = slices.Sorted(slices.Values(names))
	return func() (name string, _ error) {
		if len(names) > 0 {
			name, names = names[0], names[1:]
		}
		return name, nil
	}
}

func (r *reader) since(name string, after func(string) (Seen, bool), each func(Written) error) error {
	at, known := after(name)
	h, err := r.Find(name)
	switch {
	case errors.Is(err, ledger.ErrNotFound) && !known:
		return nil // its commit has not ended
	case err != nil:
		return err
	}
	w := Written{Ledger: name, After: at.Position}
	older := func(has any) error {
		return fmt.Errorf("ledger %s: %d entries are archived, and the store has %v: it was put back to an older state",
			name, w.After, has)
	}
	switch {
	case at.Position > h.At.Position:
		return older(h.At.Position)
	case known && at.Position == h.At.Position && at != SeenAt(h.At):
		return older("others")
	case !known:
		if _, w.Genesis, w.Before, err = r.Genesis(h.Number); err != nil {
			return err
		}
	}
	for w.Genesis != nil || w.After < h.At.Position {
		var list []ledger.Record
		if to := min(w.After+sinceTogether, h.At.Position); to > w.After {
			if list, err = r.Records(h, w.After+1, to); err != nil {
				return err
			}
			if known && w.After == at.Position && at != SeenAt(ledger.Head{Position: w.After, Hash: list[0].Previous}) {
				return older("others")
			}
			w.Before = list[0].Previous
		}
		for _, part := range parts(list) {
			for _, e := range part {
				w.Entries = append(w.Entries, e.Raw)
			}
			if err := each(w); err != nil {
				return err
			}
			w = Written{Ledger: name, After: w.After + uint64(len(part))}
			if len(part) > 0 {
				w.Before = part[len(part)-1].Hash
			}
		}
		if err := r.forget(1 + len(list)); err != nil {
			return err
		}
	}
	return nil
}

// parts divides records where they have more than sinceBytes; there is at least one part.
func parts(list []ledger.Record) (out [][]ledger.Record) {
	first, size := 0, 0
	for i, e := range list {
		if size += len(e.Raw); size > sinceBytes && i > first {
			out, first, size = append(out, list[first:i]), i, len(e.Raw)
		}
	}
	return append(out, list[first:])
}
