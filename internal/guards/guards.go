// SPDX-License-Identifier: Apache-2.0

// Package guards gives a guard to budgets that were given without one: for the daemon, and for the commands that say
// what each guard would allow.
package guards

import (
	"errors"
	"fmt"
	"slices"
	"strings"

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
		return spec.GetPolicy() == accountantv1.LedgerSpec_FILTER &&
			b.GetGuard() == accountantv1.Budget_GUARD_UNSPECIFIED
	}
}

// Take gives the guards of another specification to the budgets of spec without one, if the budgets are the same
// otherwise, and reports whether they are.
func Take(spec, other *accountantv1.LedgerSpec) bool {
	if len(spec.GetBudgets()) != len(other.GetBudgets()) {
		return false
	}
	taken := proto.CloneOf(spec)
	for i, b := range taken.GetBudgets() {
		from := other.GetBudgets()[i]
		if needs(spec)(b) {
			b.Guard, b.Order = from.GetGuard(), from.Order
		}
		if !proto.Equal(b, from) {
			return false
		}
	}
	spec.Budgets = taken.GetBudgets()
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

// An Impossible budget can have no guard. It says which budget that is, and why.
type Impossible struct {
	Given string
	Err   error
}

func (e *Impossible) Error() string { return fmt.Sprintf("%s: %v", e.Given, e.Err) }
func (e *Impossible) Unwrap() error { return e.Err }

// Choose gives a guard to each of the ledger's budgets that was given without one. parent is the
// specification of the ledger's parent, nil if it has none.
func Choose(spec, parent *accountantv1.LedgerSpec, stop func() bool) ([]Choice, error) {
	if spec.GetParent() != "" && parent != nil {
		wire.Inherit(spec, parent)
	}
	var chosen []Choice
	for i, b := range spec.GetBudgets() {
		if !needs(spec)(b) {
			continue
		}
		given := spelling.Budget(b)
		budget, err := wire.ToBudget(b)
		if err != nil {
			return nil, &Impossible{given, err}
		}
		runs, err := runsOf(spec, budget)
		if err != nil {
			return nil, err
		}
		among, err := budget.Choices(runs, num.NewInterrupt(stop))
		if err != nil {
			return nil, &Impossible{given, err}
		}
		if parent != nil {
			if among, err = takenBy(parent, among); err != nil {
				return nil, err
			}
		}
		chosen = append(chosen, Choice{given, runs, among})
		best := wire.FromBudget(among[0].Budget)
		b.Guard = best.GetGuard()
		if spec.ExpectedRun == nil { // otherwise the daemon finds the order for the run
			b.Order = best.Order
		}
		spec.Budgets[i] = b
	}
	return chosen, nil
}

// ForDataset gives a guard to each of a dataset's budgets that was given without one, as Choose
// does for a ledger, and an order to each that has the guard rdp and no order.
func ForDataset(d *accountantv1.DatasetSpec, stop func() bool) ([]Choice, error) {
	as := func(budgets ...*accountantv1.Budget) *accountantv1.LedgerSpec {
		return &accountantv1.LedgerSpec{Adjacency: d.GetAdjacency(), Policy: accountantv1.LedgerSpec_FILTER,
			Budgets: budgets}
	}
	var chosen []Choice
	for _, b := range d.GetBudgets() {
		ordered := b.GetGuard() != accountantv1.Budget_RDP || b.Order != nil
		if ordered && b.GetGuard() != accountantv1.Budget_GUARD_UNSPECIFIED {
			continue
		}
		given, open := spelling.Budget(b), proto.CloneOf(b)
		open.Guard = accountantv1.Budget_GUARD_UNSPECIFIED
		found, err := Choose(as(open), nil, stop)
		if err != nil {
			return nil, err
		}
		ch := found[0]
		if ch.Given = given; !ordered {
			ch.Among = slices.DeleteFunc(ch.Among, func(c accountant.Choice) bool {
				return c.Budget.Guard != accountant.GuardRDP
			})
		}
		if len(ch.Among) == 0 {
			return nil, &Impossible{given, errors.New("its ε cannot be met at its δ at any order; allowed: " +
				"a larger one")}
		}
		best := wire.FromBudget(ch.Among[0].Budget)
		b.Guard, b.Order = best.GetGuard(), best.Order
		chosen = append(chosen, ch)
	}
	return chosen, nil
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

// Says is in one line which guard was chosen.
func (ch Choice) Says() string {
	what := "a guard"
	if strings.Contains(ch.Given, "guard=") {
		what = "an order"
	}
	return "the budget " + ch.Given + " was given without " + what + ": it is enforced by " + Text(ch.Among[0].Budget)
}

// Text is a budget's guard as --budget takes it.
func Text(b accountant.Budget) string {
	return spelling.Budget(&accountantv1.Budget{Guard: wire.FromBudget(b).GetGuard(), Order: wire.FromBudget(b).Order})
}
