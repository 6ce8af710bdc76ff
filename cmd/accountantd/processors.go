// SPDX-License-Identifier: Apache-2.0

package main

import "runtime"

// addProcessors returns how many questions are computed at once, n or one less than there
// are processors. It has so many goroutines and one more run at the same time in addition to
// one for each processor: long questions, and one ledger that takes long to read, run on
// threads of low priority, which must not take the place of charges.
func addProcessors(n int) int {
	processors := runtime.GOMAXPROCS(0)
	if n == 0 {
		n = max(1, processors-1)
	}
	runtime.GOMAXPROCS(processors + n + 1)
	return n
}
