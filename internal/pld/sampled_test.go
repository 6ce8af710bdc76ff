// SPDX-License-Identifier: Apache-2.0

package pld

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/num"
	"github.com/dpaccountant/accountant/internal/pld/pldtest"
)

// dumb is sup over thresholds and both half lines of P(S) − e^ε·Q(S): the loss
// is monotone in z, so that some half line is optimal. P and Q are mixtures of
// N(0,1) and N(±μ,1).
func dumb(epsilon, q, meanP, meanQ float64) float64 {
	phi := func(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }
	tail := func(z, mean float64) float64 { return (1-q)*phi(-z) + q*phi(mean-z) }
	best := 0.0
	for i := -800; i <= 800; i++ {
		z := float64(i) * 0.01
		above := tail(z, meanP) - math.Exp(epsilon)*tail(z, meanQ)
		below := (1 - tail(z, meanP)) - math.Exp(epsilon)*(1-tail(z, meanQ))
		best = math.Max(best, math.Max(above, below))
	}
	return best
}

// One sampled step against that scan, under both adjacencies.
func TestSampledStepAgainstDumbScan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := math.Exp(rapid.Float64Range(-6, -0.01).Draw(t, "ln q"))
		mu := math.Exp(rapid.Float64Range(-2.5, 1.2).Draw(t, "ln μ"))
		epsilon := rapid.OneOf(rapid.Just(0.0), rapid.Float64Range(0, 3)).Draw(t, "ε")
		for _, adj := range []mechanism.Adjacency{mechanism.AddOrRemoveOne, mechanism.ReplaceOne} {
			c := pldtest.Compose(t, adj,
				mechanism.Event{Count: 1, Mechanism: mechanism.PoissonSampled{SamplingProbability: q,
					Mechanism: mechanism.Gaussian{StandardDeviation: 1, Sensitivity: mu}}})
			want := math.Max(dumb(epsilon, q, mu, 0), dumb(epsilon, q, 0, mu))
			if adj == mechanism.ReplaceOne {
				want = dumb(epsilon, q, mu, -mu)
			}
			b, reason := LogDelta(c, epsilon, Wanted{})
			if reason != "" {
				t.Fatal(reason)
			}
			// The scan misses the best threshold by 0.005: second order, on δ's scale q.
			if got := math.Exp(b.Upper); got < want-1e-14 || got > want+4e-5*q {
				t.Fatalf("%v: δ(%v) = %v, a scan finds %v", adj, epsilon, got, want)
			}
			if b.Upper-b.Lower > 1e-10 && b.Upper > -100 {
				t.Fatalf("%v: ln δ(%v) in [%v, %v]", adj, epsilon, b.Lower, b.Upper)
			}
			if want > 1e-9 {
				e, _ := Epsilon(c, want, Wanted{})
				if e.Upper < epsilon*(1-1e-12)-1e-12 || e.Lower > e.Upper || e.Upper-e.Lower > 1e-9 {
					t.Fatalf("%v: ε(%v) in [%v, %v], want just over %v", adj, want, e.Lower, e.Upper, epsilon)
				}
			}
		}
	})
}

// q = 1e−4, σ = 1, one step at δ = 1e−5: ε = 2.19076e−4 (docs/math/curves.md §4.3).
func TestKnownSampledStep(t *testing.T) {
	c := pldtest.Compose(t, mechanism.AddOrRemoveOne, mechanism.Event{Count: 1, Mechanism: mechanism.PoissonSampled{
		SamplingProbability: 1e-4, Mechanism: mechanism.Gaussian{NoiseMultiplier: 1}}})
	e, _ := Epsilon(c, 1e-5, Wanted{})
	if math.Abs(e.Upper/2.19076e-4-1) > 3e-6 || e.Upper-e.Lower > 1e-15 {
		t.Errorf("ε in [%v, %v], want 2.19076e−4", e.Lower, e.Upper)
	}
}

// As q → 1 the step's curve becomes the Gaussian's.
func TestSampledStepNearOne(t *testing.T) {
	for _, adj := range []mechanism.Adjacency{mechanism.AddOrRemoveOne, mechanism.ReplaceOne} {
		c := pldtest.Compose(t, adj, mechanism.Event{Count: 1, Mechanism: mechanism.PoissonSampled{
			SamplingProbability: 1 - 0x1p-50, Mechanism: mechanism.Gaussian{NoiseMultiplier: 1}}})
		mu := 1.0
		if adj == mechanism.ReplaceOne {
			mu = 2
		}
		for _, epsilon := range []float64{0, 0.3, 1, 4} {
			b, _ := LogDelta(c, epsilon, Wanted{})
			g, _ := loss.GaussianLogDelta(mu, epsilon)
			if math.Abs(b.Upper-g.Upper) > 1e-11 || b.Lower > g.Upper {
				t.Errorf("%v: ln δ(%v) in [%v, %v], unsampled %v", adj, epsilon, b.Lower, b.Upper, g.Upper)
			}
		}
	}
}

