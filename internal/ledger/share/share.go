// SPDX-License-Identifier: Apache-2.0

// Package share says what a ledger takes of the budget above it, which is its parent's or
// its dataset's, and what it gives back when it is closed. The decisions on these entries
// are in package ledger.
package share

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// maxAllocated bounds the events that are set aside for a child: those of one entry.
const maxAllocated = 1000

// Allocate is what a ledger with this spec, which came to r, needs set aside in its
// parent: everything it may spend. Of Planned those are the plan's events; of
// Filtered the bound of its first budget, as one declared guarantee, that the parent
// can charge: all budgets are enforced, so each one's bound holds.
//
// The error is ErrParent where the parent cannot be one. That the parent has that
// much left is for the decision to find. See docs/math/children.md §5.5.
func Allocate(parent ledger.View, child ledger.Spec, r ledger.Resolution) (ledger.Reserve, error) {
	if err := mayHave(parent, child); err != nil {
		return ledger.Reserve{}, err
	}
	p := parent.Genesis.Spec
	v := ledger.Reserve{Child: child.Name}
	switch child.Policy {
	case ledger.Planned:
		if v.Events = mechanism.EventsOf(r.Plan); len(v.Events) > maxAllocated {
			return ledger.Reserve{}, refuse(ledger.ErrParent, "plan: %d mechanisms and 2^32 of one mechanism; "+
				"allowed: at most %d with a parent", len(v.Events), maxAllocated)
		}
		return v, nil
	case ledger.Filtered:
		why := ""
		for i, limit := range r.Limits {
			for _, m := range limit.Declared(child.Budgets[i]) {
				reason := cannot(parent, m)
				if reason == "" {
					v.Events = []mechanism.Event{{Mechanism: m, Count: 1}}
					return v, nil
				}
				why += fmt.Sprintf("; budgets[%d] (%v) would be set aside as %v, but %s", i, child.Budgets[i], m,
					reason)
			}
		}
		return ledger.Reserve{}, refuse(ledger.ErrParent, "%s cannot set aside any of these budgets%s; allowed: %s",
			p.Name, why, takes(parent))
	}
	return ledger.Reserve{}, refuse(ledger.ErrParent, "policy: %v; allowed: PLAN or FILTER, which have a bound "+
		"to set aside", child.Policy)
}

// takes says which children a parent can have, in words.
func takes(v ledger.View) string {
	if v.Genesis.Spec.Policy == ledger.Planned {
		return "a budget whose bound is in the parent's plan, or a plan that is a part of it"
	}
	type guarded struct {
		guard string
		bound mechanism.Mechanism
	}
	list := []guarded{
		{"ZCDP", mechanism.ZeroConcentratedDP{Rho: 1}}, {"GDP", mechanism.GaussianDP{Mu: 1}},
		{"BASIC without delta", mechanism.PureDP{Epsilon: 1}},
		{"BASIC, RDP or (given as epsilon and delta) APPROXIMATE_ZCDP",
			mechanism.ApproximateDP{Epsilon: 1, Delta: 1e-9}},
	}
	least := 0.0
	for _, limit := range v.Resolution.Limits {
		least = max(least, limit.Order)
	}
	if least > 0 {
		list = append(list, guarded{fmt.Sprintf("RDP with an order of at least %v", least),
			mechanism.RenyiDP{Orders: mechanism.NumbersOf(least), Epsilons: mechanism.NumbersOf(1)}})
	}
	var guards []string
	for _, c := range list {
		if cannot(v, c.bound) == "" {
			guards = append(guards, c.guard)
		}
	}
	if len(guards) == 0 {
		return "a plan"
	}
	return "a budget with the guard " + strings.Join(guards, " or ") + ", or a plan"
}

// mayHave refuses a child whose neighbouring datasets are not the parent's, and a parent
// that cannot be one.
func mayHave(v ledger.View, child ledger.Spec) error {
	p := v.Genesis.Spec
	not := func(field, value, allowed string) error {
		return refuse(ledger.ErrParent, "ledger %s: %s: %s; allowed: %s, the parent's", p.Name, field, value, allowed)
	}
	for _, f := range []struct{ name, child, parent string }{
		{"adjacency", child.Adjacency.String(), p.Adjacency.String()},
		{"privacy_unit", strconv.Quote(child.PrivacyUnit), strconv.Quote(p.PrivacyUnit)},
		{"dataset_id", strconv.Quote(child.DatasetID), strconv.Quote(p.DatasetID)},
		{"dataset_version", strconv.Quote(child.DatasetVersion), strconv.Quote(p.DatasetVersion)},
	} {
		if v.Dataset != nil && strings.HasPrefix(f.name, "dataset") {
			continue // it may have several versions
		}
		if f.child != f.parent {
			return not(f.name, f.child, f.parent)
		}
	}
	if p.OverAllOnly && !child.OverAllOnly { // the sum of the parent's budget would be too small
		return not("over_all_only", "false", "true")
	}
	if d := v.Dataset; d != nil {
		if err := d.Has(ledger.DatasetReference{ID: child.DatasetID, Version: child.DatasetVersion}); err != nil {
			return err
		}
	}
	switch {
	case p.Policy == ledger.Descriptive:
		return refuse(ledger.ErrParent, "ledger %s: it has no budget; allowed: a ledger with the policy PLAN or "+
			"FILTER", p.Name)
	case v.Closed:
		return refuse(ledger.ErrParent, "ledger %s: it is closed; allowed: an open ledger", p.Name)
	}
	return nil
}

// cannot is why a ledger can never charge m, "" if it can.
func cannot(v ledger.View, m mechanism.Mechanism) string {
	if err := (mechanism.Event{Mechanism: m, Count: 1}).Check(v.Genesis.Spec.Adjacency); err != nil {
		return err.Error()
	}
	for _, limit := range v.Resolution.Limits {
		if _, reason := limit.Cost(m, v.Genesis.Spec.Adjacency); reason != "" {
			return reason
		}
	}
	if v.Genesis.Spec.Policy != ledger.Planned {
		return ""
	}
	for _, p := range v.Resolution.Plan {
		if p.Mechanism == m {
			return ""
		}
	}
	return m.String() + " is not in the parent's plan"
}

// Settle is what a closed child has spent of what its parent's reservation r holds,
// or held before a settling that was cut off: of Planned what was charged to it, as
// its curve is known and a smaller multiset has a smaller one; of Filtered, whose
// parameters may have depended on outputs up to its whole bound, all. What is left
// may be released. See docs/math/children.md §5.5.
func Settle(child ledger.View, r ledger.Reservation) (spent ledger.Commit, left bool) {
	spent.Reservation = r.Position
	if child.Genesis.Spec.Policy == ledger.Planned {
		spent.Events = mechanism.EventsOf(child.Charged.Parts)
		return spent, true
	}
	spent.Events = mechanism.EventsOf(r.Rest)
	return spent, false
}

// refuse wraps a sentinel with what was asked and what is allowed.
func refuse(sentinel error, format string, args ...any) error {
	return fmt.Errorf("%w: %s", sentinel, fmt.Sprintf(format, args...))
}
