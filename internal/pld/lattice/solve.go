// SPDX-License-Identifier: Apache-2.0

package lattice

import (
	"math"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/num"
	"github.com/dpaccountant/accountant/internal/pld/interval"
)

// problem is a composition in one direction, ready for the lattice.
type problem struct {
	in       *num.Interrupt
	terms    []term
	releases float64     // Σ count
	maxLoss  float64     // bounds the finite losses' sum from above
	atom     loss.Bounds // encloses ln P(L = ∞)
	distinct int         // terms that will be added, 0 where it is not known
	setup    float64     // work of looking them over
	atoms    float64     // work of their atoms, on a grid
	left     float64     // work that may still be done
}

// answer is both sides of one attempt; the measures' K tell where the next
// one should look.
type answer struct {
	upper, lower *profile
	// maxLoss and atom are the problem's: beyond maxLoss only the atom is left.
	maxLoss float64
	atom    loss.Bounds
}

// logDelta encloses ln δ at ε. The position of the lattice is within shift of
// the true losses, so each side is read at that much to its safe side.
// See docs/math/lattice.md §3.1.
func (r *answer) logDelta(epsilon float64) loss.Bounds {
	return loss.Bounds{Lower: r.logDeltaLower(epsilon), Upper: r.logDeltaUpper(epsilon)}
}

// rounding is what the last steps of ln δ add to its relative error.
const rounding = 32 * num.Ulp

// logDeltaUpper is the upper end of logDelta. It needs only the pessimistic side.
func (r *answer) logDeltaUpper(epsilon float64) float64 {
	up, upper := r.upper, 0.0
	before, _ := up.around(epsilon)
	if up.theta > 0 {
		upper = num.LogAddExp(up.lost, math.Min(up.logSum(before, true), up.chernoff(before)))
	} else {
		// 1 − δ: the lower end of one is the upper end of the other.
		v := up.logSum(before, false)
		if a := up.folded(before); a < v {
			upper = math.Log1p(-math.Exp(v + num.Log1mExp(v-a)))
		}
	}
	upper = math.Min(0, num.UpBy(upper, rounding*(1+math.Abs(upper))))
	if epsilon >= r.maxLoss {
		upper = math.Min(upper, r.atom.Upper)
	}
	if math.IsNaN(upper) {
		return 0
	}
	return upper
}

// logDeltaLower is the lower end of logDelta. It needs only the optimistic side.
func (r *answer) logDeltaLower(epsilon float64) float64 {
	low, lower := r.lower, math.Inf(-1)
	_, after := low.around(epsilon)
	if low.theta > 0 {
		lower = low.lost
		v := low.logSum(after, false)
		if a := low.folded(after); a < v {
			lower = num.LogAddExp(low.lost, v+num.Log1mExp(v-a))
		}
	} else if rest := math.Exp(low.logSum(after, true)) + low.dropped; rest < 1 {
		lower = math.Log1p(-rest)
	}
	lower = num.DownBy(lower, rounding*(1+math.Abs(lower)))
	if math.IsNaN(lower) {
		return math.Inf(-1)
	}
	return lower
}

// chernoff bounds ln δ of the finite part by K(θ) alone, for θ > 0. See docs/math/lattice.md §3.3.
func (c *profile) chernoff(epsilon float64) float64 {
	v := c.scale - c.theta*epsilon - c.theta*math.Log1p(1/c.theta) - math.Log1p(c.theta)
	return v + c.slack + 16*num.Ulp*(1+math.Abs(c.scale)+math.Abs(c.theta*epsilon))
}

// folded returns ln of a bound on what the sum at ε has too much: the terms m ≠ 0
// of Σ e^{mθW}·δ(ε + mW), or of the same with 1 − δ.
//
//   - On the side of 0, m < 0: δ ≤ 1. In 1 − δ, m > 0: at most 1.
//   - On the other, m > 0: δ(x) ≤ θ'^θ'/(1+θ')^{1+θ'}·e^{K(θ')−θ'x} for a θ' > θ. In
//     1 − δ, m < 0: min(1, e^{x−L}) ≤ e^{θ'(L−x)} for −1 ≤ θ' < θ, where K(−1) ≤ 0.
//
// See docs/math/lattice.md §3.4.
func (c *profile) folded(epsilon float64) float64 {
	period := c.period
	x := math.Abs(c.theta) * period
	beyond := math.Inf(1)
	if c.theta < 0 {
		y := (1 + c.theta) * period
		beyond = epsilon - y - num.Log1mExp(y)
	}
	for _, t := range c.proofs {
		d := math.Abs(t.theta - c.theta)
		v := t.k - t.theta*epsilon - d*period - num.Log1mExp(d*period) + interval.LogChernoff(t.theta)
		v += 16 * num.Ulp * (math.Abs(t.k) + math.Abs(t.theta*epsilon) + d*period)
		beyond = math.Min(beyond, v)
	}
	return num.LogAddExp(-x-num.Log1mExp(x), beyond) + 1e-9
}

