package server

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
)

// analyses lets questions be answered without making charges wait: at most so many are
// computed at once that a processor is left for charges. Those that are admitted take
// turns, each a slice at a time, so that a short question is answered soon behind long
// ones. What is over the bound is refused at once, with a time to come back.
type analyses struct {
	turns   chan struct{} // full: as many compute as may
	most    int64         // admitted at once
	longest time.Duration // of one question
	metrics *Metrics      // which know when something was last written

	admitted atomic.Int64
	waiting  atomic.Int64 // for a turn
}

// slice is how long an analysis computes while others wait for their turn.
const slice = 10 * time.Millisecond

// While charges come in, a question rests for so many slices after each that it computes.
// Where other programs want the processors, too, the system divides them between groups of
// threads, and a daemon that used up its part for questions would have to wait for the next.
const restSlices = 3

// writesRecently is how long after a commit more charges are expected.
const writesRecently = 100 * time.Millisecond

// admittedEach is how many questions are admitted for each one that computes. With it the
// last of them waits a sixth of a second for its turn, four times as long while charges come
// in, and some hundred megabytes are in use.
const admittedEach = 16

func newAnalyses(atOnce int, longest time.Duration, m *Metrics) *analyses {
	if atOnce == 0 {
		atOnce = max(1, runtime.GOMAXPROCS(0)-1)
	}
	return &analyses{turns: make(chan struct{}, atOnce), most: int64(atOnce) * admittedEach, longest: longest, metrics: m}
}

// admit takes a question in, or refuses it: where there are too many, or so many that most
// of its time would pass before its first turn. Whoever has admitted it calls leave once.
func (a *analyses) admit(ctx context.Context) error {
	n := a.admitted.Add(1)
	wait := time.Duration(n-1) * (slice + a.rest()) / time.Duration(cap(a.turns))
	deadline, ok := ctx.Deadline()
	if n <= a.most && (wait < slice || !ok || wait < time.Until(deadline)/2) {
		return nil
	}
	a.admitted.Add(-1)
	a.metrics.questionsRefused.Inc()
	return busyError{after: wait}
}

// rest is how long a question leaves the processors to charges after each slice.
func (a *analyses) rest() time.Duration {
	if time.Now().UnixNano()-a.metrics.committed.Load() < int64(writesRecently) {
		return restSlices * slice
	}
	return 0
}

func (a *analyses) leave() { a.admitted.Add(-1) }

// bounded is ctx with a deadline no later than the longest time of one question.
func (a *analyses) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, a.longest)
}

// busyError refuses a question for which there is no room now.
type busyError struct{ after time.Duration }

func (e busyError) Error() string {
	return fmt.Sprintf("too many questions are being answered: ask again in %v; nothing was written, charges are taken meanwhile", e.after.Round(time.Millisecond))
}

// GRPCStatus has the time to come back as a detail, which clients wait for.
func (e busyError) GRPCStatus() *status.Status {
	s := status.New(codes.Unavailable, e.Error())
	if detailed, err := s.WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(e.after)}); err == nil {
		return detailed
	}
	return s
}

// turn is the part of one analysis in taking turns. It is of one goroutine.
type turn struct {
	all  *analyses
	ctx  context.Context
	end  time.Time // when to stop
	last time.Time // when this slice began
	held bool
	over bool
	long bool // more than one slice: other threads go first
}

// begin waits for the first turn of an analysis that stops headroom before ctx ends.
func (a *analyses) begin(ctx context.Context) *turn {
	now := time.Now()
	t := &turn{all: a, ctx: ctx, end: now.Add(a.longest)}
	if deadline, ok := ctx.Deadline(); ok {
		t.end = deadline.Add(-headroom(deadline.Sub(now)))
	}
	t.take()
	return t
}

// take waits for a turn; without one, as there is no time left, the analysis is over.
func (t *turn) take() {
	t.all.waiting.Add(1)
	defer t.all.waiting.Add(-1)
	late := time.NewTimer(time.Until(t.end))
	defer late.Stop()
	select {
	case t.all.turns <- struct{}{}: // who has waited longest is let in first
		t.held, t.last = true, time.Now()
	case <-late.C:
		t.over = true
	case <-t.ctx.Done():
		t.over = true
	}
}

// give ends the turn.
func (t *turn) give() {
	if t.held {
		<-t.all.turns
		t.held = false
	}
}

// share is stop, or that a part of the time that is left is over: of several questions
// the next then has its part too.
func (t *turn) share(questions int) func() bool {
	now := time.Now()
	end := now.Add(t.end.Sub(now) / time.Duration(questions))
	return func() bool { return t.stop() || time.Now().After(end) }
}

// pause leaves the processors to charges for a while, but not beyond the end.
func (t *turn) pause(d time.Duration) {
	if d <= 0 {
		return
	}
	rested := time.NewTimer(min(d, time.Until(t.end)))
	defer rested.Stop()
	select {
	case <-rested.C:
	case <-t.ctx.Done():
	}
}

// stop is asked by the analysis: it reports whether it must end, and otherwise lets
// charges and other questions go first when its slice is over.
func (t *turn) stop() bool {
	if t.over {
		return true
	}
	now := time.Now()
	if t.over = now.After(t.end) || t.ctx.Err() != nil; t.over || now.Sub(t.last) < slice {
		return t.over
	}
	if !t.long {
		t.long = true
		yieldProcessor()
	}
	t.pause(t.all.rest()) // with the turn: nobody else computes meanwhile
	if t.all.waiting.Load() > 0 {
		t.give()
		t.take()
		return t.over
	}
	runtime.Gosched()
	t.last = time.Now()
	return false
}
