// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"math"
	"math/cmplx"
	"strings"
	"testing"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/loss/pairs"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/num"
	"pgregory.net/rapid"
)

// K(0) = 0, exactly: a distribution's mass is 1.
func TestCumulantVanishesAtZero(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l, d := drawLoss(t), drawDirection(t)
		if v := l.Cumulant(d, 0, nil); v.K != 0 || v.Err != 0 {
			t.Fatalf("%+v: K(0) = %v ± %v", l, v.K, v.Err)
		}
		if l.Facts().BoundOnly {
			return
		}
		if v := l.Line(d, 0, nil)(0); v.K != 0 || v.Err != 0 {
			t.Fatalf("%+v: K(0) = %v ± %v on the line", l, v.K, v.Err)
		}
		if f := l.Facts(); f.OneSided || f.Uneven || f.Cut { // a pair that is cut has less than a distribution's mass
			return
		}
		// The mirror image of 0 is −1.
		if v := l.Cumulant(d, -1, nil); v.K != 0 || v.Err != 0 {
			t.Fatalf("%+v: K(−1) = %v ± %v", l, v.K, v.Err)
		}
	})
}

// K_add(s) = K_remove(−1−s), real and complex, but for the finite masses: a
// one-sided atom counts in the remove direction.
func TestDirectionsMirror(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := drawLoss(t)
		if l.Facts().BoundOnly {
			t.Skip("no pair")
		}
		s := rapid.Float64Range(-8, 8).Draw(t, "s")
		a, r := l.Cumulant(loss.Add, s, nil), l.Cumulant(loss.Remove, -1-s, nil)
		moved := 2 * num.Ulp * math.Abs(a.Slope) * (1 + math.Abs(s)) // −1−s is rounded
		f := l.Facts()
		finite := math.Log1p(-f.InfinityMassIn(loss.Remove)) - math.Log1p(-f.InfinityMassIn(loss.Add))
		r.K += finite
		if math.Abs(a.K-r.K) > 4*(a.Err+r.Err)+moved {
			t.Fatalf("%+v: K_add(%v) = %v, K_remove = %v", l, s, a.K, r.K)
		}
		// Where K is only known to lie between 0 and a bound, the slope is that bound's, and its curvature is not
		// told: it may move by more than this when −1−s is rounded.
		known := a.Err <= math.Abs(a.K)/2
		if known && math.Abs(a.Slope+r.Slope) > 1e-3*(math.Abs(a.Slope)+math.Abs(a.Curvature)) {
			t.Fatalf("%+v: K_add'(%v) = %v, K_remove' = %v", l, s, a.Slope, r.Slope)
		}
		im := rapid.Float64Range(-20, 20).Draw(t, "t")
		x, y := l.Line(loss.Add, s, nil)(im), l.Line(loss.Remove, -1-s, nil)(-im)
		y.K += complex(finite, 0)
		// Powers e^K would be rounded to more than what they are off by where K is nearly 0.
		apart := x.K - y.K
		if math.Abs(imag(apart)) > 1 {
			apart = complex(real(apart), math.Remainder(imag(apart), 2*math.Pi))
		}
		if cmplx.Abs(apart) > 4*(x.Err+y.Err)+4*moved {
			t.Fatalf("%+v: K(%v+%vi): %v, %v", l, s, im, x, y)
		}
	})
}

// With q = 1 sampling is no sampling, under every adjacency.
func TestFullSamplingIsUnsampled(t *testing.T) {
	for _, adj := range []mechanism.Adjacency{mechanism.AddOrRemoveOne, mechanism.ReplaceOne, mechanism.ZeroOut} {
		for _, g := range []mechanism.Gaussian{{NoiseMultiplier: 1.3}, {StandardDeviation: 3, Sensitivity: 0.7}} {
			for _, p := range []mechanism.PoissonSampled{{SamplingProbability: 1, Mechanism: g},
				{BatchSize: 600, DatasetSize: 600, Mechanism: g}} {
				got, err := Of(p, adj)
				want, _ := Of(g, adj)
				if err != nil || got != want {
					t.Errorf("%v %v: %v, want %v", p, adj, got, want)
				}
			}
		}
	}
}

// As q → 1 the sampled cumulant becomes the unsampled one, under each adjacency.
func TestSamplingIsContinuousAtOne(t *testing.T) {
	for _, adj := range []mechanism.Adjacency{mechanism.AddOrRemoveOne, mechanism.ReplaceOne, mechanism.ZeroOut} {
		for _, s := range []float64{0.5, 1, 3} {
			for _, d := range []loss.Direction{loss.Remove, loss.Add} {
				near := sampledAt(t, 1-1e-9, 1.2, adj).Cumulant(d, s, nil)
				one := sampledAt(t, 1, 1.2, adj).Cumulant(d, s, nil)
				if math.Abs(near.K/one.K-1) > 1e-6 {
					t.Errorf("%v %v s=%v: K = %v near q = 1, %v at it", adj, d, s, near.K, one.K)
				}
			}
		}
	}
}

