// SPDX-License-Identifier: Apache-2.0

package accountant

import (
	"errors"
	"math"
	"testing"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/loss/kinds"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"pgregory.net/rapid"
)

func TestBudgetsAreRefused(t *testing.T) {
	run, err := mechanism.Compose(mechanism.AddOrRemoveOne,
		[]mechanism.Event{{Mechanism: mechanism.GaussianDP{Mu: 1}, Count: 1}})
	if err != nil {
		t.Fatal(err)
	}
	inf, nan := math.Inf(1), math.NaN()
	for _, c := range []struct {
		budget Budget
		field  string
	}{
		{Budget{}, "bound"},
		{Budget{Epsilon: 1}, "bound"},
		{Budget{Epsilon: 1, Delta: 1e-5}, "guard"},
		{Budget{Guard: GuardBasic}, "bound"},
		{Budget{Guard: GuardBasic, Delta: 1e-5}, "bound"},
		{Budget{Guard: GuardBasic, Rho: 1}, "bound"},
		{Budget{Guard: GuardZCDP, Epsilon: 1}, "bound"},
		{Budget{Guard: GuardZCDP, Mu: 1}, "bound"},
		{Budget{Guard: GuardZCDP, Rho: 1, Epsilon: 1, Delta: 1e-5}, "bound"},
		{Budget{Guard: GuardApproximateZCDP, Rho: 1}, "bound"},
		{Budget{Guard: GuardGDP, Rho: 1}, "bound"},
		{Budget{Guard: GuardRDP, Rho: 1}, "bound"},
		{Budget{Guard: GuardRDP + 1, Epsilon: 1, Delta: 1e-5}, "guard"},
		{Budget{Guard: GuardBasic, Epsilon: -1}, "epsilon"},
		{Budget{Guard: GuardBasic, Epsilon: inf}, "epsilon"},
		{Budget{Guard: GuardBasic, Epsilon: nan}, "epsilon"},
		{Budget{Guard: GuardBasic, Epsilon: 1, Delta: 1}, "delta"},
		{Budget{Guard: GuardBasic, Epsilon: 1, Delta: -1e-5}, "delta"},
		{Budget{Guard: GuardZCDP, Rho: -1}, "rho"},
		{Budget{Guard: GuardGDP, Mu: inf}, "mu"},
		{Budget{Guard: GuardRDP, Epsilon: 1, Delta: 1e-5, Order: 1}, "order"},
		{Budget{Guard: GuardRDP, Epsilon: 1, Delta: 1e-5, Order: inf}, "order"},
		{Budget{Guard: GuardZCDP, Epsilon: 1, Delta: 1e-5, Order: 2}, "order"},
		// ln(1/δ)/(α − 1) alone is 115.
		{Budget{Guard: GuardRDP, Epsilon: 8, Delta: 1e-5, Order: 1.1}, "order"},
		{Budget{Guard: GuardGDP, Mu: 1e-200}, "bound"}, // μ² underflows
	} {
		_, err := c.budget.Resolve(run)
		var pe *mechanism.ParameterError
		if !errors.As(err, &pe) || pe.Field != c.field || pe.Allowed == "" {
			t.Errorf("%+v: %v; want an error about %s", c.budget, err, c.field)
		}
	}
	if _, err := (Budget{Guard: GuardRDP, Epsilon: 1, Delta: 1e-5}).Resolve(mechanism.Composition{}); err == nil {
		t.Error("an RDP guard without an order and without a run to choose it for")
	}
}

func drawBound(t *rapid.T) (epsilon, delta float64) {
	return math.Pow(10, rapid.Float64Range(-2, 2).Draw(t, "lg ε")),
		math.Pow(10, rapid.Float64Range(-12, -2).Draw(t, "lg δ"))
}

