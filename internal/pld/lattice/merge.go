// SPDX-License-Identifier: Apache-2.0

package lattice

import (
	"math"
	"sort"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/num"
)

// lump is a set of outcomes that is merged or split as one: its loss and P's mass
// times e^{θ·loss − scale}. Equal shares of a set have the set's loss.
type lump struct {
	loss, weight float64
}

// optimistic puts a pair dominated by the task's on the grid: outcomes are
// merged, and split at random, into groups whose loss ln(p/q) is exactly a grid
// point. That is post-processing, so no rounding of losses is lost; what is left
// at the anchor may cost more, and the offset is moved until it does not.
//
// A group around x holds losses from about x − h/2 to x + h/2, which costs
// O(h²) a release.
func (t *task) optimistic(g grid) measure {
	lumps, anchor, scale, dropped, cut := t.lumps(g)
	none := measure{
		grid: g, theta: t.theta, weights: []float64{0}, scale: math.Inf(-1), moment: math.Inf(-1),
		lost: num.LogDown(t.pair.Infinite()), dropped: 1,
	}
	if len(lumps) == 0 {
		return none
	}
	best := none
	enough := g.step * g.step / 50 // against h²/12 of all other groups
	slope := -1.0                  // of the rest, with the offset
	var before, moved float64
	for try := range 8 {
		t.in.Spend(100 * len(lumps))
		m, rest, cost := t.merge(append([]lump(nil), lumps...), anchor, g)
		t.finish(&m, scale)
		if !(math.Abs(m.scale) < math.MaxFloat64) { // a step too wide for the tilt
			break
		}
		m.lost, m.dropped = num.LogDown(t.pair.Infinite()), dropped
		m.moment = num.Log(math.Exp(m.scale-scale)+cut) + scale
		if try == 0 || (m.scale > best.scale) == (t.theta > 0) {
			best = m
		}
		if cost <= enough || !(math.Abs(rest) <= g.step) {
			break
		}
		if s := (rest - before) / moved; try > 0 && s < -0.3 && s > -3 {
			slope = s
		}
		before, moved = rest, (math.Min(g.step/1000, enough*(1+t.theta)/8)-rest)/slope
		g.offset += moved
	}
	return best
}

// lumps are the pair's masses in half cells around the grid's points and its
// atoms, by increasing loss, and the index of the most likely one. Losses and
// masses are rounded down (masses up with roundUp); what lies below the first
// point is dropped, and what lies above the last, but for θ < 0 moved down to it.
// cut is the tilted mass that this leaves out, had it been moved down.
func (t *task) lumps(g grid) (lumps []lump, anchor int, scale, dropped, cut float64) {
	first := int(math.Floor((t.lo - g.offset) / g.step))
	last := max(g.below(t.hi), first) + 1
	var cells []loss.Mass
	if !t.discrete {
		n := 2*(last-first) + 2
		edges := make([]float64, n+2)
		edges[0], edges[n+1] = math.Inf(-1), math.Inf(1)
		for i := range n {
			edges[i+1] = g.point(first) + (float64(i)-1)*g.step/2
		}
		cells = make([]loss.Mass, n+1)
		fillCells(t.pair, edges, cells, t.in)
	}
	cells = append(cells, t.pair.Atoms()...)

	floor, ceiling := g.point(first), g.point(last)
	scale = math.Inf(-1)
	for _, c := range cells {
		if c.Loss >= floor {
			scale = math.Max(scale, c.LogP+t.theta*math.Min(c.Loss, ceiling))
		}
	}
	lumps = make([]lump, 0, len(cells))
	most, at := math.Inf(-1), 0.0
	for _, c := range cells {
		l := c.Loss - c.LossErr
		if math.IsInf(c.LogP, -1) {
			continue
		}
		if l < floor {
			dropped += math.Exp(c.LogP + c.LogErr)
			continue
		}
		if l > ceiling && t.theta > 0 {
			cut += math.Exp(c.LogP + t.theta*ceiling - scale)
			continue
		}
		l = math.Min(l, ceiling)
		w := math.Exp(t.rounded(c, l) - scale)
		if w == 0 {
			continue
		}
		lumps = append(lumps, lump{l, w})
		if c.LogP > most {
			most, at = c.LogP, l
		}
	}
	sort.SliceStable(lumps, func(i, j int) bool { return lumps[i].loss < lumps[j].loss })
	anchor = sort.Search(len(lumps), func(i int) bool { return lumps[i].loss >= at })
	return lumps, min(anchor, max(0, len(lumps)-1)), scale, dropped * (1 + 1e-9), cut
}

