// SPDX-License-Identifier: Apache-2.0

package sampling

import (
	"cmp"
	"math"
	"slices"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/loss/declared"
	"github.com/dpaccountant/accountant/internal/num"
)

// clonesPair adds up the pair of docs/math/reports.md §1.12.2: given t reports that are one of two
// answers, x of them the first, the masses are W(1 + γy) and W(1 − γy) with W = C(t,x)/2^t and
// y = (2x − t)/t. Outcomes with y < 0 are the mirror images of those with y > 0.
type clonesPair struct {
	below  bool
	edges  []float64 // losses from 0, rising
	ratios []float64 // e^edges
	cells  []cloneCell
	in     *num.Interrupt
}

// cloneCell has the outcomes with losses from an edge up to the next.
type cloneCell struct{ p, q, less num.Sum } // masses, and p − q

// How long it takes to add something, in nanoseconds, and how fine the edges are: by pieces of the
// losses' standard deviation. Numbers of reports are taken together where they are as good as equal.
const (
	massWork   = 150
	putWork    = 25
	finest     = 128
	fewReports = 48
	closeTo    = 1. / 4096
)

// cloneGroup is what t reports, one of two answers each, have in one of the hidings.
type cloneGroup struct {
	weight         float64
	contrast, less float64
	at             int // the cell of the last outcome
}

func newClonesPair(hidings []hiding, below bool, in *num.Interrupt) *clonesPair {
	c := &clonesPair{below: below, in: in}
	first, end := math.Inf(1), 0.0
	for _, h := range hidings {
		lo, hi := h.reach()
		first, end = math.Min(first, lo), math.Max(end, hi)
	}
	c.setEdges(hidings, end)
	near := closeTo
	if len(hidings) > 1 {
		near *= 4
	}
	for t := first; t <= end; {
		last := t
		if end > fewReports {
			last = math.Min(end, t+math.Max(0, math.Floor(t*near)-1))
		}
		var parts []cloneGroup
		for _, h := range hidings {
			if p := c.between(h, t, last); p.weight > 0 {
				parts = append(parts, p)
			}
		}
		if below {
			c.add(last, parts)
		} else {
			c.add(t, fewerContrasts(parts))
		}
		t = last + 1
	}
	return c
}

// contrastStep is how far contrasts that stay are apart, relative to the larger.
const contrastStep = 1. / 256

// fewerContrasts moves groups to both of those that stay on either side so that the mean
// stays: forgetting which of both it is makes the group again (docs/math/reports.md §1.12.4). Weights are rounded
// towards the larger contrast, which is worse.
func fewerContrasts(parts []cloneGroup) []cloneGroup {
	if len(parts) < 3 {
		return parts
	}
	slices.SortFunc(parts, func(a, b cloneGroup) int {
		return cmp.Or(cmp.Compare(b.contrast, a.contrast), cmp.Compare(a.less, b.less))
	})
	kept := []cloneGroup{parts[0]}
	for i := 1; i < len(parts); {
		next := i
		for next+1 < len(parts) && parts[i-1].minus(parts[next+1]) <= contrastStep*parts[i-1].contrast {
			next++
		}
		high, low := &kept[len(kept)-1], parts[next]
		for _, p := range parts[i:next] {
			share := 1.0
			if gap := high.minus(low); gap > 1e-6*high.contrast {
				share = math.Min(1, p.minus(low)/gap+1024*num.Ulp*high.contrast/gap)
			}
			high.weight += p.weight * share
			low.weight += p.weight * (1 - share)
		}
		kept, i = append(kept, low), next+1
	}
	for i := range kept {
		kept[i].weight *= 1 + 1024*num.Ulp // what was rounded
	}
	return kept
}

// minus is the difference of two contrasts, within 64 units of rounding of the larger one.
func (g cloneGroup) minus(less cloneGroup) float64 {
	if g.contrast > 0.5 {
		return less.less - g.less
	}
	return g.contrast - less.contrast
}

