package pld

import (
	"math"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/num"
)

// latticeProblem is a composition in one direction, ready for the lattice.
type latticeProblem struct {
	terms    []latticeTerm
	releases float64 // Σ count
	maxLoss  float64 // bounds the finite losses' sum from above
	atom     float64 // ln of an upper bound on P(L = ∞)
}

// latticeAnswer is both sides of one attempt; the measures' K tell where the next
// one should look.
type latticeAnswer struct {
	upper, lower *latticeCurve
	// maxLoss and atom are the problem's: beyond maxLoss only the atom is left.
	maxLoss, atom float64
}

// logDelta encloses ln δ at ε. The position of the lattice is within shift of
// the true losses, so each side is read at that much to its safe side.
func (r *latticeAnswer) logDelta(epsilon float64) loss.Bounds {
	b := loss.Bounds{Lower: math.Inf(-1), Upper: 0}
	up, low := r.upper, r.lower
	before := epsilon - up.shift - 8*num.Ulp*(math.Abs(epsilon)+math.Abs(up.offset))
	after := epsilon + low.shift + 8*num.Ulp*(math.Abs(epsilon)+math.Abs(low.offset))
	if up.theta > 0 {
		b.Upper = num.LogAddExp(up.lost, up.at(before, true))
		v := low.at(after, false)
		if a := low.folded(after); a < v {
			b.Lower = num.LogAddExp(low.lost, v+num.Log1mExp(v-a))
		} else {
			b.Lower = low.lost
		}
	} else {
		// 1 − δ: the lower end of one is the upper end of the other.
		v := up.at(before, false)
		if a := up.folded(before); a < v {
			b.Upper = math.Log1p(-math.Exp(v + num.Log1mExp(v-a)))
		}
		if rest := math.Exp(low.at(after, true)) + low.dropped; rest < 1 {
			b.Lower = math.Log1p(-rest)
		}
	}
	const rounding = 32 * num.Ulp
	b.Upper = math.Min(0, num.UpBy(b.Upper, rounding*(1+math.Abs(b.Upper))))
	b.Lower = num.DownBy(b.Lower, rounding*(1+math.Abs(b.Lower)))
	if epsilon >= r.maxLoss {
		b.Upper = math.Min(b.Upper, r.atom)
	}
	if math.IsNaN(b.Upper) {
		b.Upper = 0
	}
	if math.IsNaN(b.Lower) {
		b.Lower = math.Inf(-1)
	}
	return b
}

// folded returns ln of a bound on what the sum at ε has too much: the terms m ≠ 0
// of Σ e^{mθW}·δ(ε + mW), or of the same with 1 − δ.
//
//   - below, m < 0: δ ≤ 1. In 1 − δ: min(1, e^x) ≤ e^x with E[e^{−L}] ≤ 1.
//   - above, m > 0: δ(x) ≤ θ'^θ'/(1+θ')^{1+θ'}·e^{K(θ')−θ'x}. In 1 − δ: at most 1.
func (c *latticeCurve) folded(epsilon float64) float64 {
	period := c.period
	if c.theta < 0 {
		x, y := -c.theta*period, (1+c.theta)*period
		return num.LogAddExp(-x-num.Log1mExp(x), epsilon-y-num.Log1mExp(y)) + 1e-9
	}
	x := c.theta * period
	above := math.Inf(1)
	for _, t := range c.above {
		d := t.theta - c.theta
		v := t.k - t.theta*epsilon - d*period - num.Log1mExp(d*period) -
			t.theta*math.Log1p(1/t.theta) - math.Log1p(t.theta)
		v += 16 * num.Ulp * (math.Abs(t.k) + t.theta*math.Abs(epsilon) + d*period)
		above = math.Min(above, v)
	}
	return num.LogAddExp(-x-num.Log1mExp(x), above) + 1e-9
}

