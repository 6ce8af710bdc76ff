// SPDX-License-Identifier: Apache-2.0

package allocation

import (
	"math"

	"github.com/dpaccountant/accountant/internal/num"
)

// cells are the outcomes of a number, gathered between edges: those up to the first edge, then
// those above each edge and up to the next, and those above the last (docs/math/allocation.md
// §1.11.2).
type cells struct {
	edges        []float64
	mass, moment []float64 // of each cell: P(cell) and E[s; cell]
	lost         float64

	// massErr and momentErr bound the relative errors of mass and moment, and atErr those of
	// the outcomes.
	massErr, momentErr, atErr float64
}

// addWork is about what it takes to add one pair of outcomes, in picoseconds. block is the number of rows with the
// same outcomes of the other law at most, and turn the number of those whose sums are added up before they join
// the others.
const addWork, block, turn = 3000, 64, 16

// thinWork is about what it takes to look at one outcome of the other law for a block, in nanoseconds.
const thinWork = 10

// added has all sums of an outcome of a and one of b, with the errors of docs/math/allocation.md
// §1.11.3. Both are laws from above, or both from below.
func added(a, b law, g grid, above bool, in *num.Interrupt) cells {
	n := len(g.edges)
	same := len(a.at) == len(b.at) && &a.at[0] == &b.at[0]
	total, part := make(sums, n+1), make(sums, n+1)
	other, places, turns := newThinner(a, b, g, above), newPlaces(g.edges), 0
	for start, end := 0, 0; start < len(a.at); start = end {
		from := 0
		for end = start + 1; end < min(start+block, len(a.at)) && other.alike(start, end); {
			end++
		}
		if same {
			from = end
		}
		in.Spend(len(b.at) * thinWork)
		thin := other.thinned((start+end)/2, from)
		for i := start; i < end; i++ {
			x, w := a.at[i], a.mass[i]
			in.Spend((len(thin.at)+block)*addWork/1000 + 1)
			if same { // an outcome with itself comes once, every other sum twice
				part.row(x, w, law{at: b.at[i : i+1], mass: b.mass[i : i+1]}, places)
				w *= 2
				part.row(x, w, law{at: b.at[i+1 : end], mass: b.mass[i+1 : end]}, places)
			}
			part.row(x, w, thin, places)
			if (i-start)%turn == turn-1 || i == end-1 {
				total.take(part)
				turns++
			}
		}
	}
	c := cells{
		edges: g.edges, lost: num.AddUp(a.lost, b.lost), atErr: math.Max(a.atErr, b.atErr) + 2*thinningErr*num.Ulp,
	}
	most := 0
	for _, s := range total {
		c.mass, c.moment, most = append(c.mass, s.mass), append(c.moment, s.moment), max(most, s.terms)
	}
	rounding := num.Ulp * float64(most+places.below+turns+thinningErr)
	c.massErr = together(together(a.massErr, b.massErr), rounding)
	c.momentErr = rounding // beside that of the masses
	return c
}

// together is (1 + a)(1 + b) − 1, rounded up.
func together(a, b float64) float64 { return num.UpUlps(a+b+a*b, 4) }

// sums are the masses and moments of cells, and how many terms were added up in turn.
type sums []struct {
	mass, moment float64
	terms        int
}

// take adds part, and empties it.
func (s sums) take(part sums) {
	for k, p := range part {
		s[k].mass += p.mass
		s[k].moment += p.moment
		s[k].terms = max(s[k].terms, p.terms)
	}
	clear(part)
}

// row adds x to the outcomes of b, with the weight w. Those below all edges are added up first, as they are many.
func (s sums) row(x, w float64, b law, p *places) {
	edges, first, shift, lowest := p.edges, p.first, p.shift, p.lowest
	at, mass, n := b.at, b.mass[:len(b.at)], 0
	c := &s[0]
	var below, moment float64
	for ; n < len(at) && x+at[n] <= edges[0]; n++ {
		m := w * mass[n]
		below += m
		moment += m * (x + at[n])
	}
	c.mass += below
	c.moment += moment
	c.terms++
	p.below = max(p.below, n)
	at, mass = at[n:], mass[n:]
	end := len(at)
	for last := edges[len(edges)-2]; end > 0 && x+at[end-1] > last; end-- { // few are beyond the last edge
		m := w * mass[end-1]
		c = &s[len(s)-1]
		c.mass += m
		c.moment += m * (x + at[end-1])
		c.terms++
	}
	at, mass = at[:end], mass[:end]
	for j, y := range at {
		v := x + y
		k := int(first[int64(math.Float64bits(v)>>shift)-lowest])
		for edges[k] < v {
			k++
		}
		m := w * mass[j]
		c = &s[k]
		c.mass += m
		c.moment += m * v
		c.terms++
	}
}

// places find the cells of numbers by their first bits, which rise with them.
type places struct {
	edges  []float64 // and one at +∞
	first  []uint16  // the first cell that a number with these bits may be in
	shift  uint
	lowest int64 // the first bits of the lowest edge
	below  int   // how many numbers of a row were below all edges at most
}

// mostPlaces bounds how many there are.
const mostPlaces = 1 << 15

func newPlaces(edges []float64) *places {
	bits := func(v float64) int64 { return int64(math.Float64bits(v)) }
	low, high := bits(edges[0]), bits(edges[len(edges)-1])
	p := &places{edges: append(append([]float64(nil), edges...), math.Inf(1))}
	for high>>p.shift-low>>p.shift >= mostPlaces {
		p.shift++
	}
	p.lowest = low >> p.shift
	p.first = make([]uint16, high>>p.shift-p.lowest+1) // the first has all numbers below, the last all above
	for k, place := 0, 1; place < len(p.first); place++ {
		from := math.Float64frombits(uint64(p.lowest+int64(place)) << p.shift)
		for k < len(edges) && edges[k] < from {
			k++
		}
		p.first[place] = uint16(k)
	}
	return p
}

// gathered puts every cell at its mean: a law that is below in convex order.
func (c cells) gathered() law {
	l := law{massErr: c.massErr, atErr: num.Up(c.atErr + 2*c.momentErr + 2*num.Ulp)}
	for k, m := range c.mass {
		if m > 0 {
			l.at, l.mass = append(l.at, c.moment[k]/m), append(l.mass, m)
		}
	}
	return l
}

// spread puts every cell on the two edges around it, or on 0 and the first edge, so that its
// mean stays: a law that is above in convex order. What is above the last edge goes there,
// and the rest of its expectation to +∞.
func (c cells) spread() law {
	n := len(c.edges)
	l := law{
		at: make([]float64, n+1), mass: make([]float64, n+1), lost: c.lost,
		massErr: c.massErr, atErr: num.Up(c.atErr + 2*c.momentErr + 16*num.Ulp),
	}
	copy(l.at[1:], c.edges)
	for k, m := range c.mass[:n] {
		low, high := l.at[k], l.at[k+1]
		upper := math.Max(0, math.Min(m, (c.moment[k]-m*low)/(high-low)))
		l.mass[k] += m - upper
		l.mass[k+1] += upper
	}
	l.mass[n] += c.mass[n]
	if rest := c.moment[n] - c.mass[n]*c.edges[n-1]; c.mass[n] > 0 {
		err := (c.massErr + c.momentErr + c.atErr + 8*num.Ulp) * 2 * c.moment[n]
		l.lost = num.AddUp(l.lost, math.Max(0, num.UpBy(rest, err)))
	}
	return l
}