// What spends a whole limit keeps within the budget by the analysis it belongs
// to, and a little more does not.
func TestLimitsMeetTheirBudgets(t *testing.T) {
	const slack = 1e-9 // relative; the margin is 2⁻⁴⁸, and ε(ρ), δ(μ) are steep enough
	rapid.Check(t, func(t *rapid.T) {
		epsilon, delta := drawBound(t)
		order := 1 + math.Pow(10, rapid.Float64Range(0, 4).Draw(t, "lg(α − 1)"))
		for _, c := range []struct {
			guard Guard
			spend func(l Limit, share float64) mechanism.Mechanism
		}{
			{GuardZCDP, func(l Limit, share float64) mechanism.Mechanism {
				return mechanism.ZeroConcentratedDP{Rho: l.Value * share}
			}},
			{GuardGDP, func(l Limit, share float64) mechanism.Mechanism {
				return mechanism.GaussianDP{Mu: math.Sqrt(l.Value * share)}
			}},
		} {
			l, err := Budget{Guard: c.guard, Epsilon: epsilon, Delta: delta}.Resolve(mechanism.Composition{})
			if err != nil {
				t.Fatal(err)
			}
			for _, share := range []float64{1 - 1e-15, 1 + slack} {
				a := mustAsk(t, mechanism.AddOrRemoveOne,
					[]mechanism.Event{{Mechanism: c.spend(l, share), Count: 1}}, AtDelta(delta))
				if fits := a.Epsilon <= epsilon; fits != (share < 1) {
					t.Fatalf("%v: %g of the limit %g costs ε = %g, the budget is %g", c.guard, share,
						l.Value, a.Epsilon, epsilon)
				}
			}
		}
		l, err := Budget{Guard: GuardRDP, Epsilon: epsilon, Delta: delta, Order: order}.Resolve(mechanism.Composition{})
		if err != nil {
			var pe *mechanism.ParameterError
			if !errors.As(err, &pe) || loss.EpsilonAt(order-1, 0, math.Log(delta)) < epsilon*(1-slack) {
				t.Fatal(err)
			}
			return
		}
		at := func(share float64) float64 { return loss.EpsilonAt(order-1, (order-1)*l.Value*share, math.Log(delta)) }
		if at(1) > epsilon || at(1) > 0 && at(1+1e-9)+1e-9*l.Value < epsilon {
			t.Fatalf("order %g: the limit %g costs ε = %g, the budget is %g", order, l.Value, at(1), epsilon)
		}
	})
}

// ρ = ½ at δ = 1e−6 is ε = 5.2215 (docs/math/conversions.md §4.5.6).
func TestLimitOfKnownConversion(t *testing.T) {
	l, err := Budget{Guard: GuardZCDP, Epsilon: 5.2215, Delta: 1e-6}.Resolve(mechanism.Composition{})
	if err != nil || math.Abs(l.Value-0.5) > 1e-4 {
		t.Errorf("ρ = %g, %v; want ½", l.Value, err)
	}
	half, err := Budget{Guard: GuardApproximateZCDP, Epsilon: 5.2215, Delta: 2e-6}.Resolve(mechanism.Composition{})
	if err != nil || half.Value != l.Value || half.Delta != 1e-6 {
		t.Errorf("with as much δ for failures: %+v, %v; want ρ = %g", half, err, l.Value)
	}
}

// The chosen order fits as many runs as any other, but for the rounding to three
// digits.
func TestChosenOrderIsTheBest(t *testing.T) {
	for _, c := range []struct {
		q, sigma       float64
		epsilon, delta float64
	}{{0.01, 1.1, 8, 1e-5}, {1e-3, 0.8, 2, 1e-6}, {0.5, 5, 1, 1e-9}, {1, 20, 3, 1e-5}} {
		m := mechanism.PoissonSampled{SamplingProbability: c.q, Mechanism: mechanism.Gaussian{NoiseMultiplier: c.sigma}}
		run, err := mechanism.Compose(mechanism.AddOrRemoveOne, []mechanism.Event{{Mechanism: m, Count: 1000}})
		if err != nil {
			t.Fatal(err)
		}
		fits := func(order float64) (float64, float64) {
			l, err := Budget{Guard: GuardRDP, Epsilon: c.epsilon, Delta: c.delta, Order: order}.Resolve(run)
			if err != nil {
				return 0, order
			}
			cost, reason := l.Cost(m, mechanism.AddOrRemoveOne)
			if reason != "" {
				t.Fatal(reason)
			}
			return float64(Whole) / float64(cost.Value), l.Order
		}
		chosen, order := fits(0)
		for s := 0.01; s < 1e4; s *= 1.1 {
			if n, _ := fits(1 + s); n > chosen*1.001 {
				t.Fatalf("%+v: %g fit at the chosen order %g, %g at %g", c, chosen, order, n, 1+s)
			}
		}
	}
}

