// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"math"
	"testing"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/loss/losstest"
	"github.com/dpaccountant/accountant/internal/loss/pairs"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/num"
	"pgregory.net/rapid"
)

// One test a theorem: what papers say of noise on whole numbers, of cut-off noise and of
// selections, by direct sums over probabilities.

// masses are the probabilities of discrete noise ∝ e^{−cost(x)} for |x| ≤ far.
func masses(far int, cost func(x float64) float64) map[int]float64 {
	p, total := map[int]float64{}, 0.0
	for x := -far; x <= far; x++ {
		p[x] = math.Exp(-cost(float64(x)))
		total += p[x]
	}
	for x := range p {
		p[x] /= total
	}
	return p
}

// divergence is Σ (P − e^ε·Q)₊ of noise moved by d.
func divergence(p map[int]float64, d int, epsilon float64) float64 {
	var sum float64
	for x, q := range p {
		sum += math.Max(0, p[x-d]-math.Exp(epsilon)*q)
	}
	return sum
}

func lossFor(t testing.TB, m mechanism.Mechanism, adj mechanism.Adjacency) loss.Loss {
	t.Helper()
	if err := m.Check(adj); err != nil {
		t.Fatal(err)
	}
	l, err := Of(m, adj)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// deltaOf is the pair's δ(ε) from cells, between both ends of each.
func deltaOf(t testing.TB, l loss.Loss, epsilon float64) (low, high float64) {
	t.Helper()
	p, ok := loss.PairOf(l, loss.Remove, loss.Dominating, nil)
	if !ok {
		t.Fatalf("%+v has no pair", l)
	}
	ms, edges, slack := allOutcomes(p, 20000, 60)
	low, high = p.Infinite(), p.Infinite()
	for i, m := range ms {
		a, b := m.Loss, m.Loss
		if i < len(edges)-1 {
			a, b = edges[i]-slack, edges[i+1]+slack
		}
		low += math.Exp(m.LogP) * math.Max(0, -math.Expm1(epsilon-math.Max(a, m.Loss-1e-9)))
		high += math.Exp(m.LogP) * math.Max(0, -math.Expm1(epsilon-math.Min(b, m.Loss+1e-9)))
	}
	return low, high
}

// Canonne–Kamath–Steinke 2020 (arXiv 2004.00010v3), Prop. 5 and Thm 14: the discrete
// Gaussian has K(s) ≤ s(s+1)·d²/2σ², with equality where sd is whole.
func TestDiscreteGaussianIsConcentrated(t *testing.T) {
	for _, sigma := range []float64{0.2, 0.6, 1, 4} {
		for _, d := range []float64{1, 2, 5} {
			l := lossFor(t, mechanism.DiscreteGaussian{StandardDeviation: sigma, Sensitivity: d},
				mechanism.AddOrRemoveOne)
			rho := d * d / (2 * sigma * sigma)
			for _, s := range []float64{0.1, 0.25, 0.5, 1, 3, 10.5} {
				v := l.Cumulant(loss.Remove, s, nil)
				bound := rho * s * (s + 1)
				if v.Lower() > bound*(1+1e-14) {
					t.Errorf("σ=%v d=%v: K(%v) = %v over %v", sigma, d, s, v.K, bound)
				}
				if whole := s*d == math.Trunc(s*d); whole && math.Abs(v.K-bound) > v.Err+1e-14*bound {
					t.Errorf("σ=%v d=%v: K(%v) = %v, not %v", sigma, d, s, v.K, bound)
				} else if !whole && sigma < 0.5 && !(v.K < bound-0.05) {
					t.Errorf("σ=%v d=%v: K(%v) = %v hardly below %v", sigma, d, s, v.K, bound)
				}
			}
		}
	}
}

// Canonne–Kamath–Steinke 2020, Thm 7: δ(ε) = P[X > εσ²/d − d/2] − e^ε·P[X > εσ²/d + d/2].
func TestDiscreteGaussianCurve(t *testing.T) {
	for _, sigma := range []float64{0.4, 1, 3} {
		for _, d := range []int{1, 2, 4} {
			p := masses(80, func(x float64) float64 { return x * x / (2 * sigma * sigma) })
			l := lossFor(t, mechanism.DiscreteGaussian{StandardDeviation: sigma, Sensitivity: float64(d)},
				mechanism.AddOrRemoveOne)
			for _, e := range []float64{0, 0.1, 1, 3} {
				at := e*sigma*sigma/float64(d) - float64(d)/2
				var first, second float64
				for x, m := range p {
					if float64(x) > at {
						first += m
					}
					if float64(x) > at+float64(d) {
						second += m
					}
				}
				want := first - math.Exp(e)*second
				low, high := deltaOf(t, l, e)
				if !(low <= want+1e-9 && want-1e-9 <= high && high-low < 1e-6) {
					t.Errorf("σ=%v d=%v: δ(%v) in [%v, %v], want %v", sigma, d, e, low, high, want)
				}
			}
		}
	}
}

// Ghosh–Roughgarden–Sundararajan 2012, §2: the geometric mechanism is (d/b)-DP, tightly:
// its largest loss has P[x ≥ d] = 1/(1 + e^{−1/b}). Its curve by the sum over all x.
func TestDiscreteLaplaceCurve(t *testing.T) {
	for _, b := range []float64{0.5, 2, 10} {
		p := masses(1000, func(x float64) float64 { return math.Abs(x) / b })
		for _, d := range []int{1, 2, 7} {
			l := lossFor(t, mechanism.DiscreteLaplace{Scale: b, Sensitivity: float64(d)}, mechanism.AddOrRemoveOne)
			if e := l.Facts().Epsilon; !(e >= float64(d)/b && e < float64(d)/b*(1+1e-14)) {
				t.Errorf("b=%v d=%v: ε = %v", b, d, e)
			}
			for _, e := range []float64{0, 0.1, 0.5 * float64(d) / b, 0.99 * float64(d) / b} {
				low, high := deltaOf(t, l, e)
				if want := divergence(p, d, e); !(low <= want+1e-9 && want-1e-9 <= high && high-low < 1e-6) {
					t.Errorf("b=%v d=%v: δ(%v) in [%v, %v], want %v", b, d, e, low, high, want)
				}
			}
		}
	}
}

// docs/math/laplace-vectors.md §1.4.4: discrete Laplace noise on a vector loses no more than on one number at
// the ℓ1 distance, and strictly less where two coordinates differ.
func TestDiscreteLaplaceVectors(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := math.Exp(rapid.Float64Range(-1, 2).Draw(t, "ln b"))
		d1, d2 := rapid.IntRange(1, 6).Draw(t, "d1"), rapid.IntRange(1, 6).Draw(t, "d2")
		e := rapid.Float64Range(-1, 1).Draw(t, "ε/e0") * float64(d1+d2) / b
		p := masses(int(60*b)+20, func(x float64) float64 { return math.Abs(x) / b })
		both := 0.0
		for y, q := range p { // given y, a test of the first coordinate at ε less the second's loss
			if py := p[y-d2]; py > 0 {
				l := (math.Abs(float64(y)) - math.Abs(float64(y-d2))) / b
				both += py * divergence(p, d1, e-l)
			} else {
				both += 0 * q
			}
		}
		one := divergence(p, d1+d2, e)
		if both > one+1e-9 {
			t.Fatalf("b=%v (%d, %d): δ(%v) = %v, at the ℓ1 distance %v", b, d1, d2, e, both, one)
		}
	})
}

