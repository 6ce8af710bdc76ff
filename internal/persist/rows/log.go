// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"encoding/binary"
	"fmt"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/packs"
	"github.com/dpaccountant/accountant/internal/record"
)

// Linked is an entry with its log key and the position of its writer's entry before.
type Linked struct {
	ledger.Record
	Key, OfWriter uint64
}

// Tail is a row of the tail.
type Tail struct {
	packs.Pack
	Number uint64 // of the ledger
	Before uint64 // log key of the ledger's newest entry before these, 0 if there is none
}

// Append adds the row's bytes.
func (t Tail) Append(b []byte) []byte {
	return t.Pack.Append(binary.AppendUvarint(binary.AppendUvarint(b, t.Number), t.Before))
}

// UnsealTail reads a stored row of the tail.
func UnsealTail(key, stored []byte) (t Tail, err error) {
	at, err := NumberIn(TailBucket, key)
	if err != nil {
		return t, err
	}
	return Parse(TailBucket, key, stored, func(b []byte) (Tail, error) { return parseTail(at, b) })
}

func parseTail(key uint64, b []byte) (t Tail, err error) {
	r := packs.Varints{B: b}
	t.Number, t.Before = r.Next(), r.Next()
	if r.Bad {
		return t, r.End()
	}
	if t.Pack, err = packs.Parse(r.B); err != nil {
		return t, err
	}
	if t.Key() != key || t.Before >= t.Keys[0] {
		return t, fmt.Errorf("entries with the log keys %d to %d after %d", t.Keys[0], t.Key(), t.Before)
	}
	return t, nil
}

// ParsePack reads a row of packs whose key says that it is of this ledger and ends at position last.
func ParsePack(number, last uint64, stored []byte) (packs.Pack, error) {
	return Parse(PacksBucket, BlockKey(number, last), stored, func(b []byte) (packs.Pack, error) {
		p, err := packs.Parse(b)
		if err == nil && p.Last() != last {
			err = fmt.Errorf("entries %d to %d", p.First, p.Last())
		}
		return p, err
	})
}

// SealPack makes the value of a row of packs.
func SealPack(number uint64, p packs.Pack) []byte {
	return Seal(PacksBucket, BlockKey(number, p.Last()), p.AppendSmall(make([]byte, ChecksumSize, 1<<10)))
}

// Entries reads a pack's entries and computes their hashes. What they hold does not lie in the pack, but for the bytes.
func Entries(number uint64, p packs.Pack, by *record.Reader) ([]Linked, error) {
	list := make([]Linked, len(p.Raws))
	hash := p.Previous
	for i, raw := range p.Raws {
		e, ofWriter, err := by.Entry(raw)
		at := p.First + uint64(i)
		if err != nil {
			return nil, DamagedBytes(PacksBucket, BlockKey(number, at), err)
		}
		if e.Position != at || ofWriter >= at {
			return nil, Damaged(PacksBucket, BlockKey(number, at), "an entry of position %d, after %d of its writer",
				e.Position, ofWriter)
		}
		list[i] = Linked{ledger.Record{Entry: e, Previous: hash, Hash: record.EntryHash(hash, raw), Raw: raw},
			p.Keys[i], ofWriter}
		hash = list[i].Hash
	}
	return list, nil
}

// Log reads single entries of a ledger.
type Log struct {
	Number uint64 // of the ledger
	// Pack returns the pack that has the entry at a position.
	Pack func(position uint64) (packs.Pack, error)

	entries record.Reader
	beside  []Linked // the pack that was read last
}

// Among reads single entries of a pack.
func Among(number uint64, p packs.Pack) *Log {
	return &Log{Number: number, Pack: func(uint64) (packs.Pack, error) { return p, nil }}
}

// At returns the entry at a position. Its bytes are its own.
func (l *Log) At(position uint64) (e Linked, err error) {
	if n := len(l.beside); n == 0 || position < l.beside[0].Entry.Position || position > l.beside[n-1].Entry.Position {
		p, err := l.Pack(position)
		if err == nil && (position < p.First || position > p.Last()) {
			err = Damaged(PacksBucket, BlockKey(l.Number, position), "missing: the row has %d to %d", p.First, p.Last())
		}
		if err == nil {
			l.beside, err = Entries(l.Number, p, &l.entries)
		}
		if err != nil {
			return e, err
		}
	}
	e = l.beside[position-l.beside[0].Entry.Position]
	e.Raw = append([]byte(nil), e.Raw...)
	return e, nil
}

// Newest returns the entry at the head of a ledger that has entries. It must be what the head says.
func (l *Log) Newest(h Head) (e Linked, err error) {
	if e, err = l.At(h.At.Position); err == nil {
		err = h.isAt(e.Hash, e.Key)
	}
	return e, err
}

// NewestWriter returns the writer of the entry that Newest returns, and decodes none.
func (l *Log) NewestWriter(h Head) (w ledger.Writer, err error) {
	p, err := l.Pack(h.At.Position)
	if err == nil && p.Last() != h.At.Position {
		err = Damaged(HeadsBucket, NumberKey(h.Number), "head at %d; the log ends at %d", h.At.Position, p.Last())
	}
	if err == nil {
		err = h.isAt(p.Without(len(p.Raws)).Previous, p.Key())
	}
	if err != nil {
		return w, err
	}
	frame, _ := record.SplitEntry(p.Raws[len(p.Raws)-1])
	return ledger.Writer{Principal: string(frame.Principal), Name: string(frame.Writer)}, nil
}

// isAt compares the head with the newest entry in the log.
func (h Head) isAt(hash ledger.Hash, key uint64) error {
	if hash != h.At.Hash || key != h.Last {
		return Damaged(HeadsBucket, NumberKey(h.Number), "head %x at %d with log key %d; the log has %x with %d",
			h.At.Hash, h.At.Position, h.Last, hash, key)
	}
	return nil
}

// Chain goes through a ledger's packs in order and checks that each follows the one before.
type Chain struct {
	Number  uint64      // of the ledger
	Genesis ledger.Hash // that entry 1 follows; zero if the caller compares that
	Head    ledger.Head // of the ledger, in the state in which the packs are read
	From    uint64      // the position from which on entries are wanted; an earlier one may be in the first pack
	// After is the entry before the next pack. At the zero Head, the first pack may have any entry before it.
	After ledger.Head
	// By reads the entries; that of several chains knows what they have in common. nil: the chain has its own.
	By *record.Reader
}

// Next reads the entries of the next pack.
func (c *Chain) Next(p packs.Pack) ([]Linked, error) {
	if c.By == nil {
		c.By = new(record.Reader)
	}
	list, err := Entries(c.Number, p, c.By)
	if err != nil {
		return nil, err
	}
	wrong := func(format string, args ...any) ([]Linked, error) {
		return nil, Damaged(PacksBucket, BlockKey(c.Number, p.First), format, args...)
	}
	begun := c.After != ledger.Head{}
	switch {
	case begun && (c.After.Hash != p.Previous || c.After.Position+1 != p.First):
		return wrong("follows %x, entry %d has %x", p.Previous, c.After.Position, c.After.Hash)
	case !begun && p.First > c.From:
		return wrong("missing: entry %d", c.From)
	case p.First == 1 && p.Previous != c.Genesis && c.Genesis != ledger.Hash{}:
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
