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
func EpsilonAt(s, upper, logDelta float64) float64 {
	a, b, c := upper/s, -math.Log1p(1/s), -(logDelta+math.Log1p(s))/s
	slack := 8 * num.Ulp * (math.Abs(a) + math.Abs(b) + (math.Abs(logDelta)+math.Log1p(s))/s)
	return math.Max(0, num.UpBy(a+b+c, slack))
}

// LogDeltaAt returns a float64 ≥ ln δ(s) for K(s) ≤ upper, at most 0.
func LogDeltaAt(s, upper, epsilon float64) float64 {
	a, b, c := s*epsilon, s*math.Log1p(1/s), math.Log1p(s)
	slack := 8 * num.Ulp * (math.Abs(upper) + a + b + c)
	v := num.UpBy(upper-a-b-c, slack)
	if math.IsNaN(v) {
		return 0
	}
	return math.Min(0, v)
}

// Curve is a cumulant's upper bound as a function of s > 0: of one direction of
// a composition, or ρ·s(s+1).
type Curve func(s float64) Value

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
// steps on ln A against ln s, inside a bracket.
func LeastEpsilon(curve Curve, logDelta, first float64, stop func() bool) (epsilon, s float64) {
	epsilon = math.Inf(1)
	balance := func(at float64) (value, slope float64) {
		v := curve(at)
		if e := EpsilonAt(at, v.Upper(), logDelta); e < epsilon || s == 0 {
			epsilon, s = e, at
		}
		a := at*v.Slope - v.K + math.Log1p(at)
		if a < 0 { // only by rounding, at small s
			a = 0
		}
		return num.Log(a) - num.Log(-logDelta), at * (at*v.Curvature + 1/(1+at)) / a
	}
	guess := func(v Value) float64 { return math.Sqrt(-logDelta / (v.K / 2)) } // exact for K = ρ·s(s+1), at s = 1
	search(curve, balance, guess, first, stop)
	return epsilon, s
}

// LeastLogDelta is LeastEpsilon with the roles exchanged: the least ln δ at ε.
// Its best s solves K' = ε + ln(1 + 1/s); the left side increases, the right
// one decreases.
func LeastLogDelta(curve Curve, epsilon, first float64, stop func() bool) (logDelta, s float64) {
	balance := func(at float64) (value, slope float64) {
		v := curve(at)
		if d := LogDeltaAt(at, v.Upper(), epsilon); d < logDelta || s == 0 {
			logDelta, s = d, at
		}
		right := epsilon + math.Log1p(1/at)
		return num.Log(v.Slope) - num.Log(right), at*v.Curvature/v.Slope + 1/((1+at)*right)
	}
	guess := func(v Value) float64 { return math.Max(epsilon, 0.1) / v.K }
	search(curve, balance, guess, first, stop)
	return logDelta, s
}

// search walks to the zero of an increasing function of ln s that balance
// evaluates, value and slope, until a step is below 1e−5, or the zero known to 1e−9.
func search(curve Curve, balance func(s float64) (float64, float64), guess func(Value) float64, first float64, stop func() bool) {
	lo, hi := leastS, mostS
	s := first
	if !(s > 0) {
		if s = guess(curve(1)); !(s > lo && s < hi) {
			s = 1
		}
	}
	last := math.Inf(1) // step
	for range searchSteps {
		value, slope := balance(s)
		if stop != nil && stop() {
			return
		}
		// NaN and +Inf mean that s was too large: the cumulant overflowed.
		if value < 0 {
			lo = s
		} else {
			hi = s
		}
		step := value / slope
		if math.Abs(step) < 1e-5 {
			return
		}
		next := s * math.Exp(-math.Max(-3, math.Min(3, step)))
		// Steps between two ends that do not get shorter may go to and fro for ever.
		astray := math.Abs(step) > math.Abs(last)/2 && lo > leastS && hi < mostS
		if last = step; astray || !(next > lo && next < hi) {
			next = math.Sqrt(lo) * math.Sqrt(hi)
		}
		if hi/lo < 1+1e-9 { // where K has a corner no step gets small
			return
		}
		s = next
	}
}
