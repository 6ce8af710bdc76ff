// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/book"
	"github.com/dpaccountant/accountant/internal/persist/rows"
	"github.com/dpaccountant/accountant/internal/record"
)

// booked is what a transaction knows of one ledger: what it has read after it locked the head, and what its operations
// have made of it since.
type booked struct {
	name    string
	damage  error  // of what was read of it: then it takes nothing
	genesis []byte // stored bytes; nil unless the ledger is made by this transaction
	head    rows.Head
	lanes   map[ledger.Writer]rows.Lane
	blocks  rows.SinglesBlocks
	counts  map[int]uint64
	open    map[uint64]ledger.Reservation

	changed bool // and what of it:
	wrote   map[ledger.Writer]bool
	singles []rows.Single
	counted map[int]bool
	held    map[uint64][]byte // reservations as they are stored; nil for those that are not open any more
}

func newBooked(name string, h rows.Head) *booked {
	return &booked{name: name, head: h, lanes: map[ledger.Writer]rows.Lane{}, counts: map[int]uint64{},
		blocks: rows.SinglesBlocks{Number: h.Number}, open: map[uint64]ledger.Reservation{},
		wrote: map[ledger.Writer]bool{}, counted: map[int]bool{},
		held: map[uint64][]byte{}}
}

// Lane implements book.Rows.
func (b *booked) Lane(w ledger.Writer) (rows.Lane, error) { return b.lanes[w], nil }

// Count implements book.Rows.
func (b *booked) Count(index int) (uint64, error) { return b.counts[index], nil }

// Open implements book.Rows.
func (b *booked) Open(position uint64) (r ledger.Reservation, open bool, err error) {
	r, open = b.open[position]
	return r, open, nil
}

// propose finds what a proposal changes. The ledger stays as it is.
func (b *booked) propose(p *ledger.Proposal, keys *keys, by *record.Writer) (*book.Change, error) {
	if b.damage != nil {
		return nil, b.damage
	}
	c := &book.Change{By: by}
	return c, c.Make(b.head, b, keys, p)
}

// apply makes a change part of what is known of the ledger.
func (b *booked) apply(c *book.Change) {
	b.head, b.changed = c.Head, true
	for _, l := range c.Lanes {
		b.lanes[l.Writer] = l.Lane
		if l.Writer.Single() {
			b.singles = append(b.singles, rows.Single{Hash: rows.HashOf(l.Writer), Position: l.Position})
		} else {
			b.wrote[l.Writer] = true
		}
	}
	for _, n := range c.Counts {
		b.counts[n.Index], b.counted[n.Index] = n.Total, true
	}
	for _, r := range c.Reservations {
		b.held[r.Position] = r.Raw
		if r.Raw == nil {
			delete(b.open, r.Position)
		} else {
			b.open[r.Position] = r.Reservation
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

// Next implements book.Keys.
func (k *keys) Next() uint64 {
	if k.used == keysBlock {
		k.blocks, k.used = k.blocks[1:], 0
	}
	k.used++
	return k.blocks[0] + k.used - 1
}
