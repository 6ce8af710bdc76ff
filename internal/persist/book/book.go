// SPDX-License-Identifier: Apache-2.0

// Package book says once, for every store, what a proposal changes: the bytes of its entries and their chain, the
// writers' lanes, the totals, the open reservations, and the head of the ledger. It does no I/O. A store reads the rows
// that Rows asks for, locks them in its own way, and writes what a Change holds if nothing else has changed them.
package book

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/packs"
	"github.com/dpaccountant/accountant/internal/persist/rows"
	"github.com/dpaccountant/accountant/internal/record"
)

// Rows are the rows of one ledger beside its head.
type Rows interface {
	// Lane returns where a writer stands, the zero lane if it has written nothing.
	Lane(w ledger.Writer) (rows.Lane, error)
	// Count returns the total of a mechanism that has a row of its own: its index is below the head's Distinct and at
	// least rows.InlineTotals.
	Count(index int) (uint64, error)
	// Open returns the reservation that was made at a position, if it is open.
	Open(position uint64) (r ledger.Reservation, open bool, err error)
}

// Keys gives out log keys, each larger than those before.
type Keys interface{ Next() uint64 }

// Change is what a proposal does to a ledger. It may be made again for the next proposal, which reuses its memory: then
// nothing of it may be in use any more.
type Change struct {
	Head         rows.Head // afterwards
	Entries      []Entry
	Lanes        []Lane // those of the writers of Entries, each once
	Mechanisms   []Mechanism
	Counts       []Count
	Reservations []Reservation

	Size int // of what is stored, about, in bytes

	// By makes the entries' bytes; that of several changes knows what they have in common. nil: the change has its own.
	By *record.Writer

	bytes []byte // in which the entries' are
	index map[ledger.Writer]int
	on    ledger.Stored
	keys  []uint64 // in which those of a pack are
	raws  [][]byte
}

// Entry is an entry with what its rows say.
type Entry struct {
	*ledger.Entry         // the proposal's
	First          uint64 // position of the first entry of its writer
	Key            uint64 // in the log
	Raw            []byte // the canonical bytes
	Previous, Hash ledger.Hash
}

// Lane is where a writer stands.
type Lane struct {
	rows.Lane
	Writer ledger.Writer
	Fresh  bool // it had written nothing
}

// Mechanism is one that is new in the ledger.
type Mechanism struct {
	Index int
	Raw   []byte
}

// Count is the total of a mechanism that has a row of its own.
type Count struct {
	Index int
	Total uint64
}

// Reservation is one that has changed.
type Reservation struct {
	ledger.Reservation
	Raw []byte // nil if it is not open any more
}

// maxKept bounds the bytes of entries for which a Change keeps its memory.
const maxKept = 1 << 20

// maxPackSize is what a pack has beside its entries and their keys, about.
const maxPackSize = 64

// fewLanes is the number of lanes up to which they are searched without an index.
const fewLanes = 8

// Begin makes the head of a new ledger of a store whose genesis has this log key, and the bytes of the genesis with
// what later calls will read from them.
func Begin(g ledger.Genesis, store string, key uint64) (h rows.Head, stored ledger.Genesis, raw []byte, err error) {
	g.StoreID = cmp.Or(g.StoreID, store)
	if raw, err = record.MarshalGenesis(g); err != nil {
		return h, g, nil, err
	}
	if stored, err = record.UnmarshalGenesis(raw); err != nil {
		return h, g, nil, err
	}
	return rows.Head{Number: key, At: ledger.Head{Hash: record.GenesisHash(raw)}}, stored, raw, nil
}

// Existing answers who creates a ledger that is there: it has to be the same.
func Existing(there ledger.Summary, spec ledger.Spec) (ledger.Summary, error) {
	if !there.Genesis.Spec.Equal(spec) {
		return ledger.Summary{}, ledger.Conflict(there.Genesis.Spec, spec)
	}
	return there, nil
}

// Distinct refuses a batch that has two proposals for one ledger.
func Distinct(batch []ledger.Proposal) error {
	if len(batch) < 2 {
		return nil
	}
	seen := make(map[string]bool, len(batch))
	for i := range batch {
		name := batch[i].Ledger
		if seen[name] {
			return fmt.Errorf("proposal for ledger %s: twice in one batch; allowed: distinct ledgers", name)
		}
		seen[name] = true
	}
	return nil
}

