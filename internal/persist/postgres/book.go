package postgres

import (
	"errors"
	"fmt"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/postgres/packs"
	"github.com/dpaccountant/accountant/internal/persist/rows"
	"github.com/dpaccountant/accountant/internal/record"
)

// sequenceEvery is how many entries of a lane lie between two that are found without a walk. Each
// step of a walk may be a round trip.
const sequenceEvery = 32

// book is what a transaction knows of one ledger: what it has read after it locked the head, and
// what its operations have made of it since.
type book struct {
	name    string
	damage  error  // of what was read of it: then it takes nothing
	genesis []byte // stored bytes; nil unless the ledger is made by this transaction
	head    rows.Head
	lanes   map[ledger.Writer]rows.Lane
	counts  map[int]uint64
	open    map[uint64]ledger.Reservation

	changed bool // and what of it:
	wrote   map[ledger.Writer]bool
	counted map[int]bool
	held    map[uint64]bool
}

func newBook(name string, h rows.Head) *book {
	return &book{name: name, head: h, lanes: map[ledger.Writer]rows.Lane{}, counts: map[int]uint64{},
		open: map[uint64]ledger.Reservation{}, wrote: map[ledger.Writer]bool{}, counted: map[int]bool{},
		held: map[uint64]bool{}}
}

// change is what one proposal does to a book.
type change struct {
	book  *book
	head  rows.Head
	lanes map[ledger.Writer]rows.Lane
	*ledger.Proposal

	pack       packs.Pack
	hashes     []ledger.Hash // of its entries
	mechanisms []numbered
	sequences  []numbered
	amendments []numbered
	size       int // bytes of what it stores, about
}

// numbered is a row that is found by two numbers.
type numbered struct {
	a, b  uint64
	value []byte
}

// total returns the stored total of the mechanism at index, 0 for a new one.
func (b *book) total(index int) uint64 {
	switch {
	case index < 0 || index >= b.head.Distinct:
		return 0
	case index < rows.InlineTotals:
		return b.head.Totals[index]
	}
	return b.counts[index]
}

// propose finds what a proposal changes, if the ledger is where the proposal expects it. The book
// stays as it is.
func (b *book) propose(p *ledger.Proposal, keys *keys) (*change, error) {
	if b.damage != nil {
		return nil, b.damage
	}
	if p.Genesis == nil && p.Expected != b.head.At {
		return nil, fmt.Errorf("ledger %s: %w: expected position %d, found %d", p.Ledger, ledger.ErrConflict,
			p.Expected.Position, b.head.At.Position)
	}
	on := ledger.Stored{Summary: b.head.Summary(), Held: b.head.Held}
	for _, c := range p.Counts {
		on.Totals = append(on.Totals, b.total(c.Index))
	}
	for _, r := range p.Open {
		if before, ok := b.open[r.Position]; ok {
			on.Open = append(on.Open, before)
		}
	}
	if err := p.Check(on); err != nil {
		return nil, err
	}
	c := &change{book: b, head: b.head, lanes: map[ledger.Writer]rows.Lane{}, Proposal: p}
	c.head.Totals = append([]uint64(nil), b.head.Totals...)
	if err := c.entries(keys); err != nil {
		return nil, err
	}
	if err := c.counts(); err != nil {
		return nil, err
	}
	if err := c.reservations(); err != nil {
		return nil, err
	}
	c.head.Total, c.head.Closed, c.head.Unreconciled = p.Total, p.Closed, p.Unreconciled
	c.size += rows.MaxHeadSize
	return c, nil
}

// entries makes the entries' bytes and links them into the chain.
func (c *change) entries(keys *keys) error {
	h := &c.head
	c.pack = packs.Pack{Number: h.Number, First: h.At.Position + 1, Previous: h.At.Hash}
	for _, e := range c.Entries {
		l, ok := c.lanes[e.Writer]
		if !ok {
			l = c.book.lanes[e.Writer]
		}
		if e.Sequence != l.Sequence+1 {
			return fmt.Errorf("proposal for ledger %s: sequence of writer %s: %d; allowed: %d", c.Ledger,
				e.Writer.Name, e.Sequence, l.Sequence+1)
		}
		raw, err := record.MarshalEntry(e, h.Last, l.Last)
		if err != nil {
			return err
		}
		key := keys.next()
		if key <= h.Last {
			return fmt.Errorf("%w: the sequence log_keys gave %d after %d: it was set back", ledger.ErrDamaged, key,
				h.Last)
		}
		h.At = ledger.Head{Position: e.Position, Hash: record.EntryHash(h.At.Hash, raw)}
		h.Last = key
		c.hashes = append(c.hashes, h.At.Hash)
		if l.ID == 0 {
			l.ID = key
		}
		l.Sequence, l.Position, l.Last = e.Sequence, e.Position, key
		c.lanes[e.Writer] = l
		h.Writer, h.Sequence = l.ID, l.Sequence
		value := func(b rows.Bucket, of []byte) []byte {
			return rows.Seal(b, of, rows.AppendNumber(make([]byte, rows.ChecksumSize, rows.ChecksumSize+8), key))
		}
		if e.Amends() {
			c.amendments = append(c.amendments, numbered{h.Number, e.Position,
				value(rows.AmendmentsBucket, rows.BlockKey(h.Number, e.Position))})
			h.Amended++
		}
		if e.Sequence%sequenceEvery == 0 {
			block := e.Sequence / sequenceEvery
			c.sequences = append(c.sequences, numbered{l.ID, block,
				value(rows.SequencesBucket, rows.BlockKey(l.ID, block))})
		}
		c.pack.Raws = append(c.pack.Raws, raw)
		c.size += len(raw) + 2
	}
	c.pack.Key = h.Last
	for w := range c.lanes {
		c.size += rows.MaxLaneSize + len(w.Principal) + len(w.Name)
	}
	return nil
}

