// SPDX-License-Identifier: Apache-2.0

package spelling

import (
	"math"
	"strconv"

	"github.com/dpaccountant/accountant/internal/num"
)

// Delta is δ rounded up; with its logarithm where δ itself is below the
// normal numbers.
func Delta(delta float64, log *float64) string {
	if log != nil && delta < 0x1p-1022 && !math.IsInf(*log, -1) {
		return "e^" + num.FormatUp(*log, Digits)
	}
	return num.FormatUp(delta, Digits)
}

// Exact is a number as it was given.
func Exact(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// Nearest is for numbers that bound nothing.
func Nearest(x float64) string {
	if math.IsInf(x, 1) {
		return "∞"
	}
	return strconv.FormatFloat(x, 'g', 4, 64)
}

// Digits is how many significant digits tables show of ε and δ.
const Digits = 6

// Percent is a share, without the last digits that dividing leaves.
func Percent(part, limit float64) float64 { return math.Round(1e13*part/limit) / 1e11 }

// Share is a share for people, rounded up.
func Share(share float64) string { return num.FormatReadUp(100*share, 4) + " %" }
