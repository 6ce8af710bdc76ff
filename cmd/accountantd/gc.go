// SPDX-License-Identifier: Apache-2.0

package main

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// heapFloor is the heap up to which garbage is left to lie. A daemon with little
// in memory would otherwise collect some ten times a second under load, and each
// time shrink the stacks of its calls (docs/benchmarks.md).
const heapFloor = 192 << 20

// keepWithin has the garbage collector work harder when the process takes nine tenths of the memory that its cgroup may
// have, as a container or a unit of systemd has a limit beyond which the kernel kills it. Who set GOMEMLIMIT knows
// better.
func keepWithin(limit memlimit.Provider) {
	if most, err := limit(); err == nil && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(int64(min(most, math.MaxInt64) / 10 * 9))
	}
}

// saveCollections has the garbage collector start when the heap is twice what
// lives in it, as Go does, but not below heapFloor. Who set GOGC knows better.
func saveCollections() {
	if os.Getenv("GOGC") != "" {
		return
	}
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	current := 0
	var collected func(struct{})
	collected = func(struct{}) { // after each collection
		metrics.Read(live)
		if p := percent(live[0].Value.Uint64()); p != current {
			debug.SetGCPercent(p)
			current = p
		}
		runtime.AddCleanup(&struct{ self *int }{}, collected, struct{}{})
	}
	collected(struct{}{})
}

// percent is what the heap may grow by before the next collection, in percent of
// what lives in it: at least 100. In steps of 50, as each change stops the world.
func percent(live uint64) int {
	const most = 400
	if live >= heapFloor/2 {
		return 100
	}
	return int(max(100, min(most, (heapFloor-live)*100/max(live, 1)/50*50)))
}