// counts makes the rows of new mechanisms, and keeps the first totals in the head.
func (c *change) counts() error {
	h := &c.head
	for _, n := range c.Counts {
		if n.Index == h.Distinct {
			raw, err := record.MarshalMechanism(n.Mechanism)
			if err != nil {
				return err
			}
			key := rows.IndexKey(h.Number, n.Index)
			c.mechanisms = append(c.mechanisms, numbered{h.Number, uint64(n.Index),
				rows.Seal(rows.MechanismsBucket, key, append(make([]byte, rows.ChecksumSize), raw...))})
			c.size += len(raw)
			h.Distinct++
			if n.Index < rows.InlineTotals {
				h.Totals = append(h.Totals, 0)
			}
		}
		if n.Index < rows.InlineTotals {
			h.Totals[n.Index] = n.Total
		}
	}
	return nil
}

// reservations counts what is open afterwards.
func (c *change) reservations() error {
	h := &c.head
	for _, r := range c.Open {
		if before, ok := c.book.open[r.Position]; ok {
			h.Open--
			h.Held -= before.Total()
		}
		if len(r.Rest) == 0 {
			continue
		}
		h.Open++
		h.Held += r.Total()
		raw, err := record.MarshalReservation(r)
		if err != nil {
			return err
		}
		c.size += len(raw)
	}
	return nil
}

// apply makes a change part of its book.
func (c *change) apply() {
	b := c.book
	b.head, b.changed = c.head, true
	for w, l := range c.lanes {
		b.lanes[w], b.wrote[w] = l, true
	}
	for _, n := range c.Counts {
		if n.Index >= rows.InlineTotals {
			b.counts[n.Index], b.counted[n.Index] = n.Total, true
		}
	}
	for _, r := range c.Open {
		b.held[r.Position] = true
		if len(r.Rest) == 0 {
			delete(b.open, r.Position)
		} else {
			b.open[r.Position] = r
		}
	}
}

// keys gives out the log keys of a transaction.
type keys struct {
	blocks []uint64 // first keys of what was drawn
	used   uint64   // of the first block
}

// keysBlock is how many keys one draw gives: the increment of the sequence log_keys.
const keysBlock = 4096

func (k *keys) next() uint64 {
	if k.used == keysBlock {
		k.blocks, k.used = k.blocks[1:], 0
	}
	k.used++
	return k.blocks[0] + k.used - 1
}

// summaryOf completes the summary of a head.
func summaryOf(h rows.Head, genesis []byte) (ledger.Summary, error) {
	sum := h.Summary()
	var err error
	if sum.Genesis, err = record.UnmarshalGenesis(genesis); err != nil {
		if errors.Is(err, ledger.ErrNewer) {
			return ledger.Summary{}, fmt.Errorf("%w: genesis of ledger number %d", err, h.Number)
		}
		return ledger.Summary{}, rows.DamagedBytes(h.Number, err)
	}
	if hash := record.GenesisHash(genesis); h.At.Position == 0 && h.At.Hash != hash {
		return ledger.Summary{}, rows.Damaged(rows.HeadsBucket, rows.NumberKey(h.Number), "head %x, the genesis has %x",
			h.At.Hash, hash)
	}
	return sum, nil
}

// existing compares the spec of a ledger that is there with that of a Create.
func existing(sum ledger.Summary, spec ledger.Spec) (ledger.Summary, error) {
	if !sum.Genesis.Spec.Equal(spec) {
		return ledger.Summary{}, ledger.Conflict(sum.Genesis.Spec, spec)
	}
	return sum, nil
}
