// SPDX-License-Identifier: Apache-2.0

package accountant

import (
	"math"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/num"
)

// basic is the basic composition theorem: mechanisms that are (ε_j, δ_j)-DP,
// applied n_j times each, are together (Σ n_j·ε_j, Σ n_j·δ_j)-DP (Dwork–Roth
// 2014, Thm 3.16). Both sums are rounded up. What has no ε_j, such as a
// Gaussian, it cannot charge.
//
// Asked for δ at an ε below the sum it knows nothing and says δ = 1; asked for
// ε at a δ below the sum, ε = ∞. See docs/math/conversions.md §4.6.
func (q Question) basic(c loss.Composition) bound {
	var epsilon, delta float64
	for i, f := range c.Facts() {
		if math.IsInf(f.Epsilon, 1) {
			return unsupported(Basic, "a "+f.Name+" has no single (ε, δ) to add up")
		}
		n := num.Count(c[i].Count)
		epsilon = num.AddUp(epsilon, num.MulUp(n, f.Epsilon))
		delta = num.AddUp(delta, num.MulUp(n, f.Failing().InfinityMass))
	}
	if q.Delta != nil {
		if *q.Delta < delta {
			epsilon = math.Inf(1)
		}
		return epsilonAbove(Basic, epsilon, 0)
	}
	if *q.Epsilon < epsilon {
		delta = 1
	}
	delta = math.Min(delta, 1)
	b := deltaAbove(Basic, num.LogUp(delta), 0)
	b.Delta = delta // exactly, not through its logarithm
	return b
}
