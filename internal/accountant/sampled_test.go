// SPDX-License-Identifier: Apache-2.0

package accountant

import (
	"math"
	"slices"
	"testing"

	"github.com/dpaccountant/accountant/internal/mechanism"
)

// counted is δ(ε) of three independent uses of a pair on a Poisson sample, the outcomes
// counted out one by one (Zhu–Dong–Wang 2022, Thm 11): [p, q] each, the larger direction.
func counted(pair [][2]float64, rate, epsilon float64) float64 {
	var sums [2]float64
	for d := range sums {
		one := make([][2]float64, len(pair))
		for i, o := range pair {
			one[i] = [2]float64{(1-rate)*o[1] + rate*o[0], o[1]}
			if d == 1 {
				one[i] = [2]float64{o[1], one[i][0]}
			}
		}
		for _, a := range one {
			for _, b := range one {
				for _, c := range one {
					sums[d] += math.Max(0, a[0]*b[0]*c[0]-math.Exp(epsilon)*a[1]*b[1]*c[1])
				}
			}
		}
	}
	return slices.Max(sums[:])
}

// Answers about three samples against all outcomes of all three. Of cut-off noise 64 cells,
// which tell less than the noise does: a lower bound, near the truth.
func TestSampledPairsByEnumeration(t *testing.T) {
	var normal, cut [][2]float64
	density := func(x float64) float64 { return math.Exp(-x * x / 2) }
	var total float64
	for x := -9.0; x <= 9; x++ {
		total += density(x)
	}
	for x := -9.0; x <= 10; x++ {
		normal = append(normal, [2]float64{density(x-1) / total, density(x) / total})
	}
	below := func(x float64) float64 { // of the noise, scale 1 and bound 4
		x = math.Max(-4, math.Min(4, x))
		return math.Copysign(-math.Expm1(-math.Abs(x)), x) / (2 * -math.Expm1(-4))
	}
	for i := range 64 {
		a, b := -4+9*float64(i)/64, -4+9*float64(i+1)/64
		cut = append(cut, [2]float64{below(b-1) - below(a-1), below(b) - below(a)})
	}
	const gap = 0.01 // of ln δ: what pld aims at where nothing is asked for
	for _, c := range []struct {
		m    mechanism.Mechanism
		pair [][2]float64
		off  float64 // by how much the cells may be below, relative
	}{
		{mechanism.DiscreteGaussian{StandardDeviation: 1, Sensitivity: 1}, normal, 1e-9},
		{mechanism.TruncatedLaplace{Scale: 1, Bound: 4, Sensitivity: 1}, cut, 0.03},
		{mechanism.PrivacyLossTable{Losses: mechanism.NumbersOf(-1, 0.5, 2),
			Masses: mechanism.NumbersOf(0.1, 0.3, 0.55), InfiniteMass: 0.05},
			[][2]float64{{0.1, 0.1 * math.E}, {0.3, 0.3 * math.Exp(-0.5)}, {0.55, 0.55 * math.Exp(-2)}, {0.05, 0},
				{0, 1 - 0.1*math.E - 0.3*math.Exp(-0.5) - 0.55*math.Exp(-2)}}, 1e-9},
	} {
		for _, rate := range []float64{0.05, 0.6} {
			for _, epsilon := range []float64{0, 0.3, 1} {
				event := mechanism.Event{Mechanism: mechanism.PoissonSampled{SamplingProbability: rate, Mechanism: c.m},
					Count: 3}
				composition, err := mechanism.Compose(mechanism.AddOrRemoveOne, []mechanism.Event{event})
				if err != nil {
					t.Fatal(err)
				}
				a, err := Ask(composition, AtEpsilon(epsilon))
				if err != nil {
					t.Fatal(err)
				}
				want := counted(c.pair, rate, epsilon)
				if a.Delta < want*(1-1e-9) || a.Delta > want*(1+c.off+gap)+1e-12 {
					t.Errorf("%v: δ(%v) = %v by %v, counted %v", event.Mechanism, epsilon, a.Delta, a.Analysis, want)
				}
				if a.DeltaLower == nil {
					t.Fatalf("%v: nothing from below", event.Mechanism)
				}
				if low := *a.DeltaLower; low > want*(1+c.off)+1e-12 || low < want*(1-gap)-1e-12 {
					t.Errorf("%v: δ(%v) from below %v, counted %v", event.Mechanism, epsilon, low, want)
				}
				for _, r := range a.Analyses {
					if r.Unsupported == "" && r.Delta < want*(1-1e-9) {
						t.Errorf("%v: δ(%v) = %v by %v, counted %v", event.Mechanism, epsilon,
							r.Delta, r.Analysis, want)
					}
				}
			}
		}
	}
}