// What is proven about each loss bounds what is computed: K ≤ s·MaxLoss,
// K ≤ ρ·s(s+1), K convex, its slope right.
func TestFactsBoundCumulant(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l, d := drawLoss(t), drawDirection(t)
		s := math.Exp(rapid.Float64Range(-6, 4).Draw(t, "ln s"))
		v, f := l.Cumulant(d, s, nil), l.Facts()
		if !(v.Err >= 0) || math.IsNaN(v.K) {
			t.Fatalf("%+v: K(%v) = %v ± %v", l, s, v.K, v.Err)
		}
		least := 0.0
		if f.OneSided || f.Uneven { // E[e^{−L}] may exceed 1 by what P's finite mass lacks
			least = math.Min(0,
				s*(math.Log1p(-f.InfinityMassIn(d))-math.Log1p(-f.InfinityMassIn(loss.Remove+loss.Add-d)))-1e-12*s)
		}
		if v.Upper() < least {
			t.Fatalf("%+v: K(%v) ≤ %v", l, s, v.Upper())
		}
		slack := v.Err + 1e-13*math.Abs(v.K)
		if v.K > s*l.MaxLoss(d)+slack {
			t.Fatalf("%+v: K(%v) = %v over the largest loss %v", l, s, v.K, l.MaxLoss(d))
		}
		// A one-sided atom is finite in the add direction: ρ is what is left without it.
		// ρ bounds every member of a class, not the pair that dominates them.
		// What is sampled and has only Rényi divergences is bounded by chords between whole orders, which lie above
		// ρ·s(s+1); at s = 1 they meet.
		at := s
		if f.BoundOnly && strings.HasPrefix(f.Name, "Poisson-sampled") {
			at = 1
		}
		if k := loss.Renyi(l, d, at, nil); !(f.OneSided && d == loss.Add) && !f.Uneven && k.K > f.Rho*at*(at+1)+slack {
			t.Fatalf("%+v: K(%v) = %v over ρ = %v", l, at, k.K, f.Rho)
		}
		if f.Name == "repeat-and-select bound" {
			return // not convex, as only K itself must be
		}
		if s*1.01 > (loss.Composition{{Loss: l, Count: 1}}).Last() {
			return // nothing is known there
		}
		w := l.Cumulant(d, s*1.01, nil)
		if chord := (w.K - v.K) / (0.01 * s); chord < v.Slope-1e-3*math.Abs(v.Slope)-2*(v.Err+w.Err)/(0.01*s) ||
			chord > w.Slope+1e-3*math.Abs(w.Slope)+2*(v.Err+w.Err)/(0.01*s) {
			t.Fatalf("%+v: slope %v at %v, chord %v, slope %v", l, v.Slope, s, chord, w.Slope)
		}
	})
}

// Slopes and curvatures of losses so large that e^{sL} turns often within an ordinary step
// off the real axis, against differences of the slopes' own chords.
func TestSlopesOfLargeLosses(t *testing.T) {
	for _, l := range []loss.Loss{
		lossOf(t, mechanism.DiscreteGaussian{StandardDeviation: 0.1, Distance: 7}, mechanism.ReplaceOne),
		lossOf(t, mechanism.DiscreteGaussian{StandardDeviation: 0.3, Distance: 40}, mechanism.ReplaceOne),
		lossOf(t, mechanism.DiscreteGaussian{StandardDeviation: 1.1, Distance: 20}, mechanism.ReplaceOne),
		lossOf(t, mechanism.DiscreteGaussian{StandardDeviation: 0.45, Distance: 1}, mechanism.ReplaceOne),
		pairs.NewLaplace(1000, false), pairs.Response{Epsilon: 1000, K: 5},
		lossOf(t, mechanism.DiscreteLaplace{Scale: 0.02, Distance: 20}, mechanism.ReplaceOne),
		pairs.NewBoundedRange(700),
	} {
		for _, s := range []float64{0.003, 0.02, 0.1, 0.7, 3, 20, 55} {
			for _, d := range []loss.Direction{loss.Remove, loss.Add} {
				v, w := l.Cumulant(d, s, nil), l.Cumulant(d, s*1.01, nil)
				rounding := 2 * (v.Err + w.Err) / (0.01 * s)
				chord := (w.K - v.K) / (0.01 * s)
				if !(chord >= v.Slope*(1-1e-6)-rounding && chord <= w.Slope*(1+1e-6)+rounding) {
					t.Errorf("%+v at %v: slopes %v and %v, chord %v", l, s, v.Slope, w.Slope, chord)
				}
				if !(v.Curvature >= 0) {
					t.Errorf("%+v at %v: curvature %v", l, s, v.Curvature)
				}
			}
		}
	}
}

// |E e^{sL}| ≤ E e^{θL} on every line, and Upper keeps to it.
func TestLineStaysBelowAxis(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l, d := drawLoss(t), drawDirection(t)
		theta := rapid.Float64Range(-0.99, 20).Draw(t, "θ")
		if l.Facts().BoundOnly && theta < 0 {
			t.Skip("no bound there")
		}
		im := rapid.Float64Range(-50, 50).Draw(t, "t")
		at, v := l.Cumulant(d, theta, nil), l.Line(d, theta, nil)(im)
		if v.Upper > at.Upper()+1e-12*math.Abs(at.K)+2*v.Err {
			t.Fatalf("%+v at %v+%vi: Re K ≤ %v, on the axis %v", l, theta, im, v.Upper, at.Upper())
		}
		if !math.IsInf(v.Err, 1) && real(v.K)-v.Err > at.Upper()+1e-12*math.Abs(at.K) {
			t.Fatalf("%+v at %v+%vi: K = %v ± %v, on the axis %v", l, theta, im, v.K, v.Err, at.Upper())
		}
	})
}

// Trap 4: fractional orders where a published series diverges. Values from
// docs/math/traps.md §6.
func TestFractionalOrder(t *testing.T) {
	l := sampledAt(t, 0.5, 2, mechanism.AddOrRemoveOne)
	for d, want := range map[loss.Direction]float64{loss.Remove: 0.0356276, loss.Add: 0.0331487} {
		if got := l.Cumulant(d, 0.1, nil).K / 0.1; math.Abs(got-want) > 1e-7 {
			t.Errorf("ε(1.1) %v = %v, want %v", d, got, want)
		}
	}
}
