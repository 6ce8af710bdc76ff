// SPDX-License-Identifier: Apache-2.0

package lattice

import (
	"math"
	"testing"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/loss/pairs"
	"github.com/dpaccountant/accountant/internal/loss/poisson"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/pld/interval"
	"github.com/dpaccountant/accountant/internal/pld/pldtest"
	"pgregory.net/rapid"
)

// drawAtomic draws a mechanism with finitely many losses.
func drawAtomic(t *rapid.T, i int) loss.Loss {
	epsilon := rapid.SampledFrom([]float64{0.05, 0.1, 0.3, math.Pi / 7, 1, 2.5}).Draw(t, "ε0")
	if rapid.Bool().Draw(t, "any") {
		epsilon = math.Exp(rapid.Float64Range(-7, 1.5).Draw(t, "ln ε0"))
	}
	switch rapid.IntRange(0, 2).Draw(t, "kind") {
	case 0:
		return pldtest.Loss(t, mechanism.PureDP{Epsilon: epsilon}, mechanism.AddOrRemoveOne)
	case 1:
		return pldtest.Loss(t, mechanism.ApproximateDP{Epsilon: epsilon, Delta: 1e-3}, mechanism.AddOrRemoveOne)
	}
	return pldtest.Loss(t, mechanism.RandomizedResponse{Epsilon: epsilon, Buckets: 5}, mechanism.ReplaceOne)
}

// drawLoss draws a mechanism of any kind.
func drawLoss(t *rapid.T) loss.Loss {
	scale := math.Exp(rapid.Float64Range(-1, 3).Draw(t, "ln scale"))
	switch rapid.IntRange(0, 4).Draw(t, "mechanism") {
	case 0:
		return pldtest.Loss(t, mechanism.Gaussian{NoiseMultiplier: scale}, mechanism.AddOrRemoveOne)
	case 1:
		return pldtest.Loss(t, mechanism.Laplace{Scale: scale, Sensitivity: 1}, mechanism.AddOrRemoveOne)
	case 2:
		q := math.Exp(rapid.Float64Range(-12, -0.1).Draw(t, "ln q"))
		adj := rapid.SampledFrom([]mechanism.Adjacency{mechanism.AddOrRemoveOne, mechanism.ReplaceOne}).Draw(t,
			"adjacency")
		return pldtest.Loss(t, mechanism.PoissonSampled{SamplingProbability: q,
			Mechanism: mechanism.Gaussian{NoiseMultiplier: scale}}, adj)
	}
	return drawAtomic(t, 0)
}

func drawComposition(t *rapid.T, most uint64) loss.Composition {
	var c loss.Composition
	for range rapid.IntRange(1, 3).Draw(t, "losses") {
		c = append(c, loss.Term{Loss: drawLoss(t), Count: rapid.Uint64Range(1, most).Draw(t, "count")})
	}
	return c
}

func drawDelta(t *rapid.T) float64 {
	return math.Exp(rapid.SampledFrom([]float64{-0.01, -0.7, -5, -12, -30, -100, -500}).Draw(t, "ln δ"))
}

// The lower end is never above the Rényi bound, and the interval is not empty;
// asked back by the ε found, the δ intervals overlap.
func TestLatticeIsConsistent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, delta := drawComposition(t, 200), drawDelta(t)
		e, reason := Epsilon(c, delta, interval.Wanted{Gap: 1e-2})
		if reason != "" {
			t.Fatal(reason)
		}
		if !(e.Lower <= e.Upper && e.Lower >= 0) {
			t.Fatalf("ε(%v) in [%v, %v]", delta, e.Lower, e.Upper)
		}
		_, atom := c.InfinityMass()
		finite := loss.Finite(delta, atom)
		if !(finite > 0) {
			return
		}
		var renyi float64
		for _, d := range []loss.Direction{loss.Remove, loss.Add} {
			r, _ := loss.LeastEpsilon(loss.CumulantBound{
				At:   func(s float64) loss.Value { return c.Cumulant(d, s, nil) },
				Last: c.Last()}, math.Log(finite), 0, nil)
			renyi = math.Max(renyi, r)
		}
		if !(e.Lower <= renyi) {
			t.Errorf("ε(%v) is at least %v, but Rényi proves %v", delta, e.Lower, renyi)
		}
		if math.IsInf(e.Upper, 1) || e.Lower == 0 {
			return
		}
		at, _ := LogDelta(c, e.Lower, interval.Wanted{Gap: 0.1})
		if !(at.Upper >= math.Log(delta)-1e-9) {
			t.Errorf("δ(%v) = %v at least, but ln δ is at most %v there", e.Lower, delta, at.Upper)
		}
		at, _ = LogDelta(c, e.Upper, interval.Wanted{Gap: 0.1})
		if !(at.Lower <= math.Log(delta)+1e-9) {
			t.Errorf("δ(%v) = %v at most, but ln δ is at least %v there", e.Upper, delta, at.Lower)
		}
	})
}

