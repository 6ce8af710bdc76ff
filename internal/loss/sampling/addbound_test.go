// SPDX-License-Identifier: Apache-2.0

package sampling

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// addBound is attained by likelihood ratios 0 and 1 + χ, and no other ratios with that variance are worse.
func TestAddBound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := math.Exp(rapid.Float64Range(-12, -0.05).Draw(t, "ln q"))
		s := math.Exp(rapid.Float64Range(-1, 4).Draw(t, "ln s"))
		n := rapid.IntRange(2, 4).Draw(t, "outcomes")
		ratios, masses, mean, whole := make([]float64, n), make([]float64, n), 0.0, 0.0
		for i := range ratios {
			masses[i] = math.Exp(rapid.Float64Range(-5, 0).Draw(t, "ln mass"))
			if i > 0 || rapid.Bool().Draw(t, "all above 0") {
				ratios[i] = math.Exp(rapid.Float64Range(-3, 3).Draw(t, "ln ratio"))
			}
			whole += masses[i]
			mean += masses[i] * ratios[i]
		}
		variance, moved := 0.0, 0.0 // moved is E[(1 − q + qX)^{−s}] − 1
		for i := range ratios {
			x := ratios[i]*whole/mean - 1
			variance += masses[i] / whole * x * x
			moved += masses[i] / whole * math.Expm1(-s*math.Log1p(q*x))
		}
		exact := math.Log1p(moved)
		got := addBound(s, q, math.Log1p(variance))
		if !(got >= exact-1e-14*(1+s)) {
			t.Fatalf("ratios %v with %v, q = %v: K(%v) = %v, bound %v", ratios, masses, q, s, exact, got)
		}
		if n == 2 && ratios[0] == 0 && q > 1e-3 && !(got <= exact*(1+1e-6)+1e-13) {
			t.Fatalf("ratios %v with %v, q = %v: K(%v) = %v attains the bound %v", ratios, masses, q, s, exact, got)
		}
	})
}