// Geng–Ding–Guo–Kumar 2020 (arXiv 1810.00877), Thm 1: noise Lap(Δ/ε) cut off at A =
// (Δ/ε)·ln(1 + (e^ε − 1)/2δ) is (ε, δ)-DP; and (ε', δ) for no smaller δ.
func TestTruncatedLaplaceFails(t *testing.T) {
	for _, epsilon := range []float64{0.1, 1, 4} {
		for _, delta := range []float64{1e-12, 1e-5, 0.01} {
			bound := math.Log1p(math.Expm1(epsilon)/(2*delta)) / epsilon
			f := lossFor(t, mechanism.TruncatedLaplace{Scale: 1 / epsilon, Bound: bound, Sensitivity: 1},
				mechanism.AddOrRemoveOne).Facts()
			if math.Abs(f.InfinityMass/delta-1) > 1e-12 || math.Abs(f.Epsilon/epsilon-1) > 1e-14 {
				t.Errorf("ε=%v δ=%v: (%v, %v)", epsilon, delta, f.Epsilon, f.InfinityMass)
			}
		}
	}
}

// Dong–Durfee–Rogers 2020 (arXiv 1909.13830): of all mechanisms with losses in a
// range of width η, randomized response with losses t and t − η is the worst at some t, at
// every ε and every order.
func TestRangeOfLosses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		eta := math.Exp(rapid.Float64Range(-6, 2.5).Draw(t, "ln η"))
		at := rapid.Float64Range(0.001, 0.999).Draw(t, "t/η") * eta
		s := math.Exp(rapid.Float64Range(-4, 5).Draw(t, "ln s"))
		p := math.Expm1(eta-at) / (math.Exp(eta-at) - math.Exp(-at))
		k := math.Log(p) + s*at + math.Log1p((1-p)/p*math.Exp(-s*eta))
		l := pairs.NewBoundedRange(eta)
		if v := loss.Renyi(l, loss.Remove, s, nil); k > v.Upper()+1e-13*(1+s*eta) {
			t.Fatalf("η=%v t=%v: K(%v) = %v over %v", eta, at, s, k, v.K)
		} else if rho := eta * eta / 8 * s * (s + 1); v.K > rho*(1+1e-14) {
			t.Fatalf("η=%v: K(%v) = %v over s(s+1)η²/8 = %v", eta, s, v.K, rho)
		} else if pair := l.Cumulant(loss.Remove, s, nil); v.K > pair.Upper() {
			t.Fatalf("η=%v: K(%v) = %v over the pair's %v", eta, s, v.K, pair.K)
		}
	})
}

