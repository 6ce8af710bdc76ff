// SPDX-License-Identifier: Apache-2.0

//go:build unix

package bounds

import (
	"math"
	"syscall"
)

// openFiles is how many files this process may have open, connections among them. At its start Go has raised that as
// far as the system lets it.
func openFiles() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return math.MaxInt
	}
	return int(min(limit.Cur, math.MaxInt))
}
