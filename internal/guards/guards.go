// SPDX-License-Identifier: Apache-2.0

// Package guards gives a guard to budgets that were given without one: for the daemon, and for the commands that say
// what each guard would allow.
package guards

import (
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/num"
	"github.com/dpaccountant/accountant/internal/spelling"
	"github.com/dpaccountant/accountant/internal/wire"
)

// Choice is the guard that a budget was given, among those that it could have.
type Choice struct {
	Given string // the budget, as it was given
	Runs  []accountant.Run
	Among []accountant.Choice // the chosen one first
}

// Missing reports whether the ledger has a budget that needs a guard and was given none.
func Missing(spec *accountantv1.LedgerSpec) bool {
	return slices.ContainsFunc(spec.GetBudgets(), needs(spec))
}

func needs(spec *accountantv1.LedgerSpec) func(*accountantv1.Budget) bool {
	return func(b *accountantv1.Budget) bool {
		return spec.GetPolicy() == accountantv1.LedgerSpec_FILTER && unguarded(b)
	}
}

// Take gives budgets that lack a guard, or an order, those of registered ones, if they are the same otherwise, and
// reports whether they are.
func Take(budgets, registered []*accountantv1.Budget) bool {
	if len(budgets) != len(registered) {
		return false
	}
	taken := make([]*accountantv1.Budget, len(budgets))
	for i, b := range budgets {
		b = proto.CloneOf(b)
		if unguarded(b) {
			b.Guard, b.Order = registered[i].GetGuard(), registered[i].Order
		} else if unordered(b) {
			b.Order = registered[i].Order
		}
		if !proto.Equal(b, registered[i]) {
			return false
		}
		taken[i] = b
	}
	copy(budgets, taken)
	return true
}

// Now is a ledger's specification with its budgets as they are: with raises, and with the orders that were chosen.
func Now(l *accountantv1.Ledger) *accountantv1.LedgerSpec {
	spec := l.GetSpec()
	for i, b := range l.GetBudgets() {
		spec.Budgets[i] = b.GetBudget()
	}
	return spec
}

// Choose gives a guard to each of the ledger's budgets that was given without one. payer is the specification of the
// parent or the dataset that the ledger's budget is taken from, nil if there is none.
func Choose(spec, payer *accountantv1.LedgerSpec, stop func() bool) error {
	if spec.GetParent() != "" && payer != nil {
		wire.Inherit(spec, payer)
	}
	return choose(spec, needs(spec), payer, stop)
}

// ForDataset gives a guard to each of a dataset's budgets that was given without one, as Choose
// does for a ledger, and an order to each that has the guard rdp and no order.
func ForDataset(d *accountantv1.DatasetSpec, stop func() bool) error {
	return choose(&accountantv1.LedgerSpec{Adjacency: d.GetAdjacency(), Policy: accountantv1.LedgerSpec_FILTER,
		Budgets: d.GetBudgets()}, incomplete, nil, stop)
}

// choose completes those of a specification's budgets that lack something.
func choose(spec *accountantv1.LedgerSpec, lacks func(*accountantv1.Budget) bool, payer *accountantv1.LedgerSpec,
	stop func() bool) error {
	for i, b := range spec.GetBudgets() {
		if !lacks(b) {
			continue
		}
		found, err := among(spec, b, stop)
		if err != nil {
			return of(i, err)
		}
		if payer != nil {
			if found.Among, err = takenBy(payer, found.Among); err != nil {
				return err
			}
		}
		at := slices.IndexFunc(found.Among, func(c accountant.Choice) bool {
			return unguarded(b) || c.Budget.Guard == accountant.GuardRDP
		})
		if at < 0 {
			return of(i, wire.Invalid("epsilon", spelling.Exact(b.GetEpsilon()), "a larger one, which can be met at "+
				"its δ at some order, or no guard"))
		}
		best := wire.FromBudget(found.Among[at].Budget)
		b.Guard = best.GetGuard()
		if spec.ExpectedRun == nil { // otherwise the order for the run is found when the ledger is made
			b.Order = best.Order
		}
	}
	return nil
}

// among finds the guards that a budget of a ledger could have, the best one first.
func among(spec *accountantv1.LedgerSpec, b *accountantv1.Budget, stop func() bool) (Choice, error) {
	ch := Choice{Given: spelling.Budget(b)}
	b = proto.CloneOf(b)
	b.Guard = accountantv1.Budget_GUARD_UNSPECIFIED
	budget, err := wire.ToBudget(b)
	if err != nil {
		return ch, err
	}
	if ch.Runs, err = runsOf(spec, budget); err != nil {
		return ch, err
	}
	ch.Among, err = budget.Choices(ch.Runs, num.NewInterrupt(stop))
	return ch, err
}

