package main

import "runtime"

// addProcessors returns how many questions are computed at once, n or one less than there
// are processors, and has as many goroutines more run at the same time as there are
// processors: long questions run on threads of low priority, which must not take the
// place of charges.
func addProcessors(n int) int {
	processors := runtime.GOMAXPROCS(0)
	if n == 0 {
		n = max(1, processors-1)
	}
	runtime.GOMAXPROCS(processors + n)
	return n
}
