// SPDX-License-Identifier: Apache-2.0

package share

import (
	"slices"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// Adopted is a ledger that was there before its dataset was registered.
func Adopted(v ledger.View) Child {
	c := Child{Spec: v.Genesis.Spec, Resolution: v.Resolution, past: &v}
	c.Spec.Budgets = nil
	for _, b := range v.Budgets {
		c.Spec.Budgets = append(c.Spec.Budgets, b.Budget)
	}
	return c
}

// Ended reports whether c was adopted and spends nothing any more, so that its share is charged at once.
func (c Child) Ended() bool { return c.past != nil && c.past.Closed }

// spent is what an adopted ledger has spent, where that is not covered by all that it may spend: of a closed one what
// Settle would charge for it; without a budget, or with more charged than that, every event at its own cost, in
// several entries where they are many. It is nil otherwise.
func (c Child) spent(dataset ledger.View) (list []ledger.Reserve, err error) {
	spec, over := c.Spec, overrun(*c.past)
	switch {
	case c.past.Unreconciled:
		return nil, refuse(ledger.ErrDataset, "it has lost entries and needs reconciling; "+
			"allowed: a ledger that is reconciled: accountctl ledger reconcile %s", spec.Name)
	case !c.past.Closed && spec.Policy == ledger.Descriptive:
		return nil, refuse(ledger.ErrDataset, "it has no budget (DESCRIPTIVE), so that nothing bounds what it may "+
			"still spend; allowed: a closed one, of which every charge is counted: accountctl ledger close %s",
			spec.Name)
	case !c.past.Closed && over:
		return nil, refuse(ledger.ErrDataset, "more was charged to it than it may spend; allowed: a closed one, of "+
			"which every charge is counted: accountctl ledger close %s", spec.Name)
	case !c.past.Closed || spec.Policy == ledger.Filtered && !over:
		return nil, nil
	}
	for _, p := range c.past.Charged.Parts {
		if reason := cannot(dataset, p.Mechanism); reason != "" {
			return nil, refuse(ledger.ErrDataset, "the dataset's budget cannot be charged for %v: %s; allowed: "+
				"another guard", p.Mechanism, reason)
		}
	}
	list = []ledger.Reserve{}
	for events := range slices.Chunk(mechanism.EventsOf(c.past.Charged.Parts), maxAllocated) {
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
