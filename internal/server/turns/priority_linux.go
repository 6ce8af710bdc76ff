// SPDX-License-Identifier: Apache-2.0

package turns

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// yieldProcessor has the system prefer all other threads to the caller's, which ends with
// its goroutine: only the privileged may take such a step back. Where the system refuses,
// nothing is lost but the preference.
func yieldProcessor() {
	const nice = 10
	runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
	_ = unix.Setpriority(unix.PRIO_PROCESS, unix.Gettid(), nice)
}
