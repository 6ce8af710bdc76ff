// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"math"
	"time"
)

// Nanos returns a time in nanoseconds since 1970. It refuses times outside 1678 … 2262,
// which have no int64 of them.
func Nanos(t time.Time) (int64, error) {
	first, last := time.Unix(0, math.MinInt64), time.Unix(0, math.MaxInt64)
	if t.Before(first) || t.After(last) {
		return 0, Invalid("time", t.UTC().Format(time.RFC3339), "years 1678 to 2262")
	}
	return t.UnixNano(), nil
}
