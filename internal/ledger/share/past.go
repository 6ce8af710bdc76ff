// SPDX-License-Identifier: Apache-2.0

package share

import (
	"slices"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// AllocatePast is what a ledger that was there before its dataset was registered needs set
// aside in the dataset's record: as of Allocate all that it may spend, which covers what it
// has spent. A closed ledger spends nothing any more. It needs what Settle would charge
// for it; without a budget, or with more charged than that, every event at its own cost,
// in several entries where they are many.
func AllocatePast(dataset, child ledger.View) ([]ledger.Reserve, error) {
	spec := child.Genesis.Spec
	if err := mayHave(dataset, spec); err != nil {
		return nil, err
	}
	over := overrun(child)
	switch {
	case child.Unreconciled:
		return nil, refuse(ledger.ErrDataset, "it has lost entries and needs reconciling; "+
			"allowed: a ledger that is reconciled: accountctl ledger reconcile %s", spec.Name)
	case !child.Closed && spec.Policy == ledger.Descriptive:
		return nil, refuse(ledger.ErrDataset, "it has no budget (DESCRIPTIVE), so that nothing bounds what it may "+
			"still spend; allowed: a closed one, of which every charge is counted: accountctl ledger close %s",
			spec.Name)
	case !child.Closed && over:
		return nil, refuse(ledger.ErrDataset, "more was charged to it than it may spend; allowed: a closed one, of "+
			"which every charge is counted: accountctl ledger close %s", spec.Name)
	}
	if !child.Closed || spec.Policy == ledger.Filtered && !over {
		spec.Budgets = nil
		for _, b := range child.Budgets {
			spec.Budgets = append(spec.Budgets, b.Budget)
		}
		v, err := Allocate(dataset, spec, child.Resolution)
		return []ledger.Reserve{v}, err
	}
	for _, p := range child.Charged.Parts {
		if reason := cannot(dataset, p.Mechanism); reason != "" {
			return nil, refuse(ledger.ErrDataset, "the dataset's budget cannot be charged for %v: %s; allowed: "+
				"another guard", p.Mechanism, reason)
		}
	}
	var list []ledger.Reserve
	for events := range slices.Chunk(mechanism.EventsOf(child.Charged.Parts), maxAllocated) {
		list = append(list, ledger.Reserve{Child: spec.Name, Events: events})
	}
	return list, nil
}

// overrun reports whether more was charged or set aside than budgets or the plan allow,
// which happens by what a restore has lost.
func overrun(v ledger.View) bool {
	planned := map[mechanism.Mechanism]uint64{}
	for _, p := range v.Plan {
		planned[p.Mechanism] = p.Planned
		if p.Spent+p.Reserved > p.Planned {
			return true
		}
	}
	if v.Genesis.Spec.Policy == ledger.Planned {
		for _, p := range v.Charged.Parts {
			if p.Count > planned[p.Mechanism] {
				return true
			}
		}
	}
	return slices.ContainsFunc(v.Budgets, func(b ledger.BudgetBalance) bool {
		return b.Value.Spent > b.Value.Limit || b.Delta.Spent > b.Delta.Limit
	})
}