// merging is the state of one pass over the lumps.
type merging struct {
	grid
	theta   float64
	lumps   []lump
	anchor  int
	first   int
	weights []float64
}

// merge groups the lumps from both ends towards the anchor: from where P is rare
// to where it is not, a group always finds what it lacks without using up the
// next (docs/math/lattice.md §3.2). rest and cost are settle's.
func (t *task) merge(lumps []lump, anchor int, g grid) (m measure, rest, cost float64) {
	s := merging{grid: g, theta: t.theta, lumps: lumps, anchor: anchor}
	s.first = g.below(lumps[0].loss) - 1
	s.weights = make([]float64, g.below(lumps[len(lumps)-1].loss)-s.first+2)
	left := []lump{}
	if l, ok := s.upwards(); ok {
		left = append(left, l)
	}
	if l, ok := s.downwards(); ok {
		left = append(left, l)
	}
	left = append(left, s.lumps[anchor])
	rest, cost = s.settle(left)

	lo, hi := 0, len(s.weights)-1
	for lo < hi && s.weights[lo] == 0 {
		lo++
	}
	for hi > lo && s.weights[hi] == 0 {
		hi--
	}
	m = measure{grid: g, theta: t.theta, first: s.first + lo, weights: s.weights[lo : hi+1]}
	// A group's loss is exact but for the rounding of what was balanced in it, two
	// Ulp of the step for every atom among it.
	m.shift = (4 + float64(len(t.pair.Atoms()))/24) *
		g.tolerance(math.Abs(s.point(s.first))+math.Abs(s.point(s.first+hi)))
	return m, rest, cost
}

// share is a lump's part in a group at x: P's mass there and P − Q·e^x, both
// tilted to x.
func (s *merging) share(l lump, x float64) (mass, excess float64) {
	d := x - l.loss
	mass = l.weight * math.Exp(s.theta*d)
	return mass, -mass * math.Expm1(d)
}

// lumpOf is a group at x as a lump.
func (s *merging) lumpOf(x, mass, excess float64) lump {
	r := excess / mass
	d := -math.Log1p(8*num.Ulp*math.Abs(r) - r) // rounded down
	return lump{x + d, mass * math.Exp(s.theta*d)}
}

func (s *merging) add(k int, mass float64) { s.weights[k-s.first] += mass }

// leastBalanced is the least mass, of about 1, whose excess is known to full
// precision: less has underflowed, and is rounded down lump by lump.
const leastBalanced = 0x1p-960

// within is the nearest point to k that the grid has, with one above it: a loss
// beyond the last is rounded down to it.
func (s *merging) within(k int) int { return min(max(k, s.first), s.first+len(s.weights)-2) }

// upwards groups the lumps below the anchor, each group around the next point
// above its lowest lump. It returns a last group that found too little.
func (s *merging) upwards() (left lump, ok bool) {
	for i := 0; i < s.anchor; {
		l := s.lumps[i]
		if l.weight == 0 {
			i++
			continue
		}
		k := s.below(l.loss)
		low := s.point(k)
		if d := l.loss - low; d < (s.point(k+1)-l.loss)*(s.lumps[i+1].loss-l.loss)*(1+s.theta)/2 ||
			d <= s.tolerance(low) {
			// Lifting would cost more than rounding down: far from interval.Everything else.
			mass, _ := s.share(l, low)
			s.add(k, mass)
			i++
			continue
		}
		x := s.point(k + 1)
		var mass, excess float64
		for ; i < s.anchor && s.lumps[i].loss <= x; i++ {
			m, e := s.share(s.lumps[i], x)
			mass += m
			excess += e
		}
		for j := i; excess < 0; j++ {
			if j > s.anchor || s.lumps[j].loss <= x {
				return s.lumpOf(x, mass, excess), true
			}
			m, e := s.share(s.lumps[j], x)
			f := math.Min(1, -excess/e)
			mass += f * m
			excess = math.Min(0, excess+f*e)
			s.lumps[j].weight *= 1 - f
			if f < 1 {
				break
			}
		}
		s.add(k+1, mass)
	}
	return lump{}, false
}