// A cost is the real one rounded up, by less than a share and a few units in the
// last place.
func TestCostsRoundUp(t *testing.T) {
	const adj = mechanism.ReplaceOne
	rapid.Check(t, func(t *rapid.T) {
		p := func(name string) float64 { return math.Pow(10, rapid.Float64Range(-4, 4).Draw(t, name)) }
		m := rapid.SampledFrom([]mechanism.Mechanism{
			mechanism.Gaussian{StandardDeviation: p("σ"), Sensitivity: p("Δ")},
			mechanism.Gaussian{NoiseMultiplier: p("noise")},
			mechanism.Laplace{Scale: p("b"), Distance: p("d")}, mechanism.RandomizedResponse{Epsilon: p("ε")},
			mechanism.RandomizedResponse{Noise: 0.3, Buckets: 5},
			mechanism.PureDP{Epsilon: p("ε")}, mechanism.ApproximateDP{Epsilon: p("ε"), Delta: 1e-9},
			mechanism.ZeroConcentratedDP{Rho: p("ρ")}, mechanism.GaussianDP{Mu: p("μ")},
			mechanism.ZeroConcentratedDP{Rho: p("ρ"), Delta: 1e-9},
			mechanism.RenyiDP{Orders: mechanism.NumbersOf(2, 1e5), Epsilons: mechanism.NumbersOf(p("ε"), p("ε"))},
			mechanism.DiscreteGaussian{StandardDeviation: p("σ"), Sensitivity: 3},
			mechanism.DiscreteLaplace{Scale: p("b"), Distance: 7},
			mechanism.TruncatedLaplace{Scale: 1, Bound: 30, Distance: 2},
			mechanism.Exponential{Scale: p("b"), Sensitivity: p("Δ")},
			mechanism.ReportNoisyMax{Distribution: mechanism.GumbelMax, Epsilon: p("ε")},
			mechanism.InverseSensitivity{Epsilon: p("ε")},
			mechanism.AboveThreshold{ThresholdScale: p("b1"), QueryScale: p("b2"), Sensitivity: 1, Positives: 3},
			mechanism.Histogram{LaplaceScale: p("b")}, mechanism.Histogram{StandardDeviation: p("σ")},
			mechanism.CountingQueries{Queries: 5, Rho: p("ρ")},
			mechanism.PoissonSampled{SamplingProbability: 0.1,
				Mechanism: mechanism.Gaussian{NoiseMultiplier: p("noise")}},
			mechanism.Group{Size: 3, Mechanism: mechanism.Laplace{Scale: p("b"), Sensitivity: p("Δ")}},
			mechanism.Group{Size: 3, Mechanism: mechanism.ZeroConcentratedDP{Rho: p("ρ")}},
			mechanism.Group{Size: 3, Mechanism: mechanism.DiscreteGaussian{StandardDeviation: p("σ"), Sensitivity: 3}},
			mechanism.Group{Size: 7, Mechanism: mechanism.DiscreteLaplace{Scale: p("b"), Distance: 1}},
			mechanism.Group{Size: 7, Mechanism: mechanism.TruncatedLaplace{Scale: 1, Bound: 10, Distance: 2}},
			mechanism.Group{Size: 3, Mechanism: mechanism.Exponential{Scale: p("b"), Sensitivity: p("Δ")}},
			mechanism.Group{Size: 3, Mechanism: mechanism.Histogram{LaplaceScale: p("b")}},
			mechanism.Group{Size: 3, Mechanism: mechanism.CountingQueries{Queries: 5, Rho: p("ρ")}},
			mechanism.Shuffled{BatchSize: 1, DatasetSize: 9,
				Mechanism: mechanism.Gaussian{NoiseMultiplier: p("noise")}},
			mechanism.TreeAggregation{NoiseMultiplier: p("noise"), Participation: mechanism.Participation{Steps: 9}},
			mechanism.BandedMatrix{NoiseMultiplier: p("noise"), Coefficients: mechanism.NumbersOf(1, 0.5),
				Participation: mechanism.Participation{Steps: 9}},
			mechanism.MixtureOfGaussians{StandardDeviation: p("σ"), Sensitivities: mechanism.NumbersOf(0, 1),
				Probabilities: mechanism.NumbersOf(0.75, 0.25)},
			mechanism.FixedSizeSampled{BatchSize: 1, DatasetSize: 9, Mechanism: mechanism.PureDP{Epsilon: p("ε")}},
			mechanism.FixedSizeSampled{BatchSize: 1, DatasetSize: 9,
				Mechanism: mechanism.ZeroConcentratedDP{Rho: p("ρ")}},
			mechanism.TruncatedPoissonSampled{SamplingProbability: 0.1, DatasetSize: 9, MaximumBatchSize: 3,
				Mechanism: mechanism.Gaussian{NoiseMultiplier: p("noise")}},
			mechanism.RepeatAndSelect{Mechanism: mechanism.PureDP{Epsilon: p("ε")}, Gamma: 0.5, Eta: 1},
			mechanism.PrivacyLossTable{Losses: mechanism.NumbersOf(-1, 1),
				Masses: mechanism.NumbersOf(0.2, 0.7), InfiniteMass: 0.1},
		}).Draw(t, "mechanism")
		terms, err := kinds.TermsWithin(m, adj, nil)
		if err != nil {
			t.Fatal(err)
		}
		var f loss.Facts // the sums of all losses' facts
		s := p("s")
		var mu, k float64
		for _, term := range terms {
			n, one := float64(term.Count), term.Loss.Facts()
			f.Epsilon += n * one.Epsilon
			f.Rho += n * one.Rho
			f.InfinityMass += n * one.InfinityMass
			if len(terms) == 1 {
				mu, _ = loss.MuOf(term.Loss)
			}
			k += n * math.Max(loss.Renyi(term.Loss, loss.Remove, s, nil).K, loss.Renyi(term.Loss, loss.Add, s, nil).K)
		}
		for _, c := range []struct {
			limit Limit
			real  float64
		}{
			{Limit{Guard: GuardBasic, Value: p("limit"), Delta: 1e-5}, f.Epsilon},
			{Limit{Guard: GuardApproximateZCDP, Value: p("limit"), Delta: 1e-5}, f.Rho},
			{Limit{Guard: GuardGDP, Value: p("limit")}, mu * mu},
			{Limit{Guard: GuardRDP, Value: p("limit"), Delta: 1e-5, Order: 1 + s}, k / s},
		} {
			cost, reason := c.limit.Cost(m, adj)
			if reason != "" {
				if c.real > 0 && !math.IsInf(c.real, 1) && f.InfinityMass == 0 {
					t.Fatalf("%v of %+v: %s", m, c.limit, reason)
				}
				continue
			}
			if c.limit.Guard == GuardGDP && mu == 0 {
				continue // sampled: its own test
			}
			want := c.real / c.limit.Value * float64(Whole)
			got := float64(cost.Value)
			if c.limit.Guard == GuardRDP { // K is known within its error
				if v := terms.Renyi(loss.Remove, s, nil); v.Err > 1e-9*math.Abs(v.K) {
					continue
				}
				want *= 1 - 1e-9
			}
			if got < want*(1-1e-14) && cost.Value != math.MaxUint64 || got > want*(1+1e-8)+1 && want < float64(Whole) {
				t.Fatalf("%v of %+v: %d shares; want %g", m, c.limit, cost.Value, want)
			}
		}
	})
}

