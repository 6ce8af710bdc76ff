// SPDX-License-Identifier: Apache-2.0

package theorem

import (
	"math"
	"testing"

	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// A test a theorem that this room rests on, as its paper states it.

// Dwork–Roth 2014, Thm A.1 is proven for ε < 1, and used beyond it is false: σ =
// Δ√(2 ln(1.25/δ))/ε is too little noise for a large ε (Balle–Wang 2018, §2.2), so the
// formula must not be used there. Where it holds it is above the exact curve.
func TestDworkRoth2014TheoremA1(t *testing.T) {
	exact := func(sigma, epsilon float64) float64 {
		a, err := accountant.Ask(compose(t, mechanism.AddOrRemoveOne,
			times(mechanism.Gaussian{NoiseMultiplier: sigma}, 1)), accountant.AtEpsilon(epsilon))
		if err != nil {
			t.Fatal(err)
		}
		return a.Delta
	}
	for _, delta := range []float64{1e-8, 1e-3, 0.1, 0.5} {
		classic := func(epsilon float64) float64 { return math.Sqrt(2*math.Log(1.25/delta)) / epsilon }
		for _, epsilon := range []float64{0.01, 0.5, 0.999} {
			if got := exact(classic(epsilon), epsilon); got > delta {
				t.Errorf("δ(%v) = %v, by the theorem at most %v", epsilon, got, delta)
			}
		}
	}
	if got := exact(math.Sqrt(2*math.Log(1.25/1e-3))/20, 20); got <= 1e-3 {
		t.Errorf("at ε = 20 the formula's δ = 1e-3 would be right: %v", got)
	}
}
