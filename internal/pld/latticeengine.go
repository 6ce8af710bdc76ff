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

// attempt computes both curves for an aim; nil where stop ends it before.
func (p *latticeProblem) attempt(a *latticeAim, stop func() bool) (*latticeAnswer, *latticeMeasures) {
	m := p.fine(a, stop)
	if m == nil || stop() {
		return nil, nil
	}
	k, _, variance := moment(m.lower, 0)
	n, above := a.nodes(m, k, variance)
	for n > 256 && n*len(p.terms) > maxLatticeWork {
		n /= 2
	}
	r := &latticeAnswer{maxLoss: p.maxLoss, atom: p.atom}
	if r.upper = newLatticeCurve(m.upper, n, stop); r.upper == nil {
		return nil, nil
	}
	if r.lower = newLatticeCurve(m.lower, n, stop); r.lower == nil {
		return nil, nil
	}
	r.lower.above = above
	return r, m
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
func (p *latticeProblem) solve(q *latticeQuestion, stop func() bool) loss.Bounds {
	if stop == nil {
		stop = func() bool { return false }
	}
	best := p.trivial(q)
	if len(p.terms) == 0 || p.releases > 1<<53 {
		return best
	}
	a := p.aim(q)
	target := q.gap / 3
	if q.byDelta {
		target *= math.Abs(a.theta)
	}
	a.gap = math.Min(0.3, 50*target) // a coarse look first
	for try := range 6 {
		r, m := p.attempt(&a, stop)
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
		if !(width > q.gap) || !m.feasible && try > 0 || try > 2 && width > 0.9*was || stop() {
			break
		}
		p.retilt(q, &a, m, best)
		a.gap = target
		if try > 0 {
			a.gap *= math.Pow(0.4, float64(try))
		}
		a.coarsest = m.step
	}
	return best
}

// retilt moves the aim to the saddle as the last measures tell it, by a Newton
// step on K(θ) − θε − ln|θ| − ln(1+θ).
func (p *latticeProblem) retilt(q *latticeQuestion, a *latticeAim, m *latticeMeasures, best loss.Bounds) {
	theta := a.theta
	if q.byDelta && math.IsInf(best.Upper, 1) || !q.byDelta && math.IsInf(best.Lower, -1) {
		return
	}
	if q.byDelta {
		a.epsilon = best.Upper
	} else if theta > 0 {
		a.log = best.Upper
	} else {
		a.log = math.Log(-math.Expm1((best.Upper + best.Lower) / 2))
	}
	_, mean, variance := moment(m.upper, 0)
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
