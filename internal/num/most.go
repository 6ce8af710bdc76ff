// SPDX-License-Identifier: Apache-2.0

package num

import (
	"math"
	"math/bits"
)

// Most returns the largest n up to 2^63 − 1 for which fits holds; it is asked
// for that n itself, and for the one above it.
func Most(fits func(n uint64) (bool, error)) (uint64, error) {
	lo, hi := uint64(0), uint64(math.MaxInt64)+1
	for n := uint64(1); n < hi; { // doubling first: most counts are far below
		ok, err := fits(n)
		if err != nil {
			return 0, err
		}
		if ok {
			lo = n
		} else {
			hi = n
		}
		if ok && hi > math.MaxInt64 && bits.LeadingZeros64(n) > 1 {
			n *= 2
			continue
		}
		n = lo + (hi-lo)/2
		if n == lo {
			break
		}
	}
	return lo, nil
}
