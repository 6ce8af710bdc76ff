// SPDX-License-Identifier: Apache-2.0

// Package packs is the form in which entries of one ledger are kept together. A pack rebuilds the canonical bytes of
// each entry exactly: the hash chain is over those, and does not know how they are kept.
//
// The codec knows what a frame says (record.Frame) and takes what follows it, an action, as bytes: the same ones are
// kept once. So a kind of action that is added or changed later needs no change here.
package packs

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/record"
)

// Pack is entries of one ledger that follow each other.
type Pack struct {
	First    uint64      // position of the first one
	Previous ledger.Hash // of the entry before that, or of the genesis
	Keys     []uint64    // of the entries in the log of all ledgers; they rise
	Raws     [][]byte    // the entries' canonical bytes
}

// Last is the position of the last entry.
func (p Pack) Last() uint64 { return p.First + uint64(len(p.Raws)) - 1 }

// Key is the log key of the last entry.
func (p Pack) Key() uint64 { return p.Keys[len(p.Keys)-1] }

// Room is at least as many bytes as Append appends.
func (p Pack) Room() int {
	return 1 + len(p.Previous) + 5*binary.MaxVarintLen64 + p.size() +
		len(p.Raws)*(binary.MaxVarintLen64+binary.MaxVarintLen32)
}

const (
	// MaxEntries and MaxBytes bound what Cut puts together: how much one read of an entry has to read, at most.
	MaxEntries = 64
	MaxBytes   = 32 << 10
)

// How the entries are kept, in a pack's first byte.
const (
	plain      = iota // each one's bytes
	columns           // in columns
	compressed        // in columns, with zstd
	forms
)

// Append appends the pack as one commit leaves it, which costs least time.
func (p Pack) Append(b []byte) []byte {
	b = p.appendHead(append(b, plain))
	b = p.appendKeys(b)
	for _, raw := range p.Raws {
		b = append(binary.AppendUvarint(b, uint64(len(raw))), raw...)
	}
	return b
}

// AppendSmall appends the pack in the form that takes the least room.
func (p Pack) AppendSmall(b []byte) []byte {
	m := borrow()
	defer m.giveBack()
	start := len(b)
	inColumns, ok := m.appendColumns(p.appendKeys(m.room(p.Room())), p.First, p.Raws)
	if !ok {
		return p.Append(b)
	}
	if small := compress(inColumns, m.room(len(inColumns))); small != nil {
		b = p.appendHead(append(b, compressed))
		b = append(binary.AppendUvarint(b, uint64(len(inColumns))), small...)
	} else {
		b = append(p.appendHead(append(b, columns)), inColumns...)
	}
	plainly := p.Append(m.room(p.Room()))
	again, err := parse(b[start:], m, m)
	if err != nil || !p.same(again) || len(plainly) < len(b)-start { // such as entries that MarshalEntry has not made
		return append(b[:start], plainly...)
	}
	return b
}

func (p Pack) appendHead(b []byte) []byte {
	b = append(binary.AppendUvarint(b, p.First), p.Previous[:]...)
	return binary.AppendUvarint(b, uint64(len(p.Raws)))
}

func (p Pack) appendKeys(b []byte) []byte {
	last := uint64(0)
	deltas := make([]uint64, len(p.Keys))
	for i, key := range p.Keys {
		deltas[i], last = key-last, key
	}
	return appendColumn(binary.AppendUvarint(b, deltas[0]), deltas[1:])
}

// Parse reads a pack. Its entries may refer to b.
func Parse(b []byte) (Pack, error) {
	m := borrow()
	defer m.giveBack()
	return parse(b, m, &memory{})
}

// parse reads a pack, which lies in kept, and in b.
func parse(b []byte, m, kept *memory) (p Pack, err error) {
	if len(b) == 0 || b[0] >= forms {
		return p, errCut
	}
	form := b[0]
	r := reader{Varints: Varints{B: b[1:]}, memory: m}
	p.First = r.Next()
	copy(p.Previous[:], r.Bytes(uint64(len(p.Previous))))
	n := r.Next()
	if r.Bad || n == 0 || n > limit || p.First == 0 || p.First > math.MaxInt64 {
		return p, errCut
	}
	if form == compressed {
		size := r.Next()
		if r.Bad || size > limitBytes {
			return p, errCut
		}
		if r.B, err = decompress(r.B, m.room(int(size))); err != nil {
			return p, err
		}
	}
	if p.Keys = r.keys(int(n), kept); r.Bad {
		return p, errCut
	}
	if form == plain {
		p.Raws = take(&kept.texts, int(n))
		for i := range p.Raws {
			p.Raws[i] = r.Text()
		}
	} else {
		p.Raws = r.entries(p.First, int(n), kept)
	}
	if r.Bad || len(r.B) > 0 {
		return p, errCut
	}
	return p, nil
}

