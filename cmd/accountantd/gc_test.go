// SPDX-License-Identifier: Apache-2.0

package main

import (
	"math"
	"runtime/debug"
	"testing"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// The garbage collector keeps below the limit of the cgroup, unless somebody has said otherwise.
func TestMemoryLimit(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	defer debug.SetMemoryLimit(before)
	none := func() (uint64, error) { return 0, memlimit.ErrNoLimit }
	for _, c := range []struct {
		said  string
		limit memlimit.Provider
		want  int64
	}{{"", memlimit.Limit(1000), 900}, {"", none, before}, {"1GiB", memlimit.Limit(1000), before},
		{"", memlimit.Limit(math.MaxUint64), math.MaxInt64 / 10 * 9}} {
		debug.SetMemoryLimit(before)
		t.Setenv("GOMEMLIMIT", c.said)
		keepWithin(c.limit)
		if got := debug.SetMemoryLimit(-1); got != c.want {
			t.Errorf("GOMEMLIMIT=%q: %d; want %d", c.said, got, c.want)
		}
	}
}

func TestPercent(t *testing.T) {
	for _, c := range []struct {
		live uint64
		want int
	}{{0, 400}, {16 << 20, 400}, {48 << 20, 300}, {64 << 20, 200}, {96 << 20, 100}, {192 << 20, 100}, {1 << 40, 100}} {
		if got := percent(c.live); got != c.want {
			t.Errorf("%d MiB live: %d %%; want %d", c.live>>20, got, c.want)
		}
		if heap := c.live + c.live*uint64(percent(c.live))/100; c.live > 0 && heap > max(heapFloor, 2*c.live) {
			t.Errorf("%d MiB live: a heap of %d MiB", c.live>>20, heap>>20)
		}
	}
}