// More releases never cost less, and a Gaussian never less than a noisier one.
func TestLatticeIsMonotone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, delta := drawComposition(t, 50), drawDelta(t)
		more := append(loss.Composition(nil), c...)
		i := rapid.IntRange(0, len(c)-1).Draw(t, "which")
		more[i].Count += rapid.Uint64Range(1, 5).Draw(t, "extra")
		a, _ := Epsilon(c, delta, interval.Wanted{Gap: 1e-2})
		b, _ := Epsilon(more, delta, interval.Wanted{Gap: 1e-2})
		if !(a.Lower <= b.Upper) {
			t.Errorf("ε(%v) is at least %v, with more releases at most %v", delta, a.Lower, b.Upper)
		}
	})
}

// closedForm is ln δ(ε) of one release by its closed form.
func closedForm(t *rapid.T, l loss.Loss, epsilon float64) loss.Bounds {
	curve, ok := loss.CurveOf(l, nil)
	if !ok {
		t.Fatalf("%+v has no closed form", l)
	}
	b, _ := curve.LogDelta(epsilon)
	return b
}

// One release against the closed forms, also where ln δ is −10¹².
func TestLatticeHoldsClosedForms(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		scale := math.Exp(rapid.Float64Range(-4, 13).Draw(t, "ln scale"))
		epsilon := math.Exp(rapid.Float64Range(-9, 7).Draw(t, "ln ε")) / scale
		var l loss.Loss
		var want loss.Bounds
		switch rapid.IntRange(0, 3).Draw(t, "kind") {
		case 0:
			l = pldtest.Loss(t, mechanism.GaussianDP{Mu: 1 / scale}, mechanism.AddOrRemoveOne)
			epsilon *= 10
			want, _ = loss.GaussianLogDelta(1/scale, epsilon)
		case 1:
			l = pldtest.Loss(t, mechanism.Laplace{Scale: scale, Sensitivity: 1}, mechanism.AddOrRemoveOne)
			want = closedForm(t, l, epsilon)
		case 2:
			q := math.Exp(rapid.Float64Range(-25, -0.1).Draw(t, "ln q"))
			l = pldtest.Loss(t,
				mechanism.PoissonSampled{SamplingProbability: q, Mechanism: mechanism.Gaussian{NoiseMultiplier: scale}},
				mechanism.AddOrRemoveOne)
			want = closedForm(t, l, epsilon)
		case 3:
			q := math.Exp(rapid.Float64Range(-25, -0.1).Draw(t, "ln q"))
			l = pldtest.Loss(t,
				mechanism.PoissonSampled{SamplingProbability: q, Mechanism: mechanism.Gaussian{NoiseMultiplier: scale}},
				mechanism.ReplaceOne)
			want = closedForm(t, l, epsilon)
		}
		b, reason := LogDelta(loss.Composition{{Loss: l, Count: 1}}, epsilon, interval.Wanted{Gap: 1e-2})
		if reason != "" {
			t.Fatal(reason)
		}
		if !(b.Lower <= want.Upper && want.Lower <= b.Upper) {
			t.Errorf("%+v: ln δ(%v) in [%v, %v], closed form [%v, %v]", l, epsilon, b.Lower,
				b.Upper, want.Lower, want.Upper)
		}
	})
}

// However early it is stopped, the answer holds what the full one encloses.
func TestLatticeStops(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, delta := drawComposition(t, 50), drawDelta(t)
		full, _ := Epsilon(c, delta, interval.Wanted{Gap: 1e-2})
		left := rapid.IntRange(0, 40).Draw(t, "calls")
		early, reason := Epsilon(c, delta, interval.Wanted{Gap: 1e-2, Stop: func() bool { left--; return left < 0 }})
		if reason != "" || !(early.Lower <= full.Upper && full.Lower <= early.Upper) ||
			math.IsNaN(early.Lower+early.Upper) && !math.IsInf(early.Upper, 1) {
			t.Errorf("stopped [%v, %v] %s, in full [%v, %v]", early.Lower, early.Upper, reason, full.Lower, full.Upper)
		}
	})
}

