// SPDX-License-Identifier: Apache-2.0

package accountant

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/num"
)

func resolved(t interface{ Fatal(...any) }, budgets ...Budget) (limits []Limit) {
	for _, b := range budgets {
		l, err := b.Resolve(mechanism.Composition{})
		if err != nil {
			t.Fatal(err)
		}
		limits = append(limits, l)
	}
	return limits
}

// The answer is the least of what each limit implies, by ε and by δ; no lower bound
// is claimed; a budget keeps what it promises.
func TestAskFilter(t *testing.T) {
	limits := resolved(t,
		Budget{Guard: GuardBasic, Epsilon: 3, Delta: 1e-5},
		Budget{Guard: GuardZCDP, Epsilon: 4, Delta: 1e-6},
		Budget{Guard: GuardRDP, Epsilon: 5, Delta: 1e-7, Order: 30},
		Budget{Guard: GuardGDP, Mu: 1})
	for _, delta := range []float64{1e-3, 1e-5, 1e-6, 1e-7, 1e-12, 1e-300} {
		a, err := AskFilter(limits, AtDelta(delta))
		if err != nil || a.Delta != delta || a.EpsilonLower != nil || len(a.Analyses) != len(limits) {
			t.Fatalf("%+v, %v", a, err)
		}
		least := math.Inf(1)
		for i, l := range limits {
			if a.Analyses[i].Epsilon != l.Implies(delta) || a.Analyses[i].Analysis != l.Guard.Name() ||
				a.Analyses[i].Order != l.Order {
				t.Errorf("analysis %d: %+v", i, a.Analyses[i])
			}
			least = math.Min(least, a.Analyses[i].Epsilon)
		}
		if a.Epsilon != least {
			t.Errorf("ε(%g) = %v; the least is %v", delta, a.Epsilon, least)
		}
	}
	for _, epsilon := range []float64{0, 0.5, 3, 30} {
		a, err := AskFilter(limits, AtEpsilon(epsilon))
		if err != nil || a.DeltaLower != nil || a.LogDeltaLower != nil {
			t.Fatalf("%+v, %v", a, err)
		}
		for i, l := range limits {
			if implied := l.impliesDelta(epsilon); a.LogDelta > implied ||
				a.Analyses[i].LogDelta != math.Min(0, implied) {
				t.Errorf("ln δ(%g) = %v; %v implies %v", epsilon, a.LogDelta, l, implied)
			}
		}
	}
	if _, err := AskFilter(limits, Question{}); err == nil {
		t.Error("a question about nothing was answered")
	}
	if a, err := AskFilter(nil, AtDelta(1e-6)); err != nil || !math.IsInf(a.Epsilon, 1) {
		t.Errorf("no limit implies %+v, %v", a, err)
	}
	if n := GuardApproximateZCDP.Name(); n != "approximate_zcdp" {
		t.Errorf("name %q", n)
	}
}

// Whatever keeps within the limits costs at most what is stated, at every ε and δ.
func TestFilterCoversWhatItAllows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		mu := math.Pow(10, rapid.Float64Range(-2, 1).Draw(t, "lg μ"))
		limits := resolved(t, Budget{Guard: GuardGDP, Mu: mu}, Budget{Guard: GuardZCDP, Rho: mu * mu / 2})
		c := mechanism.Composition{Adjacency: mechanism.AddOrRemoveOne,
			Parts: []mechanism.Part{{Mechanism: mechanism.GaussianDP{Mu: mu}, Count: 1}}}
		q := AtDelta(math.Pow(10, rapid.Float64Range(-20, -1).Draw(t, "lg δ")))
		if rapid.Bool().Draw(t, "by ε") {
			q = AtEpsilon(rapid.Float64Range(0, 20).Draw(t, "ε"))
		}
		stated, err := AskFilter(limits, q)
		if err != nil {
			t.Fatal(err)
		}
		spent, err := Ask(c, q)
		if err != nil {
			t.Fatal(err)
		}
		if q.Delta != nil && spent.EpsilonLower != nil && stated.Epsilon < *spent.EpsilonLower ||
			q.Epsilon != nil && spent.LogDeltaLower != nil && stated.LogDelta < *spent.LogDeltaLower {
			t.Fatalf("stated %+v; what it allows costs at least %+v", stated, spent)
		}
	})
}

// A filter's curve is as its answers, and has the advantage of a bounded ε.
func TestAskFilterCurve(t *testing.T) {
	limits := resolved(t, Budget{Guard: GuardBasic, Epsilon: 1})
	c, err := AskFilterCurve(limits, CurveQuestion{Epsilons: []float64{0, 1, 2}})
	if err != nil {
		t.Fatal(err)
	}
	// tanh(½) = 0.462117157260009…
	if !(c.Advantage >= 0.462117157260009 && c.Advantage < 0.4621171573) || c.AdvantageLower != 0 {
		t.Errorf("advantage %v, at least %v; want tanh(½)", c.Advantage, c.AdvantageLower)
	}
	if p := c.Points[1]; p.Delta != 0 || p.DeltaLower != nil || p.Analysis != "basic" {
		t.Errorf("at ε = 1: %+v", p)
	}
}

