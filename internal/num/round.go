// SPDX-License-Identifier: Apache-2.0

// Package num is the arithmetic below the analyses: log-space functions, normal
// tails with full relative accuracy, directed rounding, sums and safe searches.
//
// Nothing here knows about privacy. Functions state their error in units of
// Ulp; the analyses turn those into bounds that err to the safe side.
package num

import "math"

// Ulp is the unit roundoff of binary64, 2⁻⁵³: every operation of + − × ÷ √ and
// FMA is exact within a relative error of Ulp, short of underflow.
const Ulp = 0x1p-53

// Up returns the next float64 above x: with it the result of one correctly
// rounded operation becomes an upper bound. Up(NaN) is +Inf: what cannot be
// computed is not bounded.
func Up(x float64) float64 {
	if math.IsNaN(x) {
		return math.Inf(1)
	}
	return math.Nextafter(x, math.Inf(1))
}

// Down returns the next float64 below x, and −Inf for NaN.
func Down(x float64) float64 {
	if math.IsNaN(x) {
		return math.Inf(-1)
	}
	return math.Nextafter(x, math.Inf(-1))
}

// UpBy returns a float64 ≥ x + slack, for slack ≥ 0 (an absolute error bound).
func UpBy(x, slack float64) float64 { return Up(x + slack) }

// DownBy returns a float64 ≤ x − slack, for slack ≥ 0.
func DownBy(x, slack float64) float64 { return Down(x - slack) }

// UpUlps returns a float64 above a number whose value x is known within n Ulp of itself.
func UpUlps(x, n float64) float64 { return UpBy(x, n*Ulp*math.Abs(x)) }

// DownUlps returns a float64 below a number whose value x is known within n Ulp of itself.
func DownUlps(x, n float64) float64 { return DownBy(x, n*Ulp*math.Abs(x)) }

// SqrtUp returns a float64 ≥ √x.
func SqrtUp(x float64) float64 { return Up(math.Sqrt(x)) }

// Finite returns x, and 0 for an infinite x.
func Finite(x float64) float64 {
	if math.IsInf(x, 0) {
		return 0
	}
	return x
}

// AddUp returns a float64 ≥ x + y.
func AddUp(x, y float64) float64 {
	s := x + y
	if exactSum(x, y, s) {
		return s
	}
	return Up(s)
}

// exactSum reports whether s = fl(x + y) is the exact sum (Knuth's TwoSum; its
// error term is exact short of overflow).
func exactSum(x, y, s float64) bool {
	t := s - x
	return (x-(s-t))+(y-t) == 0
}

// MulUp returns a float64 ≥ x·y; 0·∞ counts as ∞.
func MulUp(x, y float64) float64 {
	p := x * y
	switch {
	case p == 0 && (x == 0 || y == 0):
		return p
	case math.Abs(p) >= 0x1p-960 && math.FMA(x, y, -p) <= 0:
		return p
	}
	return Up(p)
}

// DivUp returns a float64 ≥ x/y for x ≥ 0, y > 0: positive wherever x is, and
// +Inf where the quotient overflows. See docs/math/README.md §0.3.
func DivUp(x, y float64) float64 {
	q := x / y
	if q >= 0x1p-960 && x >= 0x1p-900 && !math.IsInf(q, 0) && math.FMA(q, y, -x) >= 0 || x == 0 {
		return q
	}
	return Up(q)
}

// Count returns a float64 ≥ n.
func Count(n uint64) float64 {
	f := float64(n)
	if f < 0x1p53 {
		return f
	}
	return Up(f)
}
