// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"math"
	"testing"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/loss/losstest"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/num"
)

// pairOutcome is what P and Q have of an outcome.
type pairOutcome struct{ p, q float64 }

// noiseOutcomes are all outcomes of a mechanism with and without a record, from its
// definition; cut-off noise in cells of the width h, which divides bound and distance.
func noiseOutcomes(m mechanism.Mechanism) (out []pairOutcome) {
	shifted := func(p map[int]float64, d int) {
		for x := -2000; x <= 2000; x++ {
			if p[x] > 0 || p[x-d] > 0 {
				out = append(out, pairOutcome{p[x-d], p[x]})
			}
		}
	}
	switch m := m.(type) {
	case mechanism.DiscreteGaussian:
		far := int(60*m.StandardDeviation + 5) // beyond Q is 0 in float64
		wide := map[int]float64{}
		for x, v := range masses(far,
			func(x float64) float64 { return x * x / 2 / m.StandardDeviation / m.StandardDeviation }) {
			wide[x] = v
		}
		shifted(wide, int(m.Sensitivity))
	case mechanism.TruncatedLaplace:
		const n = 1 << 14 // to a unit
		density := func(x float64) float64 {
			if math.Abs(x) > m.Bound {
				return 0
			}
			return math.Exp(-math.Abs(x)/m.Scale) / (2 * m.Scale * -math.Expm1(-m.Bound/m.Scale))
		}
		for i := -int(m.Bound * n); i < int((m.Bound+m.Sensitivity)*n); i++ {
			x := (float64(i) + 0.5) / n
			out = append(out, pairOutcome{density(x-m.Sensitivity) / n, density(x) / n})
		}
	case mechanism.PrivacyLossTable:
		missing := 1.0
		for i, p := range m.Masses.Values() {
			q := p * math.Exp(-m.Losses.At(i))
			out = append(out, pairOutcome{p, q})
			missing -= q
		}
		out = append(out, pairOutcome{m.InfiniteMass, 0}, pairOutcome{0, math.Max(0, missing)})
	}
	return out
}

// Zhu–Dong–Wang 2022, Thm 11: K and δ of ((1−q)Q + qP, Q) and (Q, (1−q)Q + qP), with what
// one has where the other has nothing, against sums over all outcomes.
func TestSampledNoiseByEnumeration(t *testing.T) {
	for _, m := range losstest.SampledNoises {
		inner := noiseOutcomes(m)
		tolerance := 1e-13
		if _, ok := m.(mechanism.TruncatedLaplace); ok {
			tolerance = 2e-8 // of the midpoint rule
		}
		for _, q := range []float64{1e-3, 0.2, 0.9} {
			l := sampledOf(t, m, q, mechanism.AddOrRemoveOne)
			for _, d := range []loss.Direction{loss.Remove, loss.Add} {
				outcomes := make([]pairOutcome, len(inner))
				lost := 0.0
				for i, o := range inner {
					mixed := (1-q)*o.q + q*o.p
					outcomes[i] = pairOutcome{mixed, o.q}
					if d == loss.Add {
						outcomes[i] = pairOutcome{o.q, mixed}
					}
					if outcomes[i].q == 0 {
						lost += outcomes[i].p
					}
				}
				p, ok := loss.PairOf(l, d, loss.Dominating, nil)
				if !ok {
					t.Fatalf("%v has no pair", m)
				}
				if atom := l.Facts().InfinityMassIn(d); math.Abs(atom-lost) > tolerance ||
					math.Abs(p.Infinite()-lost) > tolerance {
					t.Errorf("q=%v %v %v: infinite with %v, pair %v, want %v", q, m, d, atom, p.Infinite(), lost)
				}
				most := l.MaxLoss(d)
				for _, s := range []float64{-0.7, -0.3, 0.1, 1, 3.5, 12} {
					var sum, all num.Sum // M − 1, times the finite mass
					for _, o := range outcomes {
						if o.p > 1e-280 && o.q > 1e-280 { // with all digits
							lossAt := math.Log(o.p / o.q)
							if lossAt > most+1e-12 {
								t.Fatalf("q=%v %v %v: loss %v above %v", q, m, d, lossAt, most)
							}
							sum.Add(o.p * math.Expm1(s*lossAt))
							all.Add(o.p)
						}
					}
					want, v := math.Log1p(sum.Value()/all.Value()), l.Cumulant(d, s, nil)
					// What is missing of a table's Q is known to some 1e−15, and has the loss −ln(1−q).
					digits := 1e-9*(1+math.Abs(want)) + 1e-15*math.Pow(1-q, -s)
					if math.Abs(v.K-want) > v.Err+tolerance*(1+math.Abs(s))*(1+math.Abs(want)) || v.Err > digits {
						t.Errorf("q=%v %v %v: K(%v) = %v ± %v, want %v", q, m, d, s, v.K, v.Err, want)
					}
				}
				for _, e := range []float64{-0.3, 0, 0.1, 0.6} {
					want := 0.0
					for _, o := range outcomes {
						want += math.Max(0, o.p-math.Exp(e)*o.q)
					}
					if got := losstest.Hockey(p, e, 4000); math.Abs(got-want) > 1e-5*want+1e-10 {
						t.Errorf("q=%v %v %v: δ(%v) = %v, want %v", q, m, d, e, got, want)
					}
				}
			}
		}
	}
}
