package loss

import (
	"math"

	"github.com/dpaccountant/accountant/internal/num"
)

// boundedRange stands for all mechanisms whose losses lie in a range of width r, as those
// of the exponential mechanism do. Its pair is the least one that dominates all of them.
type boundedRange struct{ sloped }

func ranged(r float64) boundedRange { return boundedRange{sloped{r}} }

// Facts: r-DP, and (r²/8)-zCDP (Cesar–Rogers 2021, arXiv 2004.07223), less than the pair.
func (l boundedRange) Facts() Facts {
	return Facts{
		Name: "bounded-range selection", Rho: math.Min(rhoOfPure(l.r), num.MulUp(l.r, l.r)/8), Epsilon: l.r,
		Symmetric: true, Dominating: true, Rounded: true,
	}
}

// attained is binary randomized response with half of r: two candidates whose scores
// exchange their places.
func (l boundedRange) attained() Loss {
	return response{epsilon: l.r / 2 * (1 - 4*num.Ulp), buckets: 2, rounded: true, kind: randomizedResponse}
}

func (l boundedRange) Pair(_ Direction, side Side) Pair { return l.pair(0, side) }

// Covers: only itself is known to be covered.
func (boundedRange) Covers(Loss) bool { return false }

// Grouped: k records change the scores k times as much.
func (l boundedRange) Grouped(k uint64) (Loss, error) {
	return ranged(num.MulUp(num.Count(k), l.r)), nil
}

// Renyi bounds K of every mechanism in the class for s > 0: of randomized response
// with the losses t and t − r, the extreme of them, at the worst t,
//
//	K(s) = s·t + ln(A/((s+1)(1−e^{−r}))),  e^t = s·A/((s+1)·B),
//	A = 1 − e^{−(s+1)r},  B = e^{−r}(1 − e^{−sr})
//
// (Dong–Durfee–Rogers 2020, arXiv 1909.13830; docs/math/noise.md §1.4.6), and never more than
// s(s+1)·r²/8. Both hold at each order, so they add up over adaptive compositions.
func (l boundedRange) Renyi(s float64) Value {
	v := ZeroConcentrated(l.Facts().Rho, s)
	if !(s > 0) || !(l.r < 1e300) {
		return v
	}
	a, b := num.Log1mExp((s+1)*l.r), num.Log1mExp(s*l.r)
	share := math.Log1p(1 / s) // −ln(s/(s+1))
	t := a + l.r - b - share
	k := s*t + a - math.Log1p(s) - num.Log1mExp(l.r)
	err := num.Ulp * 32 * (s*(math.Abs(a)+l.r+math.Abs(b)+share+1) + math.Abs(a) + math.Log1p(s) + math.Abs(num.Log1mExp(l.r)))
	if !(num.UpBy(k, err) < v.Upper()) {
		return v
	}
	// The mean and variance of the two losses under the tilt.
	odds := math.Exp(num.Log1mExp(l.r-math.Min(t, l.r)) - num.Log1mExp(math.Max(t, 0)) + l.r - t + s*l.r)
	low := 1 / (1 + odds)
	return Value{K: k, Err: err, Slope: t - l.r*low, Curvature: math.Max(l.r*l.r*low*(1-low), 1e-12)}
}

func (l boundedRange) Order() [4]float64 { return [4]float64{l.r} }
