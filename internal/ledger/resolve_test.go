// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"errors"
	"strings"
	"testing"

	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

func TestPoliciesAreChecked(t *testing.T) {
	basic := accountant.Budget{Guard: accountant.GuardBasic, Epsilon: 1}
	bare := accountant.Budget{Epsilon: 1, Delta: 1e-5}
	run := Workload{Events: []mechanism.Event{pure(0.1, 3)}}
	for _, c := range []struct {
		name, says string
		spec       Spec
	}{
		{"descriptive with a plan", "plan: given; allowed: no plan", Spec{Plan: run}},
		{"descriptive with a budget", "budgets: 1 given; allowed: no budgets",
			Spec{Budgets: []accountant.Budget{basic}}},
		{"descriptive with a run", "expected_run: given", Spec{ExpectedRun: run}},
		{"no plan", "plan.events: missing", plan()},
		{"planned nonsense", "plan.events[0].pure_dp.epsilon: -1", plan(pure(-1, 1))},
		{"a count of 0 among others", "plan.events[1].count: missing or 0", plan(pure(1, 1), pure(2, 0))},
		{"as many as fit without a budget", "budgets: missing", plan(pure(1, 0))},
		{"a plan not for the adjacency", "plan.events[0]: randomized_response: not defined",
			plan(mechanism.Event{Mechanism: mechanism.RandomizedResponse{Epsilon: 1}, Count: 1})},
		{"a plan with a guard", "budgets[0].guard: BASIC; allowed: no guard",
			Spec{Policy: Planned, Plan: run, Budgets: []accountant.Budget{basic}}},
		{"a plan over its budget", "plan: costs more than budgets[1] (ρ = 0.001)",
			Spec{Policy: Planned, Plan: run, Budgets: []accountant.Budget{bare, {Rho: 0.001}}}},
		{"nothing fits", "as many as fit: 0 of pure_dp(ε=1)",
			Spec{Policy: Planned, Plan: Workload{Events: []mechanism.Event{pure(1, 0)}},
				Budgets: []accountant.Budget{{Epsilon: 0.5, Delta: 1e-9}}}},
		{"a plan and a run", "expected_run: given", Spec{Policy: Planned, Plan: run, ExpectedRun: run}},
		{"a filter without budgets", "budgets: missing", filter()},
		{"a filter without a guard", "budgets[1].guard: missing", filter(basic, bare)},
		{"a filter with a plan", "plan: given", Spec{Policy: Filtered, Plan: run, Budgets: []accountant.Budget{basic}}},
		{"a bad budget", "budgets[1].epsilon: -1",
			filter(basic, accountant.Budget{Guard: accountant.GuardBasic, Epsilon: -1})},
		{"an RDP guard without an order", "budgets[0].order: missing",
			filter(accountant.Budget{Guard: accountant.GuardRDP, Epsilon: 1, Delta: 1e-5})},
		{"a guard that cannot charge the run", "expected_run: budgets[1] (μ = 1 by GDP): a pure_dp has no μ",
			Spec{Policy: Filtered, ExpectedRun: run,
				Budgets: []accountant.Budget{basic, {Guard: accountant.GuardGDP, Mu: 1}}}},
		{"a run that does not fit",
			"expected_run: budgets[0] (ε = 1 by BASIC): needs 2 of ε, 1 is left, short by 1", Spec{Policy: Filtered,
				Budgets: []accountant.Budget{basic}, ExpectedRun: Workload{Events: []mechanism.Event{pure(0.1, 20)}}}},
		{"a run that breaks several",
			"needs 2 of ε, 1 is left, short by 1; budgets[1] (μ = 1 by GDP): a pure_dp has no μ", Spec{Policy: Filtered,
				Budgets:     []accountant.Budget{basic, {Guard: accountant.GuardGDP, Mu: 1}},
				ExpectedRun: Workload{Events: []mechanism.Event{pure(0.1, 20)}}}},
		{"too many budgets", "budgets: 17 budgets; allowed: at most 16", filter(make([]accountant.Budget, 17)...)},
		{"another policy", "policy: 3", Spec{Policy: 3}},
	} {
		c.spec.Adjacency = mechanism.AddOrRemoveOne
		r, err := Resolve(c.spec, nil)
		var pe *mechanism.ParameterError
		var ae *mechanism.AdjacencyError
		if err == nil || !strings.Contains(err.Error(), c.says) || !errors.As(err, &pe) && !errors.As(err, &ae) ||
			!r.Equal(Resolution{}) {
			t.Errorf("%s: %+v, %v; want %q", c.name, r, err, c.says)
		}
	}
}

func TestResolutions(t *testing.T) {
	if r, err := Resolve(Spec{Adjacency: mechanism.ZeroOut}, nil); err != nil || !r.Equal(Resolution{}) {
		t.Errorf("descriptive: %+v, %v", r, err)
	}
	r := resolved(t, plan(pure(0.1, 3), event(1, 2), pure(0.1, 4))).Genesis.Resolution
	if !r.Equal(Resolution{Plan: []mechanism.Part{{Mechanism: mechanism.PureDP{Epsilon: 0.1}, Count: 7},
		{Mechanism: noise(1), Count: 2}}}) {
		t.Errorf("a plan: %+v", r)
	}
	many := plan(event(10, 0))
	many.Budgets = []accountant.Budget{{Rho: 0.5}, {Mu: 0.9}}
	// μ² = 1/100
	if r := resolved(t,
		many).Genesis.Resolution; !r.Equal(Resolution{Plan: []mechanism.Part{{Mechanism: noise(10), Count: 81}}}) {
		t.Errorf("as many as fit: %+v", r)
	}
	step := mechanism.PoissonSampled{SamplingProbability: 0.01, Mechanism: mechanism.Gaussian{NoiseMultiplier: 1.1}}
	dpsgd := Spec{Policy: Filtered,
		Budgets: []accountant.Budget{{Guard: accountant.GuardRDP, Epsilon: 8, Delta: 1e-5},
			{Guard: accountant.GuardRDP, Epsilon: 8, Delta: 1e-5, Order: 4}},
		ExpectedRun: Workload{Events: []mechanism.Event{{Mechanism: step, Count: 5000}}}}
	r = resolved(t, dpsgd).Genesis.Resolution
	if len(r.Limits) != 2 || r.Limits[1].Order != 4 || !(r.Limits[0].Order > 1) || r.Limits[0].Value >= 8 ||
		r.Limits[1].Value >= 8 {
		t.Errorf("a described run: %+v", r)
	}
}

// The count that is found fits, and one more does not.
func TestAsManyAsFit(t *testing.T) {
	budget := accountant.Budget{Epsilon: 2, Delta: 1e-6}
	s := plan(event(4, 0))
	s.Budgets = []accountant.Budget{budget}
	n := resolved(t, s).Genesis.Resolution.Plan[0].Count
	for count, want := range map[uint64]bool{n: true, n + 1: false} {
		ok, err := budget.Met(mechanism.Composition{Adjacency: mechanism.AddOrRemoveOne,
			Parts: []mechanism.Part{{Mechanism: noise(4), Count: count}}}, nil)
		if ok != want || err != nil {
			t.Errorf("%d of %d fit: %v, %v", count, n, ok, err)
		}
	}
	s.Adjacency = mechanism.AddOrRemoveOne
	if _, err := Resolve(s, func() bool { return true }); !errors.Is(err, ErrUnavailable) {
		t.Errorf("out of time: %v", err)
	}
}
