// SPDX-License-Identifier: Apache-2.0

package pairs

import (
	"math"

	"github.com/dpaccountant/accountant/internal/num"
)

// Interval is a part (a, b] of the axis of a standard normal, given exactly.
type Interval struct {
	A, B float64
}

// Narrow reports whether series serves: the density changes by at most e there.
func (v Interval) Narrow() bool {
	c, w := (v.A+v.B)/2, (v.B-v.A)/2
	return w <= 0.25 && math.Abs(c)*w <= 1
}

// Series returns i with Φ(c+w) − Φ(c−w) = 2w·φ(c)·(1 + i) for a narrow interval,
// and the sum of its terms' moduli: its error is within 16 Ulp of that.
//
// The integrand φ(c+wx)/φ(c) = e^{−cwx − w²x²/2} has the Taylor coefficients
// a_{k+1} = −(cw·a_k + w²·a_{k−1})/(k+1). By Cauchy's bound on |x| = 10 those
// from k = 22 on add less than 10⁻¹⁷ (docs/math/noise.md §1.4.10).
func Series(c, w float64) (i, size float64) {
	s, t := c*w, w*w
	before, here := 1.0, -s // a_0, a_1
	for k := 1.0; k < 21; k += 2 {
		even := -(s*here + t*before) / (k + 1) // a_{k+1}
		term := even / (k + 2)
		i += term
		size += math.Abs(term)
		odd := -(s*even + t*here) / (k + 2)
		before, here = even, odd
		if math.Abs(even)+math.Abs(odd) < 1e-19 {
			break
		}
	}
	return i, size + t
}

// LogMass returns ln[Φ(b) − Φ(a)] and a bound on its error.
func (v Interval) LogMass() (value, err float64) {
	if !(v.A < v.B) {
		return math.Inf(-1), 0
	}
	if v.Narrow() {
		c, w := (v.A+v.B)/2, (v.B-v.A)/2
		i, size := Series(c, w)
		value = num.LogNormalDensity(c) + num.Log(2*w) + math.Log1p(i)
		return value, num.Ulp * (16 + 4*c*c + 16*size + 2*math.Abs(value))
	}
	a, b := v.A, v.B
	if a+b < 0 { // the nearer tail
		a, b = -b, -a
	}
	if a < 0 { // 0 is inside: at least 0.19 is left
		rest := tail(-a) + tail(b)
		return math.Log1p(-rest), num.Ulp * (2 + 32*rest/(1-rest))
	}
	top, bottom := logTailOf(a), logTailOf(b)
	value = num.LogSubExp(top, bottom)
	// The tails differ by a factor of 1.6 at least (docs/math/noise.md §1.4.10).
	return value, num.Ulp * (40 + 140*math.Abs(top) + 8*math.Abs(value))
}

// tail is 1 − Φ(x) for any x, +Inf included.
func tail(x float64) float64 {
	if math.IsInf(x, 1) {
		return 0
	}
	return num.NormalTail(x)
}

// logTailOf is ln(1 − Φ(x)) for x ≥ 0, +Inf included, within 32 Ulp.
func logTailOf(x float64) float64 {
	if math.IsInf(x, 1) {
		return math.Inf(-1)
	}
	return num.LogNormalCDF(-x)
}
