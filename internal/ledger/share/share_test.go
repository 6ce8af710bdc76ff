// SPDX-License-Identifier: Apache-2.0

package share

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// What a child has set aside is the first bound that the parent's guards can charge.
func TestShares(t *testing.T) {
	const big = 1e6
	budget := func(g accountant.Guard, numbers ...float64) accountant.Budget {
		b := accountant.Budget{Guard: g, Epsilon: numbers[0], Delta: numbers[1]}
		if g == accountant.GuardRDP {
			b.Order = 8
		}
		return b
	}
	parents := map[string]ledger.Spec{
		"basic":            filter(budget(accountant.GuardBasic, big, 0.1)),
		"pure":             filter(budget(accountant.GuardBasic, big, 0)),
		"zcdp":             filter(accountant.Budget{Guard: accountant.GuardZCDP, Rho: big}),
		"gdp":              filter(accountant.Budget{Guard: accountant.GuardGDP, Mu: 1e3}),
		"rdp":              filter(budget(accountant.GuardRDP, big, 1e-5)),
		"approximate zcdp": filter(accountant.Budget{Guard: accountant.GuardApproximateZCDP, Rho: big, Delta: 0.1}),
		"zcdp and gdp": filter(accountant.Budget{Guard: accountant.GuardZCDP, Rho: big},
			accountant.Budget{Guard: accountant.GuardGDP, Mu: 1e3}),
		"plan": plan(mechanism.Event{Mechanism: mechanism.ZeroConcentratedDP{Rho: 0.5}, Count: 2},
			event(1, 100)),
	}
	zcdp, gdp := accountant.Budget{Guard: accountant.GuardZCDP, Rho: 0.5},
		accountant.Budget{Guard: accountant.GuardGDP, Mu: 0.7}
	basic, pureBasic := budget(accountant.GuardBasic, 2, 1e-6), budget(accountant.GuardBasic, 2, 0)
	rdp := budget(accountant.GuardRDP, 4, 1e-5)
	approximate := accountant.Budget{Guard: accountant.GuardApproximateZCDP, Rho: 0.5, Delta: 1e-6}
	lower := rdp
	lower.Order = 7
	for _, c := range []struct {
		parent string
		child  ledger.Spec
		want   mechanism.Mechanism // nil: refused
		says   string
	}{
		{"zcdp", filter(zcdp), mechanism.ZeroConcentratedDP{Rho: 0.5}, ""},
		{"zcdp", filter(gdp), mechanism.GaussianDP{Mu: 0.7}, ""},
		{"gdp", filter(zcdp, gdp), mechanism.GaussianDP{Mu: 0.7}, ""},
		{"zcdp and gdp", filter(zcdp, gdp), mechanism.GaussianDP{Mu: 0.7}, ""},
		{"zcdp", filter(pureBasic), mechanism.PureDP{Epsilon: 2}, ""},
		{"basic", filter(basic), mechanism.ApproximateDP{Epsilon: 2, Delta: 1e-6}, ""},
		{"basic", filter(zcdp, rdp), mechanism.ApproximateDP{Epsilon: 4, Delta: 1e-5}, ""},
		{"approximate zcdp", filter(rdp), mechanism.ApproximateDP{Epsilon: 4, Delta: 1e-5}, ""},
		{"rdp", filter(zcdp), mechanism.ZeroConcentratedDP{Rho: 0.5}, ""},
		{"plan", filter(zcdp), mechanism.ZeroConcentratedDP{Rho: 0.5}, ""},
		{"plan", plan(event(1, 7)), noise(1), ""},
		{"pure", filter(rdp), nil, "budgets[0] (ε = 4 at δ = 1e-05 by RDP) would be set aside as " +
			"approximate_dp(ε=4, δ=1e-05), but approximate_dp fails with probability δ = 1e-05, which the guard BASIC"},
		{"rdp", filter(rdp), mechanism.RenyiDP{Orders: mechanism.NumbersOf(8),
			Epsilons: mechanism.NumbersOf(limitOf(t, rdp))}, ""},
		// The parent's order is larger.
		{"rdp", filter(lower), nil, "cannot set aside any of these budgets; budgets[0]"},
		{"gdp", filter(zcdp), nil, "a zero_concentrated_dp has no μ"},
		{"approximate zcdp", filter(approximate), nil,
			"cannot set aside any of these budgets; allowed: a budget with the guard ZCDP or GDP or BASIC without " +
				"delta or BASIC, RDP or (given as epsilon and delta) APPROXIMATE_ZCDP, or a plan"},
		{"plan", filter(gdp), nil, "gaussian_dp(μ=0.7) is not in the parent's plan"},
	} {
		parent := ledger.NewState(resolved(t, parents[c.parent]))
		child := resolved(t, c.child).Genesis
		child.Spec.Name = "child"
		v, err := one(parent.View(), child.Spec, child.Resolution)
		if c.want == nil {
			if !errors.Is(err, ledger.ErrParent) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s of %s: %+v, %v; want %s", c.child.Policy, c.parent, v, err, c.says)
			}
			continue
		}
		if err != nil || v.Child != "child" || v.Lifetime != 0 || len(v.Events) != 1 ||
			v.Events[0].Mechanism != c.want {
			t.Errorf("%v of %s: %+v, %v; want %v", c.child.Budgets, c.parent, v, err, c.want)
			continue
		}
		if d := decide(parent, v); d.Outcome != ledger.Accepted {
			t.Errorf("%v of %s: %v", c.child.Budgets, c.parent, d.Err)
		}
	}
}

