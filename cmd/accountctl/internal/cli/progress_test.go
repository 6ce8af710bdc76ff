package cli

import (
	"bytes"
	"fmt"
	"testing"
	"time"
)

// The line is written only once a tick has passed, and cleared in the end.
func TestProgressIsCleared(t *testing.T) {
	for _, c := range []struct {
		ticks int
		want  string
	}{{0, ""}, {2, "\r\033[Kcomputing … 1 s\r\033[Kcomputing … 2 s\r\033[K"}} {
		var w bytes.Buffer
		tick := make(chan time.Time)
		line := &Progress{what: "computing", stop: make(chan struct{}), ended: make(chan struct{})}
		go line.show(&w, tick)
		for range c.ticks {
			tick <- time.Time{}
		}
		line.End()
		if w.String() != c.want {
			t.Errorf("after %d ticks: %q, want %q", c.ticks, w.String(), c.want)
		}
	}
}

// How much is done is shown of what somebody counts.
func TestProgressCounts(t *testing.T) {
	line := &Progress{unit: func(n uint64) string { return fmt.Sprintf("%d entries", n) }}
	for _, c := range []struct {
		done, total uint64
		want        string
	}{{0, 0, "0 entries"}, {7, 0, "7 entries"}, {45, 60, "75 %: 45 entries of 60 entries"},
		{61, 60, "100 %: 61 entries of 60 entries"}} {
		line.Set(c.done, c.total)
		if got := line.text(3); got != c.want {
			t.Errorf("%d of %d: %q, want %q", c.done, c.total, got, c.want)
		}
	}
}
