// SPDX-License-Identifier: Apache-2.0

package accountant

import (
	"math"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/pld"
)

// pure reports whether ε is asked for at δ = 0: the ε of pure differential privacy.
func (q Question) pure() bool { return q.Delta != nil && *q.Delta == 0 }

// worstLoss is ε at δ = 0 from above: the sum of the largest losses, in the direction where it is
// larger; +Inf where a loss may be infinite, or has no largest. See docs/math/curves.md §4.12.
func worstLoss(c loss.Composition) (epsilon float64) {
	if c.Failing() > 0 {
		return math.Inf(1)
	}
	for _, d := range c.Directions() {
		epsilon = math.Max(epsilon, c.MaxLoss(d))
	}
	return epsilon
}

// leastProbability is the δ whose ε bounds that of δ = 0 from below.
const leastProbability = 1e-300

// pldPure is the pld analysis at δ = 0. The curve at any δ bounds ε from below, as it falls.
func (q Question) pldPure(c loss.Composition) bound {
	top := worstLoss(c)
	if math.IsInf(top, 1) {
		return epsilonAbove(PLD, top, 0)
	}
	e, reason := pld.Epsilon(c, leastProbability, q.wanted())
	if reason != "" {
		return unsupported(PLD, reason)
	}
	return epsilonBetween(PLD, loss.Bounds{Lower: math.Min(e.Lower, top), Upper: top}, "")
}

// rdpPure is the Rényi divergence of order ∞.
func (q Question) rdpPure(c loss.Composition) bound {
	top := worstLoss(c)
	if math.IsInf(top, 1) {
		return epsilonAbove(RDP, top, 0)
	}
	return epsilonAbove(RDP, top, math.Inf(1))
}
