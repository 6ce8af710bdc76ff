// SPDX-License-Identifier: Apache-2.0

package num

import (
	"encoding/json"
	"math"
	"math/big"
	"math/cmplx"
	"os"
	"testing"
)

// The complex functions keep the bounds of their doc comments against numbers of mpmath,
// which are exact to 30 digits.
func TestComplexAgainstOracle(t *testing.T) {
	raw, err := os.ReadFile("testdata/complex.json")
	if err != nil {
		t.Fatal(err)
	}
	var file map[string]json.RawMessage
	if err := json.Unmarshal(raw, &file); err != nil {
		t.Fatal(err)
	}
	near := func(z complex128) float64 { return math.Min(1, cmplx.Abs(z)) }
	grow := func(z complex128) float64 { return math.Max(1, math.Exp(real(z))) }
	for name, f := range map[string]struct {
		value func(complex128) complex128
		ulps  func(z complex128, size float64) float64 // the bound in Ulp; size is the value's modulus
	}{
		"expm1": {ComplexExpm1, func(z complex128, _ float64) float64 { return 13 * near(z) * grow(z) }},
		"log1p": {ComplexLog1p, func(_ complex128, size float64) float64 { return 24 * size }},
		"sinh":  {ComplexSinh, func(z complex128, _ float64) float64 { return 13 * near(z) * math.Cosh(real(z)) }},
		"expm2": {ComplexExpm2, func(z complex128, size float64) float64 {
			if cmplx.Abs(z) <= 1 {
				return 6 * cmplx.Abs(z) * cmplx.Abs(z)
			}
			return 13*grow(z) + size
		}},
	} {
		var rows []struct {
			X, Y   float64
			Re, Im string
		}
		if err := json.Unmarshal(file[name], &rows); err != nil || len(rows) < 100 {
			t.Fatalf("%s: %d rows, %v", name, len(rows), err)
		}
		worst := 0.0
		for _, r := range rows {
			z := complex(r.X, r.Y)
			got := f.value(z)
			dre, re := apart(t, real(got), r.Re)
			dim, im := apart(t, imag(got), r.Im)
			bound := f.ulps(z, math.Hypot(re, im)) * Ulp
			off := math.Hypot(dre, dim)
			if !(off <= bound+math.SmallestNonzeroFloat64) {
				t.Errorf("%s(%v) = %v, want %s + %si: off by %.3g of the bound", name, z, got, r.Re, r.Im, off/bound)
			}
			worst = math.Max(worst, off/bound)
		}
		t.Logf("%s: at most %.2g of its bound", name, worst)
	}
}

// apart is how far got is from the decimal want, and want.
func apart(t *testing.T, got float64, want string) (distance, value float64) {
	t.Helper()
	w, _, err := big.ParseFloat(want, 10, 200, big.ToNearestEven)
	if err != nil || math.IsNaN(got) || math.IsInf(got, 0) {
		t.Fatalf("%v against %q: %v", got, want, err)
	}
	value, _ = w.Float64()
	distance, _ = new(big.Float).Sub(w, big.NewFloat(got)).Float64()
	return math.Abs(distance), value
}
