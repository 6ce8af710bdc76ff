// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/packs"
)

// Log reads single entries of a ledger.
func (v *View) Log(h Head) *Log {
	return &Log{Number: h.Number, Pack: func(position uint64) (packs.Pack, error) { return v.packOf(h, position) }}
}

// packOf returns the entries with which the one at a position is kept.
func (v *View) packOf(h Head, position uint64) (p packs.Pack, err error) {
	if position == 0 || position > h.At.Position {
		return p, Damaged(PacksBucket, BlockKey(h.Number, position), "the ledger has %d entries", h.At.Position)
	}
	if position < h.At.Position { // the newest one is in the tail, mostly
		if p, found, err := v.pack(h.Number, position); found || err != nil {
			return p, err
		}
	}
	for key := h.Last; ; {
		t, found, err := v.tail(h.Number, key)
		if err != nil || found && t.First <= position {
			return t.Pack, err
		}
		if !found {
			break
		}
		key = t.Before
	}
	p, found, err := v.pack(h.Number, position)
	if err == nil && !found {
		err = Damaged(PacksBucket, BlockKey(h.Number, position), "missing")
	}
	return p, err
}

// pack returns the first pack of a ledger that does not end before a position.
func (v *View) pack(number, position uint64) (p packs.Pack, found bool, err error) {
	key, stored, err := v.From(PacksBucket, BlockKey(number, position))
	if err != nil || !bytes.HasPrefix(key, NumberKey(number)) {
		return p, false, err
	}
	if _, _, err := BlockIn(PacksBucket, key); err != nil {
		return p, false, err
	}
	err = v.EachPackRow(key, stored, func(key, stored []byte) (err error) {
		if last := binary.BigEndian.Uint64(key[8:]); !found && last >= position {
			found = true
			p, err = ParsePack(number, last, stored)
		}
		return err
	})
	return p, true, err
}

// tail returns the row of a ledger whose newest entry has a log key, unless it was dealt out.
func (v *View) tail(number, key uint64) (t Tail, found bool, err error) {
	if v.begins == 0 {
		if v.begins, err = v.tailBegins(); err != nil {
			return t, false, err
		}
	}
	if key == 0 || v.begins == 0 || key < v.begins {
		return t, false, nil
	}
	v.key = AppendNumber(v.key[:0], key)
	t, err = Must(v, TailBucket, v.key, func(b []byte) (Tail, error) { return parseTail(key, b) })
	if err == nil && t.Number != number {
		err = Damaged(TailBucket, NumberKey(key), "entries of ledger %d; want those of %d", t.Number, number)
	}
	return t, true, err
}

// tailBegins returns the tail's first log key, or 0 if the tail is empty. Whoever is led astray by it misses an entry
// elsewhere.
func (v *View) tailBegins() (uint64, error) {
	if err := v.way(TailBucket, nil); err != nil {
		return 0, err
	}
	c, err := v.cursor(TailBucket)
	if err != nil {
		return 0, err
	}
	key, _ := c.First()
	if key == nil {
		return 0, nil
	}
	return NumberIn(TailBucket, key)
}

// Records returns the records at the positions from to to, checking the chain. Both are the ledger's.
func (v *View) Records(h Head, from, to uint64) (out []ledger.Record, err error) {
	_, _, genesis, err := v.Genesis(h.Number)
	if err != nil {
		return nil, err
	}
	chain := Chain{Number: h.Number, Genesis: genesis, Head: h.At, From: from}
	out = make([]ledger.Record, 0, min(to-from+1, 1024))
	next := func(p packs.Pack) error {
		list, err := chain.Next(p)
		for _, e := range list {
			if at := e.Entry.Position; at >= from && at <= to {
				e.Raw = bytes.Clone(e.Raw)
				out = append(out, e.Record)
			}
		}
		return err
	}
	for chain.After.Position < to {
		p, found, err := v.pack(h.Number, max(from, chain.After.Position+1))
		if err == nil && !found {
			break
		}
		if err == nil {
			err = next(p)
		}
		if err != nil {
			return nil, err
		}
	}
	if chain.After.Position < to {
		list, err := v.tailOf(h, max(from, chain.After.Position+1), to)
		if err != nil {
			return nil, err
		}
		for _, p := range list {
			if err := next(p); err != nil {
				return nil, err
			}
		}
	}
	if chain.After.Position < to {
		return nil, Damaged(PacksBucket, BlockKey(h.Number, chain.After.Position+1), "missing")
	}
	return out, nil
}

// tailOf returns a ledger's packs of the tail that have entries from one position to another.
func (v *View) tailOf(h Head, from, to uint64) (list []packs.Pack, err error) {
	for key := h.Last; ; {
		t, found, err := v.tail(h.Number, key)
		if err != nil {
			return nil, err
		}
		if found && t.First <= to {
			list = append(list, t.Pack)
		}
		if !found || t.First <= from {
			slices.Reverse(list)
			return list, nil
		}
		key = t.Before
	}
}

// EachPack calls f with all packs of a ledger, in order, without checking the pages: of a file that was checked as a
// whole. tail are the log keys of its rows of the tail.
func (v *View) EachPack(number uint64, tail []uint64, f func(p packs.Pack, before uint64) error) error {
	return v.EachPackFrom(number, 1, tail, f)
}

// EachPackFrom is EachPack without the entries before a position, which are not read where no pack has them together
// with later ones.
func (v *View) EachPackFrom(number, from uint64, tail []uint64, f func(p packs.Pack, before uint64) error) error {
	each := func(p packs.Pack, before uint64) error {
		if p.Last() < from {
			return nil
		}
		if p.First < from {
			p = p.Without(int(from - p.First))
		}
		return f(p, before)
	}
	begin, last := NumberKey(number), uint64(0)
	if from > 1 {
		begin = BlockKey(number, from)
	}
	pack := func(key, stored []byte) error {
		_, upTo, err := BlockIn(PacksBucket, key)
		if err != nil {
			return err
		}
		p, err := ParsePack(number, upTo, stored)
		if err == nil {
			err = each(p, last)
		}
		if err == nil {
			last = p.Key()
		}
		return err
	}
	err := v.Each(PacksBucket, begin, func(key, stored []byte) error { return v.EachPackRow(key, stored, pack) })
	if err != nil {
		return err
	}
	for _, key := range tail {
		t, err := Must(v, TailBucket, NumberKey(key), func(b []byte) (Tail, error) { return parseTail(key, b) })
		if last == 0 && from > 1 {
			last = t.Before // of packs that were not read
		}
		if err == nil && (t.Number != number || t.Before != last) {
			err = Damaged(TailBucket, NumberKey(key), "entries of ledger %d after log key %d; want %d after %d",
				t.Number, t.Before, number, last)
		}
		if err == nil {
			err = each(t.Pack, last)
		}
		if err != nil {
			return err
		}
		last = key
	}
	return nil
}
