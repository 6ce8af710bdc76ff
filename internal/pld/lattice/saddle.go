// SPDX-License-Identifier: Apache-2.0

package lattice

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/num"
)

// term is a loss's pairs for both sides and how often it was incurred.
type term struct {
	upper, lower loss.Pair
	count        float64

	// rough are some hundred outcomes by increasing loss, and above the mass from
	// each on: they steer, nothing is proven with them. Of the last, what is too
	// rare to matter is not used.
	rough    []loss.Mass
	above    []float64
	used     int
	discrete bool      // there are only atoms
	thinned  bool      // rough has several of them as one
	atomic   bool      // and few distances between them
	spans    []float64 // these distances
	price    float64   // of a cell, against that of one normal distribution
}

// cellPrice weighs the work of a cell by the parts of a mixture.
func cellPrice(p loss.Pair) float64 { return 1 + float64(loss.PartsOf(p)-1)/partsPerPrice }

// newTerm looks the pair over, in at most that many cells, which widen
// away from the anchor, and atoms. See docs/math/noise.md §1.4.9.
func newTerm(upper, lower loss.Pair, count float64, most int, in *num.Interrupt) term {
	t := term{upper: upper, lower: lower, count: count, price: cellPrice(upper)}
	lo, hi := upper.Ends(-80-math.Log(count), deepest-20-math.Log(count))
	anchor := upper.Anchor()
	reach := math.Max(anchor-lo, hi-anchor)
	edges := []float64{math.Inf(-1), lo, anchor, hi, math.Inf(1)}
	for i := range most / 4 {
		d := reach * math.Exp2(-octaves*float64(i)/float64(most/4))
		edges = append(edges, anchor-d, anchor+d)
	}
	atoms := upper.Atoms()
	// Not the first: all of Q that is far from P may be in it, and its loss far away.
	t.discrete = true
	cells := roughCells(upper, edges, most, in)
	for i, c := range cells {
		if !math.IsInf(c.LogP, -1) {
			t.discrete = false
			if i > 0 {
				t.rough = append(t.rough, c)
			}
		}
	}
	if len(t.rough) == 0 && !t.discrete { // all of P is at one float64
		t.rough = append(t.rough, cells[0])
	}
	t.atomic = t.discrete
	t.rough = append(t.rough, thinned(atoms, anchor, most)...)
	t.thinned = len(atoms) > most
	slices.SortFunc(t.rough, func(a, b loss.Mass) int { return cmp.Compare(a.Loss, b.Loss) })
	t.above = make([]float64, len(t.rough))
	sum := math.Inf(-1)
	for i := len(t.rough) - 1; i >= 0; i-- {
		sum = num.LogAddExp(sum, t.rough[i].LogP)
		t.above[i] = sum
	}
	t.used = len(t.rough)
	for i := 1; i < len(atoms); i++ {
		d := atoms[i].Loss - atoms[i-1].Loss
		same := func(s float64) bool { return math.Abs(s-d) <= 1e-12*d }
		if d > 0 && !slices.ContainsFunc(t.spans, same) {
			t.spans = append(t.spans, d)
		}
		if len(t.spans) > 3 { // as good as none
			t.spans, t.atomic = nil, false
			break
		}
	}
	// Losses on a lattice of their own are as few atoms, if that is not too fine.
	if s := loss.SpanOf(upper); s > 0 {
		t.spans, t.atomic = nil, false
		if (hi-lo)/s < maxCells/4 {
			t.spans, t.atomic = []float64{s}, true
		}
	}
	return t
}

// octaves are how much nearer the least rough outcomes are to the anchor than the farthest.
const octaves = 26

// thinned merges neighbouring atoms so that about that many are left, closer to each other near the anchor:
// where few of them are far away, a hundredth of what they span may hold nearly all of P.
func thinned(atoms []loss.Mass, anchor float64, most int) []loss.Mass {
	if len(atoms) <= most {
		return atoms
	}
	first, last := atoms[0].Loss, atoms[len(atoms)-1].Loss
	reach, widening := math.Max(anchor-first, last-anchor), math.Exp2(4*octaves/float64(most))-1
	width := func(at float64) float64 {
		return math.Min((last-first)/float64(most), math.Max(reach*math.Exp2(-octaves), widening*math.Abs(at-anchor)))
	}
	var few []loss.Mass
	var p, q num.LogSum
	start := atoms[0].Loss
	for i, a := range atoms {
		p.Add(a.LogP)
		q.Add(a.LogP - a.Loss)
		if i+1 == len(atoms) || atoms[i+1].Loss > start+width(start) {
			few = append(few, loss.Mass{LogP: p.Log(), Loss: p.Log() - q.Log()})
			p, q = num.LogSum{}, num.LogSum{}
			if i+1 < len(atoms) {
				start = atoms[i+1].Loss
			}
		}
	}
	return few
}

