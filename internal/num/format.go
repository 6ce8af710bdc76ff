// SPDX-License-Identifier: Apache-2.0

package num

import (
	"math"
	"math/big"
	"strconv"
	"strings"
)

// FormatUp formats x with at most n significant digits so that the number read back
// from the text is never below x, not even by half a digit: exact decimal digits are
// cut and the last one raised. Special cases: "∞", "-∞", "0", "NaN".
func FormatUp(x float64, n int) string { return formatDirected(x, n, x > 0, exactDigits) }

// FormatDown formats x with at most n significant digits, never above x.
func FormatDown(x float64, n int) string { return formatDirected(x, n, x < 0, exactDigits) }

// FormatReadUp is FormatUp applied to the shortest decimal that identifies x, so that 0.2 stays
// 0.2. A balance is on the safe side when it is read in this way.
func FormatReadUp(x float64, n int) string { return formatDirected(x, n, x > 0, shortestDigits) }

// FormatReadDown is FormatDown applied to the shortest decimal that identifies x: see
// FormatReadUp.
func FormatReadDown(x float64, n int) string { return formatDirected(x, n, x < 0, shortestDigits) }

// FormatDecimalsUp formats x ≥ 0 with n decimals, never below x. 0 is "0". From a million on it is
// FormatUp with six digits.
func FormatDecimalsUp(x float64, n int) string {
	if !(x < 1e6) || x == 0 {
		return FormatUp(x, 6)
	}
	exact := new(big.Rat).SetFloat64(x)
	text := exact.FloatString(n) // the nearest
	if nearest, _ := new(big.Rat).SetString(text); nearest.Cmp(exact) < 0 {
		unit := new(big.Rat).SetFrac64(1, int64(math.Pow10(n)))
		text = nearest.Add(nearest, unit).FloatString(n)
	}
	return text
}

// Precisions of strconv.FormatFloat: a float64 has at most 767 significant decimal
// digits; −1 is as few as identify it.
const (
	exactDigits    = 800
	shortestDigits = -1
)

func formatDirected(x float64, n int, away bool, precision int) string {
	switch {
	case math.IsNaN(x):
		return "NaN"
	case math.IsInf(x, 1):
		return "∞"
	case math.IsInf(x, -1):
		return "-∞"
	case x == 0:
		return "0"
	}
	sign := ""
	if x < 0 {
		sign = "-"
	}
	mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(math.Abs(x), 'e', precision, 64), "e")
	exp, _ := strconv.Atoi(exponent)
	all := strings.Replace(mantissa, ".", "", 1)
	all += strings.Repeat("0", max(0, n-len(all)))
	kept, rest := []byte(all[:n]), all[n:]
	if away && strings.Trim(rest, "0") != "" && !raiseDigits(kept) {
		exp++
	}
	return sign + plainDecimal(strings.TrimRight(string(kept), "0"), exp)
}

// raiseDigits adds one to the last digit. It returns false if 99…9 became 10…0, which needs one
// digit more than there is room for.
func raiseDigits(d []byte) bool {
	for i := len(d) - 1; i >= 0; i-- {
		if d[i] < '9' {
			d[i]++
			return true
		}
		d[i] = '0'
	}
	d[0] = '1'
	return false
}

// plainDecimal writes d₀.d₁d₂… × 10^exp, d₀ ≠ 0. It uses an exponent only for numbers below
// 10⁻⁴ or from 10¹³ on.
func plainDecimal(d string, exp int) string {
	switch {
	case exp < -4 || exp > 12:
		if len(d) > 1 {
			d = d[:1] + "." + d[1:]
		}
		return d + "e" + strconv.Itoa(exp)
	case exp < 0:
		return "0." + strings.Repeat("0", -exp-1) + d
	case exp+1 >= len(d):
		return d + strings.Repeat("0", exp+1-len(d))
	}
	return d[:exp+1] + "." + d[exp+1:]
}
