// SPDX-License-Identifier: Apache-2.0

package zcdp

import (
	"math"
	"testing"

	"github.com/dpaccountant/accountant/internal/mechanism"
)

// A test a theorem that this room rests on, as its paper states it.

// Bun–Steinke 2016 (arXiv 1605.02065v1), Lemma 1.7: ρ adds up. Prop. 1.3: (ρ + 2√(ρ
// ln(1/δ)), δ)-DP follows; the tight conversion is never above it.
func TestBunSteinke2016(t *testing.T) {
	for _, rho := range []float64{1e-4, 0.1, 3} {
		sum := compose(t, one(mechanism.ZeroConcentratedDP{Rho: rho}, 3),
			one(mechanism.ZeroConcentratedDP{Rho: rho / 2}, 2))
		if got := Rho(sum); math.Abs(got/(4*rho)-1) > 1e-14 || got < 4*rho {
			t.Errorf("3ρ + 2·ρ/2 = %v, want %v", got, 4*rho)
		}
		for _, delta := range []float64{1e-12, 1e-3} {
			classic := 4*rho + 2*math.Sqrt(4*rho*math.Log(1/delta))
			if got, _ := Epsilon(sum, delta); got > classic || got < classic/3 {
				t.Errorf("ε = %v, classically %v", got, classic)
			}
		}
	}
}

// Canonne–Kamath–Steinke 2020 (arXiv 2004.00010v3), Prop. 12: every α > 1 gives a bound,
// and none of them is below the one that is found.
func TestCanonneKamathSteinke2020Proposition12(t *testing.T) {
	for _, rho := range []float64{1e-4, 0.5, 20} {
		for _, delta := range []float64{1e-15, 1e-6, 0.1} {
			best := math.Inf(1)
			for x := -12.0; x < 14; x += 1e-3 {
				a := 1 + math.Exp(x)
				best = math.Min(best, a*rho+math.Log1p(-1/a)-(math.Log(delta)+math.Log(a))/(a-1))
			}
			got, _ := Epsilon(compose(t, one(mechanism.ZeroConcentratedDP{Rho: rho}, 1)), delta)
			if want := math.Max(0, best); math.Abs(got-want) > 1e-6*(1+want) {
				t.Errorf("ρ = %v, δ = %v: ε = %v, the least of a scan is %v", rho, delta, got, want)
			}
		}
	}
}

// docs/math/conversions.md §4.5.6: ρ = ½ at δ = 1e−6 is 5.2215, the classical conversion 5.7565.
func TestKnownConversion(t *testing.T) {
	got, _ := Epsilon(compose(t, one(mechanism.ZeroConcentratedDP{Rho: 0.5}, 1)), 1e-6)
	if math.Abs(got-5.2215) > 5e-5 {
		t.Errorf("ε = %v, want 5.2215", got)
	}
}
