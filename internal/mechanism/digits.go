// SPDX-License-Identifier: Apache-2.0

package mechanism

import (
	"strings"

	"github.com/dpaccountant/accountant/internal/num"
)

// shownDigits is how many digits of a parameter people read in a mechanism's text.
const shownDigits = 6

// atMost is a parameter for people of which more costs more, such as a sensitivity, a sampling probability or a
// declared ε. It is shown as it was given if six digits say it, and otherwise rounded up, so that a text never tells
// of less loss than the mechanism has. Messages, digests and JSON keep the number as it was given.
func atMost(x float64) string { return shown(x, num.FormatReadUp) }

// atLeast is a parameter for people of which less costs more, such as noise: see atMost. It is rounded down.
func atLeast(x float64) string { return shown(x, num.FormatReadDown) }

func shown(x float64, round func(float64, int) string) string {
	given := number(x)
	mantissa, _, _ := strings.Cut(given, "e")
	if len(strings.Trim(strings.NewReplacer(".", "", "-", "").Replace(mantissa), "0")) <= shownDigits {
		return given
	}
	return round(x, shownDigits)
}