// raise is a factor for a mass with a relative error that makes it no less than it is, and from below
// no more.
func (c *clonesPair) raise(err float64) float64 {
	if c.below {
		return 1 - 2*err
	}
	return 1 + 2*err
}

// between is what first to last reports have together: as many as first of them hide the record's own
// no better, and its own is one of them most likely if there are last. From below it is the other
// way round.
func (c *clonesPair) between(h hiding, first, last float64) cloneGroup {
	lo, hi := h.reach()
	var weight num.Sum
	for t := math.Max(lo, first); t <= math.Min(hi, last); t++ {
		m, err := h.mass(t)
		weight.Add(m * c.raise(err))
		c.in.Spend(2 * massWork)
	}
	p := cloneGroup{weight: weight.Value()}
	if c.below {
		last = first
	}
	p.contrast, p.less = h.contrast(last)
	return p
}

// setEdges chooses the losses that outcomes are moved to: of few reports their own, otherwise some
// that are close together where most outcomes are.
func (c *clonesPair) setEdges(hidings []hiding, end float64) {
	h, edges := hidings[len(hidings)/2], []float64{0}
	if end <= fewReports {
		for _, h := range hidings {
			for t := 1.0; t <= end; t++ {
				contrast, less := h.contrast(t)
				for x := math.Ceil(t / 2); x <= t; x++ {
					y := (2*x - t) / t
					edges = append(edges, num.Log((1+contrast*y)/(2*(t-x)/t+less*y)))
				}
			}
		}
		slices.Sort(edges)
		edges = slices.CompactFunc(edges, func(a, b float64) bool { return math.Abs(b-a) < 1e-6*h.epsilon })
	} else {
		typical := math.Max(1, h.others*h.clone)
		contrast, _ := h.contrast(typical)
		scale := 16 * contrast / math.Sqrt(typical)
		for i := 1.0; scale*math.Sinh(i/(8*finest)) < h.epsilon; i++ {
			edges = append(edges, scale*math.Sinh(i/(8*finest)))
		}
	}
	top := h.epsilon * (1 + 64*num.Ulp)
	for len(edges) > 1 && edges[len(edges)-1] > top*(1-1e-6) {
		edges = edges[:len(edges)-1]
	}
	c.edges = append(edges, top)
	c.cells = make([]cloneCell, len(c.edges))
	for _, e := range c.edges {
		c.ratios = append(c.ratios, math.Exp(e))
	}
}

// add adds the outcomes of t reports, within √(t·farOut/2) of the middle: what lies beyond has at
// most e^−farOut on either side (Hoeffding's inequality).
func (c *clonesPair) add(t float64, parts []cloneGroup) {
	first := math.Ceil(t / 2)
	end := math.Min(t, math.Floor(t/2+math.Sqrt(t*farOut/2))+1)
	log, err := num.LogBinomialMass(first, t, 0.5, 0.5)
	mass := math.Exp(log)
	for x := first; x <= end; x++ {
		c.in.Spend(massWork/4 + putWork*len(parts))
		w, y, away := mass*c.raise(err+32*num.Ulp), 0.0, 1.0
		mass *= (t - x) / (x + 1)
		err += 4 * num.Ulp
		if t > 0 {
			y, away = (2*x-t)/t, 2*(t-x)/t
		}
		if y == 0 { // it is its own mirror image
			w /= 2
		}
		for i := range parts {
			part := &parts[i]
			p, q := 1+part.contrast*y, away+part.less*y
			for part.at+2 < len(c.edges) && c.ratios[part.at+1]*q <= p {
				part.at++
			}
			w := w * part.weight
			c.cells[part.at].put(w*p, w*q, 2*w*part.contrast*y)
		}
	}
}

func (c *cloneCell) put(p, q, less float64) {
	c.p.Add(p)
	c.q.Add(q)
	c.less.Add(less)
}

