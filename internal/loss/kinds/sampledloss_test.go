// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"math"
	"testing"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/loss/losstest"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"pgregory.net/rapid"
)

// drawSampleable draws a mechanism that can be sampled under adj, other than a Gaussian.
func drawSampleable(t *rapid.T, adj mechanism.Adjacency) mechanism.Mechanism {
	e := math.Exp(rapid.Float64Range(math.Log(1e-3), math.Log(12)).Draw(t, "ln ε0"))
	all := []mechanism.Mechanism{mechanism.Laplace{Scale: 1, Sensitivity: e}}
	if adj == mechanism.AddOrRemoveOne {
		all = append(all, mechanism.PureDP{Epsilon: e}, mechanism.ApproximateDP{Epsilon: e, Delta: 1e-3})
	} else {
		all = append(all, mechanism.RandomizedResponse{Epsilon: e},
			mechanism.RandomizedResponse{Epsilon: e, Buckets: 9})
	}
	return rapid.SampledFrom(all).Draw(t, "mechanism")
}

func sampledOf(t rapid.TB, m mechanism.Mechanism, q float64, adj mechanism.Adjacency) loss.Loss {
	p := mechanism.PoissonSampled{SamplingProbability: q, Mechanism: m}
	if err := p.Check(adj); err != nil {
		t.Fatal(err)
	}
	l, err := Of(p, adj)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// q = 1 is the unsampled loss, near it the cumulants agree; a smaller sample never
// costs more, and none at all nothing.
func TestSampledLossGrowsWithTheRate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		adj := drawAdjacency(t)
		m := drawSampleable(t, adj)
		d := drawDirection(t)
		s := math.Exp(rapid.Float64Range(-3, 2.5).Draw(t, "ln s"))
		one, _ := Of(m, adj)
		if l := sampledOf(t, m, 1, adj); l != one {
			t.Fatalf("%v under %v with q = 1 is %+v, want %+v", m, adj, l, one)
		}
		last := loss.Value{}
		for _, q := range []float64{1e-12, 1e-6, 1e-3, 0.1, 0.5, 0.9, 1 - 1e-12} {
			v := sampledOf(t, m, q, adj).Cumulant(d, s, nil)
			// Conditional on a finite loss, that of a one-sided atom may fall.
			if atom := one.Facts().InfinityMass; atom == 0 && v.Upper() < last.Lower() {
				t.Errorf("%v under %v: K(%v) falls from %v to %v at q = %v", m, adj, s, last.K, v.K, q)
			}
			if q == 1e-12 && math.Abs(v.K) > 1e-11*math.Exp(12*(s+1)) {
				t.Errorf("%v: K(%v) = %v at q = 1e−12", m, s, v.K)
			}
			last = v
		}
		if want := one.Cumulant(d, s, nil); one.Facts().InfinityMass == 0 &&
			math.Abs(last.K-want.K) > 1e-6*(1+math.Abs(want.K)) {
			t.Errorf("%v under %v: K(%v) = %v near q = 1, unsampled %v", m, adj, s, last.K, want.K)
		}
	})
}

// For tiny q, K of the pair that mixes with the neighbour is q²·s(s+1)/2·χ²(P, Q) to
// first order, with full relative precision; binary response has χ² = 4·sinh²(ε/2)·… by
// its table: Σ (p−q)²/q = e^{−ε}(e^ε−1)².
func TestSampledLossKeepsDigitsAtTinyRates(t *testing.T) {
	for _, q := range []float64{1e-6, 1e-9, 1e-30, 1e-120} {
		for _, s := range []float64{1e-3, 0.5, 2, 30} {
			for _, d := range []loss.Direction{loss.Remove, loss.Add} {
				v := sampledOf(t, mechanism.PureDP{Epsilon: 1}, q, mechanism.AddOrRemoveOne).Cumulant(d, s, nil)
				want := q * q * s * (s + 1) / 2 * math.Exp(-1) * (math.E - 1) * (math.E - 1)
				if math.Abs(v.K/want-1) > 60*q+1e-13 || v.Err > 1e-12*v.K {
					t.Errorf("q=%v s=%v %v: K = %v ± %v, want %v", q, s, d, v.K, v.Err, want)
				}
			}
		}
	}
}

