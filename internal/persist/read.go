package persist

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/record"
)

// Load implements ledger.Store: the snapshot is up to date, there is no tail.
func (s *Store) Load(name string) (snapshot ledger.Snapshot, tail []ledger.Record, err error) {
	err = s.view(func(v *view) error {
		h, err := v.find(name)
		if err != nil {
			return err
		}
		if snapshot.Summary, err = v.summary(name, h); err != nil {
			return err
		}
		if h.last != 0 { // the head must be what the log says
			newest, err := v.entry(h.number, h.last)
			if err != nil {
				return err
			}
			if newest.Hash != h.at.Hash || newest.Entry.Position != h.at.Position {
				return damaged(headsBucket, numberKey(h.number), "head %x at %d, the log has %x at %d",
					h.at.Hash, h.at.Position, newest.Hash, newest.Entry.Position)
			}
		}
		if snapshot.Parts, err = v.parts(h); err != nil {
			return err
		}
		if snapshot.Open, err = v.open(h); err != nil {
			return err
		}
		snapshot.Amended, err = v.amendments(h)
		return err
	})
	if err != nil {
		return ledger.Snapshot{}, nil, err
	}
	return snapshot, nil, nil
}

// parts reads all mechanisms of a ledger and their totals.
func (v *view) parts(h head) ([]mechanism.Part, error) {
	parts := make([]mechanism.Part, h.distinct)
	err := v.each(mechanismsBucket, h, 0, func(i int, value []byte) (err error) {
		parts[i].Mechanism, err = record.UnmarshalMechanism(value)
		return err
	})
	if err != nil {
		return nil, err
	}
	for i, total := range h.totals {
		parts[i].Count = total
	}
	err = v.each(countsBucket, h, inlineTotals, func(i int, value []byte) (err error) {
		parts[i].Count, err = parseUint64(value)
		return err
	})
	if err != nil {
		return nil, err
	}
	sum := uint64(0)
	for i, p := range parts {
		if p.Count == 0 && h.amended == 0 || p.Count > h.total-sum {
			return nil, damaged(headsBucket, numberKey(h.number),
				"mechanism %d has total %d, all together %d", i, p.Count, h.total)
		}
		sum += p.Count
	}
	if sum != h.total {
		return nil, damaged(headsBucket, numberKey(h.number), "total %d, the mechanisms have %d", h.total, sum)
	}
	return parts, nil
}

// each reads the rows of a ledger in a bucket keyed by index: exactly those from
// first to h.distinct − 1 have to be there.
func (v *view) each(b bucket, h head, first int, read func(i int, value []byte) error) error {
	key, stored, err := v.from(b, numberKey(h.number))
	if err != nil {
		return err
	}
	for i := first; i < h.distinct; i++ {
		want := indexKey(h.number, i)
		if !bytes.Equal(key, want) {
			return damaged(b, want, "missing")
		}
		value, err := unseal(b, key, stored)
		if err != nil {
			return err
		}
		if err := read(i, value); err != nil {
			return damaged(b, key, "%v", err)
		}
		if key, stored, err = v.from(b, indexKey(h.number, i+1)); err != nil {
			return err
		}
	}
	if bytes.HasPrefix(key, numberKey(h.number)) {
		return damaged(b, key, "the ledger has %d mechanisms", h.distinct)
	}
	return nil
}

