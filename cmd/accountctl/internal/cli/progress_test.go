package cli

import (
	"bytes"
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
		tick, stop, ended := make(chan time.Time), make(chan struct{}), make(chan struct{})
		go func() { defer close(ended); showProgress(&w, "computing", tick, stop) }()
		for range c.ticks {
			tick <- time.Time{}
		}
		close(stop)
		<-ended
		if w.String() != c.want {
			t.Errorf("after %d ticks: %q, want %q", c.ticks, w.String(), c.want)
		}
	}
}