// split moves a cell's mass of P to both of its edges so that P and Q keep theirs: the curve rises
// (docs/math/reports.md §1.12.4). err bounds the errors of both.
func (c *clonesPair) split(i int) (low, high, err float64) {
	cell := &c.cells[i]
	p, q, less := cell.p.Value(), cell.q.Value(), cell.less.Value()
	if p == 0 {
		return 0, 0, 0
	}
	a, b := c.edges[i], c.edges[i+1]
	part := -math.Exp(-a) * math.Expm1(a-b)
	gone := -p * math.Expm1(-a)
	high, err = (less-gone)/part, (less+gone)/part
	if left := p * math.Exp(-a); left+q < less+gone {
		high, err = (left-q)/part, (left+q)/part
	}
	err *= 64 * num.Ulp * (1 + a)
	high = math.Min(p, math.Max(0, high))
	return p - high, high, math.Min(p, err) + 8*num.Ulp*p
}

// losses are the pair as one with finitely many losses, and the same with its largest losses cut. From
// above its masses are those of a pair that dominates, and more.
func (c *clonesPair) losses(name string) [2]loss.Loss {
	if c.below {
		l := c.merged().loss(name)
		return [2]loss.Loss{l, l}
	}
	m := c.moved()
	return [2]loss.Loss{m.loss(name), m.cut().loss(name)}
}

// moved are the outcomes at the edges, from a loss of 0 on.
func (c *clonesPair) moved() half {
	all := make([]float64, len(c.edges))
	for i := range len(c.edges) - 1 {
		low, high, err := c.split(i)
		all[i] += low + err
		all[i+1] += high + err
	}
	all[len(all)-1] += out
	h := half{massErr: 64 * num.Ulp}
	for i, p := range all {
		if p > 0 {
			h.losses, h.masses = append(h.losses, c.edges[i]), append(h.masses, p*(1+16*num.Ulp))
		}
	}
	return h
}

// merged has one outcome for each cell: a curve that is below.
func (c *clonesPair) merged() half {
	h := half{massErr: 64 * num.Ulp, lossErr: 64 * num.Ulp * (1 + c.edges[len(c.edges)-1])}
	for i := range c.cells {
		p, q, less := c.cells[i].p.Value(), c.cells[i].q.Value(), c.cells[i].less.Value()
		if p == 0 {
			continue
		}
		l := -math.Log1p(-less / p)
		if less > p/2 {
			l = num.Log(p / q)
		}
		h.losses, h.masses = append(h.losses, l), append(h.masses, p)
	}
	return h
}

// half has the outcomes of a symmetric pair with a loss of 0 or more, of those with a loss of 0 half.
type half struct {
	losses, masses   []float64
	infinite         float64
	massErr, lossErr float64
}

// cut counts the largest losses, of little mass, as infinite.
func (h half) cut() half {
	n, sum := len(h.losses), 0.0
	for n > 1 && sum+h.masses[n-1] <= outOfReach/2 {
		n--
		sum += h.masses[n]
	}
	h.losses, h.masses, h.infinite = h.losses[:n], h.masses[:n], outOfReach
	return h
}

// loss has the mirror images, too.
func (h half) loss(name string) loss.Loss {
	var losses, masses []float64
	for i := len(h.losses) - 1; i >= 0; i-- {
		l, p := h.losses[i], h.masses[i]
		if l > 0 {
			losses, masses = append(losses, -l), append(masses, p*math.Exp(-l)*(1+16*num.Ulp*(1+l)))
		}
	}
	for i, l := range h.losses {
		p := h.masses[i]
		if l == 0 {
			p *= 2
		}
		losses, masses = append(losses, l), append(masses, p)
	}
	var sum num.Sum // of masses that were raised
	for _, p := range masses {
		sum.Add(p)
	}
	massErr := math.Max(h.massErr, 2*(sum.Value()-1))
	return declared.Computed(name, losses, masses, h.infinite, h.infinite, massErr, h.lossErr)
}
