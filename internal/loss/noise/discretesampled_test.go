// SPDX-License-Identifier: Apache-2.0

package noise

import (
	"math"
	"testing"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/loss/poisson"
	"github.com/dpaccountant/accountant/internal/loss/quadrature"
)

// What is left out of a discrete Gaussian's sum is below its error: with few nodes K is
// still within it, on both sides.
func TestSampledNormalCut(t *testing.T) {
	inner := discreteGaussian{sigma: 2, d: 1}
	on := poisson.Sample{Rate: 0.3, Batch: poisson.Without}
	p := inner.Pair(loss.Remove, loss.Dominating, nil).(discreteGaussianPair)
	full := inner.SampledOutcomes(on, 8)
	for _, m := range []float64{-0.4, 0.5, 3, 8} {
		for _, flip := range []bool{false, true} {
			whole, few := full,
				&quadrature.Outcomes{WeightErr: full.WeightErr, Reach: math.Inf(1), CutError: normalCut(on, p, -6, 16)}
			for _, n := range full.Nodes {
				// half = x²/2σ² + ln Z tells |x|, the loss its sign.
				x := 2 * math.Sqrt(2*math.Max(0, n.Half-p.all))
				if n.LogP > 0 && x < 16.5 || n.LogP <= 0 && x < 6.5 {
					few.Nodes = append(few.Nodes, n)
				}
			}
			if flip {
				whole, few = whole.Mirror(), few.Mirror()
			}
			a := quadrature.NewOutcomesLine(func(float64) *quadrature.Outcomes { return whole }, m).Cumulant()
			b := quadrature.NewOutcomesLine(func(float64) *quadrature.Outcomes { return few }, m).Cumulant()
			if len(few.Nodes) != 23 {
				t.Fatalf("%d nodes", len(few.Nodes))
			}
			if !(math.Abs(a.K-b.K) <= a.Err+b.Err) || !(b.Err > 1e-12) || !(a.Err < 1e-11) {
				t.Errorf("K(%v) flip=%v: %v ± %v, cut %v ± %v", m, flip, a.K, a.Err, b.K, b.Err)
			}
		}
	}
}
