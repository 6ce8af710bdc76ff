package main

import "testing"

func TestPercent(t *testing.T) {
	for _, c := range []struct {
		live uint64
		want int
	}{{0, 800}, {8 << 20, 800}, {16 << 20, 500}, {32 << 20, 200}, {48 << 20, 100}, {96 << 20, 100}, {1 << 40, 100}} {
		if got := percent(c.live); got != c.want {
			t.Errorf("%d MiB live: %d %%; want %d", c.live>>20, got, c.want)
		}
		if heap := c.live + c.live*uint64(percent(c.live))/100; c.live > 0 && heap > max(heapFloor, 2*c.live) {
			t.Errorf("%d MiB live: a heap of %d MiB", c.live>>20, heap>>20)
		}
	}
}
