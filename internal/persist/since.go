// SPDX-License-Identifier: Apache-2.0

package persist

import (
	"errors"
	"fmt"
	"slices"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/pages"
	"github.com/dpaccountant/accountant/internal/persist/rows"
)

// Written is what was written to a ledger after a position, as stored.
type Written struct {
	Ledger  string
	Genesis []byte // the first record, where After is the ledger's beginning and that is wanted, too
	After   uint64
	Before  ledger.Hash // of the entry at After, or of the first record
	Entries [][]byte
}

// sinceTogether is how many entries of a ledger are read at once.
const sinceTogether = 4096

// Since calls each with what was written to ledgers, of all of them as they are at one moment. after says up to which
// position an entry of a ledger is known, and whether anything of it is; ledgers is nil for all. It returns the keys
// that the store is bound to. The moment is held in a transaction, during which no page of the file is used again: each
// must not wait for what is slow.
func (s *Store) Since(ledgers []string, after func(ledger string) (position uint64, known bool),
	each func(Written) error) (keys []rows.BoundKey, err error) {
	err = s.view(func(v *rows.View) error {
		if keys, err = v.Keys(); err != nil {
			return err
		}
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
	if r.rows += n; r.rows < sinceTogether {
		return nil
	}
	err := r.Used()
	r.View, r.rows = &rows.View{Tx: r.Tx, File: r.File, Paths: &pages.Paths{}}, 0
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

func (r *reader) since(name string, after func(string) (uint64, bool), each func(Written) error) error {
	h, err := r.Find(name)
	if err != nil {
		return err
	}
	w := Written{Ledger: name}
	var known bool
	if w.After, known = after(name); w.After > h.At.Position {
		return fmt.Errorf("ledger %s: %d entries are archived, and the store has %d: it was put back to an older state",
			name, w.After, h.At.Position)
	}
	if !known {
		if _, w.Genesis, w.Before, err = r.Genesis(h.Number); err != nil {
			return err
		}
	}
	for w.Genesis != nil || w.After < h.At.Position {
		to := min(w.After+sinceTogether, h.At.Position)
		if to > w.After {
			list, err := r.Records(h, w.After+1, to)
			if err != nil {
				return err
			}
			w.Before, w.Entries = list[0].Previous, raw(list)
		}
		if err := each(w); err != nil {
			return err
		}
		if err := r.forget(1 + len(w.Entries)); err != nil {
			return err
		}
		w = Written{Ledger: name, After: to}
	}
	return nil
}

func raw(list []ledger.Record) [][]byte {
	out := make([][]byte, len(list))
	for i, r := range list {
		out[i] = r.Raw
	}
	return out
}
