// SPDX-License-Identifier: Apache-2.0

package num

import (
	"fmt"
	"math"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestFormatUpAndDown(t *testing.T) {
	// By hand: the exact decimal value of each float64, cut at 4 digits.
	for _, c := range []struct {
		x         float64
		up, below string
	}{
		{0, "0", "0"},
		{math.Inf(1), "∞", "∞"},
		{math.Inf(-1), "-∞", "-∞"},
		{1, "1", "1"},
		{8, "8", "8"},
		{1234, "1234", "1234"},
		{123400, "123400", "123400"},
		{1.23401, "1.235", "1.234"},
		{1.23449, "1.235", "1.234"},
		{1.23450, "1.235", "1.234"},
		{9.9999, "10", "9.999"},
		{0.00099999, "0.001", "0.0009999"},
		{99999, "100000", "99990"},
		{1e-5, "1.001e-5", "1e-5"}, // 1e-5 as float64 is above 10⁻⁵: 1.00000000000000008…e-5
		{0.1, "0.1001", "0.1"},     // 0.1 as float64 is above 1/10
		{0.3, "0.3", "0.2999"},     // 0.3 as float64 is below 3/10
		{-1.23401, "-1.234", "-1.235"},
		{-9.9999, "-9.999", "-10"},
		{math.SmallestNonzeroFloat64, "4.941e-324", "4.94e-324"}, // 4.9406564…e-324
		{math.MaxFloat64, "1.798e308", "1.797e308"},              // 1.79769…e308
		{2.5e13, "2.5e13", "2.5e13"},
	} {
		if got := FormatUp(c.x, 4); got != c.up {
			t.Errorf("FormatUp(%v, 4) = %s, want %s", c.x, got, c.up)
		}
		if got := FormatDown(c.x, 4); got != c.below {
			t.Errorf("FormatDown(%v, 4) = %s, want %s", c.x, got, c.below)
		}
	}
}

// Read as the shortest decimal, numbers that people write stay what they are.
func TestFormatRead(t *testing.T) {
	for _, c := range []struct {
		x         float64
		up, below string
	}{
		{0, "0", "0"}, {0.1, "0.1", "0.1"}, {0.2, "0.2", "0.2"}, {0.3, "0.3", "0.3"},
		{1e-5, "1e-5", "1e-5"}, {8, "8", "8"},
		{0.30000000000000004, "0.3001", "0.3"}, {1.23401, "1.235", "1.234"}, {9.9999, "10", "9.999"},
		{math.Inf(1), "∞", "∞"},
	} {
		if got := FormatReadUp(c.x, 4); got != c.up {
			t.Errorf("FormatReadUp(%v, 4) = %s, want %s", c.x, got, c.up)
		}
		if got := FormatReadDown(c.x, 4); got != c.below {
			t.Errorf("FormatReadDown(%v, 4) = %s, want %s", c.x, got, c.below)
		}
	}
}

// The text, read as an exact rational, bounds the number from the right side and
// is within one unit of the last digit.
func TestFormatIsDirected(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.Float64().Filter(func(x float64) bool {
			return x != 0 && !math.IsInf(x, 0) &&
				!math.IsNaN(x)
		}).Draw(t, "x")
		n := rapid.IntRange(1, 17).Draw(t, "digits")
		exact := new(big.Rat).SetFloat64(x)
		up, down := rational(t, FormatUp(x, n)), rational(t, FormatDown(x, n))
		if up.Cmp(exact) < 0 || down.Cmp(exact) > 0 {
			t.Fatalf("%v is not in [%s, %s]", x, FormatDown(x, n), FormatUp(x, n))
		}
		width := new(big.Rat).Sub(up, down)
		limit := new(big.Rat).Mul(new(big.Rat).Abs(exact), rational(t, fmt.Sprintf("1e-%d", n-1)))
		if width.Cmp(limit) > 0 {
			t.Fatalf("%v: [%s, %s] is wider than a unit of digit %d", x, FormatDown(x, n), FormatUp(x, n), n)
		}
	})
}

func rational(t *rapid.T, s string) *big.Rat {
	r, ok := new(big.Rat).SetString(s)
	if !ok || strings.ContainsAny(s, "∞N") {
		t.Fatalf("%q is not a number", s)
	}
	return r
}

func TestFormatDecimalsUp(t *testing.T) {
	for _, c := range []struct {
		x    float64
		want string
	}{
		{0, "0"}, {2.3816897, "2.39"}, {2.38, "2.38"}, {2.375, "2.38"}, {1e-300, "0.01"}, {9.999,
			"10.00"}, {4.5600000000000005, "4.57"},
		{190.2331, "190.24"}, {123456789, "123457000"}, {math.Inf(1), "∞"},
	} {
		if got := FormatDecimalsUp(c.x, 2); got != c.want {
			t.Errorf("%v: %s, want %s", c.x, got, c.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.Float64Range(0, 1e6).Draw(t, "x")
		text := FormatDecimalsUp(x, 2)
		exact := new(big.Rat).SetFloat64(x)
		if got := rational(t, text); got.Cmp(exact) < 0 || got.Sub(got, exact).Cmp(big.NewRat(1, 100)) >= 0 {
			t.Fatalf("%v: %s", x, text)
		}
	})
}