// Found says whether a proposal may follow on a search for its ledger, which has ended with err. A proposal with a
// genesis begins its ledger, all others need one.
func Found(p *ledger.Proposal, err error) (begins bool, _ error) {
	switch {
	case p.Genesis == nil:
		return false, err
	case err == nil:
		return false, fmt.Errorf("ledger %s: %w: it is there already", p.Ledger, ledger.ErrConflict)
	case errors.Is(err, ledger.ErrNotFound):
		return true, nil
	}
	return false, err
}

// Make finds what p changes in the ledger with head h, if the ledger is where p expects it, which is anywhere if p has
// a genesis.
func (c *Change) Make(h rows.Head, from Rows, keys Keys, p *ledger.Proposal) error {
	if p.Genesis == nil && p.Expected != h.At {
		return fmt.Errorf("ledger %s: %w: expected position %d, found %d", p.Ledger, ledger.ErrConflict,
			p.Expected.Position, h.At.Position)
	}
	if cap(c.bytes) > maxKept {
		*c = Change{By: c.By}
	}
	if c.By == nil {
		c.By = new(record.Writer)
	}
	totals := append(c.Head.Totals[:0], h.Totals...)
	*c = Change{Head: h, Entries: c.Entries[:0], Lanes: c.Lanes[:0], Mechanisms: c.Mechanisms[:0],
		Counts: c.Counts[:0], Reservations: c.Reservations[:0], By: c.By,
		bytes: c.bytes[:0], keys: c.keys[:0], raws: c.raws[:0],
		on: ledger.Stored{Totals: c.on.Totals[:0], Open: c.on.Open[:0]}}
	c.Head.Totals = totals
	if err := c.read(h, from, p); err != nil {
		return err
	}
	if err := p.Check(c.on); err != nil {
		return err
	}
	if err := c.entries(from, keys, p); err != nil {
		return err
	}
	if err := c.counts(p.Counts); err != nil {
		return err
	}
	if err := c.reservations(p.Open); err != nil {
		return err
	}
	c.Head.Total, c.Head.Closed, c.Head.Unreconciled = p.Total, p.Closed, p.Unreconciled
	c.Size += rows.MaxHeadSize + maxPackSize
	return nil
}

// Packs are the entries as packs of about size bytes at most, which refer to the change.
func (c *Change) Packs(size int) iter.Seq[packs.Pack] {
	return func(yield func(packs.Pack) bool) {
		for rest := c.Entries; len(rest) > 0; {
			p := packs.Pack{First: rest[0].Position, Previous: rest[0].Previous, Keys: c.keys[:0], Raws: c.raws[:0]}
			for bytes := 0; len(rest) > 0 && bytes < size && len(p.Raws) < packs.MaxEntries; rest = rest[1:] {
				p.Keys, p.Raws = append(p.Keys, rest[0].Key), append(p.Raws, rest[0].Raw)
				bytes += len(rest[0].Raw)
			}
			if c.keys, c.raws = p.Keys, p.Raws; !yield(p) {
				return
			}
		}
	}
}

// read collects what is stored of what p changes.
func (c *Change) read(h rows.Head, from Rows, p *ledger.Proposal) error {
	c.on.Summary, c.on.Held = h.Summary(), h.Held
	for _, n := range p.Counts {
		total, err := uint64(0), error(nil)
		switch {
		case n.Index < 0 || n.Index >= h.Distinct: // new, or refused by Check
		case n.Index < rows.InlineTotals:
			total = h.Totals[n.Index]
		default:
			total, err = from.Count(n.Index)
		}
		if err != nil {
			return err
		}
		c.on.Totals = append(c.on.Totals, total)
	}
	for _, r := range p.Open {
		before, open, err := from.Open(r.Position)
		if err != nil {
			return err
		}
		if open {
			c.on.Open = append(c.on.Open, before)
		}
	}
	return nil
}