// downwards groups the lumps above the anchor, each group around the next point
// below its highest lump.
func (s *merging) downwards() (left lump, ok bool) {
	for i := len(s.lumps) - 1; i > s.anchor; {
		l := s.lumps[i]
		if l.weight == 0 {
			i--
			continue
		}
		k := s.below(l.loss)
		x := s.point(k)
		if (l.loss-s.lumps[i-1].loss)*(1+s.theta)/2 >= 1 || l.loss-x <= s.tolerance(x) {
			mass, _ := s.share(l, x) // rounded down
			s.add(k, mass)
			i--
			continue
		}
		var mass, excess float64
		for ; i > s.anchor && s.lumps[i].loss >= x; i-- {
			m, e := s.share(s.lumps[i], x)
			mass += m
			excess += e
		}
		for j := i; excess > 0; j-- {
			if j < s.anchor || s.lumps[j].loss >= x {
				return s.lumpOf(x, mass, excess), true
			}
			m, e := s.share(s.lumps[j], x)
			f := math.Min(1, -excess/e)
			mass += f * m
			excess = math.Max(0, excess+f*e)
			s.lumps[j].weight *= 1 - f
			if f < 1 {
				break
			}
		}
		s.add(k, mass)
	}
	return lump{}, false
}

// settle merges what is left and brings it to the grid: down with what it needs
// from groups below, up with what it needs from groups above, or by rounding
// down, whichever costs least. rest is by how much it lay above the nearest
// point; cost is what bringing it there takes, in units of θ(1+θ)/2 of the tilted
// mass.
func (s *merging) settle(left []lump) (rest, cost float64) {
	k := s.below(s.lumps[s.anchor].loss)
	x := s.point(k)
	var mass, excess, total float64
	for _, l := range left {
		m, e := s.share(l, x)
		mass += m
		excess += e
	}
	for _, w := range s.weights {
		total += w
	}
	if mass < leastBalanced {
		for _, l := range left {
			k := s.within(s.below(l.loss))
			m, _ := s.share(l, s.point(k))
			s.add(k, m)
		}
		return 0, 0
	}
	all := s.lumpOf(x, mass, excess)
	k = s.within(s.below(all.loss))
	low, high := all.loss-s.point(k), s.point(k+1)-all.loss
	if rest = low; rest > high {
		rest = -high
	}
	down, below := s.neighbour(k, -1)
	up, above := s.neighbour(k+1, 1)
	down, up = down*low, up*high
	cost = math.Max(0, low) * 2 / (1 + s.theta)
	switch {
	case low <= s.tolerance(x):
		cost = 0
	case down < cost && down <= up && s.blend(all, k, below):
		cost = down
		return rest, cost * all.weight / (total + all.weight)
	case up < cost && s.blend(all, k+1, above):
		cost = up
		return rest, cost * all.weight / (total + all.weight)
	}
	mass, _ = s.share(all, s.point(k))
	s.add(k, mass)
	return rest, cost * all.weight / (total + all.weight)
}

// neighbour finds the nearest group beyond point k on one side: its distance from
// there, +Inf for none, and its index.
func (s *merging) neighbour(k, side int) (distance float64, j int) {
	for j = k - s.first + side; j >= 0 && j < len(s.weights); j += side {
		if s.weights[j] > 0 {
			return math.Abs(float64(j+s.first-k)) * s.step, j
		}
	}
	return math.Inf(1), 0
}

// blend brings l to point k with a share of the group at index j, if half of that
// is enough.
func (s *merging) blend(l lump, k, j int) bool {
	x := s.point(k)
	mass, excess := s.share(l, x)
	m, e := s.share(lump{s.point(s.first + j), s.weights[j]}, x)
	f := -excess / e
	if !(f >= 0 && f <= 0.5) {
		return false
	}
	s.weights[j] *= 1 - f
	s.add(k, mass+f*m)
	return true
}
