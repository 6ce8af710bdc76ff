// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"maps"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/dpaccountant/accountant/internal/ledger"
)

// The keys of request IDs are found in their blocks as in one sorted list, whatever their hashes are: many of them are
// the same, or the least or the largest ones.
func TestSingles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var model []Single
		blocks := map[uint64][]byte{} // sealed, by their keys
		block := func(hash uint64) (SinglesBlock, error) {
			some := SinglesBlocks{Number: 7}
			for upto, stored := range blocks {
				k, err := UnsealSingles(7, upto, stored)
				if err != nil {
					t.Fatal(err)
				}
				some.List = append(some.List, k)
			}
			return some.Block(hash)
		}
		hash := rapid.OneOf(rapid.Uint64Range(0, maxHash), rapid.Uint64Range(0, 3),
			rapid.Uint64Range(maxHash-3, maxHash), rapid.Uint64Range(1<<40, 1<<40+1<<10))
		position := uint64(0)
		for range rapid.IntRange(0, 12).Draw(t, "commits") {
			var add []Single
			for range rapid.IntRange(1, 200).Draw(t, "keys") {
				position += rapid.Uint64Range(1, 1<<30).Draw(t, "after")
				add = append(add, Single{hash.Draw(t, "hash"), position})
			}
			model = append(model, add...)
			changed, err := AddSingles(add, block)
			if err != nil {
				t.Fatal(err)
			}
			for _, k := range changed {
				run, longest := 0, 0 // of keys with one hash, which stay together
				for i := range k.List {
					if i == 0 || k.List[i].Hash != k.List[i-1].Hash {
						run = 0
					}
					run++
					longest = max(longest, run)
				}
				if size := len(k.Append(nil)); size > maxSinglesBytes+20*longest {
					t.Fatalf("a block of %d bytes", size)
				}
				blocks[k.Upto] = k.Seal(7)
			}
		}
		slices.SortFunc(model, CompareKeys)
		var list []SinglesBlock
		for _, upto := range slices.Sorted(maps.Keys(blocks)) {
			k, err := UnsealSingles(7, upto, blocks[upto])
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, k)
		}
		if err := CompareSingles(7, list, slices.Clone(model)); err != nil {
			t.Fatal(err)
		}
		for i := range min(len(model), 40) {
			at := model[i].Hash
			var want []uint64
			for _, s := range model {
				if s.Hash == at {
					want = append(want, s.Position)
				}
			}
			if k, err := block(at); err != nil || !reflect.DeepEqual(k.positions(at, at), want) {
				t.Fatalf("hash %d: %v, %v; want %v", at, k.positions(at, at), err, want)
			}
		}
		// Whatever is missing, or too much, is found.
		if len(model) > 0 {
			i := rapid.IntRange(0, len(model)-1).Draw(t, "one")
			if CompareSingles(7, list, slices.Delete(slices.Clone(model), i, i+1)) == nil {
				t.Fatal("a key of no entry was not found")
			}
			if CompareSingles(7, list, append(slices.Clone(model), Single{model[i].Hash, position + 1})) == nil {
				t.Fatal("a missing key was not found")
			}
			j := rapid.IntRange(0, len(list)-1).Draw(t, "block")
			if CompareSingles(7, slices.Delete(slices.Clone(list), j, j+1), model) == nil {
				t.Fatal("a missing block was not found")
			}
		}
	})
}

// A name's request IDs stand beside each other, whoever uses them, and others are elsewhere.
func TestHashesOf(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringN(1, 20, -1)
		a := ledger.Writer{Principal: text.Draw(t, "principal"), Name: text.Draw(t, "name")}
		b := ledger.Writer{Principal: text.Draw(t, "other principal"), Name: text.Draw(t, "other name")}
		least, most := hashesOf(a.Name)
		within := func(w ledger.Writer) bool { return HashOf(w) >= least && HashOf(w) <= most }
		if most > maxHash || !within(a) || within(b) != (a.Name == b.Name) {
			t.Fatalf("%d to %d: %v has %d, %v has %d", least, most, a, HashOf(a), b, HashOf(b))
		}
	})
}

// FuzzSingles reads arbitrary bytes as a block: an error, or a block that is written as the same bytes.
func FuzzSingles(f *testing.F) {
	f.Add(uint64(maxHash), SinglesBlock{List: []Single{{3, 1}, {3, 2}, {1 << 50, 9}}}.Append(nil))
	f.Add(uint64(9), SinglesBlock{From: 9}.Append(nil))
	f.Fuzz(func(t *testing.T, upto uint64, b []byte) {
		k, err := parseSingles(upto, b)
		if err != nil {
			return
		}
		again, err := parseSingles(upto, k.Append(nil))
		if err != nil || !reflect.DeepEqual(again, k) {
			t.Errorf("%+v is read again as %+v, %v", k, again, err)
		}
		if !slices.IsSortedFunc(k.List, CompareKeys) || k.From > k.Upto {
			t.Errorf("%+v", k)
		}
	})
}