// The same against the oracle, which looks for the worst t itself: K to 1e−12 of it, and
// the curve of the pair that dominates them all.
func TestRangeOfLossesAgainstOracle(t *testing.T) {
	var data struct {
		Renyi []struct {
			Epsilon float64
			Points  []struct {
				S float64
				K losstest.Number
			}
		}
		Ranges []struct {
			Epsilon float64
			Points  []struct {
				Epsilon float64
				Delta   losstest.Number
			}
		}
	}
	losstest.Read(t, "../testdata/noise.json", &data)
	points := 0
	for _, row := range data.Renyi {
		for _, p := range row.Points {
			points++
			v := loss.Renyi(pairs.NewBoundedRange(row.Epsilon), loss.Remove, p.S, nil)
			if want := p.K.Value; !(want <= v.Upper()) || v.K-want > 1e-6*want {
				t.Errorf("η=%v: K(%v) = %v ± %v, the worst is %v", row.Epsilon, p.S, v.K, v.Err, want)
			}
		}
	}
	for _, row := range data.Ranges {
		for _, p := range row.Points {
			points++
			low, high := deltaOf(t, pairs.NewBoundedRange(row.Epsilon), p.Epsilon)
			if want := p.Delta.Value; !(low <= want+1e-9 && want-1e-9 <= high && high-low < 1e-3) {
				t.Errorf("η=%v: δ(%v) in [%v, %v], the worst is %v", row.Epsilon, p.Epsilon, low, high, want)
			}
		}
	}
	if points < 40 {
		t.Errorf("%d points", points)
	}
}