// one is the only entry that a child needs.
func one(above ledger.View, s ledger.Spec, r ledger.Resolution) (ledger.Reserve, error) {
	list, err := Child{Spec: s, Resolution: r}.Shares(above)
	if err != nil || len(list) != 1 {
		return ledger.Reserve{}, err
	}
	return list[0], nil
}

func TestSharesRefused(t *testing.T) {
	spec := filter(accountant.Budget{Guard: accountant.GuardBasic, Epsilon: 1})
	spec.PrivacyUnit, spec.DatasetID, spec.DatasetVersion = "user", "d", "1"
	parent := resolved(t, spec)
	for _, c := range []struct {
		says   string
		change func(parent *ledger.Snapshot, child *ledger.Spec)
	}{
		{"ledger a: adjacency: ZERO_OUT; allowed: ADD_OR_REMOVE_ONE, the parent's",
			func(_ *ledger.Snapshot, s *ledger.Spec) { s.Adjacency = mechanism.ZeroOut }},
		{`privacy_unit: "example"; allowed: "user", the parent's`,
			func(_ *ledger.Snapshot, s *ledger.Spec) { s.PrivacyUnit = "example" }},
		{`dataset_id: "e"`, func(_ *ledger.Snapshot, s *ledger.Spec) { s.DatasetID = "e" }},
		{`dataset_version: ""`, func(_ *ledger.Snapshot, s *ledger.Spec) { s.DatasetVersion = "" }},
		{"it is closed", func(p *ledger.Snapshot, _ *ledger.Spec) { p.Closed = true }},
		{"it has no budget", func(p *ledger.Snapshot, _ *ledger.Spec) {
			p.Genesis.Spec.Policy, p.Genesis.Resolution = ledger.Descriptive, ledger.Resolution{}
		}},
		{"policy: DESCRIPTIVE; allowed: PLAN or FILTER",
			func(_ *ledger.Snapshot, s *ledger.Spec) { s.Policy = ledger.Descriptive }},
	} {
		p, child := parent, parent.Genesis.Spec
		c.change(&p, &child)
		_, err := one(ledger.NewState(p).View(), child, parent.Genesis.Resolution)
		if !errors.Is(err, ledger.ErrParent) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%v; want %s", err, c.says)
		}
	}
	many := ledger.Resolution{Plan: []mechanism.Part{{Mechanism: noise(1), Count: 1000*math.MaxUint32 + 1}}}
	child := parent.Genesis.Spec
	child.Policy = ledger.Planned
	if _, err := one(ledger.NewState(parent).View(), child, many); !errors.Is(err, ledger.ErrParent) ||
		!strings.Contains(err.Error(), "at most 1000") {
		t.Errorf("too many events: %v", err)
	}
	many.Plan[0].Count--
	if v, err := one(ledger.NewState(parent).View(), child, many); err != nil ||
		!slices.Equal(mechanism.Merge(v.Events), many.Plan) {
		t.Errorf("a thousand events: %v", err)
	}
}

