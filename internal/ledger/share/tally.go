// SPDX-License-Identifier: Apache-2.0

package share

import (
	"maps"
	"slices"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// Share is a ledger's part of a dataset's budget.
type Share struct {
	Ledger string
	Parts  []mechanism.Part // what it holds and what was charged for it
}

// Tally finds the shares of ledgers in the entries of a dataset's record. The zero Tally has seen none.
type Tally struct {
	list    []string                                  // ledgers, in the order in which they came
	sums    map[string]map[mechanism.Mechanism]uint64 // by ledger, released parts taken away
	of      map[uint64]string                         // ledgers, by reservation
	held    map[uint64]map[mechanism.Mechanism]uint64 // by reservation
	ids     map[string]bool                           // records of all that share the budget
	adopted bool
}

// Add adds the entries that follow.
func (t *Tally) Add(records []ledger.Record) {
	if t.sums == nil {
		t.sums, t.ids = map[string]map[mechanism.Mechanism]uint64{}, map[string]bool{}
		t.of, t.held = map[uint64]string{}, map[uint64]map[mechanism.Mechanism]uint64{}
	}
	for _, r := range records {
		d := r.Entry.Action.Details()
		t.adopted = t.adopted || d.Adopts
		if d.Shares != "" {
			t.ids[ledger.DatasetName(d.Shares)] = true
		}
		if d.Child != "" {
			t.reserve(r.Entry.Position, d)
			continue
		}
		rest := t.held[d.About]
		switch {
		case rest == nil || d.From != ledger.PotReserved:
		case d.To == ledger.PotCharged:
			for _, e := range d.Events {
				rest[e.Mechanism] -= uint64(e.Count)
			}
		default:
			for m, n := range rest {
				t.sums[t.of[d.About]][m] -= n
			}
		}
	}
}

// reserve adds what a ledger holds.
func (t *Tally) reserve(position uint64, d ledger.Details) {
	t.know(d.Child)
	t.of[position], t.held[position] = d.Child, map[mechanism.Mechanism]uint64{}
	for _, e := range d.Events {
		t.held[position][e.Mechanism] += uint64(e.Count)
		t.sums[d.Child][e.Mechanism] += uint64(e.Count)
	}
}

func (t *Tally) know(name string) {
	if _, known := t.sums[name]; !known {
		t.list, t.sums[name] = append(t.list, name), map[mechanism.Mechanism]uint64{}
	}
}

// Adopting returns the records, that of the dataset among them, whose root ledgers may have been adopted
// without a share, since everything in them was refunded.
func (t *Tally) Adopting(dataset string) []string {
	if !t.adopted {
		return nil
	}
	t.ids[dataset] = true
	return slices.Sorted(maps.Keys(t.ids))
}

// Adopted adds ledgers that were adopted.
func (t *Tally) Adopted(names []string) {
	for _, name := range names {
		t.know(name)
	}
}

// Shares returns the shares that were found, in the order in which the ledgers came.
func (t *Tally) Shares() []Share {
	list := make([]Share, len(t.list))
	for i, name := range t.list {
		list[i].Ledger = name
		for m, n := range t.sums[name] {
			if n > 0 {
				list[i].Parts = append(list[i].Parts, mechanism.Part{Mechanism: m, Count: n})
			}
		}
	}
	return list
}
