// SPDX-License-Identifier: Apache-2.0

package turns

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
)

// Rotation answers questions without making charges wait. It computes only so many at once that
// a processor is left for charges. Admitted questions take turns, one slice at a time, so that
// a short question is answered soon even behind long ones. A question beyond the bound is
// refused at once, with the time after which to ask again.
type Rotation struct {
	turns   chan struct{} // full: as many compute as may
	most    int64         // admitted at once
	longest time.Duration // of one question
	rests   int           // slices, after each that is computed while charges come in
	meter   Meter

	mu       sync.Mutex
	admitted int64
	by       map[string]int64 // of these, by caller

	waiting atomic.Int64 // for a turn
}

// slice is how long an analysis computes while others wait for their turn.
const slice = 10 * time.Millisecond

// While charges come in, a question pauses for this many slices after each slice that it
// computes. On a machine that is shared with other programs, the system divides the processors
// between groups of threads; a daemon that used up its part for questions would have to wait
// for the next one.
const restSlices = 3

// writesRecently is how long after a commit the daemon expects more charges.
const writesRecently = 100 * time.Millisecond

// admittedEach is how many questions are admitted for each one that is computed. With 16, the
// last of them waits a sixth of a second for its turn, four times as long while charges come
// in, and all together use some hundred megabytes.
const admittedEach = 16

// Meter is what the rotation tells the daemon's metrics, and asks of them.
type Meter interface {
	QuestionRefused()
	QuestionCut()
	LastCommit() int64 // when something was last written, in Unix ns
}

// NewRotation returns a rotation in which up to atOnce questions compute at once, none of them longer
// than longest. If atOnce is 0, one processor is left for everything else.
func NewRotation(atOnce int, longest time.Duration, m Meter) *Rotation {
	if atOnce == 0 {
		atOnce = max(1, runtime.GOMAXPROCS(0)-1)
	}
	return &Rotation{turns: make(chan struct{}, atOnce), most: int64(atOnce) * admittedEach, longest: longest,
		rests: restSlices, meter: m,
		by: map[string]int64{}}
}

// NewReadings lets ledgers of which the costs take long to find be read one at a time, in
// turns. Charges wait for them, so they do not rest.
func NewReadings(m Meter) *Rotation {
	return &Rotation{turns: make(chan struct{}, 1), longest: math.MaxInt64, meter: m,
		by: map[string]int64{}}
}

// Long begins the long part of reading a ledger. The calling goroutine goes on in a thread of
// low priority, which ends with it.
func (a *Rotation) Long() (pause, done func()) {
	yieldProcessor()
	t := a.begin(context.Background())
	t.long = true
	return func() { t.Stop() }, t.give
}

// admit admits a question or refuses it. It refuses when too many are waiting, or so many that
// most of the question's time would pass before its first turn. Somebody who asks a single question
// is admitted beside others who ask as many as they can, until there are twice as many as usual. The
// caller of a successful admit calls leave once, for the same asker.
func (a *Rotation) admit(ctx context.Context, who string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	wait := time.Duration(a.admitted) * (slice + a.idleTime()) / time.Duration(cap(a.turns))
	deadline, ok := ctx.Deadline()
	most := a.most
	if a.by[who] == 0 {
		most *= 2
	}
	if a.admitted >= most || wait >= slice && ok && wait >= time.Until(deadline)/2 {
		a.meter.QuestionRefused()
		return busyError{after: wait}
	}
	a.admitted++
	a.by[who]++
	return nil
}

func (a *Rotation) leave(who string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.admitted--
	if a.by[who]--; a.by[who] == 0 {
		delete(a.by, who)
	}
}

// count is how many questions are admitted.
func (a *Rotation) count() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.admitted
}

// idleTime returns how long a question leaves the processors to charges after each slice.
func (a *Rotation) idleTime() time.Duration {
	if time.Now().UnixNano()-a.meter.LastCommit() < int64(writesRecently) {
		return time.Duration(a.rests) * slice
	}
	return 0
}

// bounded returns ctx with a deadline no later than the longest time allowed for one question.
func (a *Rotation) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, a.longest)
}

// busyError refuses a question because there is no room for it now.
type busyError struct{ after time.Duration }

func (e busyError) Error() string {
	return fmt.Sprintf("too many questions are being answered: ask again in %v; nothing was written, charges are "+
		"taken meanwhile", e.after.Round(time.Millisecond))
}

// Refused reports whether a question was refused because there was no room for it. It may be asked again.
func Refused(err error) bool {
	var busy busyError
	return errors.As(err, &busy)
}

// GRPCStatus carries the time after which to ask again as a detail, which clients respect.
func (e busyError) GRPCStatus() *status.Status {
	s := status.New(codes.Unavailable, e.Error())
	if detailed, err := s.WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(e.after)}); err == nil {
		return detailed
	}
	return s
}

// Payer is who pays for the time that a call's questions are computed.
type Payer interface {
	Afford() error       // refuses a question
	Spend(time.Duration) // counts time that was computed
}

// PayerKey is the key of a context's Payer, who pays for the questions of a call.
type PayerKey struct{}

func payerOf(ctx context.Context) Payer {
	p, _ := ctx.Value(PayerKey{}).(Payer)
	return p
}

// Turn is one analysis's place in the rotation. Only one goroutine uses it.
type Turn struct {
	all  *Rotation
	ctx  context.Context
	by   Payer     // nil: nobody pays
	end  time.Time // when to stop
	last time.Time // when this slice began
	held bool
	over bool
	long bool // more than one slice: other threads go first
}

// begin waits for the first turn of an analysis. The analysis is to stop some time before ctx
// ends, by headroom.
func (a *Rotation) begin(ctx context.Context) *Turn {
	now := time.Now()
	t := &Turn{all: a, ctx: ctx, by: payerOf(ctx), end: now.Add(a.longest)}
	if deadline, ok := ctx.Deadline(); ok {
		t.end = deadline.Add(-headroom(deadline.Sub(now)))
	}
	t.take()
	return t
}

// take waits for a turn. If no time is left for one, the analysis is over.
func (t *Turn) take() {
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
func (t *Turn) give() {
	if t.held {
		t.pay(time.Now())
		<-t.all.turns
		t.held = false
	}
}

// pay counts the time since this slice began, or since it was last counted.
func (t *Turn) pay(now time.Time) {
	if t.by != nil {
		t.by.Spend(now.Sub(t.last))
	}
	t.last = now
}

// Share returns a stop function for one of several questions in a row. It reports true when
// this question has used its part of the remaining time, so that the next one has its part too.
func (t *Turn) Share(questions int) func() bool {
	now := time.Now()
	end := now.Add(t.end.Sub(now) / time.Duration(questions))
	return func() bool { return t.Stop() || time.Now().After(end) }
}

// pause leaves the processors to charges for a while, but not beyond the end.
func (t *Turn) pause(d time.Duration) {
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

// Stop is called by the analysis. It reports whether the analysis must end; if not, and its
// slice is over, it lets charges and other questions go first.
func (t *Turn) Stop() bool {
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
	t.pay(now)
	t.pause(t.all.idleTime()) // with the turn: nobody else computes meanwhile
	t.last = time.Now()       // nobody pays for the pause
	if t.all.waiting.Load() > 0 {
		t.give()
		t.take()
		return t.over
	}
	runtime.Gosched()
	t.last = time.Now()
	return false
}
