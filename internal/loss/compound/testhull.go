// SPDX-License-Identifier: Apache-2.0

package compound

import (
	"cmp"
	"math"
	"slices"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/num"
)

// testHull makes the pair of the largest of several curves. A test of P against Q that
// rejects at a loss above some l has the powers p = P(L > l) and q = Q(L > l), and a curve
// is the largest of p − e^ε·q over its tests. So the largest of several curves is that of
// all parts' tests together, and its outcomes are the sides of their concave hull in the
// plane of q and p: a side from (q, p) to (q', p') is an outcome with P's mass p' − p and
// the loss ln((p' − p)/(q' − q)).
//
// Whatever tests there are, the hull's curve is at most the largest curve, up to the errors
// that the masses state; dominating makes it at least that.
// See docs/math/parallel.md §1.5 and docs/math/parallel.md §1.5.4.
type testHull struct {
	infinite, null float64
	lost           []float64     // P(L = ∞) of each part
	outcomes       [][]loss.Mass // each part's outcomes by decreasing loss

	in *num.Interrupt
}

// hullWork is about what the hull takes for one outcome in each of its steps, in nanoseconds,
// and compareWork what comparing two takes.
const hullWork, compareWork = 100, 10

// inUnits scales masses by e^700. Below leastMass in these units, about e^{−1275}, nothing is
// told apart: from above P(L = ∞) is at least the least float64, which is more.
const inUnits, leastMass = 700, 1e-250

// hullSlack is by how much of P(L = ∞) the hull's is larger than the largest, or smaller.
const hullSlack = 1e-12

func newTestHull(parts []loss.Pair, side loss.Side, in *num.Interrupt) testHull {
	h := testHull{in: in}
	for _, p := range parts {
		h.lost = append(h.lost, p.Infinite())
		h.infinite, h.null = math.Max(h.infinite, p.Infinite()), math.Max(h.null, p.Null())
	}
	if side == loss.Dominating {
		h.infinite = math.Min(1, math.Max(h.infinite*(1+hullSlack), math.SmallestNonzeroFloat64))
	} else {
		h.infinite *= 1 - hullSlack
	}
	return h
}

// add adds outcomes of a part by increasing loss.
func (h *testHull) add(part int, outcomes []loss.Mass) {
	h.in.Spend(hullWork * len(outcomes))
	for len(h.outcomes) <= part {
		h.outcomes = append(h.outcomes, nil)
	}
	for i := len(outcomes) - 1; i >= 0; i-- {
		if !math.IsInf(outcomes[i].LogP, -1) {
			h.outcomes[part] = append(h.outcomes[part], outcomes[i])
		}
	}
}

// test is a test's powers, in units, with bounds on their errors: it rejects for the first
// so many outcomes of a part.
type test struct {
	p, q, pErr, qErr float64
	part, outcomes   int
}

// tests are all parts' tests by increasing power.
func (h *testHull) tests() (all []test) {
	for i, outcomes := range h.outcomes {
		var p, q num.Sum
		var pErr, qErr float64
		h.in.Spend(hullWork * len(outcomes))
		p.Add(h.lost[i] * math.Exp(inUnits))
		for k, m := range outcomes {
			x, y := math.Exp(m.LogP+inUnits), math.Exp(m.LogP-m.Loss+inUnits)
			p.Add(x)
			q.Add(y)
			rounding := num.Ulp * (2*inUnits + 8 + math.Abs(m.LogP) + math.Abs(m.Loss))
			pErr += x * (m.LogErr + rounding)
			qErr += y * (m.LogErr + m.LossErr + rounding)
			all = append(all,
				test{p.Value(), q.Value(), pErr + 8*num.Ulp*p.Value(), qErr + 8*num.Ulp*q.Value(), i, k + 1})
		}
	}
	slices.SortFunc(all, func(a, b test) int {
		h.in.Spend(compareWork)
		return cmp.Or(cmp.Compare(a.p, b.p), cmp.Compare(a.q, b.q))
	})
	return all
}

// wellKnown is by how much a difference is larger than its error, so that its loss is
// known: fewer sides, each better known, lose less.
const wellKnown = 64

// between is the side of the hull from a to b. A part's own few outcomes are added up,
// which loses nothing; otherwise the powers' differences count. If these are not known
// well, one of the tests is of no use: worse says that it is b.
func (h *testHull) between(a, b test) (m loss.Mass, known, worse bool) {
	if a.part == b.part || a.outcomes == 0 && h.lost[b.part]*math.Exp(inUnits) == a.p {
		if n := b.outcomes - a.outcomes; n > 0 && n <= 8 {
			m = loss.Nothing()
			for _, o := range h.outcomes[b.part][a.outcomes:b.outcomes] {
				m = loss.Union(m, o)
			}
			return m, true, false
		}
	}
	p, q, pErr, qErr := b.p-a.p, b.q-a.q, a.pErr+b.pErr, a.qErr+b.qErr
	if !(p > wellKnown*pErr) {
		return m, false, a.outcomes == 0 || q > wellKnown*qErr
	}
	if !(q > wellKnown*qErr) {
		return m, false, a.outcomes == 0
	}
	logP := num.Log(p)
	return loss.Mass{
		LogP: logP - inUnits, Loss: logP - num.Log(q),
		LogErr:  1.1*pErr/p + num.Ulp*(8+2*inUnits+math.Abs(logP)),
		LossErr: 1.1*(pErr/p+qErr/q) + num.Ulp*(8+4*math.Abs(logP)),
	}, true, false
}