// keys reads log keys, which rise.
func (r *reader) keys(n int, kept *memory) []uint64 {
	last := r.Next()
	deltas := r.column(n - 1)
	if r.Bad {
		return nil
	}
	keys := take(&kept.numbers, n)
	keys[0] = last
	for i, delta := range deltas {
		r.Bad = r.Bad || delta == 0 || last+delta < last
		last += delta
		keys[i+1] = last
	}
	return keys
}

func (p Pack) same(q Pack) bool {
	if p.First != q.First || p.Previous != q.Previous || len(p.Raws) != len(q.Raws) {
		return false
	}
	for i, raw := range p.Raws {
		if p.Keys[i] != q.Keys[i] || string(raw) != string(q.Raws[i]) {
			return false
		}
	}
	return true
}

// Join returns the entries of p and those of the packs that follow it, in order.
func (p Pack) Join(after ...Pack) Pack {
	n := 0
	for _, q := range after {
		n += len(q.Raws)
	}
	p.Keys, p.Raws = slices.Grow(slices.Clip(p.Keys), n), slices.Grow(slices.Clip(p.Raws), n)
	for _, q := range after {
		p.Keys, p.Raws = append(p.Keys, q.Keys...), append(p.Raws, q.Raws...)
	}
	return p
}

// full reports whether a pack is so large that nothing is put into it any more.
func (p Pack) full() bool { return len(p.Raws) >= MaxEntries*3/4 || p.size() >= MaxBytes*3/4 }

func (p Pack) size() (n int) {
	for _, raw := range p.Raws {
		n += len(raw)
	}
	return n
}

// Cut divides the entries of packs that follow each other into packs of at most MaxEntries and MaxBytes each, if no
// entry is larger.
func Cut(from ...Pack) (list []Pack) {
	for rest := from[0].Join(from[1:]...); ; {
		n, size := 0, 0
		for n < len(rest.Raws) && n < MaxEntries && (n == 0 || size+len(rest.Raws[n]) <= MaxBytes) {
			size += len(rest.Raws[n])
			n++
		}
		if n < len(rest.Raws) {
			n = end(from, rest.First, n)
		}
		part := rest
		part.Keys, part.Raws = rest.Keys[:n], rest.Raws[:n]
		list = append(list, part)
		if rest.Keys, rest.Raws = rest.Keys[n:], rest.Raws[n:]; len(rest.Raws) == 0 {
			return list
		}
		for rest.First += uint64(n); from[0].Last() < rest.First; {
			from = from[1:]
		}
		rest.Previous = from[0].Without(int(rest.First - from[0].First)).Previous
	}
}

// end is where one of the packs from which Cut makes others ends, of those of the n entries from first on that are
// nearly all, or n: there a new pack begins without hashing entries again to find what it follows.
func end(from []Pack, first uint64, n int) int {
	found := n
	for _, p := range from {
		if at := int(p.Last() + 1 - first); at > n {
			break
		} else if at >= n*3/4 {
			found = at
		}
	}
	return found
}

// Without returns the pack without its first n entries.
func (p Pack) Without(n int) Pack {
	for _, raw := range p.Raws[:n] {
		p.Previous = record.EntryHash(p.Previous, raw)
	}
	p.First, p.Keys, p.Raws = p.First+uint64(n), p.Keys[n:], p.Raws[n:]
	return p
}

// Deal returns the packs for entries that follow those of last, in packs that follow each other, and whether they take
// its place, as it has room for some of them. last is empty for the first entries of a ledger.
func Deal(last Pack, after ...Pack) (list []Pack, instead bool) {
	if instead = len(last.Raws) > 0 && !last.full(); instead {
		after = append([]Pack{last}, after...)
	}
	return Cut(after...), instead
}
