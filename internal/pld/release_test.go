// SPDX-License-Identifier: Apache-2.0

package pld

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/dpaccountant/accountant/internal/loss/losstest"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/pld/closed"
	"github.com/dpaccountant/accountant/internal/pld/pldtest"
)

// One sampled release of discrete noise against the sum over all outcomes, P(x) ∝ e^{−|x −
// Δ|/b} or e^{−(x−Δ)²/2σ²} with probability q, else as Q: from both sides.
func TestReleaseByEnumeration(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shift := float64(rapid.IntRange(1, 6).Draw(t, "Δ"))
		width := rapid.Float64Range(0.5, 5).Draw(t, "width")
		rate := rapid.Float64Range(0.01, 0.9).Draw(t, "q")
		epsilon := rapid.SampledFrom([]float64{0, 1e-3, 0.1, 0.5, 1, 2}).Draw(t, "ε")
		var m mechanism.Mechanism = mechanism.DiscreteLaplace{Scale: width, Sensitivity: shift}
		density := func(x float64) float64 { return math.Exp(-math.Abs(x) / width) }
		if rapid.Bool().Draw(t, "Gaussian") {
			m = mechanism.DiscreteGaussian{StandardDeviation: width, Sensitivity: shift}
			density = func(x float64) float64 { return math.Exp(-x * x / (2 * width * width)) }
		}
		const far = 400
		whole := 0.0
		for x := -far; x <= far; x++ {
			whole += density(float64(x))
		}
		want := 0.0
		for _, way := range []bool{true, false} {
			sum := 0.0
			for x := -far; x <= far; x++ {
				q := density(float64(x)) / whole
				p := (1-rate)*q + rate*density(float64(x)-shift)/whole
				if !way {
					p, q = q, p
				}
				sum += math.Max(0, p-math.Exp(epsilon)*q)
			}
			want = math.Max(want, sum)
		}
		c := pldtest.Compose(t, mechanism.AddOrRemoveOne,
			mechanism.Event{Mechanism: mechanism.PoissonSampled{SamplingProbability: rate, Mechanism: m}, Count: 1})
		r, ok := closed.Sum(c, nil)
		if !ok {
			t.Fatal("no release")
		}
		b, _ := r.LogDelta(epsilon)
		low, high := math.Exp(b.Lower), math.Exp(b.Upper)
		if !(low <= want+1e-13 && want-1e-13 <= high && high-low <= 1e-11) {
			t.Fatalf("δ(%v) in [%v, %v], the sum is %v", epsilon, low, high, want)
		}
	})
}

// One release of any kind: the contour and the lattice do not contradict it, and ε(δ) is
// its inverse.
func TestReleaseAgreesWithComposition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		adj := rapid.SampledFrom([]mechanism.Adjacency{mechanism.AddOrRemoveOne, mechanism.ReplaceOne}).Draw(t,
			"adjacency")
		c := pldtest.Compose(t, adj, mechanism.Event{Mechanism: losstest.Draw(t, adj), Count: 1})
		r, ok := closed.Sum(c, nil)
		if !ok {
			t.Skip("more than one release, or no pair")
		}
		epsilon := math.Expm1(rapid.Float64Range(0, 3).Draw(t, "ln(1+ε)"))
		b, slope := r.LogDelta(epsilon)
		other, reason := composedLogDelta(c, epsilon, Wanted{})
		if !(b.Lower <= b.Upper && slope >= 0) || reason == "" && (b.Lower > other.Upper || b.Upper < other.Lower) {
			t.Fatalf("%v: ln δ(%v) in [%v, %v], otherwise in [%v, %v]", c, epsilon, b.Lower, b.Upper,
				other.Lower, other.Upper)
		}
		delta := math.Exp(-rapid.Float64Range(0.01, 60).Draw(t, "−ln δ"))
		e := r.Epsilon(delta)
		if e.Lower > e.Upper {
			t.Fatalf("%v: ε(%v) in [%v, %v]", c, delta, e.Lower, e.Upper)
		}
		if at, _ := r.LogDelta(e.Upper); !math.IsInf(e.Upper, 1) &&
			at.Upper > math.Log(delta)+1e-12*(1-math.Log(delta)) {
			t.Fatalf("%v: ε(%v) ≤ %v, but ln δ there is %v", c, delta, e.Upper, at.Upper)
		}
	})
}
