// SPDX-License-Identifier: Apache-2.0

package closed

import (
	"math"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/loss/compound"
	"github.com/dpaccountant/accountant/internal/num"
)

// fewOutcomes is the privacy profile of a composition with few outcomes, Σ (P − e^ε·Q)₊ over all of them:
// from above of a pair that dominates it, from below of one that it dominates. Partitions
// make outcomes whose losses have no common step, which a grid would have to round.
// See docs/math/parallel.md §1.5.4.
type fewOutcomes struct {
	above, below outcomes
	most         float64 // finite loss
	in           *num.Interrupt
}

// outcomes are given that no loss is infinite.
type outcomes struct {
	list   []loss.Mass
	finite float64 // ln of the probability of that
}

// outcomeWork is about what it takes to add an outcome to a curve, in nanoseconds.
const outcomeWork = 100

func newFewOutcomes(c loss.Composition, in *num.Interrupt) (loss.PrivacyCurve, bool) {
	l := fewOutcomes{in: in}
	for side, o := range map[loss.Side]*outcomes{loss.Dominating: &l.above, loss.Dominated: &l.below} {
		list, infinite, ok := compound.Outcomes(c, side, in)
		if !ok || !(infinite < 0.99) {
			return nil, false
		}
		*o = outcomes{list, math.Log1p(-infinite)}
	}
	l.most = math.Max(0, c.MaxLoss(loss.Remove))
	return l, true
}

// logDelta is ln Σ p(1 − e^{ε−l}), every mass and loss taken to its side by its error.
func (o outcomes) logDelta(epsilon, side float64) float64 {
	var sum num.LogSum
	for _, m := range o.list {
		if beyond := m.Loss + side*m.LossErr - epsilon; beyond > 0 {
			sum.Add(m.LogP + side*m.LogErr + num.Log1mExp(beyond))
		}
	}
	v := sum.Log() - o.finite
	if math.IsInf(v, -1) {
		return v
	}
	// A difference of losses is within an Ulp of both, and so much more is that at e^{…}.
	return v + side*num.Ulp*(32+float64(len(o.list))+8*math.Abs(v)+4*math.Abs(o.finite))
}

func (l fewOutcomes) LogDelta(epsilon float64) (loss.Bounds, float64) {
	l.in.Spend(outcomeWork * (len(l.below.list) + len(l.above.list)))
	return loss.Bounds{
		Lower: l.below.logDelta(epsilon+2*num.Ulp*epsilon, -1),
		Upper: math.Min(0, l.above.logDelta(epsilon-2*num.Ulp*epsilon, 1)),
	}, 0
}

func (l fewOutcomes) Epsilon(delta float64) loss.Bounds {
	return loss.Inverse(l.LogDelta, delta, l.most)
}
