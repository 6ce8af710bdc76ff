// SPDX-License-Identifier: Apache-2.0

package accountant

import (
	"errors"
	"math/big"
	"slices"
	"testing"

	"github.com/dpaccountant/accountant/internal/mechanism"
)

func runOf(m mechanism.Mechanism, count uint64) Run {
	return Run{m.Kind(), mechanism.Composition{Adjacency: mechanism.AddOrRemoveOne,
		Parts: []mechanism.Part{{Mechanism: m, Count: count}}}}
}

// A single run has the guard under which it fits most often, and it fits that often and not once
// more.
func TestChoicesOfOneRun(t *testing.T) {
	gaussian := mechanism.Gaussian{NoiseMultiplier: 5}
	sampled := mechanism.PoissonSampled{SamplingProbability: 0.01, Mechanism: mechanism.Gaussian{NoiseMultiplier: 1.1}}
	for _, c := range []struct {
		run  Run
		want Guard
	}{
		{runOf(gaussian, 3), GuardGDP},
		{runOf(sampled, 100), GuardRDP},
		{runOf(mechanism.Laplace{Scale: 30, Sensitivity: 1}, 1), GuardRDP},
		{runOf(mechanism.PureDP{Epsilon: 4}, 1), GuardBasic},
		{runOf(mechanism.ApproximateDP{Epsilon: 4, Delta: 1e-9}, 1), GuardBasic},
		{runOf(mechanism.ApproximateDP{Epsilon: 0.1, Delta: 1e-9}, 2), GuardApproximateZCDP},
		{runOf(mechanism.ZeroConcentratedDP{Rho: 0.01, Delta: 1e-9}, 1), GuardApproximateZCDP},
	} {
		choices, err := (Budget{Epsilon: 8, Delta: 1e-6}).Choices([]Run{c.run}, nil)
		if err != nil || choices[0].Budget.Guard != c.want {
			t.Errorf("%s: %+v, %v; want %v", c.run.Name, choices, err, c.want)
			continue
		}
		for _, choice := range choices {
			if choice.Fits[0] > choices[0].Fits[0] {
				t.Errorf("%s: %v lets more in than the first, %v", c.run.Name, choice, choices[0])
			}
			limit, err := choice.Budget.Resolve(mechanism.Composition{})
			if err != nil {
				t.Fatal(err)
			}
			part := c.run.Composition.Parts[0]
			cost, reason := limit.Cost(part.Mechanism, mechanism.AddOrRemoveOne)
			if reason != "" {
				if choice.Fits[0] != 0 {
					t.Errorf("%s: %v cannot charge it: %s", c.run.Name, choice, reason)
				}
				continue
			}
			within := func(times uint64) bool {
				applied := new(big.Int).SetUint64(times * part.Count)
				whole := new(big.Int).SetUint64(Whole)
				return new(big.Int).Mul(applied, new(big.Int).SetUint64(cost.Value)).Cmp(whole) <= 0 &&
					new(big.Int).Mul(applied, new(big.Int).SetUint64(cost.Delta)).Cmp(whole) <= 0
			}
			if n := choice.Fits[0]; !within(n) || within(n+1) {
				t.Errorf("%s: %v; one costs %+v of %d", c.run.Name, choice, cost, Whole)
			}
		}
	}
}

// Without a run the default lets at least four fifths in of what the best guard would, whatever
// it is used for; and no guard stands twice.
func TestChoicesForUsualRuns(t *testing.T) {
	for _, adj := range []mechanism.Adjacency{mechanism.AddOrRemoveOne, mechanism.ReplaceOne, mechanism.ZeroOut} {
		for _, epsilon := range []float64{0.1, 0.5, 1, 3, 8, 20} {
			b := Budget{Epsilon: epsilon, Delta: 1e-6}
			runs := b.UsualRuns(adj)
			choices, err := b.Choices(runs, nil)
			if err != nil || len(choices) != 5 || len(runs) < 2 || choices[0].Budget.Guard != GuardRDP {
				t.Fatalf("%v, %v: %+v, %v", adj, b, choices, err)
			}
			for i, r := range runs {
				best := slices.MaxFunc(choices,
					func(a, c Choice) int { return int(a.Fits[i]) - int(c.Fits[i]) }).Fits[i]
				if n := choices[0].Fits[i]; 5*n < 4*best || n == 0 {
					t.Errorf("%v, %v: of %s %d fit, under the best guard %d", adj, b, r.Name, n, best)
				}
			}
		}
	}
}

// A budget has the guards of its form; one without a form is refused.
func TestChoicesByForm(t *testing.T) {
	for _, c := range []struct {
		budget Budget
		want   []Guard
	}{
		{Budget{Epsilon: 1}, []Guard{GuardBasic}},
		{Budget{Rho: 0.5}, []Guard{GuardZCDP}},
		{Budget{Mu: 1}, []Guard{GuardGDP}},
		{Budget{Rho: 0.5, Delta: 1e-6}, []Guard{GuardApproximateZCDP}},
	} {
		choices, err := c.budget.Choices(c.budget.UsualRuns(mechanism.AddOrRemoveOne), nil)
		var got []Guard
		for _, choice := range choices {
			got = append(got, choice.Budget.Guard)
		}
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%v: %v, %v; want %v", c.budget, got, err, c.want)
		}
	}
	for _, b := range []Budget{{}, {Delta: 1e-6}, {Mu: 1, Rho: 1}, {Epsilon: -1, Delta: 1e-6}} {
		choices, err := b.Choices(b.UsualRuns(mechanism.AddOrRemoveOne), nil)
		var wrong *mechanism.ParameterError
		if !errors.As(err, &wrong) {
			t.Errorf("%+v: %v, %v; want a ParameterError", b, choices, err)
		}
	}
}