// entries makes the entries' bytes and links them into the chain and into their writers' lanes.
func (c *Change) entries(from Rows, keys Keys, p *ledger.Proposal) error {
	h := &c.Head
	for i := range p.Entries {
		e := &p.Entries[i]
		l, err := c.lane(from, e.Writer)
		if err != nil {
			return err
		}
		if e.Sequence != l.Sequence+1 {
			return fmt.Errorf("proposal for ledger %s: sequence of writer %s: %d; allowed: %d", p.Ledger,
				e.Writer.Name, e.Sequence, l.Sequence+1)
		}
		start := len(c.bytes)
		if c.bytes, err = c.By.Append(c.bytes, *e, l.Position); err != nil {
			return err
		}
		raw, key := c.bytes[start:len(c.bytes):len(c.bytes)], keys.Next()
		if key <= h.Last {
			return fmt.Errorf("%w: the log gave key %d after %d: it was set back", ledger.ErrDamaged, key, h.Last)
		}
		if l.First == 0 {
			l.First = e.Position
		}
		l.Sequence, l.Position = e.Sequence, e.Position
		entry := Entry{Entry: e, First: l.First, Key: key, Raw: raw, Previous: h.At.Hash,
			Hash: record.EntryHash(h.At.Hash, raw)}
		h.At, h.Last = ledger.Head{Position: e.Position, Hash: entry.Hash}, key
		h.Writer, h.Sequence = l.First, l.Sequence
		if e.Amends() {
			h.Amended++
		}
		c.Entries = append(c.Entries, entry)
		c.Size += len(raw) + binary.MaxVarintLen64
	}
	return nil
}

// Hashes returns those of the entries.
func (c *Change) Hashes() []ledger.Hash {
	hashes := make([]ledger.Hash, len(c.Entries))
	for i := range c.Entries {
		hashes[i] = c.Entries[i].Hash
	}
	return hashes
}

// lane returns a writer's lane, which holds until the next call.
func (c *Change) lane(from Rows, w ledger.Writer) (*Lane, error) {
	if i, ok := c.find(w); ok {
		return &c.Lanes[i], nil
	}
	l, err := from.Lane(w)
	if err != nil {
		return nil, err
	}
	c.Lanes = append(c.Lanes, Lane{Lane: l, Writer: w, Fresh: l.First == 0})
	c.Size += rows.MaxLaneSize + len(w.Principal) + len(w.Name)
	last := len(c.Lanes) - 1
	switch {
	case c.index != nil:
		c.index[w] = last
	case last == fewLanes:
		c.index = make(map[ledger.Writer]int, 4*fewLanes)
		for i := range c.Lanes {
			c.index[c.Lanes[i].Writer] = i
		}
	}
	return &c.Lanes[last], nil
}

func (c *Change) find(w ledger.Writer) (int, bool) {
	if c.index != nil {
		i, ok := c.index[w]
		return i, ok
	}
	for i := range c.Lanes {
		if c.Lanes[i].Writer == w {
			return i, true
		}
	}
	return 0, false
}

// counts finds new mechanisms and changed totals. The first totals are in the head.
func (c *Change) counts(changes []ledger.CountChange) error {
	h := &c.Head
	for _, n := range changes {
		if n.Index == h.Distinct {
			raw, err := record.MarshalMechanism(n.Mechanism)
			if err != nil {
				return err
			}
			c.Mechanisms = append(c.Mechanisms, Mechanism{n.Index, raw})
			c.Size += len(raw)
			h.Distinct++
			if n.Index < rows.InlineTotals {
				h.Totals = append(h.Totals, 0)
			}
		}
		if n.Index < rows.InlineTotals {
			h.Totals[n.Index] = n.Total
		} else {
			c.Counts = append(c.Counts, Count{n.Index, n.Total})
		}
	}
	return nil
}

// reservations finds what is open afterwards.
func (c *Change) reservations(changes []ledger.Reservation) error {
	h := &c.Head
	for _, r := range c.on.Open {
		h.Open--
		h.Held -= r.Total()
	}
	for _, r := range changes {
		changed := Reservation{Reservation: r}
		if len(r.Rest) > 0 {
			var err error
			if changed.Raw, err = record.MarshalReservation(r); err != nil {
				return err
			}
			h.Open++
			h.Held += r.Total()
			c.Size += len(changed.Raw)
		}
		c.Reservations = append(c.Reservations, changed)
	}
	return nil
}
