// SPDX-License-Identifier: Apache-2.0

package lattice

import (
	"math"
	"testing"

	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/pld/contour"
	"github.com/dpaccountant/accountant/internal/pld/interval"
	"github.com/dpaccountant/accountant/internal/pld/pldtest"
)

// 1 − δ is folded with a period much shorter than ε. Of the counts of the exponential
// mechanism the contour answers the larger, by other means.
func TestLatticeFoldsTheComplementFarOut(t *testing.T) {
	for _, sigma := range []float64{0.34, 1.87, 2.93} {
		before := 0.0
		for _, n := range []uint32{5, 273} {
			c := pldtest.Losses(t,
				mechanism.Event{Mechanism: mechanism.DiscreteGaussian{StandardDeviation: sigma, Sensitivity: 1},
					Count: 1750000},
				mechanism.Event{Mechanism: mechanism.Exponential{Epsilon: 0.8}, Count: n})
			b, reason := Epsilon(c, 0.9, interval.Wanted{Gap: EpsilonGap})
			if reason != "" || !(b.Upper-b.Lower < 1e-5*b.Upper) || !(b.Upper > before) {
				t.Errorf("σ = %v with %v more: ε in %v, %q; above %v", sigma, n, b, reason, before)
			}
			before = b.Lower
			if other, none := contour.Epsilon(c, math.Log(0.9), math.Log(0.9), interval.Wanted{}); none == "" {
				if m := interval.Meet(b, other); !(m.Lower <= m.Upper) {
					t.Errorf("σ = %v with %v more: ε in %v by the lattice, in %v by the contour", sigma, n, b, other)
				}
			} else if n == 273 {
				t.Errorf("the contour has no answer: %v", none)
			}
		}
	}
}
