// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/packs"
)

// A request ID is a writer with one entry (ledger.Writer.Single), which is kept for ever. It has no lane but a key: a
// hash of it, and the position of its entry. The entry says whether it is the request ID that is asked for, so a hash
// that two of them share costs a reading and nothing else. The keys of a ledger lie in blocks, sorted, which together
// cover all hashes.
type Single struct {
	Hash     uint64 // at most maxHash
	Position uint64
}

// maxHash is the largest hash. A database has no larger numbers.
const maxHash = math.MaxInt64

// principalBits are the lowest ones of a hash. The others are of the name, so whoever else used it stands beside.
const principalBits = 15

// HashOf returns the hash of a request ID.
func HashOf(w ledger.Writer) uint64 {
	of := func(s string) uint64 {
		sum := sha256.Sum256([]byte(s))
		return binary.BigEndian.Uint64(sum[:])
	}
	return of(w.Name)>>1>>principalBits<<principalBits | of(w.Principal)>>(64-principalBits)
}

// hashesOf returns the range in which the hashes of all request IDs of a name are.
func hashesOf(name string) (least, most uint64) {
	least = HashOf(ledger.Writer{Name: name}) >> principalBits << principalBits
	return least, least | (1<<principalBits - 1)
}

// SinglesBlock has the keys of a ledger whose hashes are in a range.
type SinglesBlock struct {
	From, Upto uint64   // inclusive; Upto is in the row's key
	List       []Single // sorted by hash and position
}

// maxSinglesBytes is how large a block is before it is cut in two. A page has several.
const maxSinglesBytes = 1000

// Append adds the row's bytes.
func (k SinglesBlock) Append(b []byte) []byte {
	b = binary.AppendUvarint(binary.AppendUvarint(b, k.From), uint64(len(k.List)))
	last := k.From
	for _, key := range k.List {
		b = binary.AppendUvarint(binary.AppendUvarint(b, key.Hash-last), key.Position)
		last = key.Hash
	}
	return b
}

// parseSingles reads the row with the key upto.
func parseSingles(upto uint64, b []byte) (SinglesBlock, error) {
	r := packs.Varints{B: b}
	k := SinglesBlock{From: r.Next(), Upto: upto, List: make([]Single, 0, len(b)/8)}
	count := r.Next()
	for last := (Single{Hash: k.From}); len(r.B) > 0 && !r.Bad; {
		key := Single{Hash: last.Hash + r.Next()}
		key.Position = r.Next()
		r.Bad = r.Bad || key.Hash < last.Hash || key.Position == 0 || CompareKeys(key, last) <= 0
		k.List, last = append(k.List, key), key
	}
	if n := len(k.List); uint64(n) != count || k.From > k.Upto || k.Upto > maxHash ||
		n > 0 && k.List[n-1].Hash > k.Upto {
		r.Bad = true
	}
	return k, r.End()
}

// CompareKeys orders keys as blocks have them.
func CompareKeys(a, b Single) int {
	return cmp.Or(cmp.Compare(a.Hash, b.Hash), cmp.Compare(a.Position, b.Position))
}

// Seal makes the value of the row.
func (k SinglesBlock) Seal(number uint64) []byte {
	return Seal(SinglesBucket, BlockKey(number, k.Upto), k.Append(make([]byte, ChecksumSize, maxSinglesBytes+128)))
}

// UnsealSingles reads a stored row.
func UnsealSingles(number, upto uint64, stored []byte) (SinglesBlock, error) {
	return Parse(SinglesBucket, BlockKey(number, upto), stored, func(b []byte) (SinglesBlock, error) {
		return parseSingles(upto, b)
	})
}

// Covers checks that a block, which was found for a hash, covers it.
func (k SinglesBlock) Covers(number, hash uint64) error {
	if hash < k.From || hash > k.Upto {
		return Damaged(SinglesBucket, BlockKey(number, hash), "missing: the block has hashes from %d to %d",
			k.From, k.Upto)
	}
	return nil
}

// SinglesBlocks are blocks of a ledger that were read for some hashes.
type SinglesBlocks struct {
	Number uint64 // of the ledger
	List   []SinglesBlock
}

// Block returns the one that covers a hash for which they were read.
func (s SinglesBlocks) Block(hash uint64) (k SinglesBlock, err error) {
	if len(s.List) == 0 {
		return noSingles, nil
	}
	for i, at := range s.List {
		if i == 0 || at.Upto >= hash && (k.Upto < hash || at.Upto < k.Upto) {
			k = at
		}
	}
	return k, k.Covers(s.Number, hash)
}

// noSingles is the block of a ledger that has no keys.
var noSingles = SinglesBlock{Upto: maxHash}

// positions returns where entries with hashes in a range are.
func (k SinglesBlock) positions(least, most uint64) (list []uint64) {
	i, _ := slices.BinarySearchFunc(k.List, Single{Hash: least}, CompareKeys)
	for ; i < len(k.List) && k.List[i].Hash <= most; i++ {
		list = append(list, k.List[i].Position)
	}
	return list
}

