// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"fmt"
	"strconv"

	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/ledger/budget"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/num"
)

// maxBudgets bounds the budgets of one ledger, each of which every charge is
// checked against.
const maxBudgets = 16

// CheckPolicy returns nil if the policy has what it needs and nothing else;
// otherwise a *mechanism.ParameterError or *mechanism.AdjacencyError.
func (s Spec) CheckPolicy() error {
	wrong := func(field, value, allowed string) error {
		return &mechanism.ParameterError{Field: field, Value: value, Allowed: allowed}
	}
	if len(s.Budgets) > maxBudgets {
		return wrong("budgets", fmt.Sprintf("%d budgets", len(s.Budgets)), fmt.Sprintf("at most %d", maxBudgets))
	}
	for i, b := range s.Budgets {
		guard := fmt.Sprintf("budgets[%d].guard", i)
		switch {
		case s.Policy == Planned && b.Guard != accountant.GuardNone:
			return wrong(guard, b.Guard.String(), "no guard with the policy PLAN: the plan is the guard")
		case s.Policy == Filtered && b.Guard == accountant.GuardNone:
			return wrong(guard, "missing", "BASIC, ZCDP, APPROXIMATE_ZCDP, GDP or RDP")
		}
		if err := b.Check(); err != nil {
			return mechanism.AtIndex(err, "budgets", i)
		}
	}
	switch s.Policy {
	case Descriptive:
		switch {
		case s.Parent != "":
			return wrong("parent", strconv.Quote(s.Parent),
				"no parent with the policy DESCRIPTIVE (or unset), which has no bound to set aside")
		case !s.Plan.IsZero():
			return wrong("plan", "given", "no plan with the policy DESCRIPTIVE (or unset)")
		case len(s.Budgets) > 0:
			return wrong("budgets", fmt.Sprintf("%d given", len(s.Budgets)),
				"no budgets with the policy DESCRIPTIVE (or unset)")
		case !s.ExpectedRun.IsZero():
			return wrong("expected_run", "given", "an expected run with the policy FILTER only")
		}
	case Planned:
		if !s.ExpectedRun.IsZero() {
			return wrong("expected_run", "given", "an expected run with the policy FILTER only")
		}
		if len(s.Plan.Events) == 0 {
			return wrong("plan.events", "missing", "at least one event with the policy PLAN")
		}
		return s.checkPlan()
	case Filtered:
		if !s.Plan.IsZero() {
			return wrong("plan", "given", "a plan with the policy PLAN only; expected_run describes what is expected")
		}
		if len(s.Budgets) == 0 {
			return wrong("budgets", "missing", "at least one budget with the policy FILTER")
		}
		_, err := mechanism.Compose(s.Adjacency, s.ExpectedRun.Events)
		return inWorkload("expected_run", err)
	default:
		return wrong("policy", strconv.Itoa(int(s.Policy)), "PLAN, FILTER or DESCRIPTIVE")
	}
	return nil
}

// asManyAsFit reports whether the plan's count is to be found.
func (s Spec) asManyAsFit() bool { return len(s.Plan.Events) == 1 && s.Plan.Events[0].Count == 0 }

func (s Spec) checkPlan() error {
	events := s.Plan.Events
	if s.asManyAsFit() {
		if len(s.Budgets) == 0 {
			return &mechanism.ParameterError{Field: "budgets", Value: "missing",
				Allowed: "at least one budget with a plan of count 0, as many as fit"}
		}
		events = []mechanism.Event{{Mechanism: events[0].Mechanism, Count: 1}}
	}
	_, err := mechanism.Compose(s.Adjacency, events)
	return inWorkload("plan", err)
}

// inWorkload puts the field of an error below the workload's.
func inWorkload(field string, err error) error {
	if pe, ok := err.(*mechanism.ParameterError); ok && pe.Field != "adjacency" {
		pe.Field = field + "." + pe.Field
		return pe
	}
	if err != nil {
		return fmt.Errorf("%s.%w", field, err)
	}
	return nil
}

