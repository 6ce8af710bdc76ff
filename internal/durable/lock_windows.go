// SPDX-License-Identifier: Apache-2.0

package durable

import (
	"math"
	"os"

	"golang.org/x/sys/windows"
)

// Lock waits until no other process has the file; the lock ends when it is closed. It is on a byte beyond the content,
// as locked bytes cannot be read.
func Lock(f *os.File) error {
	return windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK, 0, 1, 0,
		&windows.Overlapped{OffsetHigh: math.MaxInt32})
}