// AddSingles adds keys to the blocks of a ledger, of which block returns the one that covers a hash. It returns those
// that change, with what they are cut into.
func AddSingles(add []Single, block func(hash uint64) (SinglesBlock, error)) (changed []SinglesBlock, err error) {
	slices.SortFunc(add, CompareKeys)
	for len(add) > 0 {
		k, err := block(add[0].Hash)
		if err != nil {
			return nil, err
		}
		n := 0
		for n < len(add) && add[n].Hash <= k.Upto {
			n++
		}
		k.List = append(k.List[:len(k.List):len(k.List)], add[:n]...)
		slices.SortFunc(k.List, CompareKeys)
		changed, add = append(changed, k.cut()...), add[n:]
	}
	return changed, nil
}

// cut divides a block that is too large into equal parts. Keys with the same hash stay together.
func (k SinglesBlock) cut() (list []SinglesBlock) {
	size := len(k.Append(nil))
	parts := 1
	if size > maxSinglesBytes {
		parts = size/(maxSinglesBytes*3/4) + 1
	}
	each := (len(k.List) + parts - 1) / parts
	for parts > 1 && len(k.List) > each {
		n := each
		for n < len(k.List) && k.List[n].Hash == k.List[n-1].Hash {
			n++
		}
		if n == len(k.List) {
			break
		}
		part := SinglesBlock{From: k.From, Upto: k.List[n-1].Hash, List: k.List[:n]}
		list = append(list, part)
		k.From, k.List = part.Upto+1, k.List[n:]
	}
	return append(list, k)
}

// SinglesBlock returns the block that covers a hash.
func (v *View) SinglesBlock(number, hash uint64) (SinglesBlock, error) {
	k, found, err := v.singlesBlock(number, hash)
	if err == nil && !found {
		k, found, err = v.singlesBlock(number, 0) // if there is one, then the last one is missing
	}
	if err != nil || !found {
		return noSingles, err
	}
	return k, k.Covers(number, hash)
}

func (v *View) singlesBlock(number, hash uint64) (k SinglesBlock, found bool, err error) {
	key, stored, err := v.From(SinglesBucket, BlockKey(number, hash))
	if err != nil || !bytes.HasPrefix(key, NumberKey(number)) {
		return k, false, err
	}
	_, upto, err := BlockIn(SinglesBucket, key)
	if err == nil {
		k, err = UnsealSingles(number, upto, stored)
	}
	return k, true, err
}

// Singles reads entries of request IDs.
type Singles struct {
	*Log
	// Block returns the block that covers a hash.
	Block func(hash uint64) (SinglesBlock, error)
}

// Lane returns where a request ID stands: the zero lane if it has written nothing.
func (s Singles) Lane(w ledger.Writer) (l Lane, err error) {
	hash := HashOf(w)
	list, err := s.entries(hash, hash, func(e ledger.Writer) bool { return e == w })
	if err == nil && len(list) > 1 {
		err = Damaged(SinglesBucket, BlockKey(s.Number, hash), "%s has written entries %d and %d", w.Name,
			list[0].Entry.Position, list[1].Entry.Position)
	}
	if err != nil || len(list) == 0 {
		return l, err
	}
	at := list[0].Entry.Position
	return Lane{First: at, Sequence: 1, Position: at}, nil
}

// Namesakes returns the entries of other principals with the same request ID.
func (s Singles) Namesakes(w ledger.Writer) (out []ledger.Record, err error) {
	least, most := hashesOf(w.Name)
	return s.entries(least, most, func(e ledger.Writer) bool { return e.Name == w.Name && e.Principal != w.Principal })
}

// entries returns those with a hash in a range whose writers match.
func (s Singles) entries(least, most uint64, match func(ledger.Writer) bool) (out []ledger.Record, err error) {
	for from := least; from <= most; {
		k, err := s.Block(from)
		if err != nil {
			return nil, err
		}
		for _, position := range k.positions(from, most) {
			e, err := s.At(position)
			if err != nil {
				return nil, err
			}
			if hash := HashOf(e.Entry.Writer); !e.Entry.Writer.Single() || hash < from || hash > min(most, k.Upto) {
				return nil, Damaged(SinglesBucket, BlockKey(s.Number, k.Upto), "entry %d is of %s", position,
					e.Entry.Writer.Name)
			}
			if match(e.Entry.Writer) {
				out = append(out, e.Record)
			}
		}
		from = k.Upto + 1
	}
	return out, nil
}

// CompareSingles compares all blocks of a ledger, in order, with the keys that follow from its log.
func CompareSingles(number uint64, blocks []SinglesBlock, want []Single) error {
	slices.SortFunc(want, CompareKeys)
	next := uint64(0)
	wrong := func(format string, args ...any) error {
		return Damaged(SinglesBucket, BlockKey(number, next), format, args...)
	}
	for _, k := range blocks {
		if k.From != next {
			return wrong("missing: the next block has hashes from %d", k.From)
		}
		for i, key := range k.List {
			if i >= len(want) || key != want[i] {
				return wrong("key %+v is of no entry, or one before it is missing", key)
			}
		}
		if next = k.Upto + 1; len(want) > len(k.List) && want[len(k.List)].Hash <= k.Upto {
			return wrong("key %+v is missing", want[len(k.List)])
		}
		want = want[len(k.List):]
	}
	if len(blocks) > 0 && next != maxHash+1 || len(want) > 0 {
		return wrong("missing: %d keys have no block", len(want))
	}
	return nil
}

// String shows a key in what a verification finds.
func (k Single) String() string { return fmt.Sprintf("{hash:%d position:%d}", k.Hash, k.Position) }