// epsilon encloses the least ε ≥ 0 with δ(ε) ≤ delta, guess being near it. Any ε
// at which the upper end of δ is below delta is an upper end, however it was
// found, and so for the lower.
func (r *latticeAnswer) epsilon(delta, guess, tolerance float64) loss.Bounds {
	down, up := num.LogDown(delta), num.LogUp(delta)
	proven := func(e float64) bool { return r.logDelta(e).Upper <= down }
	refuted := func(e float64) bool { return r.logDelta(e).Lower >= up }
	b := loss.Bounds{Lower: 0, Upper: math.Inf(1)}
	if down >= r.atom {
		b.Upper = r.maxLoss
	}
	if proven(0) {
		return loss.Bounds{}
	}
	// Enclose, outward from the guess.
	lo, hi, step := 0.0, math.Max(guess, 0), math.Max(tolerance, math.Abs(guess)*1e-3)
	for range 200 {
		if proven(hi) {
			break
		}
		lo = hi
		hi += step
		step *= 2
	}
	if !proven(hi) {
		return b
	}
	for step = tolerance; hi-step > lo; step *= 2 {
		if !proven(hi - step) {
			lo = hi - step
			break
		}
		hi -= step
	}
	for range 100 {
		mid := lo + (hi-lo)/2
		if hi-lo <= tolerance/64 || !(mid > lo && mid < hi) {
			break
		}
		if proven(mid) {
			hi = mid
		} else {
			lo = mid
		}
	}
	b.Upper = math.Min(b.Upper, hi)
	// The lower end is below.
	top := b.Upper
	lo, hi = 0, top
	for step = tolerance / 16; top-step > 0; step *= 2 {
		if refuted(top - step) {
			lo, hi = top-step, top-step/2
			break
		}
		hi = top - step
	}
	if lo == 0 && !refuted(0) {
		return b
	}
	for range 100 {
		mid := lo + (hi-lo)/2
		if hi-lo <= tolerance/64 || !(mid > lo && mid < hi) {
			break
		}
		if refuted(mid) {
			lo = mid
		} else {
			hi = mid
		}
	}
	b.Lower = lo
	return b
}

// compose computes both curves from measures; nil where stop ends it before. It
// moves the measures to the plan's tilt.
func (p *latticeProblem) compose(m *latticeMeasures, plan latticePlan, stop func() bool) *latticeAnswer {
	var above []latticeChernoff
	theta := m.lower[0].measure.theta
	for _, t := range plan.proofs {
		k, _, _ := moment(m.lower, t-theta)
		above = append(above, latticeChernoff{t, k + 1e-9*(1+math.Abs(k))}) // its rounding
	}
	if d := plan.theta - theta; d != 0 {
		for i := range m.upper {
			m.upper[i].measure.tilt(d)
			m.lower[i].measure.tilt(d)
		}
	}
	n := latticeNodes(plan.period, m.step)
	r := &latticeAnswer{maxLoss: p.maxLoss, atom: p.atom}
	if r.upper = newLatticeCurve(m.upper, n, stop); r.upper == nil {
		return nil
	}
	if r.lower = newLatticeCurve(m.lower, n, stop); r.lower == nil {
		return nil
	}
	r.lower.above = above
	return r
}

// latticeQuestion is one query; exactly one of its readings is used.
type latticeQuestion struct {
	byDelta bool
	epsilon float64 // asked: ln δ there
	delta   float64 // asked: ε there
	gap     float64 // width of ln δ, or of ε, that is enough
}

// answer reads an attempt.
func (q *latticeQuestion) answer(r *latticeAnswer, guess float64) loss.Bounds {
	if q.byDelta {
		return r.epsilon(q.delta, guess, q.gap/8)
	}
	return r.logDelta(q.epsilon)
}

// trivial holds without any computation.
func (p *latticeProblem) trivial(q *latticeQuestion) loss.Bounds {
	if !q.byDelta {
		return loss.Bounds{Lower: math.Inf(-1), Upper: 0}
	}
	b := loss.Bounds{Lower: 0, Upper: math.Inf(1)}
	if math.Log(q.delta) > p.atom {
		b.Upper = p.maxLoss
	}
	return b
}

// aim is the first saddle for a question.
func (p *latticeProblem) aim(q *latticeQuestion) latticeAim {
	if !q.byDelta {
		return latticeAim{latticeSaddle: p.saddleAt(q.epsilon)}
	}
	atom := math.Exp(p.atom)
	rest := math.Max(q.delta-atom, q.delta*1e-9) / (1 - math.Min(atom, q.delta))
	return latticeAim{latticeSaddle: p.saddleFor(math.Log(math.Min(rest, 1-1e-9)), 100/q.gap)}
}