// Cesar–Rogers 2021 (arXiv 2004.07223): losses in a range of width η are
// (η²/8)-zCDP.
func TestExponentialIsConcentrated(t *testing.T) {
	for _, c := range []struct {
		m         mechanism.Mechanism
		adj       mechanism.Adjacency
		rangeIsOf float64
	}{
		{mechanism.Exponential{Epsilon: 0.5}, mechanism.ReplaceOne, 0.5},
		{mechanism.Exponential{Scale: 4, Sensitivity: 1}, mechanism.AddOrRemoveOne, 0.5},
		{mechanism.Exponential{Scale: 4, Sensitivity: 1}, mechanism.ReplaceOne, 1},
		{mechanism.Exponential{Scale: 4, Sensitivity: 1, Monotone: true}, mechanism.AddOrRemoveOne, 0.25},
		{mechanism.Exponential{Scale: 4, Sensitivity: 1, Monotone: true}, mechanism.ReplaceOne, 0.5},
		{mechanism.ReportNoisyMax{Distribution: mechanism.GumbelMax, Scale: 4, Sensitivity: 1}, mechanism.ZeroOut, 0.5},
		{mechanism.InverseSensitivity{Epsilon: 0.5}, mechanism.ReplaceOne, 0.5},
	} {
		f := lossFor(t, c.m, c.adj).Facts()
		if f.Epsilon != c.rangeIsOf || math.Abs(f.Rho/(c.rangeIsOf*c.rangeIsOf/8)-1) > 4*num.Ulp {
			t.Errorf("%v under %v: ε = %v, ρ = %v", c.m, c.adj, f.Epsilon, f.Rho)
		}
	}
}

// Two candidates: the exponential mechanism's own losses by its probabilities lie in the
// range, and its K below the class's (McSherry–Talwar 2007, Thm 6).
func TestExponentialOfTwo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		gap := rapid.Float64Range(-8, 8).Draw(t, "gap") // of the scores, in units of the scale
		epsilon := math.Exp(rapid.Float64Range(-3, 1.5).Draw(t, "ln ε"))
		moved := rapid.Float64Range(-1, 1).Draw(t, "moved") * epsilon // by which a record moves the gap
		p := 1 / (1 + math.Exp(-gap))
		q := 1 / (1 + math.Exp(-gap-moved))
		first, second := math.Log(p/q), math.Log((1-p)/(1-q))
		if width := math.Abs(first - second); width > epsilon*(1+1e-9) {
			t.Fatalf("losses %v and %v", first, second)
		}
		s := math.Exp(rapid.Float64Range(-3, 4).Draw(t, "ln s"))
		k := math.Log(p*math.Exp(s*first) + (1-p)*math.Exp(s*second))
		if v := loss.Renyi(pairs.NewBoundedRange(epsilon), loss.Remove, s, nil); k > v.Upper()+1e-12 {
			t.Fatalf("gap %v moved by %v: K(%v) = %v over %v", gap, moved, s, k, v.K)
		}
	})
}

// Dwork–Roth 2014, Claim 3.9, and Ding et al. 2021 (arXiv 2105.07260): two
// candidates and Laplace or exponential noise, the probabilities in closed form; no ratio
// passes e^ε.
func TestNoisyMaximumOfTwo(t *testing.T) {
	// P(the first wins) where it is g ≥ 0 noise scales behind.
	behind := map[mechanism.MaxNoise]func(g float64) float64{
		mechanism.LaplaceMax:     func(g float64) float64 { return math.Exp(-g) * (2 + g) / 4 },
		mechanism.ExponentialMax: func(g float64) float64 { return math.Exp(-g) / 2 },
	}
	for noiseOf, tail := range behind {
		wins := func(g float64) float64 {
			if g >= 0 {
				return tail(g)
			}
			return 1 - tail(-g)
		}
		for _, scale := range []float64{0.5, 2, 20} {
			epsilon := lossFor(t, mechanism.ReportNoisyMax{Distribution: noiseOf, Scale: scale, Sensitivity: 1},
				mechanism.AddOrRemoveOne).Facts().Epsilon
			monotone := lossFor(t,
				mechanism.ReportNoisyMax{Distribution: noiseOf, Scale: scale, Sensitivity: 1, Monotone: true},
				mechanism.AddOrRemoveOne).Facts().Epsilon
			for g := -30.0; g < 30; g += 0.01 {
				// Both scores move by 1 apart, or one of them alone.
				if l := math.Log(wins(g) / wins(g+2/scale)); l > epsilon*(1+1e-9) {
					t.Errorf("%v scale %v at %v: loss %v over %v", noiseOf, scale, g, l, epsilon)
				}
				if l := math.Log(wins(g) / wins(g+1/scale)); l > monotone*(1+1e-9) {
					t.Errorf("%v scale %v at %v, monotone: loss %v over %v", noiseOf, scale, g, l, monotone)
				}
			}
		}
	}
}

