// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"fmt"
	"maps"
	"slices"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/persist/book"
	"github.com/dpaccountant/accountant/internal/persist/rows"
	"github.com/dpaccountant/accountant/internal/record"
)

// kept is one ledger. What is in data.ledgers never changes: a write replaces it.
type kept struct {
	genesis []byte
	hash    ledger.Hash
	head    rows.Head
	parts   []mechanism.Part
	log     []stored // by position − 1
	lanes   map[ledger.Writer][]uint64
	open    map[uint64][]byte // reservations by position, as stored
	amended []uint64          // positions of entries that amend it
}

// stored is one record: the bytes, the hash before and its own.
type stored struct {
	raw            []byte
	digest         ledger.Digest // as given: tests of the rooms above use digests of their own
	previous, hash ledger.Hash
}

func newKept(g ledger.Genesis, store string) (*kept, error) {
	h, _, raw, err := book.Begin(g, store, 0)
	return &kept{genesis: raw, hash: h.At.Hash, head: h, lanes: map[ledger.Writer][]uint64{},
		open: map[uint64][]byte{}}, err
}

// Lane implements book.Rows. Positions serve as log keys.
func (b *kept) Lane(w ledger.Writer) (rows.Lane, error) {
	lane := b.lanes[w]
	if len(lane) == 0 {
		return rows.Lane{}, nil
	}
	return rows.Lane{First: lane[0], Sequence: uint64(len(lane)), Position: lane[len(lane)-1]}, nil
}

// Count implements book.Rows.
func (b *kept) Count(index int) (uint64, error) { return b.parts[index].Count, nil }

// Open implements book.Rows.
func (b *kept) Open(position uint64) (r ledger.Reservation, open bool, err error) {
	raw, open := b.open[position]
	if open {
		r, err = record.UnmarshalReservation(position, raw)
	}
	return r, open, err
}

// positions are the log keys after a position.
type positions uint64

func (p *positions) Next() uint64 {
	*p++
	return uint64(*p)
}

// with returns the ledger after p, and how many bytes p has stored.
func (b *kept) with(p *ledger.Proposal) (*kept, int, error) {
	var c book.Change
	keys := positions(b.head.Last)
	if err := c.Make(b.head, b, &keys, p); err != nil {
		return nil, 0, err
	}
	// Only the newest one is written on, so that the room behind its log and its
	// lanes may be shared with the older ones, which end before it.
	n := *b
	n.head, n.parts, n.lanes, n.open = c.Head, slices.Clone(b.parts), maps.Clone(b.lanes), maps.Clone(b.open)
	size := 0
	for _, e := range c.Entries {
		size += len(e.Raw)
		n.log = append(n.log, stored{e.Raw, e.Digest, e.Previous, e.Hash})
		n.lanes[e.Writer] = append(n.lanes[e.Writer], e.Position)
		if e.Amends() {
			n.amended = append(slices.Clip(n.amended), e.Position)
		}
	}
	for _, change := range p.Counts {
		if change.Index == len(n.parts) {
			n.parts = append(n.parts, mechanism.Part{Mechanism: change.Mechanism})
		}
		if known := n.parts[change.Index].Mechanism; known != change.Mechanism {
			return nil, 0, fmt.Errorf("proposal for ledger %s: counts: mechanism %d is %v; allowed: %v", p.Ledger,
				change.Index, change.Mechanism, known)
		}
		n.parts[change.Index].Count = change.Total
	}
	for _, r := range c.Reservations {
		size += len(r.Raw)
		if delete(n.open, r.Position); r.Raw != nil {
			n.open[r.Position] = r.Raw
		}
	}
	return &n, size, nil
}

// reservations reads the open ones, by position.
func (b *kept) reservations() (list []ledger.Reservation, err error) {
	for _, position := range slices.Sorted(maps.Keys(b.open)) {
		r, err := record.UnmarshalReservation(position, b.open[position])
		if err != nil {
			return nil, err
		}
		list = append(list, r)
	}
	return list, nil
}