// solve narrows the answer until it is as narrow as asked for, no better one is
// to be had, or stop ends it: then the best so far.
//
// Another direction's lower end, enough, ends it too: below that nothing matters.
func (p *latticeProblem) solve(q *latticeQuestion, enough float64, stop func() bool) loss.Bounds {
	if stop == nil {
		stop = func() bool { return false }
	}
	best := p.trivial(q)
	if len(p.terms) == 0 || p.releases > 1<<53 {
		return best
	}
	a := p.aim(q)
	target := 0.6 * q.gap
	if q.byDelta {
		target *= math.Abs(a.theta)
	}
	a.gap = math.Min(0.3, 50*target) // a coarse look first
	var step float64
	for try := range 8 {
		plan := p.plan(&a)
		ends := p.allEnds(&a)
		least := p.leastStep(plan.period, ends)
		var m *latticeMeasures
		if try == 0 {
			m = p.fitting(&a, ends, least, stop)
		} else {
			m = p.measures(&a, ends, math.Max(step, least), stop)
		}
		if m == nil {
			break
		}
		r := p.compose(m, plan, stop)
		if r == nil {
			break
		}
		guess := a.epsilon
		if try > 0 && q.byDelta && !math.IsInf(best.Upper, 1) {
			guess = best.Upper
		}
		was := best.Upper - best.Lower
		b := q.answer(r, guess)
		best = loss.Bounds{Lower: math.Max(best.Lower, b.Lower), Upper: math.Min(best.Upper, b.Upper)}
		width := best.Upper - best.Lower
		if latticeTrace != nil {
			latticeTrace("  try %d θ=%.4g→%.4g ε=%.4g log=%.4g aim %.3g: step %.3g ≥ %.3g n=%d cells %d gap %.3g: [%.8g %.8g] width %.3g", try, a.theta, plan.theta, a.epsilon, a.log, a.gap, m.step, least, len(r.upper.tail), len(m.upper[0].measure.weights), m.gap, b.Lower, b.Upper, b.Upper-b.Lower)
		}
		if !(width > q.gap) || best.Upper <= enough || try > 2 && !(width < 0.8*was) || stop() {
			break
		}
		factor := 0.125
		if own := b.Upper - b.Lower; !math.IsInf(own, 0) {
			factor = math.Max(1./64, math.Min(0.6, math.Pow(0.8*q.gap/own, 0.6)))
		}
		if step = m.step * factor; m.step <= 1.01*least && try > 0 {
			break
		}
		a.gap = target
		p.retilt(q, &a, m, best)
	}
	return best
}

// retilt moves the aim to the saddle as the last measures tell it, by a Newton
// step on K(θ) − θε − ln|θ| − ln(1+θ).
func (p *latticeProblem) retilt(q *latticeQuestion, a *latticeAim, m *latticeMeasures, best loss.Bounds) {
	theta := a.theta
	switch {
	case q.byDelta && math.IsInf(best.Upper, 1):
		return
	case q.byDelta:
		a.epsilon = best.Upper
	case theta > 0:
		a.log = math.Min(math.Max(a.log, best.Lower), best.Upper)
	case best.Lower > -1:
		a.log = math.Log(-math.Expm1((best.Upper + best.Lower) / 2))
	}
	_, mean, variance := moment(m.upper, theta-m.upper[0].measure.theta)
	slope := mean - a.epsilon - 1/theta - 1/(1+theta)
	next := theta - slope/(variance+1/(theta*theta)+1/((1+theta)*(1+theta)))
	if theta > 0 {
		next = math.Max(theta/3, math.Min(3*theta, next))
	} else {
		next = math.Max(theta-(1+theta)/2, math.Min(theta/2, next))
	}
	if math.Abs(next/theta-1) > 0.1 && !(q.byDelta && next > 100/q.gap) {
		a.theta = next
	}
	a.spread = math.Sqrt(variance)
}

var latticeTrace func(string, ...any)