// roughCells are the cells between edges, split where a tail falls steeply, down
// to what a float64 can tell apart: an end where the density piles up counts too.
func roughCells(p loss.Pair, edges []float64, most int, in *num.Interrupt) []loss.Mass {
	const steep = 4 // in ln of the mass beyond
	slices.Sort(edges)
	edges = slices.Compact(edges)
	cells := make([]loss.Mass, len(edges)-1)
	fillCells(p, edges, cells, in)
	above := make([]float64, most+1)
	separable := loss.Separable(p)
	for round := 0; ; round++ {
		var below float64
		above[len(cells)] = math.Inf(-1)
		for i := len(cells) - 1; i >= 0; i-- {
			above[i] = num.LogAddExp(above[i+1], cells[i].LogP)
		}
		nextEdges, next := edges[:1:1], []loss.Mass(nil)
		below = math.Inf(-1)
		for i, c := range cells {
			a, b := edges[i], edges[i+1]
			with := num.LogAddExp(below, c.LogP)
			mid := a + (b-a)/2
			split := c.LogP > deepest && mid > a && mid < b && i > 0 && i+1 < len(cells) &&
				len(cells)+len(next)-i < most-1 &&
				(above[i]-above[i+1] > steep || with-below > steep && below > -80)
			if below = with; split {
				var halves [2]loss.Mass
				if separable {
					fillCells(p, []float64{a, mid, b}, halves[:], in)
				}
				nextEdges, next = append(nextEdges, mid, b), append(next, halves[:]...)
				continue
			}
			nextEdges, next = append(nextEdges, b), append(next, c)
		}
		if len(next) == len(cells) {
			return cells
		}
		if edges, cells = nextEdges, next; separable {
			continue
		}
		// Halves by themselves need not have what the whole had: an outcome at an edge is
		// on one side of it in one grid and on the other side in the next.
		fillCells(p, edges, cells, in)
		if round == mostRefilled {
			return cells
		}
	}
}

// mostRefilled bounds how often all cells are split and filled anew.
const mostRefilled = 7

// fillCells is p.Cells that in interrupts: some cells at a time, where each depends on its
// own edges only.
func fillCells(p loss.Pair, edges []float64, cells []loss.Mass, in *num.Interrupt) (slack float64) {
	some, work := 64, int(cellWork*cellPrice(p))
	if in == nil || !loss.Separable(p) {
		some = len(cells)
	}
	for i := 0; i < len(cells); i += some {
		n := min(some, len(cells)-i)
		in.Spend(n * work)
		slack = math.Max(slack, p.Cells(edges[i:i+n+1], cells[i:i+n]))
	}
	return slack
}

// ignore leaves out of cumulant what has mass e^{logAbove} at most.
func (t *term) ignore(logAbove float64) {
	t.used = sort.Search(len(t.above), func(i int) bool { return t.above[i] <= logAbove })
	t.used = max(1, min(t.used+1, len(t.rough)))
}

// cumulant is about K(θ), K'(θ) and K”(θ) of one release's finite losses, not
// normalised.
func (t *term) cumulant(theta float64) (k, mean, variance float64) {
	shift, center := math.Inf(-1), 0.0
	rough := t.rough[:t.used]
	for _, m := range rough {
		if v := m.LogP + theta*m.Loss; v > shift {
			shift, center = v, m.Loss
		}
	}
	var sum, first, second float64
	for _, m := range rough {
		v := m.LogP + theta*m.Loss - shift
		if v < -40 {
			continue
		}
		w, d := math.Exp(v), m.Loss-center
		sum += w
		first += w * d
		second += w * d * d
	}
	mean = first / sum
	return shift + math.Log(sum), center + mean, math.Max(0, second/sum-mean*mean)
}

// cumulant sums the terms'.
func (p *problem) cumulant(theta float64) (k, mean, variance float64) {
	for i := range p.terms {
		t := &p.terms[i]
		p.in.Spend(20 * t.used)
		a, b, c := t.cumulant(theta)
		k += t.count * a
		mean += t.count * b
		variance += t.count * c
	}
	return k, mean, variance
}

// saddle is a tilt with about the point (ε, ln δ) of the curve's finite
// part it serves best; below 0, with ln(1 − δ) in its place.
type saddle struct {
	theta, epsilon, log float64
	spread              float64 // standard deviation of the tilted sum of losses
}

