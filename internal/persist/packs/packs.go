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
	start := len(b)
	inColumns, ok := appendColumns(p.appendKeys(make([]byte, 0, 1<<10)), p.First, p.Raws)
	if !ok {
		return p.Append(b)
	}
	if small := compress(inColumns); small != nil {
		b = p.appendHead(append(b, compressed))
		b = append(binary.AppendUvarint(b, uint64(len(inColumns))), small...)
	} else {
		b = append(p.appendHead(append(b, columns)), inColumns...)
	}
	plainly := p.Append(make([]byte, 0, p.Room()))
	again, err := Parse(b[start:])
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
func Parse(b []byte) (p Pack, err error) {
	if len(b) == 0 || b[0] >= forms {
		return p, errCut
	}
	form := b[0]
	r := reader{b: b[1:]}
	p.First = r.number()
	copy(p.Previous[:], r.bytes(uint64(len(p.Previous))))
	n := r.number()
	if r.bad || n == 0 || n > limit || p.First == 0 || p.First > math.MaxInt64 {
		return p, errCut
	}
	if form == compressed {
		size := r.number()
		if r.bad || size > limitBytes {
			return p, errCut
		}
		if r.b, err = decompress(r.b, size); err != nil {
			return p, err
		}
	}
	if p.Keys = r.keys(int(n)); r.bad {
		return p, errCut
	}
	if form == plain {
		p.Raws = make([][]byte, n)
		for i := range p.Raws {
			p.Raws[i] = r.text()
		}
	} else {
		p.Raws = r.entries(p.First, int(n))
	}
	if r.bad || len(r.b) > 0 {
		return p, errCut
	}
	return p, nil
}

// keys reads log keys, which rise.
func (r *reader) keys(n int) []uint64 {
	keys := make([]uint64, 1, min(n, len(r.b)+1))
	keys[0] = r.number()
	for _, delta := range r.column(n - 1) {
		last := keys[len(keys)-1]
		r.bad = r.bad || delta == 0 || last+delta < last
		keys = append(keys, last+delta)
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

// Full reports whether Cut would put nothing more into the pack, unless it is very small.
func (p Pack) Full() bool { return len(p.Raws) >= MaxEntries || p.size() >= MaxBytes*3/4 }

func (p Pack) size() (n int) {
	for _, raw := range p.Raws {
		n += len(raw)
	}
	return n
}

// Cut divides the entries into packs of at most MaxEntries and MaxBytes each, if no entry is larger.
func (p Pack) Cut() (list []Pack) {
	for len(p.Raws) > 0 {
		n, size := 0, 0
		for n < len(p.Raws) && n < MaxEntries && (n == 0 || size+len(p.Raws[n]) <= MaxBytes) {
			size += len(p.Raws[n])
			n++
		}
		list = append(list, Pack{First: p.First, Previous: p.Previous, Keys: p.Keys[:n], Raws: p.Raws[:n]})
		p = p.Without(n)
	}
	return list
}

// Without returns the pack without its first n entries.
func (p Pack) Without(n int) Pack {
	for _, raw := range p.Raws[:n] {
		p.Previous = record.EntryHash(p.Previous, raw)
	}
	p.First, p.Keys, p.Raws = p.First+uint64(n), p.Keys[n:], p.Raws[n:]
	return p
}

// Deal returns the packs for entries that follow those of last, and whether they take its place, as it has room for
// some of them. last is empty for the first entries of a ledger.
func (p Pack) Deal(last Pack) (list []Pack, instead bool) {
	instead = len(last.Raws) > 0 && !last.Full()
	if instead {
		p = last.Join(p)
	}
	return p.Cut(), instead
}