// A closed PLAN child has spent what was charged to it, a FILTER child all of it.
func TestSettle(t *testing.T) {
	child := charged(t, plan(pure(0.1, 8), pure(0.2, 3)), pure(0.1, 5))
	r := ledger.Reservation{Position: 4, Child: "a",
		Rest: []mechanism.Part{{Mechanism: mechanism.PureDP{Epsilon: 0.1}, Count: 8}}}
	if v, left := Settle(child, r); !left || v.Reservation != 4 ||
		!slices.Equal(v.Events, []mechanism.Event{pure(0.1, 5)}) {
		t.Errorf("%+v, %v", v, left)
	}
	one := accountant.Budget{Guard: accountant.GuardBasic, Epsilon: 1}
	child = ledger.NewState(resolved(t, filter(one))).View()
	r.Rest = []mechanism.Part{{Mechanism: mechanism.PureDP{Epsilon: 1}, Count: 1}}
	if v, left := Settle(child, r); left || !slices.Equal(v.Events, []mechanism.Event{pure(1, 1)}) {
		t.Errorf("%+v, %v", v, left)
	}
}

// limitOf is what a budget comes to.
func limitOf(t *testing.T, b accountant.Budget) float64 {
	t.Helper()
	return resolved(t, filter(b)).Genesis.Resolution.Limits[0].Value
}

var noon = time.Unix(1_700_000_000, 0)

// resolved is a new ledger.
func resolved(t *testing.T, s ledger.Spec) ledger.Snapshot {
	t.Helper()
	s.Name, s.Adjacency = "a", mechanism.AddOrRemoveOne
	r, err := ledger.Resolve(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	return ledger.Snapshot{Summary: ledger.Summary{Genesis: ledger.Genesis{Spec: s, Resolution: r}}}
}

// request is one of the daemon's own.
func request(v ledger.Action) ledger.Request {
	return ledger.Request{Writer: ledger.Writer{Principal: ledger.Daemon, Name: "w"}, Sequence: 1, Action: v}
}

func decide(s *ledger.State, v ledger.Action) ledger.Decision {
	return ledger.NewBatch(s).Decide(request(v), ledger.Lane{}, noon)
}

// charged is a ledger to which one charge was made.
func charged(t *testing.T, s ledger.Spec, events ...mechanism.Event) ledger.View {
	t.Helper()
	state := ledger.NewState(resolved(t, s))
	b := ledger.NewBatch(state)
	r := request(ledger.Charge{Events: events})
	if d := b.Decide(r, ledger.Lane{}, noon); d.Outcome != ledger.Accepted {
		t.Fatal(d.Err)
	}
	state.Apply(b, ledger.Head{Position: 1})
	return state.View()
}

func filter(budgets ...accountant.Budget) ledger.Spec {
	return ledger.Spec{Policy: ledger.Filtered, Budgets: budgets}
}

func plan(events ...mechanism.Event) ledger.Spec {
	return ledger.Spec{Policy: ledger.Planned, Plan: ledger.Workload{Events: events}}
}

func pure(epsilon float64, count uint32) mechanism.Event {
	return mechanism.Event{Mechanism: mechanism.PureDP{Epsilon: epsilon}, Count: count}
}

func noise(sigma float64) mechanism.Mechanism {
	return mechanism.Gaussian{StandardDeviation: sigma, Sensitivity: 1}
}

func event(sigma float64, count uint32) mechanism.Event {
	return mechanism.Event{Mechanism: noise(sigma), Count: count}
}