// Sampled Gaussians get no amplification from ρ and μ.
func TestGuardsWithoutAmplification(t *testing.T) {
	g := mechanism.Gaussian{StandardDeviation: 3, Sensitivity: 2}
	sampled := mechanism.PoissonSampled{SamplingProbability: 0.01, Mechanism: g}
	for _, l := range []Limit{{Guard: GuardZCDP, Value: 1}, {Guard: GuardGDP, Value: 1}} {
		for _, adj := range []mechanism.Adjacency{mechanism.AddOrRemoveOne, mechanism.ReplaceOne} {
			a, why := l.Cost(g, adj)
			b, whyNot := l.Cost(sampled, adj)
			if a != b || why+whyNot != "" || a.Value == 0 {
				t.Errorf("%v, %v: %v sampled, %v not; %s %s", l.Guard, adj, b, a, why, whyNot)
			}
		}
	}
}

// Each guard refuses by name what it cannot charge.
func TestGuardsRefuse(t *testing.T) {
	g, e, d := mechanism.Gaussian{NoiseMultiplier: 1}, mechanism.PureDP{Epsilon: 1},
		mechanism.ApproximateDP{Epsilon: 1, Delta: 1e-6}
	for _, c := range []struct {
		limit Limit
		m     mechanism.Mechanism
		says  string
	}{
		{Limit{Guard: GuardBasic, Value: 1}, g, "no δ is allowed, and without one no finite ε of a gaussian is known"},
		{Limit{Guard: GuardBasic, Value: 1, Delta: 1e-5}, g,
			"a gaussian has no single (ε, δ), which the guard BASIC adds up"},
		{Limit{Guard: GuardBasic, Value: 1}, d,
			"approximate_dp fails with probability δ = 1e-06, which the guard BASIC of this budget does not allow"},
		{Limit{Guard: GuardZCDP, Value: 1}, d,
			"approximate_dp fails with probability δ = 1e-06, which the guard ZCDP of this budget does not allow"},
		{Limit{Guard: GuardRDP, Value: 1, Order: 2}, d,
			"approximate_dp fails with probability δ = 1e-06, which the guard RDP of this budget does not allow"},
		{Limit{Guard: GuardGDP, Value: 1}, e,
			"a pure_dp has no μ, which the guard GDP adds up: only Gaussian noise has"},
		{Limit{Guard: GuardGDP, Value: 1}, mechanism.ZeroConcentratedDP{Rho: 1},
			"a zero_concentrated_dp has no μ, which the guard GDP adds up: only Gaussian noise has"},
		{Limit{Value: 1}, e, "the budget has no guard"},
	} {
		if _, reason := c.limit.Cost(c.m, mechanism.AddOrRemoveOne); reason != c.says {
			t.Errorf("%v, %v: %q; want %q", c.limit.Guard, c.m, reason, c.says)
		}
	}
}