// What has no pair that is computed is refused with the reason.
func TestLatticeRefuses(t *testing.T) {
	for _, m := range []mechanism.Mechanism{
		mechanism.ZeroConcentratedDP{Rho: 1e4},
		mechanism.Gaussian{NoiseMultiplier: 1e-9},
		mechanism.Laplace{Scale: 1e-4, Sensitivity: 1},
		mechanism.PureDP{Epsilon: 1e4},
	} {
		c := loss.Composition{{Loss: pldtest.Loss(t, m, mechanism.AddOrRemoveOne), Count: 2}}
		if _, reason := Epsilon(c, 1e-5, interval.Wanted{Gap: 1e-4}); reason == "" {
			t.Errorf("%v was answered", m)
		}
	}
	c := loss.Composition{{Loss: pldtest.Loss(t, mechanism.PureDP{Epsilon: 1}, mechanism.AddOrRemoveOne),
		Count: 1 << 60}}
	if _, reason := Epsilon(c, 1e-5, interval.Wanted{Gap: 1e-4}); reason == "" {
		t.Error("2^60 releases were answered")
	}
}

// Thirty mechanisms whose ε have no common divisor: no step serves them all, their
// blocks are narrow all the same.
func TestLatticeBlocksAreNarrow(t *testing.T) {
	var c loss.Composition
	for i := range 30 {
		m := mechanism.ApproximateDP{Epsilon: math.Sqrt(float64(i+2)) / 20, Delta: 1e-9}
		c = append(c, loss.Term{Loss: pldtest.Loss(t, m, mechanism.AddOrRemoveOne), Count: uint64(1 + i%3)})
	}
	p, _ := newProblem(c, loss.Remove, nil)
	if len(p.terms) > 12 {
		t.Errorf("%d terms are left of 60 releases of 30 kinds", len(p.terms))
	}
	e, reason := Epsilon(c, 1e-5, interval.Wanted{Gap: 1e-4})
	if reason != "" || !(e.Upper-e.Lower <= 1e-4) {
		t.Errorf("ε in [%v, %v] %s", e.Lower, e.Upper, reason)
	}
}

// Whatever is asked, the work accounted for is about what is allowed, and the
// answer is an interval.
func TestLatticeWorkIsBounded(t *testing.T) {
	for _, kinds := range []int{1, 40, 500} {
		var c loss.Composition
		for i := range kinds {
			x := 1 + float64(i)/float64(kinds)
			for _, m := range []mechanism.Mechanism{
				mechanism.PoissonSampled{SamplingProbability: 1e-3 * x,
					Mechanism: mechanism.Gaussian{NoiseMultiplier: 0.3 * x}},
				mechanism.ApproximateDP{Epsilon: 0.01 * math.Sqrt(x), Delta: 1e-12},
				mechanism.Laplace{Scale: 1e-2 * x, Sensitivity: 1},
			} {
				c = append(c, loss.Term{Loss: pldtest.Loss(t, m, mechanism.AddOrRemoveOne), Count: 1_000_003})
			}
		}
		p, reason := newProblem(c, loss.Remove, nil)
		if reason != "" {
			t.Fatal(reason)
		}
		e, _ := p.solve(&question{byDelta: true, delta: 1e-3, gap: 1e-9}, math.Inf(-1), nil)
		if !(e.Lower >= 0 && e.Lower <= e.Upper) || p.left < -questionWork/2 {
			t.Errorf("%d kinds: ε in [%v, %v], %v left of %v", 3*kinds, e.Lower, e.Upper, p.left, questionWork)
		}
	}
}

// A step too wide for the tilt leaves nothing of the optimistic side, and ends.
func TestLatticeStepTooWide(t *testing.T) {
	for _, theta := range []float64{1e3, 1e9, 1e15} {
		for _, step := range []float64{1, 50, 1e4} {
			task := task{pair: poisson.SampledPair(pairs.GaussianPair(1), 1e-3, loss.Remove),
				theta: theta, lo: -1, hi: 100}
			m := task.optimistic(grid{task.pair.Anchor(), step})
			for _, w := range m.weights {
				if !(w >= 0 && w <= 1+1e-9) {
					t.Errorf("θ=%v h=%v: weight %v", theta, step, w)
				}
			}
			if math.IsNaN(m.scale) || math.IsInf(m.scale, 1) {
				t.Errorf("θ=%v h=%v: scale %v", theta, step, m.scale)
			}
		}
	}
}
