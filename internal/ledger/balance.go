// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"math"
	"slices"

	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/ledger/budget"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// BudgetBalance is how a budget of a Filtered ledger stands.
type BudgetBalance struct {
	Budget accountant.Budget // as enforced, with the order that was chosen
	Limit  accountant.Limit
	Value  budget.Amount
	Delta  budget.Amount // zero where mechanisms may leave nothing to failures
}

// PlanBalance is how a mechanism of a plan stands: Planned = Spent + Reserved +
// Remaining, unless what was lost by a restore was more than planned.
type PlanBalance struct {
	Mechanism                           mechanism.Mechanism
	Planned, Spent, Reserved, Remaining uint64
}

// Balance is how a ledger stands.
type Balance struct {
	Budgets      []BudgetBalance // of Filtered, in the spec's order
	Plan         []PlanBalance   // of Planned, in the plan's order
	Reservations []Reservation   // the open ones, by position
	Assumptions  []Assumption    // by position

	Acknowledged []Acknowledgement // warnings that answers leave out, by position
	Observed     []Observation     // what canaries showed, by position
	Proposals    []OpenProposal    // by position
}

// Left returns the part of the ledger's budgets that is neither charged nor reserved, of the budget of which
// the least is left; or the part of its plan's applications. It is rounded down, and false where nothing
// bounds the ledger.
func (b Balance) Left() (part float64, bounded bool) {
	part = 1
	least := func(left, limit float64) {
		if bounded = true; limit > 0 {
			part = min(part, math.Nextafter(left/limit, 0))
		}
	}
	for _, line := range b.Budgets {
		least(line.Value.Remaining, line.Value.Limit)
		least(line.Delta.Remaining, line.Delta.Limit)
	}
	var left, planned float64
	for _, p := range b.Plan {
		left, planned = left+float64(p.Remaining), planned+float64(p.Planned)
	}
	if planned > 0 {
		least(left, planned)
	}
	return max(part, 0), bounded
}

// View is a ledger as committed: what a query, a watch or a statement shows.
type View struct {
	Summary
	Charged    mechanism.Composition // as of State.Composition: with what children hold
	Resolution Resolution            // in force: with raises
	Balance
	Guarantee string // "descriptive", "plan" or "filter"

	Parent  string           // as of State.Parent
	Raises  int              // how many there were
	Dataset *DatasetStanding // of a dataset's record, with its amendments; not to be changed
}

// View returns s as it is. It only reads s, and computes no privacy loss.
func (s *State) View() View {
	return View{
		Summary: s.summary, Charged: s.Composition(), Guarantee: s.Guarantee(),
		Resolution: Resolution{Limits: slices.Clone(s.amended.resolution.Limits),
			Plan: slices.Clone(s.amended.resolution.Plan)},
		Balance: s.balance(),
		Parent:  s.Parent(), Raises: s.amended.raises, Dataset: s.amended.dataset,
	}
}

// What an answer's numbers mean (docs/math/adaptivity.md §5).
const (
	// GuaranteeDescriptive: they hold if the parameters and the number of steps were fixed
	// before any result was seen.
	GuaranteeDescriptive = "descriptive"
	// GuaranteePlan: they hold for the whole plan, however it is used.
	GuaranteePlan = "plan"
	// GuaranteeFilter: they hold for the whole budget, however it is used.
	GuaranteeFilter = "filter"
)

// Guarantee is what answers mean: "plan" or "filter" by the policy, "descriptive"
// without one or where an assumption makes it so.
func (s *State) Guarantee() string {
	policy := s.summary.Genesis.Spec.Policy
	loose := slices.ContainsFunc(s.amended.assumptions, func(a Assumption) bool { return a.Descriptive })
	switch {
	case loose || policy == Descriptive:
		return GuaranteeDescriptive
	case policy == Planned:
		return GuaranteePlan
	}
	return GuaranteeFilter
}

func (s *State) balance() Balance {
	b := Balance{Reservations: s.Reservations(), Assumptions: slices.Clone(s.amended.assumptions),
		Acknowledged: slices.Clone(s.amended.acknowledged), Observed: slices.Clone(s.amended.observed),
		Proposals: slices.Clone(s.amended.proposals)}
	for i, l := range s.amended.resolution.Limits {
		line := BudgetBalance{Budget: s.amended.budgets[i], Limit: l}
		line.Budget.Order = l.Order
		line.Value, line.Delta = s.account.Amounts(i)
		b.Budgets = append(b.Budgets, line)
	}
	if len(s.amended.resolution.Plan) > 0 {
		reserved := make(map[mechanism.Mechanism]uint64)
		for _, p := range s.held.merged() {
			reserved[p.Mechanism] = p.Count
		}
		for _, p := range s.amended.resolution.Plan {
			line := PlanBalance{Mechanism: p.Mechanism, Planned: p.Count, Reserved: reserved[p.Mechanism]}
			if i, ok := s.find(p.Mechanism); ok {
				line.Spent = s.parts[i].Count
			}
			if used := line.Spent + line.Reserved; used < p.Count { // what was lost may be more than planned
				line.Remaining = p.Count - used
			}
			b.Plan = append(b.Plan, line)
		}
	}
	return b
}
