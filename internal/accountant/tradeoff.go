// SPDX-License-Identifier: Apache-2.0

package accountant

import (
	"math"
	"slices"

	"github.com/dpaccountant/accountant/internal/num"
)

// A test of neighbouring datasets, given the output, errs with probability α on
// the one and β on the other. Of an (ε, δ)-DP mechanism every test has
//
//	α + e^ε·β ≥ 1 − δ  and  e^ε·α + β ≥ 1 − δ
//
// (Wasserman–Zhou 2010, arXiv 0811.2501, Thm 2.4; Kairouz–Oh–Viswanath 2015,
// arXiv 1311.0776, Thm 2.1). A privacy curve that covers both directions
// therefore proves
//
//	β(α) = sup over ε ≥ 0 of max{0, 1 − δ(ε) − e^ε·α, e^{−ε}·(1 − δ(ε) − α)}
//
// and nothing more (Dong–Roth–Su 2022, arXiv 1905.02383v3, §2: the trade-off
// function is the supremum of these lines). With upper bounds on δ, at any
// finite set of ε, each line holds, and so does their maximum: β.
//
// For β from above, with x = e^ε: δ is convex in x (a supremum of lines
// P(S) − x·Q(S)), decreases, and is 1 at x = 0. So between two ε it lies above
// the straight lines through known points on either side, an upper bound at the
// far point and a lower bound at the near one. Both expressions are largest at
// a corner of that broken line (each is monotone in x along a straight piece).

// TradeOffPoint is what a test of neighbouring datasets can reach at best: with
// a type I error of Alpha its type II error is at least Beta, whichever of the
// datasets is which. The true curve δ(ε) proves no β above BetaUpper.
type TradeOffPoint struct {
	Alpha, Beta, BetaUpper float64
}

// side is a point of the (e^ε, 1 − δ) plane, the two lines of one ε.
type side struct {
	ratio float64 // e^ε ≥ 1, maybe +Inf
	rest  float64 // 1 − δ ≥ 0
}

// test fills in all but the points, from the points by increasing ε; the first has ε = 0. The advantage is bounded by
// that one and the ones at telling alone, so that it is the same whichever ε somebody asks for.
func (out *Curve) test(points []CurvePoint, alphas, telling []float64) {
	proven := provenSides(points)
	out.Advantage = 1
	for i, p := range points {
		// 1 − 2·(1 − δ)/(1 + e^ε): both errors equal in the lines of ε.
		if p.Epsilon == 0 || slices.Contains(telling, p.Epsilon) {
			out.Advantage = min(out.Advantage, equalAdvantage(p))
		}
		if s := proven[i]; !math.IsInf(s.ratio, 1) {
			out.EqualError = math.Max(out.EqualError, num.Down(s.rest/num.Up(1+s.ratio)))
		}
	}
	out.EqualError = math.Max(out.EqualError, math.Max(0, num.Down((1-out.Advantage)/2)))
	if d := points[0].DeltaLower; d != nil {
		out.AdvantageLower = *d
	}
	out.EqualErrorUpper = math.Min(0.5, num.Up(num.Up(1-out.AdvantageLower)/2))

	if len(alphas) == 0 {
		alphas = corners(proven, out.EqualError)
	}
	out.TradeOff = tradeOff(points, alphas)
}

// tradeOff is the trade-off at the α, from points as test has them.
func tradeOff(points []CurvePoint, alphas []float64) []TradeOffPoint {
	out := make([]TradeOffPoint, len(alphas))
	if len(alphas) == 0 {
		return out
	}
	proven, possible := provenSides(points), possibleSides(points)
	for i, alpha := range alphas {
		out[i] = TradeOffPoint{alpha, provenBeta(proven, alpha), possibleBeta(possible, alpha)}
	}
	return out
}

// equalAdvantage is (e^ε − 1 + 2δ)/(e^ε + 1), rounded up: tanh(ε/2) for δ = 0.
func equalAdvantage(p CurvePoint) float64 {
	if p.Epsilon == 0 {
		return p.Delta
	}
	if p.Epsilon > 700 {
		return 1
	}
	above := num.AddUp(num.Expm1Up(p.Epsilon), 2*p.Delta)
	return math.Min(1, num.Up(above/num.Down(1+num.ExpDown(p.Epsilon))))
}

// provenSides has the lines that upper bounds on δ prove: e^ε rounded up, 1 − δ
// down, from δ or its logarithm, whichever leaves more.
func provenSides(points []CurvePoint) []side {
	out := make([]side, len(points))
	for i, p := range points {
		rest := math.Max(num.Down(1-p.Delta), -num.Expm1Up(p.LogDelta))
		if p.Delta == 0 {
			rest = 1
		}
		out[i] = side{num.ExpUp(p.Epsilon), math.Max(0, rest)}
	}
	return out
}

// provenBeta is β(α) from below. Rounding moves no line by as much as it is lowered here, which depends on the line
// alone: so the result falls with α, as each line does. See docs/math/conversions.md §4.7.
func provenBeta(sides []side, alpha float64) float64 {
	best := 0.0
	for _, s := range sides {
		if alpha == 0 { // e^ε may be +Inf
			best = max(best, s.rest)
			continue
		}
		rest := s.rest * (1 - 4*num.Ulp)
		best = max(best, rest-s.ratio*alpha, (rest-alpha)/s.ratio)
	}
	if alpha > 0 {
		best = max(0, num.Down(best)) // what is rounded below the smallest normal number
	}
	return best
}

