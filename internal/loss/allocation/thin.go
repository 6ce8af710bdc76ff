// SPDX-License-Identifier: Apache-2.0

package allocation

import "math"

// thinner takes outcomes of b together where they are added to outcomes of a that are next to each other, as far
// as that shows little in the sum. Given an outcome of a, the law of b may be any that is above it in convex order,
// or below it (docs/math/allocation.md §1.11.2).
type thinner struct {
	a, b  law
	g     grid
	above bool // the laws are

	scaleA, scaleB  []float64 // the places of the outcomes
	spacing, widths []float64 // 2·ln of the distances of b's outcomes and of the cells' widths
	out             law       // room for what is returned
}

// mostThinned is how many outcomes are taken together at most, and thinningErr bounds the relative errors of their
// masses and means, in units of rounding.
const mostThinned, thinningErr = 64, 2*mostThinned + 16

// thinning is what part of a cell's width the distance of outcomes may have that add all of the cell's mass.
const thinning = 0.2

// mostFall is how far ln of masses may fall among sums with outcomes that are taken together.
const mostFall = 1

// thinnings are the logarithms of the ratios from which 2, 4, … outcomes are taken together.
var thinnings = func() (logs []float64) {
	for n := 2; n <= mostThinned; n *= 2 {
		logs = append(logs, 2*math.Log(float64(n)/thinning))
	}
	return logs
}()

func newThinner(a, b law, g grid, above bool) *thinner {
	t := &thinner{a: a, b: b, g: g, above: above, scaleA: a.scale(), scaleB: b.scale()}
	for j := range b.at {
		next := min(j+1, len(b.at)-1)
		t.spacing = append(t.spacing, 2*math.Log(b.at[next]-b.at[max(0, next-1)]))
	}
	for k := range len(g.edges) + 1 { // beyond the outer edges as next to them
		k = max(1, min(k, len(g.edges)-1))
		t.widths = append(t.widths, 2*math.Log(g.edges[k]-g.edges[k-1]))
	}
	return t
}

// ratio is ln of how much larger the square of a cell's width is than that of the distance of b's outcomes at j, if
// outcomes add only a part e^(−(u²+v²−w²)/2) of the cell's mass, u, v and w being the places of both and of the sum
// on the normal scale. k is the cell.
func (t *thinner) ratio(u float64, j, k int) float64 {
	w := t.g.scale[min(k, len(t.g.scale)-1)]
	return t.widths[k] - t.spacing[j] + (u*u+t.scaleB[j]*t.scaleB[j]-w*w)/2
}

// cell is the cell of the sum of x and b's outcome at j, from the cell k on.
func (t *thinner) cell(x float64, j, k int) int {
	for k < len(t.g.edges) && t.g.edges[k] < x+t.b.at[j] {
		k++
	}
	return k
}

// size is how many of b's outcomes from j on are taken together, for sums with a's at x, in the cell k and beyond.
func (t *thinner) size(x, u float64, j, k int) int {
	n := 0
	for r := t.ratio(u, j, k); n < len(thinnings) && r >= thinnings[n]; n++ {
	}
	if t.b.at[j] == 0 { // nothing is moved to 0
		n = 0
	}
	for ; n > 0; n-- {
		next := j + 1<<n
		if next >= len(t.b.at) {
			continue
		}
		end, last := t.cell(x, next, k), len(t.g.scale)-1
		v, w := t.g.scale[min(k, last)], t.g.scale[min(end, last)]
		if t.ratio(u, next, end) >= thinnings[n-1] && (w-v)*math.Max(math.Abs(v), math.Abs(w)) < mostFall {
			break
		}
	}
	return 1 << n
}

// alike reports whether outcomes of a are near enough to each other that the same outcomes of b can be taken together.
func (t *thinner) alike(i, j int) bool {
	return t.scaleA[j]-t.scaleA[i] <= 2*block*normalWidth && t.a.at[j] <= t.a.at[i]*math.Exp(2*block*logWidth)
}

// thinned is the law of b from an outcome on, for sums with outcomes of a around the one at i.
func (t *thinner) thinned(i, from int) law {
	x, u, k, carried := t.a.at[i], t.scaleA[i], 0, 0.0
	out := law{at: t.out.at[:0], mass: t.out.mass[:0]}
	for j := from; j < len(t.b.at); {
		k = t.cell(x, j, k)
		end := j + t.size(x, u, j, k)
		at, mass := t.b.at[j], t.b.mass[j]
		switch {
		case t.above: // those between are moved to both ends
			mass += carried
			carried = 0
			for i := j + 1; i < end; i++ {
				upper := math.Min(t.b.mass[i], t.b.mass[i]*((t.b.at[i]-at)/(t.b.at[end]-at)))
				mass += t.b.mass[i] - upper
				carried += upper
			}
		case end > j+1: // they are gathered at their mean
			moment := mass * at
			for i := j + 1; i < end; i++ {
				mass += t.b.mass[i]
				moment += t.b.mass[i] * t.b.at[i]
			}
			at = moment / mass
		}
		out.at, out.mass = append(out.at, at), append(out.mass, mass)
		j = end
	}
	t.out = out
	return out
}