func TestRhoAndMu(t *testing.T) {
	part := func(m mechanism.Mechanism, n uint64) mechanism.Part { return mechanism.Part{Mechanism: m, Count: n} }
	inf := math.Inf(1)
	gaussian := mechanism.Gaussian{NoiseMultiplier: 2}
	for _, c := range []struct {
		parts   []mechanism.Part
		rho, mu float64
	}{
		{nil, 0, 0},
		{[]mechanism.Part{part(gaussian, 4)}, 0.5, 1},
		{[]mechanism.Part{part(mechanism.PoissonSampled{SamplingProbability: 0.01, Mechanism: gaussian}, 4)}, 0.5, 1},
		{[]mechanism.Part{part(mechanism.Gaussian{NoiseMultiplier: 10}, 9), part(mechanism.GaussianDP{Mu: 0.4}, 1)},
			0.125, 0.5},
		{[]mechanism.Part{part(mechanism.ZeroConcentratedDP{Rho: 0.1}, 3)}, 0.3, inf},
		{[]mechanism.Part{part(gaussian, 1), part(mechanism.ApproximateDP{Epsilon: 1, Delta: 1e-6}, 1)}, inf, inf},
		{[]mechanism.Part{part(mechanism.GaussianDP{Mu: 1e300}, 1)}, inf, inf},
	} {
		rho, mu := RhoAndMu(mechanism.Composition{Adjacency: mechanism.AddOrRemoveOne, Parts: c.parts})
		if rho != c.rho || mu != c.mu {
			t.Errorf("%v: ρ = %v, μ = %v; want %v, %v", c.parts, rho, mu, c.rho, c.mu)
		}
	}
	// A pure mechanism has a ρ, of at most ε²/2, and no μ.
	rho, mu := RhoAndMu(mechanism.Composition{Adjacency: mechanism.AddOrRemoveOne,
		Parts: []mechanism.Part{part(mechanism.PureDP{Epsilon: 1}, 2)}})
	if !(rho > 0 && rho <= 1) || !math.IsInf(mu, 1) {
		t.Errorf("pure: ρ = %v, μ = %v", rho, mu)
	}
	if rho, mu := FilterRhoAndMu(resolved(t, Budget{Guard: GuardZCDP, Rho: 2}, Budget{Guard: GuardGDP, Mu: 0.3},
		Budget{Guard: GuardBasic, Epsilon: 1})); rho != 0.045 || mu != 0.3 {
		t.Errorf("of limits: ρ = %v, μ = %v; want 0.045, 0.3", rho, mu)
	}
	if rho, mu := FilterRhoAndMu(resolved(t,
		Budget{Guard: GuardApproximateZCDP, Rho: 2, Delta: 1e-6})); !math.IsInf(rho, 1) || !math.IsInf(mu, 1) {
		t.Errorf("of a limit with failures: ρ = %v, μ = %v; want none", rho, mu)
	}
}

// The sums, read as decimals, are never below the exact ones, and hardly above:
// also of so many kinds that exact fractions are given up.
func TestRhoAndMuAreRoundedUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		exact := new(big.Float).SetPrec(2000)
		c := mechanism.Composition{Adjacency: mechanism.AddOrRemoveOne}
		for range rapid.IntRange(1, 200).Draw(t, "kinds") {
			z := rapid.Float64Range(0.1, 1000).Draw(t, "noise multiplier")
			n := rapid.Uint64Range(1, 1e9).Draw(t, "count")
			c.Parts = append(c.Parts, mechanism.Part{Mechanism: mechanism.Gaussian{NoiseMultiplier: z}, Count: n})
			sigma := new(big.Float).SetPrec(2000).SetRat(num.Decimal(z))
			share := new(big.Float).SetPrec(2000).Quo(new(big.Float).SetUint64(n), sigma.Mul(sigma, sigma))
			exact.Add(exact, share)
		}
		rho, mu := RhoAndMu(c)
		for _, got := range []*big.Rat{new(big.Rat).Mul(big.NewRat(2, 1), num.Decimal(rho)), num.DecimalSquare(mu)} {
			over := new(big.Float).SetPrec(2000).SetRat(got)
			over.Quo(over.Sub(over, exact), exact)
			if rel, _ := over.Float64(); rel < -1e-300 || rel > 1e-14 {
				t.Fatalf("ρ = %v, μ = %v: off by %g of the exact sum", rho, mu, rel)
			}
		}
	})
}
