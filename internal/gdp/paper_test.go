// SPDX-License-Identifier: Apache-2.0

package gdp

import (
	"math"
	"testing"

	"github.com/dpaccountant/accountant/internal/mechanism"
)

// A test a theorem that this room rests on, as its paper states it.

func phi(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }

// Balle–Wang 2018 (arXiv 1805.06530v2), Thm 8: δ(ε) = Φ(μ/2 − ε/μ) − e^ε·Φ(−μ/2 − ε/μ).
func TestBalleWang2018Theorem8(t *testing.T) {
	for _, mu := range []float64{0.1, 1, 4} {
		for _, epsilon := range []float64{0, 0.05, 1, 5} {
			want := phi(mu/2-epsilon/mu) - math.Exp(epsilon)*phi(-mu/2-epsilon/mu)
			b, reason := LogDelta(compose(t, mechanism.Gaussian{StandardDeviation: 1 / mu, Sensitivity: 1}), epsilon)
			lower, upper := math.Exp(b.Lower), math.Exp(b.Upper)
			if reason != "" || lower > want+1e-15 || upper < want-1e-15 || upper-lower > 1e-12*upper {
				t.Errorf("μ = %v: δ(%v) in [%v, %v], want %v", mu, epsilon, lower, upper, want)
			}
		}
	}
}

// Dong–Roth–Su 2022 (arXiv 1905.02383v3), Cor. 3.3: μ_1-, …, μ_n-GDP mechanisms are
// together √(Σμ_j²)-GDP.
func TestDongRothSu2022Corollary33(t *testing.T) {
	three, four := mechanism.GaussianDP{Mu: 0.3}, mechanism.Gaussian{NoiseMultiplier: 2.5}
	together, _ := Epsilon(compose(t, three, four), 1e-6)
	whole, _ := Epsilon(compose(t, mechanism.GaussianDP{Mu: 0.5}), 1e-6)
	if math.Abs(together.Upper-whole.Upper) > 1e-12 || math.Abs(together.Lower-whole.Lower) > 1e-12 {
		t.Errorf("0.3 and 0.4: %v; 0.5: %v", together, whole)
	}
}