// of says about which budget of a specification an error is.
func of(i int, err error) error {
	return wire.Under(fmt.Sprintf("budgets[%d]", i), wire.FromDomain(err))
}

// Explain says of each budget of a ledger that was given without a guard which one it has in made, the ledger's
// specification, and how much would fit under that and under each other one.
func Explain(spec, made *accountantv1.LedgerSpec, stop func() bool) (chosen []Choice, err error) {
	spec = proto.CloneOf(spec)
	spec.Adjacency = made.GetAdjacency()
	for i, b := range spec.GetBudgets() {
		if !needs(spec)(b) {
			continue
		}
		ch, err := among(spec, b, stop)
		if err != nil {
			return nil, err
		}
		if at := slices.IndexFunc(ch.Among, func(c accountant.Choice) bool {
			return wire.FromBudget(c.Budget).GetGuard() == made.GetBudgets()[i].GetGuard()
		}); at > 0 { // the best of those that the payer takes
			has := ch.Among[at]
			ch.Among = slices.Insert(slices.Delete(ch.Among, at, at+1), 0, has)
		}
		chosen = append(chosen, ch)
	}
	return chosen, nil
}

// MissingOfDataset reports whether the dataset has a budget without a guard, or with the guard rdp and no order.
func MissingOfDataset(d *accountantv1.DatasetSpec) bool {
	return slices.ContainsFunc(d.GetBudgets(), incomplete)
}

func incomplete(b *accountantv1.Budget) bool { return unguarded(b) || unordered(b) }

func unguarded(b *accountantv1.Budget) bool {
	return b.GetGuard() == accountantv1.Budget_GUARD_UNSPECIFIED
}
func unordered(b *accountantv1.Budget) bool {
	return b.GetGuard() == accountantv1.Budget_RDP && b.Order == nil
}

// takenBy keeps those choices whose whole share the parent can set aside: a parent with the guard
// rdp charges no failures, for example, so that it cannot have a child with the guard basic and a δ. It keeps
// all if the parent takes none of them, since the daemon's error then says why.
func takenBy(parent *accountantv1.LedgerSpec, among []accountant.Choice) ([]accountant.Choice, error) {
	adjacency, err := wire.ToAdjacency("adjacency", parent.GetAdjacency())
	if err != nil {
		return nil, err
	}
	var limits []accountant.Limit
	for _, b := range parent.GetBudgets() {
		budget, err := wire.ToBudget(b)
		if err != nil {
			return nil, err
		}
		if budget.Guard == accountant.GuardNone {
			return among, nil // the parent has a plan, and takes what is in it
		}
		limit, err := budget.ResolveWithin(mechanism.Composition{}, nil)
		if err != nil {
			return nil, err
		}
		limits = append(limits, limit)
	}
	taken := slices.DeleteFunc(slices.Clone(among), func(choice accountant.Choice) bool {
		own, err := choice.Budget.ResolveWithin(mechanism.Composition{}, nil)
		taken := func(share mechanism.Mechanism) bool {
			return !slices.ContainsFunc(limits, func(limit accountant.Limit) bool {
				_, reason := limit.Cost(share, adjacency)
				return reason != ""
			})
		}
		return err != nil || !slices.ContainsFunc(own.Declared(choice.Budget), taken)
	})
	if len(taken) == 0 {
		return among, nil
	}
	return taken, nil
}

// runsOf is what a ledger's budget should have room for.
func runsOf(spec *accountantv1.LedgerSpec, budget accountant.Budget) ([]accountant.Run, error) {
	if spec.GetExpectedRun() != nil {
		_, run, err := wire.ToWorkload(spec.GetExpectedRun())
		return []accountant.Run{{Name: "expected runs", Composition: run}}, err
	}
	adjacency, err := wire.ToAdjacency("adjacency", spec.GetAdjacency())
	if err != nil {
		return nil, err
	}
	return budget.UsualRuns(adjacency), nil
}

// Says has a line for each budget that was given without a guard, or an order, about what it has in made.
func Says(given, made []*accountantv1.Budget) (lines []string) {
	for i, b := range made {
		what := "a guard"
		switch {
		case i >= len(given) || !incomplete(given[i]):
			continue
		case !unguarded(given[i]):
			what = "an order"
		}
		lines = append(lines, "the budget "+spelling.Budget(given[i])+" was given without "+what+
			": it is enforced by "+spelling.Budget(&accountantv1.Budget{Guard: b.GetGuard(), Order: b.Order}))
	}
	return lines
}

// Text is a budget's guard as --budget takes it.
func Text(b accountant.Budget) string {
	return spelling.Budget(&accountantv1.Budget{Guard: wire.FromBudget(b).GetGuard(), Order: wire.FromBudget(b).Order})
}