// Resolve is ledger.Resolve.
func (s Spec) Resolve(stop func() bool) (Resolution, error) { return Resolve(s, stop) }

// Resolve finds what a spec comes to: the limits of its budgets, or its plan's
// counts. A plan or an expected run that does not keep within every budget, or
// that a guard cannot charge, is refused, as CheckPolicy refuses.
//
// stop, which may be nil, is asked between steps of long computations; once it
// is true Resolve fails, and never ends with a smaller plan.
func Resolve(s Spec, stop func() bool) (Resolution, error) {
	if err := s.CheckPolicy(); err != nil {
		return Resolution{}, err
	}
	switch s.Policy {
	case Planned:
		plan, err := resolvePlan(s, stop)
		return Resolution{Plan: plan}, err
	case Filtered:
		limits, err := resolveLimits(s, stop)
		return Resolution{Limits: limits}, err
	}
	return Resolution{}, nil
}

// resolveLimits is given up, with nothing found, when stop says so.
func resolveLimits(s Spec, stop func() bool) (limits []accountant.Limit, err error) {
	in := num.NewInterrupt(stop)
	if !in.Try(func() { limits, err = limitsWithin(s, in) }) {
		return nil, fmt.Errorf("%w: the limits of the budgets were not found in time", ErrUnavailable)
	}
	return limits, err
}

func limitsWithin(s Spec, in *num.Interrupt) ([]accountant.Limit, error) {
	run, err := mechanism.Compose(s.Adjacency, s.ExpectedRun.Events)
	if err != nil {
		return nil, inWorkload("expected_run", err)
	}
	limits := make([]accountant.Limit, len(s.Budgets))
	for i, b := range s.Budgets {
		if limits[i], err = b.ResolveWithin(run, in); err != nil {
			return nil, mechanism.AtIndex(err, "budgets", i)
		}
	}
	found := budget.PricesOf(budget.NewFinder(limits, s.Adjacency), in, run.Parts...)
	terms := s.terms(amendments{budgets: s.Budgets, resolution: Resolution{Limits: limits}})
	if short := budget.New(terms, nil, nil, found).Shortfalls(run.Parts); len(short) > 0 {
		return nil, &mechanism.ParameterError{Field: "expected_run", Value: budget.List(short),
			Allowed: "a run that every budget's guard can charge and that keeps within it"}
	}
	return limits, nil
}

func resolvePlan(s Spec, stop func() bool) ([]mechanism.Part, error) {
	meets := func(c mechanism.Composition) (int, error) {
		for i, b := range s.Budgets {
			ok, err := b.Met(c, stop)
			if stop != nil && stop() { // before ok: what was stopped is a looser bound
				return i, fmt.Errorf("%w: the plan's cost was not found in time", ErrUnavailable)
			}
			if err != nil || !ok {
				return i, err
			}
		}
		return -1, nil
	}
	if !s.asManyAsFit() {
		c, err := mechanism.Compose(s.Adjacency, s.Plan.Events)
		if err != nil {
			return nil, inWorkload("plan", err)
		}
		broken, err := meets(c)
		if err != nil {
			return nil, err
		}
		if broken >= 0 {
			return nil, &mechanism.ParameterError{Field: "plan",
				Value:   fmt.Sprintf("costs more than budgets[%d] (%v)", broken, s.Budgets[broken]),
				Allowed: "a plan that keeps within every budget"}
		}
		return c.Parts, nil
	}
	m := s.Plan.Events[0].Mechanism
	at := func(n uint64) (bool, error) {
		broken, err := meets(mechanism.Composition{Adjacency: s.Adjacency,
			Parts: []mechanism.Part{{Mechanism: m, Count: n}}})
		return broken < 0, err
	}
	n, err := num.Most(at)
	if err != nil {
		return nil, err
	}
	if n == 0 {
		return nil, &mechanism.ParameterError{Field: "plan.events[0]", Value: "as many as fit: 0 of " + m.String(),
			Allowed: "a mechanism of which one at least keeps within every budget"}
	}
	return []mechanism.Part{{Mechanism: m, Count: n}}, nil
}
