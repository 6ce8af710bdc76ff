// SPDX-License-Identifier: Apache-2.0

package num

import "math"

// middle returns the float64 halfway between lo and hi in the order of floats,
// 0 ≤ lo ≤ hi: bisection with it ends after 64 steps however far apart they are.
func middle(lo, hi float64) float64 {
	a, b := math.Float64bits(lo+0), math.Float64bits(hi) // +0: no −0
	return math.Float64frombits(a + (b-a)/2)
}

// Crossing encloses the point where an increasing function changes sign. It
// takes f(lo) < 0 ≤ f(hi) for granted, 0 ≤ lo < hi, and starts at start.
//
// f returns its value and, where it is known, its slope (otherwise 0 or NaN):
// Newton steps, safeguarded by bisection. Of the result f(below) < 0 and
// f(above) ≥ 0 were computed, unless they are still lo and hi; a NaN counts as
// < 0. It stops once above − below ≤ tolerance·above, at neighbouring floats,
// or after steps evaluations.
func Crossing(f func(x float64) (value, slope float64), lo, hi, start, tolerance float64,
	steps int) (below, above float64) {
	below, above = lo, hi
	x := start
	last := hi - lo // width two evaluations ago, to notice slow Newton steps
	for i := range steps {
		if above-below <= tolerance*above || Up(below) >= above {
			break
		}
		if !(x > below && x < above) {
			x = middle(below, above)
		}
		v, slope := f(x)
		if v >= 0 {
			above = x
		} else {
			below = x
		}
		if i%3 == 2 { // three evaluations must halve the bracket
			if above-below > last/2 {
				x = middle(below, above)
				last = above - below
				continue
			}
			last = above - below
		}
		next := x - v/slope
		// Near convergence step across, so that the bracket closes from both sides.
		if pad := tolerance * x / 4; math.Abs(next-x) < pad {
			if v >= 0 {
				next = math.Min(x-pad, Down(x))
			} else {
				next = math.Max(x+pad, Up(x))
			}
		}
		if math.IsNaN(next) || math.IsInf(next, 0) {
			next = middle(below, above)
		}
		x = next
	}
	return below, above
}