// What does not fit at all is more than the whole, never a small number.
func TestCostsSaturate(t *testing.T) {
	for _, c := range []struct {
		limit Limit
		m     mechanism.Mechanism
	}{
		{Limit{Guard: GuardBasic, Value: 1e-300}, mechanism.PureDP{Epsilon: 1e300}},
		{Limit{Guard: GuardZCDP, Value: 1}, mechanism.Gaussian{StandardDeviation: 1e-300, Sensitivity: 1e300}},
		{Limit{Guard: GuardRDP, Value: 1, Order: 1e6},
			mechanism.Gaussian{StandardDeviation: 1e-300, Sensitivity: 1e300}},
	} {
		if cost, reason := c.limit.Cost(c.m, mechanism.AddOrRemoveOne); cost.Value != math.MaxUint64 || reason != "" {
			t.Errorf("%v of %+v: %v, %s", c.m, c.limit, cost, reason)
		}
	}
	if cost, _ := (Limit{Guard: GuardBasic, Value: 1e300}).Cost(mechanism.PureDP{Epsilon: 1e-300},
		mechanism.AddOrRemoveOne); cost.Value != 1 {
		t.Errorf("a negligible cost: %d shares; want 1", cost.Value)
	}
}

// Plans are compared with budgets by every analysis, and exactly by ρ and μ.
func TestMet(t *testing.T) {
	of := func(m mechanism.Mechanism, n uint64) mechanism.Composition {
		return mechanism.Composition{Adjacency: mechanism.AddOrRemoveOne,
			Parts: []mechanism.Part{{Mechanism: m, Count: n}}}
	}
	dp := mechanism.PureDP{Epsilon: 0.1}
	for _, c := range []struct {
		budget Budget
		c      mechanism.Composition
		want   bool
	}{
		{Budget{Rho: 0.5}, of(mechanism.Gaussian{NoiseMultiplier: 10}, 100), true},
		{Budget{Rho: 0.5}, of(mechanism.Gaussian{NoiseMultiplier: 10}, 101), false},
		{Budget{Rho: 0.5}, of(mechanism.ApproximateDP{Epsilon: 0.1, Delta: 1e-9}, 1), false},
		{Budget{Mu: 0.3}, of(mechanism.Gaussian{NoiseMultiplier: 10}, 9), true},
		{Budget{Mu: 0.3}, of(mechanism.Gaussian{NoiseMultiplier: 10}, 10), false},
		{Budget{Mu: 10}, of(dp, 1), false},
		// ε of μ = 1 at δ = 1e−5 is 4.377178 (docs/math/README.md §0.1).
		{Budget{Epsilon: 4.3772, Delta: 1e-5}, of(mechanism.GaussianDP{Mu: 1}, 1), true},
		{Budget{Epsilon: 4.3771, Delta: 1e-5}, of(mechanism.GaussianDP{Mu: 1}, 1), false},
	} {
		if got, err := c.budget.Met(c.c, nil); got != c.want || err != nil {
			t.Errorf("%v of %v: %v, %v", c.budget, c.c.Parts, got, err)
		}
	}
	if _, err := (Budget{Epsilon: 1}).Met(of(dp, 1), nil); err == nil {
		t.Error("a budget without δ was compared")
	}
}
