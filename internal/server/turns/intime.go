// SPDX-License-Identifier: Apache-2.0

package turns

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/dpaccountant/accountant/internal/accountant"
)

// InTime answers questions before their calls end. Its field recovered counts and logs a panic,
// and returns the error that the caller gets.
type InTime struct {
	// Analysis, if set, is called when a question gets its first turn, and what it returns when the
	// computation has ended.
	Analysis func(ctx context.Context) func(error)
	// Caller returns who asks, and "" for all who do not prove who they are. Nil: all are one.
	Caller func(ctx context.Context) string

	analyses  *Rotation
	recovered func(ctx context.Context, p any) error
	end       func() // if set: see Ending
}

// NewInTime returns an InTime that has the questions of a rotation take turns. The function recovered
// counts and logs a panic, and returns the error that the caller gets.
func NewInTime(analyses *Rotation, recovered func(ctx context.Context, p any) error) InTime {
	return InTime{analyses: analyses, recovered: recovered}
}

// Admit admits a question or refuses it. The caller of a successful admit asks answer or beside
// once, which let the question leave, or calls leave.
func (t InTime) Admit(ctx context.Context) error {
	if p := payerOf(ctx); p != nil {
		if err := p.Afford(); err != nil {
			return err
		}
	}
	return t.analyses.admit(ctx, t.who(ctx))
}

// Leave is for an admitted question that is not computed. Its context is that of Admit, or one below it.
func (t InTime) Leave(ctx context.Context) { t.analyses.leave(t.who(ctx)) }

func (t InTime) who(ctx context.Context) string {
	if t.Caller == nil {
		return ""
	}
	return t.Caller(ctx)
}

// Ending returns an InTime that calls end when a question which Answer or Beside was asked leaves: after its
// computation, and also if its time was over before its first turn, so that there was none. What is held for a
// question is given back there.
func (t InTime) Ending(end func()) InTime {
	t.end = end
	return t
}

// Admitted is the number of questions that are being answered, those that wait for their turn
// among them.
func (t InTime) Admitted() int64 { return t.analyses.count() }

// Answer returns ask(q), where ask is told to stop some time before ctx ends. If ask does not
// return soon after that, the answer is the best that it has proven so far, and ask ends on its
// own. The question has been admitted, and leaves when ask has ended.
func (t InTime) Answer(ctx context.Context, q accountant.Question,
	ask func(accountant.Question) (accountant.Answer, error)) (accountant.Answer, error) {
	var best atomic.Pointer[accountant.Answer]
	q.Interim = func(a accountant.Answer) { best.Store(&a) }
	return Beside(ctx, t, best.Load, func(t *Turn) (accountant.Answer, error) {
		q.Stop = t.Stop
		return ask(q)
	})
}

// ForWrites makes computations that a write needs take turns with questions. They may take no
// longer than one question may, and end with the error stopping when the server begins to stop;
// nothing has been written by then.
func (t InTime) ForWrites(draining context.Context,
	stopping error) func(context.Context, func(stop func() bool) error) error {
	return func(ctx context.Context, compute func(stop func() bool) error) error {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(draining, cancel)()
		if err := t.analyses.admit(ctx, t.who(ctx)); err != nil {
			return err
		}
		_, err := Beside(ctx, t, NothingYet, func(t *Turn) (struct{}, error) { return struct{}{}, compute(t.Stop) })
		if err != nil && draining.Err() != nil {
			return stopping
		}
		return err
	}
}

// Beside computes an admitted question in a goroutine beside its call, in turns with others, so
// that the call ends in time whatever the computation does. interim returns the best result
// proven so far, nil if there is none.
func Beside[T any](ctx context.Context, t InTime, interim func() *T, compute func(*Turn) (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	ctx, cancel := t.analyses.bounded(ctx)
	defer cancel()
	go func() {
		r := result{err: context.DeadlineExceeded} // should compute not return
		turn := t.analyses.begin(ctx)
		defer func() {
			if p := recover(); p != nil {
				r.err = t.recovered(ctx, p)
			}
			if turn.over {
				t.analyses.meter.QuestionCut()
			}
			turn.give() // before the answer: its reader may ask the next question at once
			if t.end != nil {
				t.end()
			}
			t.analyses.leave(t.who(ctx))
			done <- r
		}()
		switch {
		case turn.held:
			defer t.analysis(ctx)(&r.err)
			r.value, r.err = compute(turn)
		case errors.Is(ctx.Err(), context.Canceled): // nobody waits for the answer
			r.err = ctx.Err()
		default:
			r.err = errNoTurn
		}
	}()
	deadline, _ := ctx.Deadline()
	left := time.Until(deadline)
	late := time.NewTimer(left - headroom(left)/2)
	defer late.Stop()
	select {
	case r := <-done:
		return r.value, r.err
	case <-late.C:
	case <-ctx.Done():
	}
	if best := interim(); best != nil && !errors.Is(ctx.Err(), context.Canceled) {
		return *best, nil
	}
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

// errNoTurn means that all of a question's time passed before its first turn.
var errNoTurn = fmt.Errorf("%w: other questions were answered first", accountant.ErrStopped)

// NothingYet is the interim result of computations that have none.
func NothingYet[T any]() *T { return nil }

// headroom returns the part of a call's time that is kept for what follows a computation: a
// tenth, and at least 10 ms unless that is more than half.
func headroom(left time.Duration) time.Duration {
	return max(left/10, min(10*time.Millisecond, left/2))
}

// analysis begins what Analysis observes. The function that it returns ends it with an error, if there is one.
func (t InTime) analysis(ctx context.Context) func(*error) {
	if t.Analysis == nil {
		return func(*error) {}
	}
	end := t.Analysis(ctx)
	return func(err *error) { end(*err) }
}