// Lyu–Su–Li 2017 (arXiv 1603.01699), Thms 4 and 5: ε = Δ/b1 + 2cΔ/b2, monotone Δ/b1 +
// cΔ/b2; in their parametrisation b1 = Δ/ε1 and b2 = 2cΔ/ε2 it is ε1 + ε2.
func TestSparseVector(t *testing.T) {
	for _, c := range []struct {
		m    mechanism.AboveThreshold
		adj  mechanism.Adjacency
		want float64
	}{
		{mechanism.AboveThreshold{ThresholdEpsilon: 0.25, QueryEpsilon: 0.5}, mechanism.ReplaceOne, 0.75},
		{mechanism.AboveThreshold{ThresholdScale: 4, QueryScale: 16, Sensitivity: 1, Positives: 2},
			mechanism.AddOrRemoveOne, 0.5},
		{mechanism.AboveThreshold{ThresholdScale: 4, QueryScale: 16, Sensitivity: 1, Positives: 2},
			mechanism.ReplaceOne, 1},
		{mechanism.AboveThreshold{ThresholdScale: 4, QueryScale: 16, Sensitivity: 1, Positives: 2, Monotone: true},
			mechanism.AddOrRemoveOne, 0.375},
		{mechanism.AboveThreshold{ThresholdScale: 4, QueryScale: 16, Sensitivity: 1, Positives: 2, Monotone: true},
			mechanism.ReplaceOne, 0.5},
		// Dwork–Roth 2014, Alg. 1: Lap(2/ε) and Lap(4/ε), one positive, ε = 1.
		{mechanism.AboveThreshold{ThresholdScale: 2, QueryScale: 4, Sensitivity: 1, Positives: 1},
			mechanism.AddOrRemoveOne, 1},
	} {
		if e := lossFor(t, c.m, c.adj).Facts().Epsilon; !(e >= c.want && e <= c.want*(1+1e-15)) {
			t.Errorf("%v under %v: ε = %v, want %v", c.m, c.adj, e, c.want)
		}
	}
}

// Bun–Steinke 2016 (arXiv 1605.02065v1), Prop. 1.6: k counts with σ = √(k/2ρ) are ρ-zCDP; a
// histogram moves by 1 in one bin, or in two.
func TestCounts(t *testing.T) {
	for _, adj := range []mechanism.Adjacency{mechanism.AddOrRemoveOne, mechanism.ReplaceOne, mechanism.ZeroOut} {
		m := mechanism.CountingQueries{Queries: 100, Rho: 0.08}
		sigma, _ := m.Errors()
		asGaussian := lossFor(t, mechanism.Gaussian{StandardDeviation: sigma, Distance: 10}, adj) // √100
		if got, want := lossFor(t, m, adj).Facts().Rho,
			asGaussian.Facts().Rho; math.Abs(got/want-1) > 1e-14 || math.Abs(got/0.08-1) > 1e-14 {
			t.Errorf("%v: ρ = %v, as a Gaussian %v", adj, got, want)
		}
		bins := 1.0
		if adj == mechanism.ReplaceOne {
			bins = 2
		}
		if e := lossFor(t, mechanism.Histogram{LaplaceScale: 4}, adj).Facts().Epsilon; e != bins/4 {
			t.Errorf("%v: a histogram with scale 4 has ε = %v", adj, e)
		}
		if rho := lossFor(t, mechanism.Histogram{StandardDeviation: 4},
			adj).Facts().Rho; math.Abs(rho/(bins/32)-1) > 1e-14 {
			t.Errorf("%v: a histogram with σ = 4 has ρ = %v", adj, rho)
		}
		c, err := Compose(mechanism.Composition{Adjacency: adj,
			Parts: []mechanism.Part{{Mechanism: mechanism.Histogram{LaplaceScale: 4}, Count: 3}}})
		if err != nil || len(c) != 1 || c[0].Count != uint64(3*bins) ||
			c[0].Loss.Facts().Epsilon != 0.25 || c.Dominating() {
			t.Errorf("%v: three histograms are %+v, %v", adj, c, err)
		}
	}
}
