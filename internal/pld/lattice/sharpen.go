// SPDX-License-Identifier: Apache-2.0

package lattice

import (
	"math"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/num"
)

const (
	// sharp is aimed at from above, of ε in nats or of ln δ, relative to what is more than 1.
	sharp = 1e-9
	// sharpWork is the work of one attempt at it, in about nanoseconds.
	sharpWork = 1e8
)

// sharpen lowers the upper end of best by one grid of a small step. It needs the pessimistic side
// alone, which costs a fraction of both: the optimistic side merges outcomes, on several grids.
// Any upper end holds, however it was found (docs/math/lattice.md §3.8).
func (p *problem) sharpen(q *question, read *answer, stop func() bool, best *loss.Bounds) {
	a := p.aim(q)
	if p.onGrid(&a) {
		return // a smaller step takes nothing off
	}
	p.retilt(q, &a, *best)
	width := best.Upper - best.Lower
	size, perLog := math.Abs(best.Upper), 1.0
	if q.byDelta {
		perLog = math.Abs(a.theta)
	}
	target := sharp * math.Max(1, size)
	if math.IsInf(best.Upper, 0) || math.IsInf(best.Lower, 0) || !(width > target) {
		return
	}
	a.gap = target * perLog
	p.excess(&a)
	pl, ends := p.plan(&a), p.allEnds(&a)
	p.left = sharpWork
	least := p.leastStep(pl.period, ends, 1./3)
	// What a step costs falls with its square.
	step := math.Max(least, read.upper.step*math.Sqrt(target/width))
	if !(pl.period > 0 && step > 0 && step < 0.7*read.upper.step) {
		return
	}
	step = p.aligned(step)
	var parts []part
	for i := range p.terms {
		if stop() {
			return
		}
		t := &p.terms[i]
		task := p.task(t, &a, pl, ends[i])
		parts = append(parts, part{task.pessimistic(grid{t.upper.Anchor(), step}), t.count})
	}
	r := &answer{maxLoss: p.maxLoss, atom: p.atom}
	period, proofs := pl.proven(&a, parts)
	r.upper = newProfile(parts, nodesFor(period, step), p.in)
	r.upper.proofs = proofs
	best.Upper = math.Min(best.Upper, q.upper(r, best.Upper, target/8))
}

// upper reads an upper end from the pessimistic side.
func (q *question) upper(r *answer, guess, tolerance float64) float64 {
	if !q.byDelta {
		return r.logDeltaUpper(q.epsilon)
	}
	down := num.LogDown(q.delta)
	upper, ok := leastProven(func(e float64) bool { return r.logDeltaUpper(e) <= down }, guess, tolerance)
	if !ok {
		return math.Inf(1)
	}
	return upper
}
