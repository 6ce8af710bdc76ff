// SPDX-License-Identifier: Apache-2.0

package num

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

// Squares of short decimals stay exact.
func TestDecimalSquareDown(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.Float64Range(1e-100, 1e100).Draw(t, "x")
		square := Decimal(x)
		square.Mul(square, square)
		got := DecimalSquareDown(x)
		next := new(big.Rat).Mul(Decimal(got), big.NewRat(1<<50+1, 1<<50))
		if Decimal(got).Cmp(square) > 0 || next.Cmp(square) < 0 {
			t.Fatalf("%g² = %g", x, got)
		}
	})
	for x, want := range map[float64]float64{0.3: 0.09, 0.7: 0.49, 1.1: 1.21} {
		if got := DecimalSquareDown(x); got != want {
			t.Errorf("%g² = %g", x, got)
		}
	}
}

// What is rounded up is never below, and hardly above.
func TestDecimalsAreRoundedUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		over, under := rapid.Uint64Range(0, 1<<62).Draw(t, "over"), rapid.Uint64Range(1, 1<<62).Draw(t, "under")
		r := new(big.Rat).Quo(new(big.Rat).SetInt(new(big.Int).SetUint64(over)),
			new(big.Rat).SetInt(new(big.Int).SetUint64(under)))
		exact, _ := r.Float64()
		up, root := DecimalUp(r), DecimalRootUp(r)
		if Decimal(up).Cmp(r) < 0 || up > math.Nextafter(exact, math.Inf(1)) {
			t.Errorf("%v up is %v", r, up)
		}
		if DecimalSquare(root).Cmp(r) < 0 || root > math.Sqrt(exact)*(1+4*Ulp) {
			t.Errorf("√%v up is %v", r, root)
		}
	})
	if !math.IsInf(DecimalUp(nil), 1) || !math.IsInf(DecimalRootUp(nil), 1) {
		t.Error("nil is not infinite")
	}
}
