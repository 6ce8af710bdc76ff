package cli

import (
	"fmt"
	"io"
	"time"
)

// Progress shows on a terminal that something is under way, once it has taken a
// second. The function it returns ends that and clears the line.
func (p *Program) Progress(what string) (done func()) {
	if !IsTerminal(p.Err) {
		return func() {}
	}
	tick := time.NewTicker(time.Second)
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		showProgress(p.Err, what, tick.C, stop)
	}()
	return func() {
		tick.Stop()
		close(stop)
		<-ended
	}
}

// showProgress rewrites one line at each tick, and clears it in the end.
func showProgress(w io.Writer, what string, tick <-chan time.Time, stop <-chan struct{}) {
	for n := 0; ; {
		select {
		case <-tick:
			n++
			_, _ = fmt.Fprintf(w, "\r\033[K%s … %d s", what, n)
		case <-stop:
			if n > 0 {
				_, _ = fmt.Fprint(w, "\r\033[K")
			}
			return
		}
	}
}