// masses are the hull's outcomes by decreasing loss.
func (h *testHull) masses() []loss.Mass {
	start := test{part: -1}
	for _, lost := range h.lost {
		start.p = math.Max(start.p, lost*math.Exp(inUnits))
	}
	start.pErr = 8 * num.Ulp * start.p
	corners, sides := []test{start}, []loss.Mass{{Loss: math.Inf(1)}} // a side ends at its corner
	last := start
	for _, t := range h.tests() {
		h.in.Spend(hullWork)
		if last = t; !(t.p > start.p) {
			continue
		}
		for {
			n := len(corners)
			side, known, worse := h.between(corners[n-1], t)
			if worse {
				break
			}
			if known && (n == 1 || side.Loss < sides[n-1].Loss) {
				corners, sides = append(corners, t), append(sides, side)
				break
			}
			corners, sides = corners[:n-1], sides[:n-1]
		}
	}
	// What is left of P beyond the last corner is less than is known of it. If that is all of
	// a part, nothing is left.
	n := len(corners) - 1
	if n == 0 || corners[n].outcomes == len(h.outcomes[corners[n].part]) {
		return sides[1:]
	}
	left := math.Max(0, last.p-corners[n].p) + last.pErr + corners[n].pErr
	for ; n > 1 && left*wellKnown > math.Exp(sides[n].LogP+inUnits); n-- {
		sides[n-1] = loss.Union(sides[n-1], sides[n])
	}
	sides = sides[:n+1]
	sides[n].LogErr += left / math.Exp(sides[n].LogP+inUnits) * (1 + 1e-9)
	return sides[1:]
}

// dominating are the hull's outcomes so that their curve is at least every part's at some
// knots: place puts them where they are to be, by increasing loss, and says at which knots.
// If masses lie, or are moved, to knots only, their curve is straight in e^ε between knots
// while the parts' are convex, so that it is nowhere below them. A side must not begin before
// the curves cross, so losses are lifted by what they may be off, more where that is too
// little for the least loss; what is missing then is added to the errors of all masses.
// See docs/math/parallel.md §1.5.4.
func (h *testHull) dominating(place func([]loss.Mass) (masses []loss.Mass, knots []float64)) []loss.Mass {
	sides := h.masses()
	for by := 0.0; ; by = math.Max(leastLift, 32*by) {
		lifted := slices.Clone(sides)
		for i := range lifted {
			m := &lifted[i]
			m.Loss, m.LossErr = m.Loss+m.LossErr+by*(1+math.Abs(m.Loss)), 0
		}
		slices.SortFunc(lifted, byLoss)
		masses, knots := place(lifted)
		factor := h.missing(masses, knots)
		if factor > 1+hullRise && by < mostLift {
			continue
		}
		up := math.Log(factor) + 16*num.Ulp*float64(128+len(masses)+len(knots)+h.mostOutcomes())
		for i := range masses {
			masses[i].LogErr += up
		}
		return masses
	}
}

// mostOutcomes is how many outcomes the longest part has.
func (h *testHull) mostOutcomes() (n int) {
	for _, part := range h.outcomes {
		n = max(n, len(part))
	}
	return n
}

const leastLift, mostLift, hullRise = 1e-12, 1e-3, 1e-9

// missing is by which factor the parts' curves are at most above that of masses at the
// knots.
func (h *testHull) missing(masses []loss.Mass, knots []float64) float64 {
	all := testHull{in: h.in}
	all.add(0, masses)
	own := h.curveAt(all.outcomes[0], knots, false)
	most := slices.Max(h.lost)
	factor := 1.0
	for i, part := range h.outcomes {
		for k, v := range h.curveAt(part, knots, true) {
			v += (h.lost[i]-most*(1+hullSlack/2))*math.Exp(inUnits) - leastMass
			if v > own[k]*factor {
				factor = math.Min(v/own[k], 1e300)
			}
		}
	}
	return factor
}

func byLoss(a, b loss.Mass) int { return cmp.Compare(a.Loss, b.Loss) }

// curveAt is, in units, Σ (P − e^x·Q) over the outcomes with a loss above x, at knots that
// increase; with their errors added if up. Outcomes are by decreasing loss. All terms are
// positive.
func (h *testHull) curveAt(outcomes []loss.Mass, knots []float64, up bool) []float64 {
	values := make([]float64, len(knots))
	var value, scaled float64 // scaled is e^x·Q
	at, x := 0, math.Inf(1)
	for k := len(knots) - 1; k >= 0; k-- {
		h.in.Spend(hullWork)
		next := knots[k]
		if math.IsInf(next, 0) {
			continue
		}
		if scaled > 0 {
			value += scaled * -math.Expm1(next-x)
			scaled *= math.Exp(next - x)
		}
		for x = next; at < len(outcomes) && outcomes[at].Loss > x; at++ {
			h.in.Spend(hullWork)
			m := outcomes[at]
			if up {
				m.LogP += m.LogErr
			}
			p := math.Exp(m.LogP + inUnits)
			value += p * -math.Expm1(x-m.Loss)
			scaled += p * math.Exp(x-m.Loss)
		}
		values[k] = value
	}
	return values
}
