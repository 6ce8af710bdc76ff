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

// Child is a ledger that takes its share of what stands above it: of its parent's budget, or of its dataset's.
type Child struct {
	Spec       ledger.Spec // with the budgets that are in force
	Resolution ledger.Resolution

	past *ledger.View // of a ledger that was there before its dataset was registered
}

// Shares are what c needs set aside in the ledger above it: everything it may spend. Of Planned those are the plan's
// events; of Filtered the bound of its first budget, as one declared guarantee, that the ledger above can charge: all
// budgets are enforced, so each one's bound holds. It is one entry, unless c was adopted.
//
// The error is ErrParent where that ledger cannot be above c. That it has that much left is for the decision to find.
// See docs/math/children.md §5.5.
func (c Child) Shares(above ledger.View) ([]ledger.Reserve, error) {
	if err := mayHave(above, c.Spec); err != nil {
		return nil, err
	}
	if c.past != nil {
		if list, err := c.spent(above); list != nil || err != nil {
			return list, err
		}
	}
	events, err := c.whole(above)
	if err != nil {
		return nil, err
	}
	return []ledger.Reserve{{Child: c.Spec.Name, Events: events}}, nil
}

// whole is what c may spend.
func (c Child) whole(above ledger.View) ([]mechanism.Event, error) {
	switch c.Spec.Policy {
	case ledger.Planned:
		events := mechanism.EventsOf(c.Resolution.Plan)
		if len(events) > maxAllocated {
			return nil, refuse(ledger.ErrParent, "plan: %d mechanisms and 2^32 of one mechanism; allowed: at most %d "+
				"with a parent", len(events), maxAllocated)
		}
		return events, nil
	case ledger.Filtered:
		why := ""
		for i, limit := range c.Resolution.Limits {
			for _, m := range limit.Declared(c.Spec.Budgets[i]) {
				reason := cannot(above, m)
				if reason == "" {
					return []mechanism.Event{{Mechanism: m, Count: 1}}, nil
				}
				why += fmt.Sprintf("; budgets[%d] (%v) would be set aside as %v, but %s", i, c.Spec.Budgets[i], m,
					reason)
			}
		}
		return nil, refuse(ledger.ErrParent, "%s cannot set aside any of these budgets%s; allowed: %s",
			above.Genesis.Spec.Name, why, takes(above))
	}
	return nil, refuse(ledger.ErrParent, "policy: %v; allowed: PLAN or FILTER, which have a bound to set aside",
		c.Spec.Policy)
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