// List implements ledger.Store.
func (s *Store) List(prefix, after string, limit int) (out []ledger.Summary, err error) {
	err = s.view(func(v *view) error {
		next := []byte(prefix)
		if after >= prefix && after != "" {
			next = []byte(after + "\x00")
		}
		for len(out) < limit {
			key, stored, err := v.from(ledgersBucket, next)
			if err != nil || key == nil || !bytes.HasPrefix(key, []byte(prefix)) {
				return err
			}
			next = append(append(next[:0:0], key...), 0)
			value, err := unseal(ledgersBucket, key, stored)
			if err != nil {
				return err
			}
			number, err := parseUint64(value)
			if err != nil {
				return damaged(ledgersBucket, key, "%v", err)
			}
			h, err := v.head(number)
			if err != nil {
				return err
			}
			sum, err := v.summary(string(key), h)
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
	err = s.view(func(v *view) error {
		h, err := v.find(name)
		if err != nil {
			return err
		}
		l, err := v.lane(h, w)
		sequence, position = l.sequence, l.position
		return err
	})
	return sequence, position, err
}

// RecordOf implements ledger.Store: it starts at the lane's next indexed entry
// and walks back, indexEvery records at most.
func (s *Store) RecordOf(name string, w ledger.Writer, sequence uint64) (out ledger.Record, err error) {
	err = s.view(func(v *view) error {
		h, err := v.find(name)
		if err != nil {
			return err
		}
		l, err := v.lane(h, w)
		if err != nil {
			return err
		}
		if sequence == 0 || sequence > l.sequence {
			return fmt.Errorf("ledger %s: sequence %d of writer %s: %w", name, sequence, w.Name, ledger.ErrNotFound)
		}
		at, key := l.sequence, l.last
		if sequence == 1 {
			at, key = 1, l.id
		} else if block := blockAfter(sequence); block*indexEvery <= l.sequence {
			at = block * indexEvery
			if key, err = must(v, sequencesBucket, blockKey(l.id, block), parseUint64); err != nil {
				return err
			}
		}
		for ; ; at-- {
			r, err := v.entry(h.number, key)
			if err != nil {
				return err
			}
			if r.Entry.Writer != w || r.Entry.Sequence != at {
				return damaged(logBucket, numberKey(key), "sequence %d of writer %s; want %d of %s",
					r.Entry.Sequence, r.Entry.Writer.Name, at, w.Name)
			}
			if at == sequence {
				out = r.Record
				return nil
			}
			key = r.previousOfWriter
		}
	})
	return out, err
}

// Namesakes implements ledger.Store. A writer's key begins with its principal, so
// this goes from one principal of the ledger to the next and asks each for the name.
func (s *Store) Namesakes(name string, w ledger.Writer) (out []ledger.Record, err error) {
	err = s.view(func(v *view) error {
		h, err := v.find(name)
		if err != nil {
			return err
		}
		prefix, last := numberKey(h.number), ""
		for next := prefix; ; {
			key, _, err := v.from(writersBucket, next)
			if err != nil || !bytes.HasPrefix(key, prefix) {
				return err
			}
			principal, ok := principalOf(key)
			if !ok || principal == last {
				return damaged(writersBucket, key, "no principal and name")
			}
			last = principal
			other := ledger.Writer{Principal: principal, Name: w.Name}
			if principal != w.Principal {
				l, err := v.lane(h, other)
				if err != nil {
					return err
				}
				if l.id != 0 {
					r, err := v.entry(h.number, l.id)
					if err != nil {
						return err
					}
					if r.Entry.Writer != other || r.Entry.Sequence != 1 {
						return damaged(logBucket, numberKey(l.id), "sequence %d of writer %s; want 1 of %s",
							r.Entry.Sequence, r.Entry.Writer.Name, w.Name)
					}
					out = append(out, r.Record)
				}
			}
			other.Name = "\xff" // after every name: those are ASCII
			next = appendWriter(nil, h.number, other)
		}
	})
	return out, err
}

// blockAfter returns the first indexed block whose entry is not before n.
func blockAfter(n uint64) uint64 { return (n-1)/indexEvery + 1 }

// Records implements ledger.Store: it starts at the indexed entry after the page
// and walks back, checking the chain.
func (s *Store) Records(name string, from uint64, limit int) (out []ledger.Record, err error) {
	err = s.view(func(v *view) error {
		h, err := v.find(name)
		if err != nil {
			return err
		}
		from := max(from, 1)
		if limit <= 0 || from > h.at.Position {
			return nil
		}
		to := from + min(uint64(limit)-1, h.at.Position-from)
		out = make([]ledger.Record, to-from+1)
		return v.walk(h, from, to, func(r ledger.Record) { out[r.Entry.Position-from] = r })
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// walk calls found with the records at positions to, to − 1 … from.
func (v *view) walk(h head, from, to uint64, found func(ledger.Record)) error {
	at, key, hash := h.at.Position, h.last, &h.at.Hash
	if block := blockAfter(to); block*indexEvery < at {
		at, hash = block*indexEvery, nil
		var err error
		if key, err = must(v, positionsBucket, blockKey(h.number, block), parseUint64); err != nil {
			return err
		}
	}
	for ; at >= from; at-- {
		r, err := v.entry(h.number, key)
		if err != nil {
			return err
		}
		if r.Entry.Position != at || hash != nil && r.Hash != *hash {
			return damaged(logBucket, numberKey(key), "entry %d with hash %x does not fit into the chain at %d",
				r.Entry.Position, r.Hash, at)
		}
		if at <= to {
			found(r.Record)
		}
		key, hash = r.previousInLedger, &r.Previous
	}
	if from > 1 {
		return nil
	}
	_, _, genesis, err := v.genesis(h.number)
	if err == nil && *hash != genesis {
		err = damaged(logBucket, numberKey(h.number), "the genesis hashes to %x, entry 1 follows %x", genesis, *hash)
	}
	return err
}

// GenesisRecord implements ledger.Store.
func (s *Store) GenesisRecord(name string) (raw []byte, hash ledger.Hash, err error) {
	err = s.view(func(v *view) error {
		n, err := v.number(name)
		if err != nil {
			return err
		}
		_, raw, hash, err = v.genesis(n)
		return err
	})
	return raw, hash, err
}

// next returns the log key after the newest one. A newer record that was overlooked would be
// overwritten, so the pages at the end of the log are checked.
func (v *view) next() (uint64, error) {
	if err := v.proven(logBucket, numberKey(math.MaxUint64)); err != nil {
		return 0, err
	}
	bb, err := v.bucket(logBucket)
	if err != nil {
		return 0, err
	}
	key, _ := bb.Cursor().Last()
	switch len(key) {
	case 0:
		return 1, nil
	case 8:
		return binary.BigEndian.Uint64(key) + 1, nil
	}
	return 0, damaged(logBucket, key, "a key of %d bytes; want 8", len(key))
}
