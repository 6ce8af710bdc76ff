// SPDX-License-Identifier: Apache-2.0

package quadrature

import (
	"math"
	"testing"

	"github.com/dpaccountant/accountant/internal/num"
)

// The rule is exact for polynomials up to degree 31.
func TestLegendre(t *testing.T) {
	for k := 0.0; k <= 30; k += 2 {
		var sum num.Sum
		for i, x := range LegendrePoints {
			sum.Add(2 * LegendreWeights[i] * math.Pow(x, k))
		}
		if off := sum.Value()*(k+1)/2 - 1; math.Abs(off) > 1e-14 {
			t.Errorf("x^%v: off by %v", k, off)
		}
	}
	// ρ = 6, n = 15 in Trefethen's bound.
	if want := 64. / 15 * math.Pow(6, -30) / (1 - 1./36); LegendreError < want {
		t.Errorf("%v < %v", LegendreError, want)
	}
}