// saddle is the saddle point of K(θ) − θε − ln|θ| − ln(1+θ) and Laplace's estimate
// there.
func (p *problem) saddle(theta float64) saddle {
	k, mean, variance := p.cumulant(theta)
	epsilon := mean - 1/theta - 1/(1+theta)
	curvature := variance + 1/(theta*theta) + 1/((1+theta)*(1+theta))
	log := k - theta*epsilon - math.Log(math.Abs(theta)) - math.Log1p(theta) - math.Log(2*math.Pi*curvature)/2
	return saddle{theta, epsilon, log, math.Sqrt(variance)}
}

// Tilts to search; beyond, nothing is lost but time.
const leastTilt, mostTilt = 1e-9, 1e15

// direct finds the tilt θ > 0 where rises passes 0.
func (p *problem) direct(rises func(saddle) float64, most float64) saddle {
	_, theta := num.Crossing(func(theta float64) (float64, float64) {
		return rises(p.saddle(theta)), 0
	}, leastTilt, most, 1, 1e-3, 60)
	return p.saddle(theta)
}

// complement finds the tilt −1 < θ < 0 where rises passes 0. It searches −θ/(1+θ),
// in which saddles run backwards.
func (p *problem) complement(rises func(saddle) float64) saddle {
	tilt := func(v float64) float64 { return -v / (1 + v) }
	_, v := num.Crossing(func(v float64) (float64, float64) {
		return -rises(p.saddle(tilt(v))), 0
	}, leastTilt, 1e9, 1, 1e-3, 60)
	return p.saddle(tilt(v))
}

// nearCertain is the δ above which 1 − δ is computed.
const nearCertain = 0.85

// ignored is ln of the share of δ that tails may have which do not matter.
const ignored = 11

// ignore leaves out of cumulant the tails that do not matter where ln δ is log:
// of what is left, a heavy tail needs a much larger tilt, and a shorter period.
// The sum of what is left still passes epsilon, if it can.
func (p *problem) ignore(log, epsilon float64) {
	for each := log - math.Log(p.releases) - ignored; ; each += math.Min(-10, each/4) {
		var most float64
		all := true
		for i := range p.terms {
			t := &p.terms[i]
			t.ignore(each)
			most += t.count * t.rough[t.used-1].Loss
			all = all && t.used == len(t.rough)
		}
		if most > epsilon || all {
			return
		}
	}
}

// saddleAt is the saddle for an ε where ln δ is about log; where that is not
// known, −Inf, it is found: tails that matter less than δ are left out, so that what is
// left out depends on the answer. With too much of a heavy tail the saddle overestimates
// δ by far, and with too little it underestimates δ: ln δ is between.
func (p *problem) saddleAt(epsilon, log float64) saddle {
	known := !math.IsInf(log, -1)
	low, high := math.Inf(-1), 0.0
	for try := 0; ; try++ {
		p.ignore(log, epsilon)
		s := p.direct(func(s saddle) float64 { return s.epsilon - epsilon }, mostTilt)
		switch {
		case s.log >= math.Log(nearCertain):
			p.ignore(math.Inf(-1), epsilon)
			return p.complement(func(s saddle) float64 { return s.epsilon - epsilon })
		case known:
			s.log = log
			return s
		case !(math.Abs(s.log-log) >= 1) || try == mostTries: // or beyond floating point
			return s
		case s.log > log:
			low = log
		default:
			high = log
		}
		if log = s.log; !(log > low && log < high) {
			log = low + (high-low)/2
		}
		known = high-low < 1
	}
}

// mostTries bounds the search of saddleAt.
const mostTries = 16

// saddleFor is the saddle for a δ of the finite part, or for ε = 0 where that is
// enough. Where the curve is steep θ need not be above most.
func (p *problem) saddleFor(logDelta, most float64) saddle {
	p.ignore(logDelta, 0)
	if logDelta >= math.Log(nearCertain) {
		p.ignore(math.Inf(-1), 0)
		rest := math.Log(-math.Expm1(logDelta))
		s := p.complement(func(s saddle) float64 { return s.log - rest })
		if s.epsilon < 0 {
			return p.saddleAt(0, math.Inf(-1))
		}
		s.log = rest
		return s
	}
	s := p.direct(func(s saddle) float64 { return logDelta - s.log }, most)
	switch {
	case !(s.epsilon >= 0):
		return p.saddleAt(0, math.Inf(-1))
	case s.theta < 0.99*most:
		s.log = logDelta
	}
	return s
}
