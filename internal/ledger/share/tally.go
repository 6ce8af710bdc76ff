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
	flow    ledger.Flow
	list    []string                                  // ledgers, in the order in which they came
	sums    map[string]map[mechanism.Mechanism]uint64 // by ledger, released parts taken away
	ids     map[string]bool                           // records of all that share the budget
	adopted bool
}

// Add adds the entries that follow.
func (t *Tally) Add(records []ledger.Record) {
	if t.sums == nil {
		t.sums, t.ids = map[string]map[mechanism.Mechanism]uint64{}, map[string]bool{}
	}
	for _, r := range records {
		d := r.Entry.Action.Details()
		t.adopted = t.adopted || d.Adopts
		if d.Shares != "" {
			t.ids[ledger.DatasetName(d.Shares)] = true
		}
		for _, m := range t.flow.Take(r.Entry) {
			if m.Held.Child == "" {
				continue
			}
			t.know(m.Held.Child)
			for _, p := range m.Parts {
				switch sum := t.sums[m.Held.Child]; {
				case m.From == ledger.PotBudget:
					sum[p.Mechanism] += p.Count
				case m.To == ledger.PotBudget:
					sum[p.Mechanism] -= p.Count
				}
			}
		}
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