// slack covers that a point's x is e^ε rounded (the slope of δ is at least
// −1/x, so δ moves by at most 2⁻⁵¹) and the rounding of a few operations on
// numbers that are at most 2.
const slack = 16 * num.Ulp

// possibleSides has the corners of a broken line that lies nowhere above the
// true δ(x). See docs/math/conversions.md §4.7.1.
func possibleSides(points []CurvePoint) []side {
	// lower and upper at x, in ε's order, with δ(0) = 1 before them.
	xs, low, high := []float64{0}, []float64{1}, []float64{1}
	for _, p := range points {
		x := math.Exp(p.Epsilon)
		if math.IsInf(x, 1) { // covered by the last piece
			break
		}
		if x == xs[len(xs)-1] { // as good as the same ε
			continue
		}
		l := 0.0
		if p.DeltaLower != nil {
			l = *p.DeltaLower
		}
		xs, low, high = append(xs, x), append(low, math.Max(0, l-slack)), append(high, math.Min(1, p.Delta+slack))
	}
	// By convexity a line through an upper bound and a lower one further on goes on below
	// the curve: from the left it falls by falls[i] at most, from the right it rises by
	// rises[i] at least. Where a lower bound is poor, lines from further away are above it.
	falls, rises := make([]float64, len(xs)), make([]float64, len(xs))
	left := func(i int, x float64) float64 { return low[i] - falls[i]*(x-xs[i]) - slack*(1+falls[i]*(x-xs[i])) }
	right := func(i int, x float64) float64 { return low[i] + rises[i]*(xs[i]-x) - slack*(1+rises[i]*(xs[i]-x)) }
	for i := 1; i < len(xs); i++ {
		if i > 1 {
			low[i] = math.Max(low[i], left(i-1, xs[i]))
		}
		falls[i] = math.Inf(1)
		for j := range i {
			falls[i] = math.Min(falls[i], math.Max(0, high[j]-low[i])/(xs[i]-xs[j]))
		}
	}
	for i := len(xs) - 1; i >= 1; i-- {
		if i+1 < len(xs) {
			low[i] = math.Max(low[i], right(i+1, xs[i]))
		}
		for j := i + 1; j < len(xs); j++ {
			rises[i] = math.Max(rises[i], (low[i]-high[j])/(xs[j]-xs[i]))
		}
	}
	var out []side
	corner := func(x, delta float64) { out = append(out, side{x, num.Up(1 - delta)}) }
	for i := 1; i < len(xs); i++ {
		corner(xs[i], low[i])
		fall := falls[i]
		if i+1 == len(xs) {
			// Beyond the last ε only δ ≥ 0 is known besides.
			if end := xs[i] + low[i]/fall; fall > 0 && !math.IsInf(end, 1) {
				corner(end, left(i, end))
				corner(end, 0)
			} else {
				corner(xs[i], 0)
			}
			break
		}
		// Left of any x between them the one holds, right of it the other; best
		// where they meet.
		meet := xs[i+1]
		if rise := rises[i+1]; fall > rise {
			meet = (low[i] - low[i+1] + fall*xs[i] - rise*xs[i+1]) / (fall - rise)
			meet = math.Min(math.Max(meet, xs[i]), xs[i+1])
		}
		corner(meet, left(i, meet))
		corner(meet, right(i+1, meet))
	}
	return out
}

// possibleBeta is β(α) from above. See docs/math/conversions.md §4.7.1.
func possibleBeta(sides []side, alpha float64) float64 {
	best := 0.0
	for _, s := range sides {
		best = max(best, s.rest-s.ratio*alpha, (s.rest-alpha)/s.ratio)
	}
	// Wherever a line is not negative its terms are at most 1 + slack, and ratio
	// is at least 1: no line is above the best by more than their rounding.
	return math.Min(best+8*num.Ulp, math.Min(1, num.Up(1-alpha)))
}

// meet is the α at which the lines rest − ratio·α of two sides cross.
func meet(a, b side) float64 { return (a.rest - b.rest) / (a.ratio - b.ratio) }

// highest is the upper envelope of the lines rest − ratio·α, steepest and highest first. sides are by increasing ratio,
// and of equal ratios the last one is the highest.
func highest(sides []side) (hull []side) {
	for _, s := range slices.Backward(sides) {
		if n := len(hull); math.IsInf(s.ratio, 1) || n > 0 && s.ratio == hull[n-1].ratio {
			continue
		}
		for n := len(hull); n > 1 && meet(hull[n-1], s) <= meet(hull[n-2], hull[n-1]); n = len(hull) {
			hull = hull[:n-1]
		}
		hull = append(hull, s)
	}
	return hull
}

// corners are the α at which the proven bound bends, by increasing α, with 0, 1
// and the equal error: between them the bound is straight, but for rounding.
// sides are by increasing ε. See docs/math/conversions.md §4.7.
func corners(sides []side, equal float64) []float64 {
	hull := highest(sides)
	out := []float64{0, equal, 1, provenBeta(sides, 0)}
	bend := func(alpha float64) { out = append(out, alpha, provenBeta(sides, alpha)) } // and its mirror image
	if math.IsInf(sides[len(sides)-1].ratio, 1) {
		bend(math.SmallestNonzeroFloat64) // the lines that overflow hold at 0 alone
	}
	for i := 1; i < len(hull); i++ {
		if alpha := meet(hull[i-1], hull[i]); alpha > 0 && alpha < equal {
			bend(alpha)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