// epsilon encloses the least ε ≥ 0 with δ(ε) ≤ delta, guess being near it. Any ε
// at which the upper end of δ is below delta is an upper end, however it was
// found, and so for the lower. See docs/math/lattice.md §3.8.
func (r *answer) epsilon(delta, guess, tolerance float64) loss.Bounds {
	down, up := num.LogDown(delta), num.LogUp(delta)
	proven := func(e float64) bool { return r.logDeltaUpper(e) <= down }
	refuted := func(e float64) bool { return r.logDeltaLower(e) >= up }
	b := loss.Bounds{Lower: 0, Upper: math.Inf(1)}
	if down >= r.atom.Upper {
		b.Upper = r.maxLoss
	}
	if proven(0) {
		return loss.Bounds{}
	}
	hi, ok := leastProven(proven, guess, tolerance)
	if !ok {
		return b
	}
	b.Upper = math.Min(b.Upper, hi)
	// The lower end is below.
	top := b.Upper
	lo := 0.0
	hi = top
	for step := tolerance / 16; top-step > 0; step *= 2 {
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

// leastProven is about the least ε ≥ 0 that is proven, looked for outward from the guess; it is false
// if none was found.
func leastProven(proven func(e float64) bool, guess, tolerance float64) (hi float64, ok bool) {
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
		return hi, false
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
	return hi, true
}

// proven has the plan's tilts with the moments of the parts, and the period as these moments want it.
func (pl plan) proven(a *aim, parts []part) (period float64, proofs []chernoff) {
	wide := math.Inf(1)
	for _, t := range pl.proofs {
		k := moment(parts, t-pl.theta)
		proofs = append(proofs, chernoff{t, k})
		wide = math.Min(wide, (k-t*a.epsilon-a.log-a.negligible())/math.Abs(t-pl.theta))
	}
	if len(proofs) > 0 && wide < 16*pl.period {
		return math.Max(pl.period, wide), proofs
	}
	return pl.period, proofs
}

// compose computes both curves from measures.
func (p *problem) compose(a *aim, m *measures, plan plan) *answer {
	read := m.lower // the side on which what is folded in is taken off
	if plan.theta < 0 {
		read = m.upper
	}
	period, proofs := plan.proven(a, read)
	n := nodesFor(period, m.step)
	p.left -= p.nodes(float64(n))
	r := &answer{maxLoss: p.maxLoss, atom: p.atom}
	r.upper = newProfile(m.upper, n, p.in)
	r.lower = newProfile(m.lower, n, p.in)
	if plan.theta < 0 {
		r.upper.proofs = proofs
	} else {
		r.lower.proofs = proofs
	}
	return r
}

// question is one query; exactly one of its readings is used.
type question struct {
	byDelta bool
	epsilon float64 // asked: ln δ there
	delta   float64 // asked: ε there
	gap     float64 // width of ln δ, or of ε, that is enough
	closely bool    // the upper end is sharpened beyond that
}

// answer reads an attempt.
func (q *question) answer(r *answer, guess float64) loss.Bounds {
	if q.byDelta {
		return r.epsilon(q.delta, guess, q.gap/8)
	}
	return r.logDelta(q.epsilon)
}

// trivial holds without any computation, and whether no more is needed.
func (p *problem) trivial(q *question, enough float64) (b loss.Bounds, done bool) {
	none := len(p.terms) == 0
	if !q.byDelta {
		b = loss.Bounds{Lower: math.Inf(-1), Upper: 0}
		if q.epsilon >= p.maxLoss || none {
			b = p.atom
		}
		return b, q.epsilon >= p.maxLoss || none || p.releases > 1<<53
	}
	b = loss.Bounds{Lower: 0, Upper: math.Inf(1)}
	switch {
	case math.Log(q.delta) <= p.atom.Lower:
		b.Lower = math.Inf(1) // any ε has more
		return b, true
	case num.LogDown(q.delta) >= p.atom.Upper && !none:
		b.Upper = p.maxLoss
	case num.LogDown(q.delta) >= p.atom.Upper:
		b.Upper = 0
	}
	return b, none || b.Upper <= enough || p.releases > 1<<53
}

// mostTilting bounds θ·gap where ε is asked for: what ln δ is wrong by counts 1/θ
// in ε.
const mostTilting = 400

// aim is the first saddle for a question.
func (p *problem) aim(q *question) aim {
	if !q.byDelta {
		return aim{saddle: p.saddleAt(q.epsilon, math.Inf(-1))}
	}
	atom := math.Exp(p.atom.Upper)
	rest := math.Max(q.delta-atom, q.delta*1e-9) / (1 - math.Min(atom, q.delta))
	return aim{saddle: p.saddleFor(math.Log(math.Min(rest, 1-1e-9)), mostTilting/q.gap)}
}

// solve narrows the answer until it is as narrow as asked for, no better one is
// to be had, or stop ends it: then the best so far.
//
// Another direction's lower end, enough, ends it too: below that nothing matters.
// The curves it read last, nil where none were needed, answer for other ε and δ
// nearby at no cost.
func (p *problem) solve(q *question, enough float64, stop func() bool) (best loss.Bounds, read *answer) {
	if stop == nil {
		stop = func() bool { return false }
	}
	best, done := p.trivial(q, enough)
	if !done {
		p.in.Try(func() {
			p.narrow(q, enough, stop, &best, &read)
			if q.closely && best.Upper > enough && read != nil && !stop() {
				p.sharpen(q, read, stop, &best)
			}
		})
	}
	return best, read
}

// narrow narrows the answer, attempt by attempt: what it has found by then is in best and
// read whenever it is interrupted.
func (p *problem) narrow(q *question, enough float64, stop func() bool, best *loss.Bounds, read **answer) {
	a := p.aim(q)
	if p.onGrid(&a) {
		own, size := *q, a.epsilon
		if !q.byDelta {
			size = a.log
		}
		own.gap = math.Min(q.gap, onGridGap*math.Max(1, math.Abs(size)))
		q = &own
	}
	target := 0.6 * q.gap
	if q.byDelta {
		target *= math.Abs(a.theta)
	}
	a.gap = math.Min(0.3, 50*target) // a coarse look first
	once := !q.byDelta && a.log < deepest && !p.atomic()
	if once { // too deep to resolve: one look for a bound from above
		// The rough outcomes may end before ε: then no tilt has its saddle there, but
		// Chernoff's bound at any tilt holds.
		if s := p.saddleFor(deepest, mostTilt); s.theta > 0 && a.theta > 2*s.theta {
			a.saddle = s
		}
		a.log, a.gap = deepest, 3
	}
	p.left = questionWork - p.setup - 2*p.atoms
	var step float64
	for try := range 8 {
		if p.left -= p.looks(); p.left < 0 {
			break
		}
		p.excess(&a)
		plan := p.plan(&a)
		ends := p.allEnds(&a)
		grids := 1.0
		if try == 0 {
			grids = 6
		}
		least := p.leastStep(plan.period, ends, grids)
		if !(plan.period > 0 && least > 0 && least < 1e300) { // parameters beyond floating point
			break
		}
		var m *measures
		if try == 0 {
			m = p.fitting(&a, plan, ends, least, stop)
		} else {
			m = p.measures(&a, plan, ends, math.Max(step, least), stop)
		}
		if m == nil {
			break
		}
		r := p.compose(&a, m, plan)
		*read = r
		guess := math.Min(math.Max(a.epsilon, best.Lower), best.Upper)
		was := best.Upper - best.Lower
		b := q.answer(r, guess)
		*best = loss.Bounds{Lower: math.Max(best.Lower, b.Lower), Upper: math.Min(best.Upper, b.Upper)}
		width := best.Upper - best.Lower
		if once || !(width > q.gap) || best.Upper <= enough ||
			(try > 2 || try > 0 && m.gap < a.gap) && !(width < 0.8*was) || stop() {
			break
		}
		factor := 0.125
		if own := b.Upper - b.Lower; !math.IsInf(own, 0) {
			factor = math.Max(1./64, math.Min(0.6, math.Sqrt(0.8*q.gap/own)))
		}
		if step = m.step * factor; try > 0 && p.leastStep(plan.period, ends, 1) > 0.9*m.step {
			break
		}
		a.gap = target
		p.retilt(q, &a, *best)
	}
}

// onGridGap is aimed at where all outcomes are on one grid, of ε in nats or of ln δ,
// relative to what is more than 1.
const onGridGap = 1e-8

// excess fills it in.
func (p *problem) excess(a *aim) {
	k, _, _ := p.cumulant(a.theta)
	at := k - a.theta*a.epsilon - math.Log(math.Abs(a.theta)) - math.Log1p(a.theta)
	// Laplace's own factor is no excess.
	a.excess = math.Max(0, at-a.log-math.Log1p(a.spread*math.Abs(a.theta))-1)
}

// retilt moves the aim to where the bounds are by now.
func (p *problem) retilt(q *question, a *aim, best loss.Bounds) {
	if q.byDelta && math.IsInf(best.Upper, 1) {
		return
	}
	s := a.saddle
	switch {
	case a.theta < 0:
		if !q.byDelta && best.Lower > -1 {
			s.log = math.Log(-math.Expm1((best.Upper + best.Lower) / 2))
		}
	case q.byDelta:
		if s = p.saddleAt(best.Upper, a.log); s.theta > mostTilting/q.gap {
			s = p.saddle(mostTilting / q.gap)
		}
	default:
		s = p.saddleAt(q.epsilon, math.Min(math.Max(a.log, best.Lower), best.Upper))
	}
	if s.theta > 0 == (a.theta > 0) {
		a.saddle = s
	}
}