// Under REPLACE_ONE, the pair with the two contributions opposite is at least as bad
// as with any others: against one coordinate's pairs at other distances, by the
// densities.
func TestReplacedLaplaceDominates(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e0 := math.Exp(rapid.Float64Range(-3, 2).Draw(t, "ln e0"))
		q := rapid.Float64Range(0.001, 0.999).Draw(t, "q")
		a, b := e0*rapid.Float64Range(-1, 1).Draw(t, "a"), e0*rapid.Float64Range(-1, 1).Draw(t, "b")
		sampled := sampledOf(t, laplaceAtDistance(e0), q, mechanism.ReplaceOne)
		p, _ := loss.PairOf(sampled, loss.Remove, loss.Dominating, nil)
		epsilon := rapid.Float64Range(-2, 2).Draw(t, "ε") * math.Log1p(q*math.Expm1(e0))
		const n = 20000
		var sum float64
		reach := e0 + 30
		for i := range n {
			x := -reach + 2*reach*(float64(i)+0.5)/n
			mix := func(at float64) float64 { return ((1-q)*math.Exp(-math.Abs(x)) + q*math.Exp(-math.Abs(x-at))) / 2 }
			sum += math.Max(0, mix(a)-math.Exp(epsilon)*mix(b)) * 2 * reach / n
		}
		if above := losstest.Hockey(p, epsilon, 2000); sum > above+1e-5*(1+math.Exp(epsilon)) {
			t.Errorf("e0=%v q=%v: contributions %v, %v give δ(%v) = %v, the pair %v", e0, q, a, b, epsilon, sum, above)
		}
	})
}

// K against a sum over fine cells of the definition.
func TestSampledLossAgainstDumbIntegral(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := rapid.Float64Range(0.001, 0.999).Draw(t, "q")
		e0 := rapid.SampledFrom([]float64{0.25, 1, 4}).Draw(t, "e0")
		s := rapid.Float64Range(-3, 4).Draw(t, "s")
		isReplaced := rapid.Bool().Draw(t, "replaced")
		d := drawDirection(t)
		mix := func(mean float64) func(x float64) float64 {
			return func(x float64) float64 {
				return math.Log((1-q)*math.Exp(-math.Abs(x))+q*math.Exp(-math.Abs(x-mean))) - math.Ln2
			}
		}
		p, w := mix(e0), func(x float64) float64 { return -math.Abs(x) - math.Ln2 }
		if isReplaced {
			w = mix(-e0)
		}
		l := sampledOf(t, laplaceAtDistance(e0), q, replacing(isReplaced))
		if d == loss.Add {
			p, w = w, p
		}
		got, want := l.Cumulant(d, s, nil), dumb(s, p, w, -50, 50)
		if math.Abs(got.K-want) > got.Err+2e-6 {
			t.Fatalf("%+v %v: K(%v) = %v ± %v, dumb %v", l, d, s, got.K, got.Err, want)
		}
	})
}

// Where the loss is too large to compute K, convexity tells it.
func TestSampledLossOfLargeLosses(t *testing.T) {
	for _, e := range []float64{2000, 1e300, math.Inf(1)} {
		v := lossOf(t, mechanism.PoissonSampled{SamplingProbability: 0.1, Mechanism: laplaceAtDistance(e)},
			mechanism.AddOrRemoveOne).Cumulant(loss.Remove, 2, nil)
		if math.IsNaN(v.K) || !(v.Upper() >= 2*(e-3)) {
			t.Errorf("e0=%v: K(2) = %v ± %v", e, v.K, v.Err)
		}
	}
}

// No bound on |φ| of a sampled loss is below |φ| itself, and for Laplace it does
// decay to what its atoms leave.
func TestSampledLossDecay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		adj := drawAdjacency(t)
		q := math.Exp(rapid.Float64Range(math.Log(1e-6), -1e-3).Draw(t, "ln q"))
		l, d := sampledOf(t, drawSampleable(t, adj), q, adj), drawDirection(t)
		theta := rapid.SampledFrom([]float64{-0.9, -0.3, 0.01, 0.7, 3, 20}).Draw(t, "θ")
		decay, line := loss.Tilt(l, d, theta, nil).Decay, l.Line(d, theta, nil)
		k := l.Cumulant(d, theta, nil)
		t0 := math.Exp(rapid.Float64Range(math.Log(0.01), math.Log(5000)).Draw(t, "ln t"))
		t1 := t0 * rapid.Float64Range(1, 2.5).Draw(t, "ratio")
		near, far := decay(t0, t1, false), decay(t0, math.Inf(1), false)
		if !(near <= 0 && far <= 0) {
			t.Fatalf("bounds %v, %v", near, far)
		}
		for i := range 6 {
			at := t0 + (t1-t0)*float64(i)/5
			v := line(at)
			truth, slack := real(v.K)-k.K, v.Err+k.Err+1e-15
			if !math.IsInf(v.Err, 1) && (truth-slack > near || truth-slack > far) {
				t.Fatalf("%+v %v θ=%v: ln|φ(%v)| = %v ± %v, bounds %v, %v", l, d, theta, at, truth, slack, near, far)
			}
		}
	})
	l := sampledOf(t, mechanism.Laplace{Scale: 1, Sensitivity: 1}, 0.1, mechanism.AddOrRemoveOne)
	if v := loss.Tilt(l, loss.Remove, 1, nil).Decay(1e9, math.Inf(1), false); !(v < -0.3) {
		t.Errorf("ln|φ| ≤ %v far out", v)
	}
}
