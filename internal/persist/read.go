package persist

import (
	"bytes"
	"fmt"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/rows"
)

// Load implements ledger.Store: the snapshot is up to date, there is no tail.
func (s *Store) Load(name string) (snapshot ledger.Snapshot, tail []ledger.Record, err error) {
	err = s.view(func(v *rows.View) error {
		h, err := v.Find(name)
		if err != nil {
			return err
		}
		if snapshot.Summary, err = v.Summary(name, h); err != nil {
			return err
		}
		if h.Last != 0 { // the head must be what the log says
			newest, err := v.Entry(h.Number, h.Last)
			if err != nil {
				return err
			}
			if newest.Hash != h.At.Hash || newest.Entry.Position != h.At.Position {
				return rows.Damaged(rows.HeadsBucket, rows.NumberKey(h.Number), "head %x at %d, the log has %x at %d",
					h.At.Hash, h.At.Position, newest.Hash, newest.Entry.Position)
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
		return ledger.Snapshot{}, nil, err
	}
	return snapshot, nil, nil
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
			value, err := rows.Unseal(rows.LedgersBucket, key, stored)
			if err != nil {
				return err
			}
			number, err := rows.NumberIn(rows.LedgersBucket, key, value)
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
	err = s.view(func(v *rows.View) error {
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
	err = s.view(func(v *rows.View) error {
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
		out, err = l.Record(sequence, inLane(v, h, l, w))
		return err
	})
	return out, err
}

// inLane reads a writer's entries.
func inLane(v *rows.View, h rows.Head, l rows.Lane, w ledger.Writer) rows.LaneLog {
	return rows.LaneLog{Writer: w, Every: rows.IndexEvery,
		Indexed: func(block uint64) (uint64, error) {
			return rows.Must(v, rows.SequencesBucket, rows.BlockKey(l.ID, block), rows.ParseUint64)
		},
		Entry: func(key uint64) (ledger.Record, uint64, error) {
			e, err := v.Entry(h.Number, key)
			return e.Record, e.PreviousOfWriter, err
		}}
}

// Namesakes implements ledger.Store. A writer's key begins with its principal, so
// this goes from one principal of the ledger to the next and asks each for the name.
func (s *Store) Namesakes(name string, w ledger.Writer) (out []ledger.Record, err error) {
	err = s.view(func(v *rows.View) error {
		h, err := v.Find(name)
		if err != nil {
			return err
		}
		prefix, last := rows.NumberKey(h.Number), ""
		for next := prefix; ; {
			key, _, err := v.From(rows.WritersBucket, next)
			if err != nil || !bytes.HasPrefix(key, prefix) {
				return err
			}
			principal, ok := rows.PrincipalOf(key)
			if !ok || principal == last {
				return rows.Damaged(rows.WritersBucket, key, "no principal and name")
			}
			last = principal
			other := ledger.Writer{Principal: principal, Name: w.Name}
			if principal != w.Principal {
				l, err := v.Lane(h, other)
				if err != nil {
					return err
				}
				if l.ID != 0 {
					r, err := l.Record(1, inLane(v, h, l, other))
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

// Records implements ledger.Store: it starts at the indexed entry after the page
// and walks back, checking the chain.
func (s *Store) Records(name string, from uint64, limit int) (out []ledger.Record, err error) {
	err = s.view(func(v *rows.View) error {
		h, err := v.Find(name)
		if err != nil {
			return err
		}
		from := max(from, 1)
		if limit <= 0 || from > h.At.Position {
			return nil
		}
		to := from + min(uint64(limit)-1, h.At.Position-from)
		out = make([]ledger.Record, to-from+1)
		return v.Walk(h, from, to, func(r ledger.Record) { out[r.Entry.Position-from] = r })
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
