// SPDX-License-Identifier: Apache-2.0

package loss

import "github.com/dpaccountant/accountant/internal/num"

// Estimate approximates K(s), K'(s) and K”(s) in one direction at real s > −1, fast
// and without a bound: for choosing orders and contours, never for an answer.
// +Inf and NaN where it cannot. It is not for concurrent use.
type Estimate func(s float64) (k, slope, curvature float64)

// EstimateOf returns the estimate of one loss. See docs/math/inversion.md §2.
func EstimateOf(l Loss, d Direction, in *num.Interrupt) Estimate {
	if e, ok := l.(Estimated); ok {
		return e.Estimate(d, in)
	}
	return ExactEstimate(l, d, in)
}

// ExactEstimate is the cumulant itself.
func ExactEstimate(l Loss, d Direction, in *num.Interrupt) Estimate {
	return func(s float64) (float64, float64, float64) {
		v := l.Cumulant(d, s, in)
		return v.K, v.Slope, v.Curvature
	}
}

// Estimated is a loss that has an estimate which takes less than Cumulant.
type Estimated interface {
	Estimate(d Direction, in *num.Interrupt) Estimate
}
