// SPDX-License-Identifier: Apache-2.0

package lattice

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/num"
)

// Bounds on memory, about 100 bytes a node or cell, and on the work of one
// question in one direction, in about nanoseconds: questionWork is shared by all
// attempts, each step of which is not below what its share of the rest allows.
const (
	maxNodes      = 1 << 17
	maxCells      = 1 << 16 // of one loss
	questionWork  = 7e7
	cellWork      = 800 // a step of one loss: a cell and two halves
	pointWork     = 60  // the same where there are atoms only
	partsPerPrice = 24  // parts of a mixture that cost a cell more
	nodeWork      = 100 // a node of one loss, both sides
	atomWork      = 300 // an atom, both sides
	roughWork     = 2e3 // a rough cell
	endsWork      = 5e4 // finding the ends of one loss
	roughEndWork  = 1e3 // the same for each rough outcome where there are atoms only

	mostRough, leastRough = 600, 24 // rough cells of one loss
	allRough              = 6000    // and of all together, about
)

// aim is where on the curve an attempt is to be precise, and how much.
type aim struct {
	saddle
	// gap is the width aimed at: of ln δ, or of ln(1 − δ) for θ < 0.
	gap float64
	// excess is by how much the curve lies below Chernoff's bound at the tilt, in
	// nats: what the measures' moments differ by counts that much more in ln δ.
	excess float64
}

// negligible is ln of what tails, aliases and such may be, relative to what is
// asked for.
func (a *aim) negligible() float64 { return math.Log(0.02 * math.Min(0.5, a.gap)) }

// ends cuts a term's tails where they do not matter for the aim.
//
// What lies below is moved up to lo, or left out: by Chernoff's bound its tilted
// mass counts relative to all, which where the curve is far below that bound is
// more than δ by the excess. See docs/math/lattice.md §3.5.
func (p *problem) ends(t *term, a *aim) (lo, hi float64) {
	each := a.negligible() - math.Log(p.releases)
	logAbove := each + a.log
	k, _, _ := t.cumulant(a.theta)
	k -= a.excess
	lo, hi = t.upper.Ends(math.Min(each, each+a.log)-20, logAbove-1)
	hi = math.Max(hi, lo)
	// What lies below counts with its tilted mass; in 1 − δ as it is, too.
	low := bisect(lo, hi, func(l float64) bool {
		v, _ := t.tails(l)
		return v+a.theta*l <= each+k && (a.theta > 0 || v <= each+a.log)
	})
	high := -bisect(-hi, -lo, func(l float64) bool {
		_, v := t.tails(-l)
		return v <= logAbove
	})
	high = math.Max(low, high)
	if t.thinned { // what is one rough outcome has some of its outcomes above its loss
		next, _ := slices.BinarySearchFunc(t.rough, high,
			func(m loss.Mass, l float64) int { return cmp.Compare(m.Loss, l) })
		high = math.Max(high, t.rough[min(next+1, len(t.rough)-1)].Loss)
	}
	if !loss.Separable(t.upper) {
		// An outcome at an edge is on one side of it in one grid and on the other side in the
		// next: one at this end must not be cut.
		high += 1e-9 * (1 + math.Abs(high))
	}
	return low, high
}

func (p *problem) allEnds(a *aim) []window {
	all := make([]window, len(p.terms))
	for i := range p.terms {
		p.in.Spend(endsWork)
		all[i].lo, all[i].hi = p.ends(&p.terms[i], a)
	}
	return all
}

