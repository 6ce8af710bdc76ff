// SPDX-License-Identifier: Apache-2.0

package loss

import (
	"math"
	"math/cmplx"

	"github.com/dpaccountant/accountant/internal/num"
)

// Direction is which of two neighbours' outputs is P. An asymmetric mechanism
// has two; a composition is composed in each apart and the larger curve counts.
type Direction uint8

const (
	// Remove: P is the output with the record, Q without.
	Remove Direction = iota
	// Add: P is the output without the record, Q with it.
	Add
)

func (d Direction) String() string {
	if d == Add {
		return "add"
	}
	return "remove"
}

// Value is K(s) at a real s.
type Value struct {
	K   float64 // may be ±Inf
	Err float64 // |K − the true K(s)| ≤ Err, rounding of parameters included

	// Slope and Curvature are K'(s) and K''(s) without a bound: they steer
	// searches and prove nothing.
	Slope, Curvature float64
}

// Upper is a proven upper bound on K(s).
func (v Value) Upper() float64 { return num.UpBy(v.K, v.Err) }

// Lower is a proven lower bound on K(s).
func (v Value) Lower() float64 { return num.DownBy(v.K, v.Err) }

// ComplexValue is K(s) at a complex s. K is one of the logarithms of
// E[e^{sL} | L < ∞], not always the principal one: use e^{nK} for whole n.
type ComplexValue struct {
	K   complex128
	Err float64 // |K − a true K(s)| ≤ Err; +Inf where E is not kept apart from 0

	// Upper bounds the true Re K(s) from above, also where Err is +Inf.
	Upper float64
}

// Line is K on the line s = θ + it for a fixed θ, as a function of t. What
// depends on θ alone is computed once; a Line is not for concurrent use.
type Line func(t float64) ComplexValue

// FromExcess returns K = ln(1 + excess) for an excess M − 1 known within err.
func FromExcess(excess, err float64) (k, kerr float64) {
	k = math.Log1p(excess)
	rest := 1 + excess - err
	if !(rest > 0) {
		return k, math.Inf(1)
	}
	return k, err/rest + 2*num.Ulp*math.Abs(k)
}

// FromComplexExcess is FromExcess for complex values.
func FromComplexExcess(excess complex128, err float64) ComplexValue {
	k := num.ComplexLog1p(excess)
	modulus := cmplx.Abs(1 + excess)
	upper := num.Up(num.Log(modulus+err) + 4*num.Ulp)
	rest := modulus - err
	if !(rest > 0) {
		return ComplexValue{k, math.Inf(1), upper}
	}
	// |ln(1+w)| ≤ |w|/(1−|w|) with |w| = err/(rest+err).
	bound := err/rest + 4*num.Ulp*cmplx.Abs(k)
	return ComplexValue{k, bound, math.Min(upper, num.UpBy(real(k), bound))}
}

// Around is a value with its error and the upper bound that follows from it.
func Around(k complex128, err float64) ComplexValue {
	return ComplexValue{k, err, num.UpBy(real(k), err)}
}

// Guarded is line with |M(s)| ≤ M(θ) as a further bound, and with no NaN: what
// overflowed has an infinite error.
func Guarded(line Line, onAxis Value) Line {
	upper := onAxis.Upper()
	return func(t float64) ComplexValue {
		v := line(t)
		if cmplx.IsNaN(v.K) || cmplx.IsInf(v.K) || !(v.Err >= 0) {
			return ComplexValue{cmplx.NaN(), math.Inf(1), upper}
		}
		v.Upper = math.Min(v.Upper, upper)
		return v
	}
}

// realValue is a real value with slopes from its line, +Inf where it overflows.
func realValue(s float64, line Line) Value {
	at := line(0)
	v := Value{K: real(at.K), Err: at.Err}
	if math.IsNaN(v.K) || math.IsInf(v.K, 1) || !(v.Err >= 0) {
		return Value{K: math.Inf(1), Err: math.Inf(1)}
	}
	return withSlopes(v, s, line)
}

// withSlopes fills Slope and Curvature from a step off the real axis:
// K(s+ih) = K(s) + ih·K'(s) − h²/2·K”(s) + ….
func withSlopes(v Value, s float64, line Line) Value {
	h := 1e-4 * math.Max(1, math.Abs(s))
	k := line(h).K
	v.Slope = imag(k) / h
	v.Curvature = 2 * (v.K - real(k)) / (h * h)
	return v
}

// Mirrored maps s to the half line s ≥ −½ by K_d(s) = K_e(−1−s), e the other
// direction (docs/math/cumulant.md §1.0.2), and says whether it did.
func Mirrored(s float64) (float64, bool) {
	if s < -0.5 {
		return -1 - s, true
	}
	return s, false
}

// MirroredCumulant is the cumulant at s of a symmetric loss whose lines at θ ≥ −½ are given by right.
func MirroredCumulant(s float64, right func(theta float64) Line) Value {
	m, flip := Mirrored(s)
	v := realValue(m, right(m))
	if flip {
		v.Slope = -v.Slope
	}
	return v
}

// MirroredLine is the line at θ of a cumulant whose lines at θ ≥ −½ are given
// by right; for symmetric losses, or with right of the other direction.
func MirroredLine(theta float64, right func(theta float64) Line) Line {
	m, flip := Mirrored(theta)
	line := right(m)
	if !flip {
		return line
	}
	return func(t float64) ComplexValue { return line(-t) }
}

// BoundLine knows no more than |E[e^{sL}]| ≤ E[e^{θL}], given K(θ).
func BoundLine(onAxis Value) Line {
	upper := onAxis.Upper()
	return func(float64) ComplexValue { return ComplexValue{cmplx.NaN(), math.Inf(1), upper} }
}
