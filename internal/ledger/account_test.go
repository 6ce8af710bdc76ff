// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/ledger/budget"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// resolved is an empty ledger of a spec.
func resolved(t rapid.TB, s Spec) Snapshot {
	t.Helper()
	s.Name, s.Adjacency = "a", mechanism.AddOrRemoveOne
	r, err := Resolve(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	return Snapshot{Summary: Summary{Genesis: Genesis{Spec: s, Resolution: r}, Head: Head{Hash: Hash{1}}}}
}

func filter(budgets ...accountant.Budget) Spec { return Spec{Policy: Filtered, Budgets: budgets} }

func plan(events ...mechanism.Event) Spec {
	return Spec{Policy: Planned, Plan: Workload{Events: events}}
}

func pure(epsilon float64, count uint32) mechanism.Event {
	return mechanism.Event{Mechanism: mechanism.PureDP{Epsilon: epsilon}, Count: count}
}

// steps charges events one after the other, and says which one is refused.
func steps(t *testing.T, s Snapshot, events ...mechanism.Event) (int, error) {
	t.Helper()
	b := NewBatch(NewState(s))
	for i, e := range events {
		if d := b.Decide(request("w", uint64(i+1), e), Lane{}, noon); d.Outcome != Accepted {
			return i, d.Err
		}
	}
	return len(events), nil
}

// What people write divides without a rest: no budget ends one step early.
func TestBudgetsEndExactly(t *testing.T) {
	for _, c := range []struct {
		budget accountant.Budget
		event  mechanism.Event // as often as it fits
		fits   int
	}{
		{accountant.Budget{Guard: accountant.GuardBasic, Epsilon: 1}, pure(0.1, 1), 10},
		{accountant.Budget{Guard: accountant.GuardBasic, Epsilon: 3}, pure(0.1, 1), 30},
		{accountant.Budget{Guard: accountant.GuardBasic, Epsilon: 0.7}, pure(0.01, 1), 70},
		{accountant.Budget{Guard: accountant.GuardBasic, Epsilon: 1}, pure(0.3, 1), 3},
		{accountant.Budget{Guard: accountant.GuardBasic, Epsilon: 9, Delta: 1e-5},
			mechanism.Event{Mechanism: mechanism.ApproximateDP{Epsilon: 0.1, Delta: 1e-6}, Count: 1}, 10},
		{accountant.Budget{Guard: accountant.GuardZCDP, Rho: 0.5}, event(10, 1), 100}, // ρ = 1/200
		{accountant.Budget{Guard: accountant.GuardGDP, Mu: 0.3}, event(10, 1), 9},     // μ² = 1/100
		{accountant.Budget{Guard: accountant.GuardGDP, Mu: 1}, event(2, 1), 4},
		{accountant.Budget{Guard: accountant.GuardApproximateZCDP, Rho: 0.1, Delta: 3e-6},
			mechanism.Event{Mechanism: mechanism.ApproximateDP{Epsilon: 0.001, Delta: 1e-6}, Count: 1}, 3},
	} {
		events := slices.Repeat([]mechanism.Event{c.event}, c.fits+1)
		n, err := steps(t, resolved(t, filter(c.budget)), events...)
		if n != c.fits || !errors.Is(err, ErrBudget) {
			t.Errorf("%v: %d × %v fit, then %v; want %d", c.budget, n, c.event.Mechanism, err, c.fits)
		}
	}
}

// A refusal lists every budget it breaks, the shortfall, and what would still fit.
func TestRefusalsSayWhatIsMissing(t *testing.T) {
	two := filter(accountant.Budget{Guard: accountant.GuardBasic, Epsilon: 1},
		accountant.Budget{Guard: accountant.GuardZCDP, Rho: 0.01})
	dp := mechanism.ApproximateDP{Epsilon: 0.1, Delta: 1e-6}
	for _, c := range []struct {
		name   string
		spec   Spec
		events []mechanism.Event // the last one is refused
		says   []string
	}{
		{"one of two", two, []mechanism.Event{pure(0.05, 5), pure(0.05, 5)}, []string{
			"budget exceeded: budgets[1] (ρ = 0.01 by ZCDP): needs 0.00624", "is left, short by",
			"; allowed: 3 × pure_dp(ε=0.05)"}},
		{"both", two, []mechanism.Event{pure(0.7, 2)}, []string{
			"budgets[0] (ε = 1 by BASIC): needs 1.4 of ε, 1 is left, short by 0.4; budgets[1]",
			"allowed: 0 × pure_dp(ε=0.7)"}},
		{"a guard that cannot charge it", two, []mechanism.Event{event(50, 1)}, []string{
			"budgets[0] (ε = 1 by BASIC): no δ is allowed, and without one no finite ε of a gaussian is known; " +
				"allowed: 0"}},
		{"δ", filter(accountant.Budget{Guard: accountant.GuardBasic, Epsilon: 9, Delta: 1e-6}),
			[]mechanism.Event{{Mechanism: dp, Count: 3}}, []string{
				"needs 3e-6 of δ, 1e-6 is left, short by 2e-6; allowed: 1 × approximate_dp"}},
		{"no δ", filter(accountant.Budget{Guard: accountant.GuardZCDP, Rho: 1}),
			[]mechanism.Event{{Mechanism: dp, Count: 1}}, []string{
				"fails with probability δ = 1e-06, which the guard ZCDP of this budget does not allow"}},
		{"not in the plan", plan(event(1, 3)), []mechanism.Event{event(2, 1)}, []string{
			"plan: gaussian(σ=2, Δ=1) is not in it; nearest is gaussian(σ=1, Δ=1), from which yours differs in " +
				"standard_deviation: 2 instead of 1; allowed: 3 × gaussian(σ=1, Δ=1) (3 are planned)"}},
		{"more than the plan", plan(event(1, 3), event(2, 9)), []mechanism.Event{event(1, 1), event(1, 3)}, []string{
			"plan: needs 3 of gaussian(σ=1, Δ=1), 2 is left, short by 1; allowed: 2 × gaussian(σ=1, Δ=1)"}},
	} {
		n, err := steps(t, resolved(t, c.spec), c.events...)
		if n != len(c.events)-1 || !errors.Is(err, ErrBudget) {
			t.Errorf("%s: %d fit, %v", c.name, n, err)
			continue
		}
		for _, says := range c.says {
			if !strings.Contains(err.Error(), says) {
				t.Errorf("%s: %q; want %q in it", c.name, err, says)
			}
		}
	}
}

// Asking and refusals use up nothing, neither budget nor sequence number.
func TestRefusalsUseUpNothing(t *testing.T) {
	b := NewBatch(NewState(resolved(t, filter(accountant.Budget{Guard: accountant.GuardBasic, Epsilon: 1}))))
	for range 3 {
		if d := b.Decide(check(request("w", 1, pure(1, 1))), Lane{}, noon); d.Outcome != Accepted {
			t.Fatal(d.Err)
		}
		if d := b.Decide(request("w", 1, pure(0.5, 1), pure(0.25, 1), pure(0.5, 1)), Lane{},
			noon); !errors.Is(d.Err, ErrBudget) {
			t.Fatalf("%+v", d)
		}
	}
	if d := b.Decide(request("w", 1, pure(1, 1)), Lane{}, noon); d.Outcome != Accepted {
		t.Fatal(d.Err)
	}
	if d := b.Decide(request("w", 1, pure(1, 1)), Lane{}, noon); d.Outcome != Duplicate {
		t.Errorf("a retry of what used up the budget: %+v", d)
	}
}

// Lines of mechanisms that are only asked for do not stay forever.
func TestIdleLinesAreBounded(t *testing.T) {
	s := NewState(resolved(t, filter(accountant.Budget{Guard: accountant.GuardBasic, Epsilon: 1})))
	for i := range 4 * budget.MaxIdleLines {
		b := NewBatch(s)
		if d := b.Decide(request("w", 1, pure(2+float64(i), 1)), Lane{}, noon); !errors.Is(d.Err, ErrBudget) {
			t.Fatal(d)
		}
	}
	if n := s.account.Lines(); n > budget.MaxIdleLines+1 {
		t.Errorf("%d lines", n)
	}
}
