// SPDX-License-Identifier: Apache-2.0

package pairs

import (
	"math"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/num"
)

// boundedRange stands for all mechanisms whose losses lie in a range of width r, as those
// of the exponential mechanism do. Its pair is the least one that dominates all of them.
type boundedRange struct{ Sloped }

// NewBoundedRange is the loss of all mechanisms with a range of width r.
func NewBoundedRange(r float64) loss.Loss { return boundedRange{Sloped{r}} }

// Facts: r-DP, and (r²/8)-zCDP (Cesar–Rogers 2021, arXiv 2004.07223), less than the pair.
func (l boundedRange) Facts() loss.Facts {
	return loss.Facts{
		Name: "bounded-range selection", Rho: math.Min(RhoOfPure(l.R), num.MulUp(l.R, l.R)/8), Epsilon: l.R,
		Symmetric: true, Dominating: true, Rounded: true,
	}
}

// Attained is binary randomized response with half of r: two candidates whose scores
// exchange their places.
func (l boundedRange) Attained() loss.Loss {
	return Response{Epsilon: l.R / 2 * (1 - 4*num.Ulp), K: 2, Rounded: true, Name: "randomized response"}
}

// AttainedOnce: at each ε randomized response with the losses (r+ε)/2 and (ε−r)/2 has the pair's δ.
func (boundedRange) AttainedOnce() bool { return true }

// Range is r: of several releases each may have another place of its range, chosen adaptively.
func (l boundedRange) Range() float64 { return l.R }

func (l boundedRange) Pair(_ loss.Direction, side loss.Side, _ *num.Interrupt) loss.Pair {
	return l.WithAtom(0, side)
}

// Covers: only itself is known to be covered.
func (boundedRange) Covers(loss.Loss) bool { return false }

// Grouped: k records change the scores k times as much.
func (l boundedRange) Grouped(k uint64) (loss.Loss, error) {
	return NewBoundedRange(num.MulUp(num.Count(k), l.R)), nil
}

// Renyi bounds K of every mechanism in the class for s > 0: of randomized response
// with the losses t and t − r, the extreme of them, at the worst t,
//
//	K(s) = s·t + ln(A/((s+1)(1−e^{−r}))),  e^t = s·A/((s+1)·B),
//	A = 1 − e^{−(s+1)r},  B = e^{−r}(1 − e^{−sr})
//
// (Dong–Durfee–Rogers 2020, arXiv 1909.13830; docs/math/noise.md §1.4.6), and never more than
// s(s+1)·r²/8. Both hold at each order, so they add up over adaptive compositions.
func (l boundedRange) Renyi(_ loss.Direction, s float64, _ *num.Interrupt) loss.Value {
	v := loss.ZeroConcentrated(l.Facts().Rho, s)
	if !(s > 0) || !(l.R < 1e300) {
		return v
	}
	a, b := num.Log1mExp((s+1)*l.R), num.Log1mExp(s*l.R)
	share := math.Log1p(1 / s) // −ln(s/(s+1))
	t := a + l.R - b - share
	k := s*t + a - math.Log1p(s) - num.Log1mExp(l.R)
	err := num.Ulp * 32 *
		(s*(math.Abs(a)+l.R+math.Abs(b)+share+1) + math.Abs(a) + math.Log1p(s) + math.Abs(num.Log1mExp(l.R)))
	if !(num.UpBy(k, err) < v.Upper()) {
		return v
	}
	// The mean and variance of the two losses under the tilt.
	odds := math.Exp(num.Log1mExp(l.R-math.Min(t, l.R)) - num.Log1mExp(math.Max(t, 0)) + l.R - t + s*l.R)
	low := 1 / (1 + odds)
	return loss.Value{K: k, Err: err, Slope: t - l.R*low, Curvature: math.Max(l.R*l.R*low*(1-low), 1e-12)}
}

func (l boundedRange) Order() [4]float64 { return [4]float64{l.R} }
