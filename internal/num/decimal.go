// SPDX-License-Identifier: Apache-2.0

package num

import (
	"math"
	"math/big"
	"strconv"
)

// A person who writes 0.1 means a tenth, not the float64 next to it. Costs and limits are
// therefore read as the shortest decimals that identify their float64s, and added up exactly.

// Decimal returns the shortest decimal that identifies x, which must be finite.
func Decimal(x float64) *big.Rat {
	r, ok := new(big.Rat).SetString(strconv.FormatFloat(x, 'g', -1, 64))
	if !ok {
		panic("num: not a finite number: " + strconv.FormatFloat(x, 'g', -1, 64))
	}
	return r
}

// DecimalQuotient returns the quotient of x and y, both read as decimals, or nil if x is +Inf.
func DecimalQuotient(x, y float64) *big.Rat {
	if math.IsInf(x, 1) {
		return nil
	}
	return new(big.Rat).Quo(Decimal(x), Decimal(y))
}

// Binary returns the exact value of x, or nil where x is +Inf or NaN.
func Binary(x float64) *big.Rat {
	if math.IsInf(x, 1) || math.IsNaN(x) {
		return nil
	}
	return new(big.Rat).SetFloat64(x)
}

// DecimalUp returns the least float64 that, read as a decimal, is not below r ≥ 0. It is +Inf
// for nil.
func DecimalUp(r *big.Rat) float64 {
	if r == nil {
		return math.Inf(1)
	}
	f, _ := r.Float64()
	if f == 0 && r.Sign() > 0 || !math.IsInf(f, 1) && f > 0 && Decimal(f).Cmp(r) < 0 {
		f = Up(f)
	}
	return f
}

// DecimalDown returns the largest float64 that, read as a decimal, is not above r ≥ 0.
func DecimalDown(r *big.Rat) float64 {
	f, _ := r.Float64()
	if math.IsInf(f, 1) || Decimal(f).Cmp(r) > 0 {
		return Down(f)
	}
	return f
}

// DecimalRootUp returns a float64 whose square, read as a decimal, is not below r ≥ 0. It is
// the least such float64 within one unit in the last place, and +Inf for nil.
func DecimalRootUp(r *big.Rat) float64 {
	if r == nil {
		return math.Inf(1)
	}
	f, _ := r.Float64()
	root := math.Sqrt(f)
	for !math.IsInf(root, 1) && DecimalSquare(root).Cmp(r) < 0 {
		root = Up(root)
	}
	return root
}

// DecimalSquare returns the square of x, read as a decimal.
func DecimalSquare(x float64) *big.Rat {
	r := Decimal(x)
	return r.Mul(r, r)
}

// DecimalSquareDown returns a float64 that, read as a decimal, is at most x². It is exactly x²
// if x has few digits.
func DecimalSquareDown(x float64) float64 { return DecimalDown(DecimalSquare(x)) }
