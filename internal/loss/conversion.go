// SPDX-License-Identifier: Apache-2.0

package loss

import (
	"math"

	"github.com/dpaccountant/accountant/internal/num"
)

// The conversion of Canonne–Kamath–Steinke 2020 (arXiv 2004.00010v3, Prop. 12),
// in s = α − 1 > 0 and K(s) = (α−1)·ε_Rényi(α):
//
//	ε = K(s)/s − ln(1 + 1/s) − (ln δ + ln(1+s))/s
//	ln δ = K(s) − sε − s·ln(1 + 1/s) − ln(1+s)
//
// Every s gives a valid bound, so the search for the best needs no directed
// rounding; evaluating the formula does.

// EpsilonAt returns a float64 ≥ ε(s) for K(s) ≤ upper, at least 0.
// See docs/math/conversions.md §4.5.1.
func EpsilonAt(s, upper, logDelta float64) float64 {
	a, b, c := upper/s, -math.Log1p(1/s), -(logDelta+math.Log1p(s))/s
	slack := 8 * num.Ulp * (math.Abs(a) + math.Abs(b) + (math.Abs(logDelta)+math.Log1p(s))/s)
	return math.Max(0, num.UpBy(a+b+c, slack))
}

// LogDeltaAt returns a float64 ≥ ln δ(s) for K(s) ≤ upper, at most 0.
// See docs/math/conversions.md §4.5.1.
func LogDeltaAt(s, upper, epsilon float64) float64 {
	a, b, c := s*epsilon, s*math.Log1p(1/s), math.Log1p(s)
	slack := 8 * num.Ulp * (math.Abs(upper) + a + b + c)
	v := num.UpBy(upper-a-b-c, slack)
	if math.IsNaN(v) {
		return 0
	}
	return math.Min(0, v)
}

// CumulantBound is a cumulant's upper bound as a function of s > 0: of one direction of
// a composition, or ρ·s(s+1).
type CumulantBound struct {
	At   func(s float64) Value
	Last float64 // the largest s at which a bound is known; maybe +Inf
}

const (
	leastS, mostS = 1e-12, 1e15
	searchSteps   = 60
)

// LeastEpsilon returns the least ε the conversion proves at ln δ = logDelta < 0
// among the orders it tries, and its s; never less than what curve implies. It
// tries one order at least, first where it is positive, and no more once stop
// returns true.
//
// The best s solves A(s) = s·K' − K + ln(1+s) = −ln δ, and A increases: Newton
// steps on ln A against ln s, inside a bracket. See docs/math/conversions.md §4.5.2.
func LeastEpsilon(curve CumulantBound, logDelta, first float64, stop func() bool) (epsilon, s float64) {
	epsilon = math.Inf(1)
	balance := func(at float64) (value, slope float64) {
		v := curve.At(at)
		if e := EpsilonAt(at, v.Upper(), logDelta); e < epsilon || s == 0 {
			epsilon, s = e, at
		}
		if !(v.K < math.Inf(1)) {
			return tooLarge()
		}
		a := at*v.Slope - v.K + math.Log1p(at)
		if a < 0 { // only by rounding, at small s
			a = 0
		}
		return num.Log(a) - num.Log(-logDelta), at * (at*v.Curvature + 1/(1+at)) / a
	}
	guess := func(rho float64) float64 { return math.Sqrt(-logDelta / rho) } // exact for K = ρ·s(s+1)
	search(curve, balance, guess, first, stop)
	return epsilon, s
}

// LeastLogDelta is LeastEpsilon with the roles exchanged: the least ln δ at ε.
// Its best s solves K' = ε + ln(1 + 1/s); the left side increases, the right
// one decreases. See docs/math/conversions.md §4.5.2.
func LeastLogDelta(curve CumulantBound, epsilon, first float64, stop func() bool) (logDelta, s float64) {
	balance := func(at float64) (value, slope float64) {
		v := curve.At(at)
		if d := LogDeltaAt(at, v.Upper(), epsilon); d < logDelta || s == 0 {
			logDelta, s = d, at
		}
		if !(v.K < math.Inf(1)) {
			return tooLarge()
		}
		right := epsilon + math.Log1p(1/at)
		return num.Log(v.Slope) - num.Log(right), at*v.Curvature/v.Slope + 1/((1+at)*right)
	}
	guess := func(rho float64) float64 { return math.Max(epsilon, 0.1) / (2 * rho) }
	search(curve, balance, guess, first, stop)
	return logDelta, s
}

// tooLarge is the balance at an s where no bound on K is known, or where K overflowed: the
// best s is smaller.
func tooLarge() (value, slope float64) { return math.Inf(1), math.NaN() }

// search walks to the zero of an increasing function of ln s that balance evaluates, value
// and slope, until a step is below 1e−5 or the zero is known to 1e−9. Where the function
// is still negative at the last s of the curve, that s is the best one.
func search(curve CumulantBound, balance func(s float64) (float64, float64), guess func(rho float64) float64,
	first float64, stop func() bool) {
	least, most := math.Min(leastS, curve.Last), math.Min(mostS, curve.Last)
	lo, hi := least, most
	end := curve.Last // +Inf once it has been tried
	s := first
	if !(s > 0) {
		one := math.Min(1, most)
		if s = guess(curve.At(one).K / (one * (1 + one))); !(s > least && s < mostS) {
			s = one
		}
	}
	s = math.Min(s, most)
	last := math.Inf(1) // step
	for range searchSteps {
		value, slope := balance(s)
		if stop != nil && stop() {
			return
		}
		if s == end {
			if value < 0 {
				return
			}
			end = math.Inf(1)
		}
		if value < 0 {
			lo = s
		} else { // or NaN: the cumulant overflowed
			hi = s
		}
		step := value / slope
		if math.Abs(step) < 1e-5 {
			return
		}
		next := s * math.Exp(-math.Max(-3, math.Min(3, step)))
		// Steps between two ends that do not get shorter may go to and fro for ever.
		astray := math.Abs(step) > math.Abs(last)/2 && lo > least && hi < most
		switch last = step; {
		case next >= end:
			next = end
		case astray || !(next > lo && next < hi):
			next = math.Sqrt(lo) * math.Sqrt(hi)
		}
		if hi/lo < 1+1e-9 { // where K has a corner no step gets small
			return
		}
		s = next
	}
}

// ZeroConcentrated bounds K of every ρ-zCDP mechanism: ρ·s(s+1) for s ≥ 0, +Inf
// below 0.
func ZeroConcentrated(rho, s float64) Value {
	if s < 0 {
		return Value{K: math.Inf(1)}
	}
	v := Value{Slope: (2*s + 1) * rho, Curvature: 2 * rho}
	if s > 0 {
		v.K = (s * rho) * (s + 1)
		v.Err = 4*num.Ulp*v.K + math.SmallestNonzeroFloat64*(2+s)
	}
	return v
}

// ConcentratedBound is ZeroConcentrated as a function of s.
func ConcentratedBound(rho float64) CumulantBound {
	return CumulantBound{At: func(s float64) Value { return ZeroConcentrated(rho, s) }, Last: math.Inf(1)}
}