// Groups against a dumb sum over all outcomes, and against RDP's side: the
// bounds hold for any count and ε0.
func TestLatticeAgainstDumbSum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 60).Draw(t, "n")
		k := rapid.SampledFrom([]int{2, 2, 3, 7, 1000}).Draw(t, "k")
		e0 := math.Exp(rapid.Float64Range(-7, 2).Draw(t, "ln ε0"))
		epsilon := rapid.OneOf(rapid.Just(0.0), rapid.Float64Range(0, 1.1)).Draw(t, "ε share") * float64(n) * e0
		m := mechanism.RandomizedResponse{Epsilon: e0, Buckets: uint64(k)}
		c := pldtest.Compose(t, mechanism.ReplaceOne, mechanism.Event{Mechanism: m, Count: uint32(n)})
		// P(j losses +ε0, i losses −ε0) by multinomial coefficients.
		whole := 1 + float64(k-1)*math.Exp(-e0)
		lnUp, lnDown, lnStill := -math.Log(whole), -e0-math.Log(whole), math.Log(float64(k-2)*math.Exp(-e0)/whole)
		lgamma := func(x int) float64 { v, _ := math.Lgamma(float64(x) + 1); return v }
		sum := num.LogSum{}
		for j := 0; j <= n; j++ {
			for i := 0; i+j <= n; i++ {
				rest := n - i - j
				if k == 2 && rest > 0 {
					continue
				}
				v := lgamma(n) - lgamma(i) - lgamma(j) - lgamma(rest) + float64(j)*lnUp + float64(i)*lnDown
				if rest > 0 {
					v += float64(rest) * lnStill
				}
				if l := float64(j-i)*e0 - epsilon; l > 1e-12*epsilon {
					sum.Add(v + num.Log1mExp(l))
				}
			}
		}
		b, reason := LogDelta(c, epsilon, Wanted{})
		if reason != "" {
			t.Fatal(reason)
		}
		want := sum.Log()
		if math.IsInf(want, -1) {
			if b.Upper > -1e9 && epsilon > float64(n)*e0*(1+1e-12) {
				t.Fatalf("ln δ(%v) ≤ %v, want −Inf", epsilon, b.Upper)
			}
			return
		}
		if math.Abs(b.Upper-want) > 1e-9*(1+math.Abs(want)) && b.Upper > -600 ||
			b.Upper < want-1e-9*(1+math.Abs(want)) {
			t.Fatalf("ln δ(%v) in [%v, %v], want %v", epsilon, b.Lower, b.Upper, want)
		}
	})
}

// A walk that would be too long still ends, with a sound bound.
func TestWalkIsBounded(t *testing.T) {
	var events []mechanism.Event
	for range 1000 {
		events = append(events, mechanism.Event{Mechanism: mechanism.PureDP{Epsilon: 1e-3}, Count: math.MaxUint32})
	}
	c := pldtest.Compose(t, mechanism.AddOrRemoveOne, events...)
	e, reason := Epsilon(c, 1e-5, Wanted{})
	mean := 1000 * float64(math.MaxUint32) * 1e-3 * math.Tanh(0.5e-3)
	if reason != "" || !(e.Upper >= mean && e.Lower <= e.Upper) {
		t.Errorf("ε in [%v, %v] %s, the mean loss is %v", e.Lower, e.Upper, reason, mean)
	}
	if b, _ := LogDelta(c, mean/2, Wanted{}); b.Upper < -1e-6 {
		t.Errorf("ln δ at half the mean ≤ %v", b.Upper)
	}
}

// What has no pair says so; all else is enclosed, whether or not it has a closed form.
func TestReasons(t *testing.T) {
	g := mechanism.PoissonSampled{SamplingProbability: 0.1, Mechanism: mechanism.Gaussian{NoiseMultiplier: 1}}
	l := mechanism.Laplace{Scale: 1, Sensitivity: 1}
	one := func(m mechanism.Mechanism, n uint32) mechanism.Event { return mechanism.Event{Mechanism: m, Count: n} }
	for _, events := range [][]mechanism.Event{
		{one(l, 2)}, {one(g, 2)}, {one(l, 1), one(g, 1)},
		{one(mechanism.PureDP{Epsilon: 1}, 1), one(mechanism.PureDP{Epsilon: 2}, 1)},
		{one(mechanism.Gaussian{NoiseMultiplier: 1}, 1), one(mechanism.PureDP{Epsilon: 1}, 1)},
		{one(mechanism.RandomizedResponse{Epsilon: 1, Buckets: 3}, 1), one(mechanism.PureDP{Epsilon: 1}, 1)},
	} {
		e, reason := Epsilon(pldtest.Compose(t, mechanism.ReplaceOne, events...), 0.1, Wanted{})
		if reason != "" || !(e.Lower > 0 && e.Lower <= e.Upper && e.Upper-e.Lower < 2e-4) {
			t.Errorf("%v: %v %s", events, e, reason)
		}
	}
	if _, reason := Epsilon(pldtest.Compose(t, mechanism.ReplaceOne, one(mechanism.ZeroConcentratedDP{Rho: 1}, 1)), 0.1,
		Wanted{}); reason == "" {
		t.Error("a declared zCDP guarantee has a privacy loss distribution")
	}
}
