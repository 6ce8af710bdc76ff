// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/dpaccountant/accountant/client"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
)

// Progress is a line on a terminal about something that takes longer than a second.
type Progress struct {
	what        string
	unit        func(uint64) string // writes an amount; nil: only the time is shown
	done, total atomic.Uint64       // a total of 0 is not known
	stop, ended chan struct{}       // nil where nothing is shown
}

// Progress starts such a line about what takes time.
func (p *Program) Progress(what string) *Progress { return p.ProgressOf(what, nil) }

// ProgressOf is Progress for something of which Set says how much is done; unit writes an amount.
// Nothing is shown where standard error is no terminal.
func (p *Program) ProgressOf(what string, unit func(uint64) string) *Progress {
	line := &Progress{what: what, unit: unit}
	if IsTerminal(p.Err) {
		line.stop, line.ended = make(chan struct{}), make(chan struct{})
		tick := time.NewTicker(time.Second)
		go func() {
			defer tick.Stop()
			line.show(p.Err, tick.C)
		}()
	}
	return line
}

// Set says how much is done of a total, which may be 0 where nobody knows it.
func (l *Progress) Set(done, total uint64) {
	l.done.Store(done)
	l.total.Store(total)
}

// asked is an answer of the daemon's that may say how far it has read a ledger instead.
type asked interface{ GetReading() *accountantv1.Reading }

// AskAll asks what the daemon answers from all entries of a ledger. Somebody at a terminal sees how far the daemon has
// read them, and waits as long as it goes on; elsewhere, and where the request cannot ask for progress, the answer is
// waited for within --timeout, as of any other call.
func AskAll[T any](p *Program, c *cobra.Command, request proto.Message,
	call func(context.Context, *client.Client) (T, error)) (answer T, err error) {
	m := request.ProtoReflect()
	progress := m.Descriptor().Fields().ByName("progress")
	if progress == nil || !IsTerminal(p.Err) {
		return Ask(p, c, call)
	}
	m.Set(progress, protoreflect.ValueOfBool(true))
	line := p.ProgressOf("reading the ledger", func(n uint64) string { return fmt.Sprintf("%d entries", n) })
	defer line.End()
	err = p.With(c, func(daemon *client.Client) (err error) {
		answer, err = untilRead(line, func() (T, error) { return call(c.Context(), daemon) })
		return err
	})
	return answer, err
}

// untilRead asks until everything is read. Each call waits for a moment by itself.
func untilRead[T any](line *Progress, call func() (T, error)) (T, error) {
	for {
		answer, err := call()
		reading := any(answer).(asked).GetReading()
		if err != nil || reading == nil {
			return answer, err
		}
		line.Set(reading.GetEntriesRead(), reading.GetEntries())
	}
}

// End clears the line.
func (l *Progress) End() {
	if l.stop != nil {
		close(l.stop)
		<-l.ended
	}
}

// show rewrites the line at each tick, and clears it in the end.
func (l *Progress) show(w io.Writer, tick <-chan time.Time) {
	defer close(l.ended)
	for n := 0; ; {
		select {
		case <-tick:
			n++
			_, _ = fmt.Fprintf(w, "\r\033[K%s … %s", l.what, l.text(n))
		case <-l.stop:
			if n > 0 {
				_, _ = fmt.Fprint(w, "\r\033[K")
			}
			return
		}
	}
}

// text is how far it is after some seconds.
func (l *Progress) text(seconds int) string {
	done, total := l.done.Load(), l.total.Load()
	switch {
	case l.unit == nil:
		return fmt.Sprintf("%d s", seconds)
	case total == 0:
		return l.unit(done)
	}
	return fmt.Sprintf("%.0f %%: %s of %s", 100*min(1, float64(done)/float64(total)), l.unit(done), l.unit(total))
}
