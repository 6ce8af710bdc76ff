// SPDX-License-Identifier: Apache-2.0

package accountant_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

func one(m mechanism.Mechanism, count uint64) mechanism.Composition {
	return mechanism.Composition{Adjacency: mechanism.AddOrRemoveOne,
		Parts: []mechanism.Part{{Mechanism: m, Count: count}}}
}

func linkOf(c mechanism.Composition, times uint64) accountant.Link {
	var session accountant.Session
	return accountant.Link{Times: times,
		Ask: func(q accountant.Question) (accountant.Answer, error) { return session.Ask(c, q) }}
}

// The chain of Gaussians of μᵢ is the Gaussian of Σμᵢ (Dong, Roth and Su 2022, Lemma A.1), and what is pure has the
// sum of ε.
func TestAskChainClosedForms(t *testing.T) {
	for _, c := range []struct {
		links []accountant.Link
		whole mechanism.Mechanism
	}{
		{[]accountant.Link{linkOf(one(mechanism.Gaussian{NoiseMultiplier: 7}, 1), 7)},
			mechanism.Gaussian{NoiseMultiplier: 1}},
		{[]accountant.Link{linkOf(one(mechanism.Gaussian{NoiseMultiplier: 2}, 1), 1),
			linkOf(one(mechanism.Gaussian{NoiseMultiplier: 8}, 4), 2)}, mechanism.Gaussian{NoiseMultiplier: 1}},
		{[]accountant.Link{linkOf(one(mechanism.Gaussian{NoiseMultiplier: 100}, 1), 100)},
			mechanism.Gaussian{NoiseMultiplier: 1}},
		{[]accountant.Link{linkOf(one(mechanism.PureDP{Epsilon: 0.25}, 1), 4)}, mechanism.PureDP{Epsilon: 1}},
	} {
		for _, q := range []accountant.Question{accountant.AtDelta(1e-6), accountant.AtDelta(1e-2),
			accountant.AtEpsilon(0.5), accountant.AtEpsilon(3)} {
			want, err := accountant.Ask(one(c.whole, 1), q)
			if err != nil {
				t.Fatal(err)
			}
			got, err := accountant.AskChain(c.links, q)
			if err != nil {
				t.Fatal(err)
			}
			if _, pure := c.whole.(mechanism.PureDP); pure { // the chain's own curve is below that of the sum
				want.EpsilonLower, want.LogDeltaLower = new(float64), &[]float64{math.Inf(-1)}[0]
			}
			if q.Delta != nil && !(got.Epsilon >= *want.EpsilonLower && got.Epsilon <= want.Epsilon*(1+2e-3)) ||
				q.Epsilon != nil && !(got.LogDelta >= *want.LogDeltaLower && got.LogDelta <= want.LogDelta+5e-3) {
				t.Errorf("%v: ε = %v, ln δ = %v; want %v, %v", c.whole, got.Epsilon, got.LogDelta, want.Epsilon,
					want.LogDelta)
			}
		}
	}
}

// What publishes a record with probability δ publishes one of n with probability 1 − (1 − δ)ⁿ, and no ε bounds it.
func TestAskChainNameAndShame(t *testing.T) {
	const delta, n = 1e-3, 7
	links := []accountant.Link{linkOf(one(mechanism.ApproximateDP{Delta: delta}, 1), n)}
	a, err := accountant.AskChain(links, accountant.AtEpsilon(0))
	truth := -math.Expm1(n * math.Log1p(-delta))
	if err != nil || !(a.Delta >= truth && a.Delta <= n*delta*(1+1e-9)) {
		t.Errorf("δ(0) = %v, %v; the truth is %v, and nδ = %v holds", a.Delta, err, truth, n*delta)
	}
	a, err = accountant.AskChain(links, accountant.AtDelta(n*delta/2))
	if err != nil || !math.IsInf(a.Epsilon, 1) {
		t.Errorf("ε = %v, %v; want none", a.Epsilon, err)
	}
}

// What tests can do with each link is known from its curve at many ε, and a dumb oracle lets one test after the other
// do the most, in each order of the links; steps can be made in any order, so the least of these is the truth.
func TestAskChainAgainstWalks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		links := make([]accountant.Link, 3)
		walks := make([]func(x float64) float64, len(links))
		for i := range links {
			epsilon := rapid.Float64Range(0.01, 1).Draw(t, "ε")
			delta := rapid.SampledFrom([]float64{0, 1e-4, 0.05}).Draw(t, "δ")
			m := mechanism.Mechanism(mechanism.ApproximateDP{Epsilon: epsilon, Delta: delta})
			if delta == 0 {
				m = mechanism.PureDP{Epsilon: epsilon}
			}
			links[i] = linkOf(one(m, 1), 1)
			// The trade-off of (ε, δ)-differential privacy, which is reached (Dong, Roth and Su 2022, Prop. 2.5).
			walks[i] = func(x float64) float64 {
				return math.Min(delta+math.Exp(epsilon)*x, 1-math.Exp(-epsilon)*(1-delta-x))
			}
		}
		x := math.Exp(rapid.Float64Range(-8, -0.1).Draw(t, "ln Q(S)"))
		power := 1.0
		for _, order := range [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
			at := x
			for _, i := range order {
				at = math.Min(1, walks[i](at))
			}
			power = math.Min(power, at)
		}
		epsilon := rapid.Float64Range(0, 3).Draw(t, "asked ε")
		a, err := accountant.AskChain(links, accountant.AtEpsilon(epsilon))
		if err != nil {
			t.Fatal(err)
		}
		if truth := power - math.Exp(epsilon)*x; a.Delta < truth-1e-12 {
			t.Fatalf("δ(%v) = %v; a test has %v", epsilon, a.Delta, truth)
		}
		b, err := accountant.AskChain(links, accountant.AtDelta(math.Max(a.Delta, 1e-300)))
		if err != nil || a.Delta > 0 && b.Epsilon > epsilon*(1+1e-2)+1e-2 {
			t.Fatalf("ε(δ(%v)) = %v, %v", epsilon, b.Epsilon, err)
		}
	})
}
