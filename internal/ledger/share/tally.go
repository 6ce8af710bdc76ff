// SPDX-License-Identifier: Apache-2.0

package share

import (
	"maps"
	"slices"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// Counts are how often mechanisms are there.
type Counts map[mechanism.Mechanism]uint64

// CountsOf counts parts.
func CountsOf(parts []mechanism.Part) Counts {
	c := Counts{}
	c.add(parts)
	return c
}

func (c Counts) add(parts []mechanism.Part) {
	for _, p := range parts {
		c[p.Mechanism] += p.Count
	}
}

// Covers reports whether c has at least as many of each as o.
func (c Counts) Covers(o Counts) bool {
	for m, n := range o {
		if c[m] < n {
			return false
		}
	}
	return true
}

// Taken is what one entry has set aside for a ledger in the one above it.
type Taken struct {
	Child       string
	Position    uint64 // of the entry
	Held, Spent Counts
	Released    bool // what was not spent
}

// Open reports whether something is set aside still.
func (t *Taken) Open() bool { return !t.Released && !t.Spent.Covers(t.Held) }

// Share is a ledger's part of a dataset's budget.
type Share struct {
	Ledger string
	Parts  []mechanism.Part // what it holds and what was charged for it
}

// Tally finds what is taken from a ledger, by its entries. The zero Tally has seen none.
type Tally struct {
	Taken   []*Taken // by position
	Adopted uint32   // ledgers, by a dataset's record

	flow ledger.Flow
	at   map[uint64]*Taken
	ids  map[string]bool // records of all that share the budget
}

// Add adds the entry that follows.
func (t *Tally) Add(e ledger.Entry) {
	if t.at == nil {
		t.at, t.ids = map[uint64]*Taken{}, map[string]bool{}
	}
	if v, ok := e.Action.(ledger.Adopt); ok {
		t.Adopted += v.Ledgers
	}
	if id := e.Action.Details().Shares; id != "" {
		t.ids[ledger.DatasetName(id)] = true
	}
	for _, m := range t.flow.Take(e) {
		taken := t.at[m.Held.Position]
		switch {
		case m.Held.Child == "":
		case m.From == ledger.PotBudget:
			taken = &Taken{m.Held.Child, e.Position, CountsOf(m.Parts), Counts{}, false}
			t.Taken, t.at[e.Position] = append(t.Taken, taken), taken
		case taken == nil: // only in a damaged store
		case m.To == ledger.PotCharged:
			taken.Spent.add(m.Parts)
		default:
			taken.Released = true
		}
	}
}

// Adopting returns the records, that of the dataset among them, whose root ledgers may have been adopted
// without a share, since everything in them was refunded.
func (t *Tally) Adopting(dataset string) []string {
	if t.Adopted == 0 {
		return nil
	}
	t.ids[dataset] = true
	return slices.Sorted(maps.Keys(t.ids))
}

// Shares returns the shares that were found, in the order in which the ledgers came, and then empty ones of the ledgers
// that were adopted and are not among them.
func (t *Tally) Shares(adopted []string) (list []Share) {
	var sums []Counts
	of := map[string]int{}
	know := func(name string) int {
		i, known := of[name]
		if !known {
			i, of[name] = len(list), len(list)
			list, sums = append(list, Share{Ledger: name}), append(sums, Counts{})
		}
		return i
	}
	for _, taken := range t.Taken {
		counts := taken.Held
		if taken.Released {
			counts = taken.Spent
		}
		i := know(taken.Child)
		for m, n := range counts {
			sums[i][m] += n
		}
	}
	for _, name := range adopted {
		know(name)
	}
	for i, sum := range sums {
		for m, n := range sum {
			list[i].Parts = append(list[i].Parts, mechanism.Part{Mechanism: m, Count: n})
		}
	}
	return list
}
