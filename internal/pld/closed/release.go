// SPDX-License-Identifier: Apache-2.0

package closed

import (
	"math"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/num"
)

// release is the privacy profile of one application of one loss, its atom included. In each
// direction the outcomes whose loss is above ε are a cell of its pair and some atoms, and
// of each P's and Q's masses are known:
//
//	δ(ε) = P(L > ε) − e^ε·Q(L > ε) = P(L = ∞) + Σ p·(1 − e^{ε−l}),  l = ln(p/q).
//
// No set of outcomes has a larger P − e^ε·Q (docs/math/curves.md §4.10).
type release []releasePair

// releasePair is one direction.
type releasePair struct {
	dominating, dominated loss.Pair
	in                    *num.Interrupt
}

// Sum is the privacy profile of c, infinite losses included, as a sum: over the outcomes of its only release,
// or over what several releases of one kind of noise have together. It returns false where there is no such sum.
func Sum(c loss.Composition, in *num.Interrupt) (loss.PrivacyCurve, bool) {
	if len(c) != 1 {
		return nil, false
	}
	if c[0].Count > 1 {
		return loss.RepeatedOf(c[0].Loss, num.Count(c[0].Count), in)
	}
	var r release
	for _, d := range c.Directions() {
		dominating, ok := loss.PairOf(c[0].Loss, d, loss.Dominating, in)
		dominated, known := loss.PairOf(c[0].Loss, d, loss.Dominated, in)
		if !ok || !known {
			return nil, false
		}
		r = append(r, releasePair{dominating, dominated, in})
	}
	return r, true
}

func (r release) LogDelta(epsilon float64) (b loss.Bounds, slope float64) {
	b = loss.Bounds{Lower: math.Inf(-1), Upper: math.Inf(-1)}
	for _, p := range r {
		one, falls := p.LogDelta(epsilon)
		if one.Upper >= b.Upper {
			slope = falls
		}
		b.Lower, b.Upper = math.Max(b.Lower, one.Lower), math.Max(b.Upper, one.Upper)
	}
	return b, slope
}

func (r release) Epsilon(delta float64) loss.Bounds {
	for _, p := range r {
		if num.LogUp(p.dominating.Infinite()) >= num.LogDown(delta) { // no ε has less
			return loss.Bounds{Upper: math.Inf(1)}
		}
	}
	return loss.Inverse(r.LogDelta, delta, 1)
}

func (p releasePair) LogDelta(epsilon float64) (b loss.Bounds, slope float64) {
	// From below any set will do, also one that the slack makes a little larger.
	lower := excess{epsilon: epsilon, in: p.in}
	lower.above(p.dominated, epsilon)
	b = loss.Bounds{Lower: lower.log(num.LogDown(p.dominated.Infinite()))}
	// From above nothing that counts may be left out: a cell may begin at the edge plus
	// the slack, and what it has from the edge less the slack on is above 0 at that ε.
	edge, slack := epsilon, 0.0
	for range 4 {
		upper := excess{epsilon: num.Down(edge - slack), up: true, in: p.in}
		slack = upper.above(p.dominating, edge)
		if slack == 0 || edge+slack <= epsilon && upper.epsilon <= edge-slack {
			b.Upper = math.Min(0, upper.log(num.LogUp(p.dominating.Infinite())))
			if math.IsInf(b.Upper, -1) {
				return b, 0
			}
			return b, math.Exp(upper.rest.Log() - b.Upper)
		}
		edge = num.Down(epsilon - 2*slack)
		slack *= 1.5
	}
	return b, 0 // of no use: δ ≤ 1
}

// excess is Σ p·(1 − e^{ε−l}) over sets of outcomes, rounded up or down.
type excess struct {
	epsilon float64
	up      bool
	sum     num.LogSum
	count   float64
	rest    num.LogSum // Σ p·e^{ε−l}, about
	in      *num.Interrupt
}

// above adds what a pair has above an edge.
func (e *excess) above(p loss.Pair, edge float64) (slack float64) {
	var cell [1]loss.Mass
	slack = p.Cells([]float64{edge, math.Inf(1)}, cell[:])
	e.add(cell[0])
	atoms := p.Atoms()
	e.in.Spend(outcomeWork * len(atoms))
	for _, a := range atoms {
		e.add(a)
	}
	return slack
}

// add adds a set whose loss is above ε; others do not count.
func (e *excess) add(m loss.Mass) {
	l, logP, round := num.Down(m.Loss-m.LossErr), m.LogP-m.LogErr, -1.0
	if e.up {
		l, logP, round = num.Up(m.Loss+m.LossErr), m.LogP+m.LogErr, 1
	}
	x := l - e.epsilon
	if !(x > 0) || math.IsInf(m.LogP, -1) {
		return
	}
	share := num.Log1mExp(x * (1 + round*num.Ulp))
	e.sum.Add(logP + share + round*num.Ulp*(8+4*math.Abs(logP)+8*math.Abs(share)))
	e.rest.Add(logP - x)
	e.count++
}

// log is ln of the sum and of what is infinite.
func (e *excess) log(infinite float64) float64 {
	v := num.LogAddExp(e.sum.Log(), infinite)
	slack := num.Ulp * (16 + 8*e.count + 8*math.Abs(v))
	if math.IsInf(v, -1) {
		return v
	}
	if e.up {
		return num.UpBy(v, slack)
	}
	return num.DownBy(v, slack)
}