// bisect returns a point of [lo, hi] at which ok holds, near the last one; lo
// where it holds nowhere.
func bisect(lo, hi float64, ok func(float64) bool) float64 {
	if ok(hi) {
		return hi
	}
	for range 12 {
		mid := lo + (hi-lo)/2
		if ok(mid) {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo
}

// tails are ln P(L ≤ l) and ln P(l < L < ∞), about.
func (t *term) tails(l float64) (below, above float64) {
	cells := [2]loss.Mass{{LogP: math.Inf(-1)}, {LogP: math.Inf(-1)}}
	atoms := t.rough
	if !t.discrete {
		t.upper.Cells([]float64{math.Inf(-1), l, math.Inf(1)}, cells[:])
		atoms = t.upper.Atoms()
	}
	below, above = cells[0].LogP, cells[1].LogP
	for _, m := range atoms {
		if m.Loss <= l {
			below = num.LogAddExp(below, m.LogP)
		} else {
			above = num.LogAddExp(above, m.LogP)
		}
	}
	return below, above
}

// firstStep estimates the step for the aim: a loss at a distance x from the
// anchor's grid point costs its tilted mass times θ(1+θ)/2·min(h²/4, xh) on both
// sides together. Atoms on the grid cost nothing.
func (p *problem) firstStep(a *aim) float64 {
	type part struct {
		weight, distance float64
		exact            float64 // up to this step it costs nothing
	}
	var parts []part
	most, fits := 8*a.spread, math.Inf(1)
	for i := range p.terms {
		t := &p.terms[i]
		exact := 0.0
		if t.atomic {
			exact = math.Inf(1)
			for _, s := range t.spans {
				exact = math.Min(exact, s*(1+1e-9))
			}
		}
		k, _, _ := t.cumulant(a.theta)
		anchor := t.upper.Anchor()
		for _, m := range t.rough[:t.used] {
			if w := math.Exp(m.LogP + a.theta*m.Loss - k); w > 1e-12 {
				parts = append(parts,
					part{t.count * w * math.Abs(a.theta) * (1 + a.theta) / 2, math.Abs(m.Loss - anchor), exact})
			}
		}
		most, fits = math.Max(most, num.Finite(exact)), math.Min(fits, exact)
	}
	cost := func(h float64) float64 {
		var sum float64
		for _, q := range parts {
			if h > q.exact {
				sum += q.weight * math.Min(h*h/4, q.distance*h)
			}
		}
		return sum
	}
	if p.atomic() {
		most = fits
	}
	for h := most; ; h *= 0.8 {
		if !(cost(h)*math.Exp(a.excess) > a.gap) || h < most*1e-9 {
			return h
		}
	}
}

// aligned returns a step at most h, not below h/2, that divides the distances
// between atoms as nearly as possible: an atom that is off by r costs its span
// times r.
func (p *problem) aligned(h float64) float64 {
	type span struct{ width, cost float64 }
	var spans []span
	widest := -1
	for i := range p.terms {
		t := &p.terms[i]
		for _, w := range t.spans {
			if w*(1+1e-9) < h { // no step near h divides it
				continue
			}
			spans = append(spans, span{w, t.count * w})
			if n := len(spans) - 1; widest < 0 || spans[n].cost > spans[widest].cost {
				widest = n
			}
		}
	}
	if widest < 0 {
		return h
	}
	width := spans[widest].width
	first := math.Ceil(width/h - 1e-9)
	best, step := math.Inf(1), width/first
	const tries = 4096
	for k := first; k <= math.Min(2*first, first+tries); k++ {
		p.in.Spend(10 * len(spans))
		s := width / k
		var cost float64
		for _, o := range spans {
			n := o.width / s
			cost += o.cost * math.Abs(n-math.Round(n)) * s
		}
		// A smaller step must be worth it.
		if cost = (cost + 1e-12*spans[widest].cost*width) / math.Sqrt(s); cost < best {
			best, step = cost, s
		}
	}
	return step
}

// window are the losses of a term between which it is resolved.
type window struct{ lo, hi float64 }

// measures are all terms on grids of one step.
type measures struct {
	step         float64
	upper, lower []part
	gap          float64 // about, of ln δ between both sides
}

// measures puts every term on grids of a step of at most h; nil where stop ends
// it before.
func (p *problem) measures(a *aim, plan plan, ends []window, h float64, stop func() bool) *measures {
	m := &measures{step: p.aligned(h)}
	if !(m.step > 0 && m.step < 1e300) {
		return nil
	}
	p.left -= p.cells(ends)/m.step + p.atoms
	for i := range p.terms {
		if stop() {
			return nil
		}
		t := &p.terms[i]
		task := p.task(t, a, plan, ends[i])
		up := task.pessimistic(grid{t.upper.Anchor(), m.step})
		task.pair, task.roundUp = t.lower, a.theta < 0
		low := task.optimistic(grid{t.lower.Anchor(), m.step})
		m.upper = append(m.upper, part{up, t.count})
		m.lower = append(m.lower, part{low, t.count})
		m.gap += t.count * math.Abs(up.moment-low.moment)
	}
	// What a step costs grows like θ(1+θ): the saddle's counts.
	m.gap *= math.Exp(a.excess) * a.theta * (1 + a.theta) / (plan.theta * (1 + plan.theta))
	return m
}

// task puts the pessimistic pair of a term on a grid.
func (p *problem) task(t *term, a *aim, plan plan, ends window) task {
	return task{pair: t.upper, theta: plan.theta, lo: ends.lo, hi: ends.hi, roundUp: a.theta > 0,
		discrete: t.discrete, in: p.in}
}

// fitting finds measures whose gap is what the aim allows and not much less, or
// those of the least step.
func (p *problem) fitting(a *aim, plan plan, ends []window, least float64, stop func() bool) *measures {
	var m *measures
	h := math.Max(least, p.firstStep(a))
	for try := range 6 {
		next := p.measures(a, plan, ends, h, stop)
		if next == nil || try > 0 && (m.gap <= a.gap && next.gap > a.gap || next.step == m.step) {
			return m
		}
		if m = next; p.left < 0 {
			return m
		}
		wish := 0.9 * math.Sqrt(a.gap/math.Max(m.gap, 1e-300))
		switch {
		case m.gap > a.gap && h > least:
			h = math.Max(least, m.step*math.Max(0.05, math.Min(0.7, wish)))
		case wish > 2 && !p.atomic():
			h = m.step * math.Min(wish, 16)
		default:
			return m
		}
	}
	return m
}

// atomic: every term has atoms only.
func (p *problem) atomic() bool {
	for i := range p.terms {
		if !p.terms[i].atomic {
			return false
		}
	}
	return true
}

// onGrid reports whether one grid has all outcomes, and the sum that many points at most
// where it matters: what such a grid errs by is tails and aliases, which fall
// exponentially, so that a narrow answer costs about what a wide one does.
// See docs/math/lattice.md §3.8.
func (p *problem) onGrid(a *aim) bool {
	if !p.atomic() {
		return false
	}
	least := math.Inf(1)
	for i := range p.terms {
		for _, s := range p.terms[i].spans {
			least = math.Min(least, s)
		}
	}
	for i := range p.terms {
		for _, s := range p.terms[i].spans {
			if n := math.Round(s / least); math.Abs(s-n*least) > 1e-12*s {
				return false
			}
		}
	}
	const wide = 40 // standard deviations, about, between both ends
	return wide*a.spread < maxNodes/4*least
}

// moment bounds ln E[e^{(θ+d)L}; L < ∞] of the sum of all parts from above.
func moment(parts []part, d float64) float64 {
	var k num.Sum
	for i := range parts {
		k.Add(parts[i].count * parts[i].measure.tiltedTo(d))
	}
	return k.Value() + 8*num.Ulp*math.Abs(k.Value())
}

// plan is how an aim is to be transformed.
type plan struct {
	theta  float64   // the transform's tilt
	period float64   // so long that what is folded in is negligible
	proofs []float64 // tilts whose Chernoff bounds prove it
}

// plan chooses tilt and period. Where losses have a heavy right tail, a tilt below
// the saddle's needs a much shorter period; it costs e^{G(θ)−G(saddle)} of the
// precision, G(θ) = K(θ) − θε − ln θ − ln(1+θ).
func (p *problem) plan(a *aim) plan {
	beyond := -a.negligible()
	if a.theta < 0 {
		return p.planComplement(a, beyond)
	}
	g := func(theta float64) float64 {
		k, _, _ := p.cumulant(theta)
		return k - theta*a.epsilon - math.Log(theta) - math.Log1p(theta)
	}
	type proof struct{ theta, size float64 } // the tilt, and what it must prove small
	var tried []proof
	most := 100 * (a.theta + 1/a.spread)
	ratio := math.Max(1.2, math.Pow(most/a.theta, 1./40))
	for t := a.theta / 2; t < most; t *= ratio {
		k, _, _ := p.cumulant(t)
		tried = append(tried, proof{t, k - t*a.epsilon - a.log + beyond})
	}
	best := plan{period: math.Inf(1)}
	saddle := g(a.theta)
	// Of about 31 nats of digits rounding takes ln n, the excess and what the gap
	// needs.
	mostLoss := 28 - math.Log(p.releases) - a.excess + a.negligible()
	for _, f := range []float64{1, 0.85, 0.7, 0.55, 0.4} {
		t := f * a.theta
		if f < 1 && g(t)-saddle > mostLoss {
			break
		}
		right, at := math.Inf(1), t*2
		for _, o := range tried {
			if v := o.size / (o.theta - t); o.theta > t && v < right {
				right, at = v, o.theta
			}
		}
		if v := math.Max((beyond-a.log)/t, right); v < best.period*0.95 {
			best = plan{t, v, []float64{at, at + 0.3*(at-t)}}
		}
	}
	return best
}

// planComplement is plan for θ < 0, where 1 − δ is computed. What is folded in from below
// is proven small by K(−1) ≤ 0, which takes a period of more than ε, or by K at a tilt
// between −1 and θ: where ε is large only these see that losses are rarely far below it.
// See docs/math/lattice.md §3.4.
func (p *problem) planComplement(a *aim, beyond float64) plan {
	below := (beyond - a.log + a.epsilon) / (1 + a.theta)
	best := plan{theta: a.theta}
	ratio := math.Max(1.2, math.Pow(-a.theta, -1./40))
	for f := 1.05; f*-a.theta < 1; f *= ratio {
		t := f * a.theta
		k, _, _ := p.cumulant(t)
		if v := (k - t*a.epsilon - a.log + beyond) / (a.theta - t); v < below*0.95 {
			below, best.proofs = v, []float64{t, t + 0.3*(t-a.theta)}
		}
	}
	best.proofs = slices.DeleteFunc(best.proofs, func(t float64) bool { return t < -1 })
	best.period = math.Max((beyond-a.log)/-a.theta, below)
	return best
}

// leastStep is the least step with which an attempt takes at most 0.6 of the work
// that is left: for a period, and for every term between its ends, put on that
// many grids.
func (p *problem) leastStep(period float64, ends []window, grids float64) float64 {
	// The next power of two is up to twice as many nodes.
	work := grids*p.cells(ends) + 2.1*p.nodes(period)
	least := math.Max(1.1*period/maxNodes, work/math.Max(1, 0.6*p.left))
	for _, e := range ends {
		least = math.Max(least, (e.hi-e.lo)/maxCells)
	}
	return least
}

// looks is the work of an attempt before the first grid.
func (p *problem) looks() float64 {
	var work float64
	for i := range p.terms {
		if p.terms[i].discrete {
			work += roughEndWork * float64(len(p.terms[i].rough))
		} else {
			work += endsWork
		}
	}
	return work
}

// cells is the work of putting every term on a grid, for a step of 1.
func (p *problem) cells(ends []window) float64 {
	var work float64
	for i, e := range ends {
		each := cellWork * p.terms[i].price
		if p.terms[i].discrete {
			each = pointWork
		}
		work += each * (e.hi - e.lo)
	}
	return work
}

// nodes is the work of transforming them, for a step of 1.
func (p *problem) nodes(period float64) float64 {
	return nodeWork * period * float64(len(p.terms)+2)
}

func nodesFor(period, step float64) int {
	n := 1 << bits.Len(uint(math.Max(8, math.Min(1.05*period/step, maxNodes/2))))
	return min(n, maxNodes)
}
