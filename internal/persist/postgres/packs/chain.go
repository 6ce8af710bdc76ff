package packs

import (
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/rows"
	"github.com/dpaccountant/accountant/internal/record"
)

// Chain goes through a ledger's packs in order and checks that each follows the one before.
type Chain struct {
	Number  uint64      // of the ledger
	Genesis ledger.Hash // that entry 1 follows
	Head    ledger.Head // of the ledger, in the state in which the packs are read
	From    uint64      // the position from which on entries are wanted; an earlier one may be in the first pack
	// After is the entry before the next pack. At the zero Head, the first pack may have any entry before it.
	After ledger.Head

	entries record.Reader
}

// Next reads the next pack, whose columns say that it ends at position last.
func (c *Chain) Next(last uint64, stored []byte) ([]Linked, error) {
	p, err := Parse(c.Number, last, stored)
	if err != nil {
		return nil, err
	}
	list, err := p.Read(&c.entries)
	if err != nil {
		return nil, err
	}
	wrong := func(format string, args ...any) ([]Linked, error) {
		return nil, rows.Damaged(rows.LogBucket, rows.BlockKey(c.Number, p.First), format, args...)
	}
	begun := c.After != ledger.Head{}
	switch {
	case begun && (c.After.Hash != p.Previous || c.After.Position+1 != p.First):
		return wrong("follows %x, entry %d has %x", p.Previous, c.After.Position, c.After.Hash)
	case !begun && p.First > c.From:
		return wrong("missing: entry %d", c.From)
	case p.First == 1 && p.Previous != c.Genesis:
		return wrong("the genesis hashes to %x, entry 1 follows %x", c.Genesis, p.Previous)
	}
	for _, e := range list {
		if e.Entry.Position == c.Head.Position && e.Hash != c.Head.Hash {
			return wrong("the chain ends with %x, the head has %x", e.Hash, c.Head.Hash)
		}
	}
	newest := list[len(list)-1]
	c.After = ledger.Head{Position: newest.Entry.Position, Hash: newest.Hash}
	return list, nil
}