// amendments reads the entries that amend it, by position.
func (b *kept) amendments() (list []ledger.Entry, err error) {
	for _, position := range b.amended {
		r, err := b.record(position)
		if err != nil {
			return nil, err
		}
		list = append(list, r.Entry)
	}
	return list, nil
}

func (b *kept) summary() (ledger.Summary, error) {
	g, err := record.UnmarshalGenesis(b.genesis)
	sum := b.head.Summary()
	sum.Genesis = g
	return sum, err
}

// record reads the record at a position in 1 … head.
func (b *kept) record(position uint64) (ledger.Record, error) {
	r := b.log[position-1]
	e, _, err := record.UnmarshalEntry(r.raw)
	e.Digest = r.digest
	return ledger.Record{Entry: e, Hash: r.hash, Previous: r.previous, Raw: slices.Clone(r.raw)}, err
}

// Load implements ledger.Store.
func (s *Store) Load(name string) (snapshot ledger.Snapshot, err error) {
	err = s.read(name, func(b *kept) (err error) {
		snapshot.Parts = slices.Clone(b.parts)
		if snapshot.Summary, err = b.summary(); err != nil {
			return err
		}
		if snapshot.Open, err = b.reservations(); err != nil {
			return err
		}
		snapshot.Amended, err = b.amendments()
		return err
	})
	return snapshot, err
}

// Writer implements ledger.Store.
func (s *Store) Writer(name string, w ledger.Writer) (sequence, position uint64, err error) {
	err = s.read(name, func(b *kept) error {
		if lane := b.lanes[w]; len(lane) > 0 {
			sequence, position = uint64(len(lane)), lane[len(lane)-1]
		}
		return nil
	})
	return sequence, position, err
}

// RecordOf implements ledger.Store.
func (s *Store) RecordOf(name string, w ledger.Writer, sequence uint64) (r ledger.Record, err error) {
	err = s.read(name, func(b *kept) (err error) {
		lane := b.lanes[w]
		if sequence == 0 || sequence > uint64(len(lane)) {
			return fmt.Errorf("ledger %s: sequence %d of writer %s: %w", name, sequence, w.Name, ledger.ErrNotFound)
		}
		r, err = b.record(lane[sequence-1])
		return err
	})
	return r, err
}

// Namesakes implements ledger.Store.
func (s *Store) Namesakes(name string, w ledger.Writer) (out []ledger.Record, err error) {
	err = s.read(name, func(b *kept) error {
		for other, lane := range b.lanes {
			if other.Name != w.Name || other.Principal == w.Principal {
				continue
			}
			r, err := b.record(lane[0])
			if err != nil {
				return err
			}
			out = append(out, r)
		}
		return nil
	})
	return out, err
}

// Records implements ledger.Store.
func (s *Store) Records(name string, from uint64, limit int) (out []ledger.Record, err error) {
	err = s.read(name, func(b *kept) error {
		for p := max(from, 1); p <= b.head.At.Position && len(out) < limit; p++ {
			r, err := b.record(p)
			if err != nil {
				return err
			}
			out = append(out, r)
		}
		return nil
	})
	return out, err
}

// GenesisRecord implements ledger.Store.
func (s *Store) GenesisRecord(name string) (raw []byte, hash ledger.Hash, err error) {
	err = s.read(name, func(b *kept) error {
		raw, hash = slices.Clone(b.genesis), b.hash
		return nil
	})
	return raw, hash, err
}

// Reserving implements ledger.Store, by name.
func (s *Store) Reserving() (names []string, err error) {
	s.data.mu.RLock()
	defer s.data.mu.RUnlock()
	if err := s.check(); err != nil {
		return nil, err
	}
	for name, b := range s.data.ledgers {
		if len(b.open) > 0 {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}
