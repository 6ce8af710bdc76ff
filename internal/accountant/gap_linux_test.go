// SPDX-License-Identifier: Apache-2.0

package accountant

import (
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/dpaccountant/accountant/internal/num"
)

// processorTime is what the calling thread has used of a processor.
func processorTime() time.Duration {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t) // a thread has this clock
	return time.Duration(t.Nano())
}

// The longest time that passes between two questions whether to stop, how long a computation
// goes on after it was told to, and what the declared work takes. All are a processor's time,
// in which a virtual machine may count what others take of it: of several runs the least
// counts (-count 3).
func BenchmarkStop(b *testing.B) {
	const limit = 300 * time.Millisecond
	for name, events := range costly() {
		for way, ask := range asks(events) {
			b.Run(name+"/"+way, func(b *testing.B) {
				runtime.LockOSThread()
				defer runtime.UnlockOSThread()
				var gap, after, all time.Duration
				declared := 0
				for range b.N {
					began := processorTime()
					last, over, stopped := began, false, began
					in := num.NewInterrupt(func() bool {
						now := processorTime()
						if !over {
							gap = max(gap, now-last)
							if over = now-began > limit; over {
								stopped = now
							}
						}
						last = now
						return over
					})
					ask(b, in)
					end := processorTime()
					if over {
						after = max(after, end-stopped)
					} else {
						gap = max(gap, end-last)
					}
					all += end - began
					declared += in.Spent()
				}
				b.ReportMetric(gap.Seconds()*1e3, "ms-gap")
				b.ReportMetric(after.Seconds()*1e3, "ms-after")
				b.ReportMetric(float64(all)/float64(max(1, declared)), "declared")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}
