// SPDX-License-Identifier: Apache-2.0

package persist

import (
	"bytes"
	"fmt"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/rows"
)

// Load implements ledger.Store.
func (s *Store) Load(name string) (snapshot ledger.Snapshot, err error) {
	err = s.view(func(v *rows.View) error {
		h, err := v.Find(name)
		if err != nil {
			return err
		}
		if snapshot.Summary, err = v.Summary(name, h); err != nil {
			return err
		}
		if h.Last != 0 { // the head must be what the log says
			if _, err := v.Log(h).Newest(h); err != nil {
				return err
			}
		}
		if snapshot.Parts, err = v.Parts(h); err != nil {
			return err
		}
		if snapshot.Open, err = v.Open(h); err != nil {
			return err
		}
		snapshot.Amended, err = v.Amendments(h)
		return err
	})
	if err != nil {
		return ledger.Snapshot{}, err
	}
	return snapshot, nil
}

// List implements ledger.Store.
func (s *Store) List(prefix, after string, limit int) (out []ledger.Summary, err error) {
	err = s.view(func(v *rows.View) error {
		next := []byte(prefix)
		if after >= prefix && after != "" {
			next = []byte(after + "\x00")
		}
		for len(out) < limit {
			key, stored, err := v.From(rows.LedgersBucket, next)
			if err != nil || key == nil || !bytes.HasPrefix(key, []byte(prefix)) {
				return err
			}
			next = append(append(next[:0:0], key...), 0)
			number, err := rows.Parse(rows.LedgersBucket, key, stored, rows.ParseUint64)
			if err != nil {
				return err
			}
			h, err := v.Head(number)
			if err != nil {
				return err
			}
			sum, err := v.Summary(string(key), h)
			if err != nil {
				return err
			}
			out = append(out, sum)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Writer implements ledger.Store.
func (s *Store) Writer(name string, w ledger.Writer) (sequence, position uint64, err error) {
	err = s.fetching(func(v *rows.View) error {
		h, err := v.Find(name)
		if err != nil {
			return err
		}
		l, err := v.Lane(h, w)
		sequence, position = l.Sequence, l.Position
		return err
	})
	return sequence, position, err
}

// RecordOf implements ledger.Store.
func (s *Store) RecordOf(name string, w ledger.Writer, sequence uint64) (out ledger.Record, err error) {
	err = s.fetching(func(v *rows.View) error {
		h, err := v.Find(name)
		if err != nil {
			return err
		}
		l, err := v.Lane(h, w)
		if err != nil {
			return err
		}
		if sequence == 0 || sequence > l.Sequence {
			return fmt.Errorf("ledger %s: sequence %d of writer %s: %w", name, sequence, w.Name, ledger.ErrNotFound)
		}
		out, err = inLane(v, h, l, w).Record(sequence)
		return err
	})
	return out, err
}

// inLane reads a writer's entries.
func inLane(v *rows.View, h rows.Head, l rows.Lane, w ledger.Writer) *rows.LaneLog {
	return &rows.LaneLog{Log: v.Log(h), Lane: l, Writer: w, Indexed: func(block uint64) (uint64, error) {
		return rows.Must(v, rows.SequencesBucket, rows.SequenceKey(h.Number, l.First, block), rows.ParseUint64)
	}}
}

// Namesakes implements ledger.Store. A writer's key begins with its principal, so
// this goes from one principal of the ledger to the next and asks each for the name.
func (s *Store) Namesakes(name string, w ledger.Writer) (out []ledger.Record, err error) {
	err = s.fetching(func(v *rows.View) error {
		h, err := v.Find(name)
		if err != nil {
			return err
		}
		if w.Single() {
			out, err = v.Singles(h).Namesakes(w)
			return err
		}
		out = nil
		prefix, last := rows.NumberKey(h.Number), ""
		for next := prefix; ; {
			key, _, err := v.From(rows.WritersBucket, next)
			if err != nil || !bytes.HasPrefix(key, prefix) {
				return err
			}
			other, err := rows.WriterIn(key)
			if err == nil && other.Principal == last {
				err = rows.Damaged(rows.WritersBucket, key, "two rows for one writer")
			}
			if err != nil {
				return err
			}
			last, other.Name = other.Principal, w.Name
			if other.Principal != w.Principal {
				l, err := v.Lane(h, other)
				if err != nil {
					return err
				}
				if l.First != 0 {
					r, err := inLane(v, h, l, other).Record(1)
					if err != nil {
						return err
					}
					out = append(out, r)
				}
			}
			other.Name = "\xff" // after every name: those are ASCII
			next = rows.AppendWriter(nil, h.Number, other)
		}
	})
	return out, err
}

// Records implements ledger.Store, checking the chain.
func (s *Store) Records(name string, from uint64, limit int) (out []ledger.Record, err error) {
	err = s.fetching(func(v *rows.View) error {
		h, err := v.Find(name)
		if err != nil {
			return err
		}
		from := max(from, 1)
		if limit <= 0 || from > h.At.Position {
			return nil
		}
		out, err = v.Records(h, from, from+min(uint64(limit)-1, h.At.Position-from))
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// GenesisRecord implements ledger.Store.
func (s *Store) GenesisRecord(name string) (raw []byte, hash ledger.Hash, err error) {
	err = s.view(func(v *rows.View) error {
		n, err := v.Number(name)
		if err != nil {
			return err
		}
		_, raw, hash, err = v.Genesis(n)
		return err
	})
	return raw, hash, err
}
