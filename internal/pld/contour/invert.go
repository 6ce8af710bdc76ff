// SPDX-License-Identifier: Apache-2.0

package contour

import (
	"math"

	"github.com/dpaccountant/accountant/internal/loss"
)

const (
	invertTolerance = 1e-12 // of ε, relative
	invertSteps     = 80
)

// epsilon encloses the least ε ≥ 0 with δ(ε) ≤ δ, for ln δ in [down, up]. The
// curve falls strictly where it is neither 0 nor 1, so that δ(e) ≤ δ at an e
// proves ε ≤ e, and δ(e) ≥ δ proves ε ≥ e: only the bounds at the two ends count,
// not how they were found (docs/math/inversion.md §2.6).
func (c *inversion) epsilon(down, up, start float64) loss.Bounds {
	zero, _ := c.logDelta(0)
	if zero.Upper <= down {
		return loss.Bounds{}
	}
	b := loss.Bounds{Lower: 0, Upper: c.maxLoss}
	above, ok := nearest(start, 1, func(e float64) (float64, float64) {
		at, fall := c.logDelta(e)
		return at.Upper - down, fall
	})
	if ok {
		b.Upper = math.Min(b.Upper, above)
		start = above
	}
	if below, ok := nearest(start, -1, func(e float64) (float64, float64) {
		at, fall := c.logDelta(e)
		return up - at.Lower, fall
	}); ok {
		b.Lower = below
	}
	return b
}

// nearest looks for the ε ≥ 0 where f turns from > 0 to ≤ 0 in the direction of
// side, and returns one at which f ≤ 0 was computed, as near to the turn as
// invertTolerance if f is as smooth as it should be. f returns its value and
// about how fast it falls in that direction; a NaN counts as > 0.
func nearest(start, side float64, f func(e float64) (value, fall float64)) (e float64, ok bool) {
	e = math.Max(0, start)
	var good, bad float64
	var hasGood, hasBad bool
	leap := math.Max(1e-6, 1e-3*e)
	for range invertSteps {
		v, fall := f(e)
		if v <= 0 {
			good, hasGood = e, true
		} else {
			bad, hasBad = e, true
		}
		pad := invertTolerance * math.Max(e, 1e-3)
		if hasGood && (hasBad && math.Abs(good-bad) <= pad || v <= 0 && (math.Abs(v/fall) <= pad || e == 0)) {
			return good, true
		}
		next := e + side*(v/fall+pad/2)
		inside := (!hasGood || (next-good)*side < 0) && (!hasBad || (next-bad)*side > 0)
		switch {
		case hasGood && hasBad && !(inside && fall > 0):
			next = good + (bad-good)/2
		case !(fall > 0) || !inside || math.IsInf(next, 0) || math.IsNaN(next):
			next = e - side*leap
			if v > 0 || math.IsNaN(v) {
				next = e + side*leap
			}
			leap *= 2
		}
		if next < 0 {
			if e == 0 {
				break
			}
			next = 0
		}
		e = next
	}
	return good, hasGood
}
