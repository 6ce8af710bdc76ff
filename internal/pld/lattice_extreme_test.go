package pld

import (
	"math"
	"testing"

	"github.com/dpaccountant/accountant/internal/mechanism"
)

// Rare large losses decide δ here: the saddle of all losses says e^{−21} and that of small
// ones e^{−1230}. Between them is the truth, and the best Rényi order proves e^{−13.5} only.
// It is no less than δ of one step alone, which has a closed form.
func TestLatticeFindsTheSaddleOfRareLosses(t *testing.T) {
	const q, sigma = 1e-6, 1.0076832767148427
	one, all := lossesOf(t, sampledSteps(q, sigma, 1)), lossesOf(t, sampledSteps(q, sigma, 8886110))
	for _, epsilon := range []float64{0.155, 0.2, 0.25, 0.3, 0.3466723342314878, 0.4, 0.6, 1, 2} {
		b, reason := LogDelta(all, epsilon, Wanted{})
		single, _ := LogDelta(one, epsilon, Wanted{})
		if reason != "" || !(b.Upper < -50) || !(b.Upper >= single.Lower) {
			t.Errorf("at ε = %v ln δ is in %v, %q; that of one step is in %v", epsilon, b, reason, single)
		}
	}
}

// 1 − δ is folded with a period much shorter than ε. Of the counts of the exponential
// mechanism the contour answers the larger, by other means.
func TestLatticeFoldsTheComplementFarOut(t *testing.T) {
	for _, sigma := range []float64{0.34, 1.87, 2.93} {
		before := 0.0
		for _, n := range []uint32{5, 273} {
			c := lossesOf(t,
				mechanism.Event{Mechanism: mechanism.DiscreteGaussian{StandardDeviation: sigma, Sensitivity: 1}, Count: 1750000},
				mechanism.Event{Mechanism: mechanism.Exponential{Epsilon: 0.8}, Count: n})
			b, reason := latticeEpsilon(c, 0.9, latticeEpsilonGap, Wanted{})
			if reason != "" || !(b.Upper-b.Lower < 1e-5*b.Upper) || !(b.Upper > before) {
				t.Errorf("σ = %v with %v more: ε in %v, %q; above %v", sigma, n, b, reason, before)
			}
			before = b.Lower
			if other, none := contourEpsilon(c, math.Log(0.9), math.Log(0.9), Wanted{}); none == "" {
				if m := meet(b, other); !(m.Lower <= m.Upper) {
					t.Errorf("σ = %v with %v more: ε in %v by the lattice, in %v by the contour", sigma, n, b, other)
				}
			} else if n == 273 {
				t.Errorf("the contour has no answer: %v", none)
			}
		}
	}
}
