package server

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/dpaccountant/accountant/internal/accountant"
)

// inTime answers questions before their calls end. recovered counts and logs a panic
// and says what the caller gets.
type inTime struct {
	recovered func(ctx context.Context, p any) error
}

// answer returns ask(q), which is told to stop a while before ctx ends. Should it not
// return soon after that, the best that it has proven by then is the answer: a single
// step of an analysis can take longer than there is time. ask then ends on its own.
func (t inTime) answer(ctx context.Context, q accountant.Question, ask func(accountant.Question) (accountant.Answer, error)) (accountant.Answer, error) {
	type result struct {
		accountant.Answer
		err error
	}
	var best atomic.Pointer[accountant.Answer]
	done := make(chan result, 1)
	now := time.Now()
	q.Stop = stopFor(ctx, now)
	q.Interim = func(a accountant.Answer) { best.Store(&a) }
	go func() {
		r := result{err: context.DeadlineExceeded} // should ask not return
		defer func() {
			if p := recover(); p != nil {
				r.err = t.recovered(ctx, p)
			}
			done <- r
		}()
		r.Answer, r.err = ask(q)
	}()
	var late <-chan time.Time
	if deadline, ok := ctx.Deadline(); ok {
		timer := time.NewTimer(deadline.Sub(now) - headroom(deadline.Sub(now))/2)
		defer timer.Stop()
		late = timer.C
	}
	select {
	case r := <-done:
		return r.Answer, r.err
	case <-late:
	case <-ctx.Done():
	}
	if a := best.Load(); a != nil && !errors.Is(ctx.Err(), context.Canceled) {
		return *a, nil
	}
	select {
	case r := <-done:
		return r.Answer, r.err
	case <-ctx.Done():
		return accountant.Answer{}, ctx.Err()
	}
}

// headroom is what is kept of a call's time for what follows a computation: a tenth,
// 10 ms at least where that is not more than half.
func headroom(left time.Duration) time.Duration {
	return max(left/10, min(10*time.Millisecond, left/2))
}

// stopFor ends a computation with the call, and headroom before its deadline, so that
// the best bound so far still reaches the client.
func stopFor(ctx context.Context, now time.Time) func() bool {
	deadline, ok := ctx.Deadline()
	if !ok {
		return func() bool { return ctx.Err() != nil }
	}
	soon := deadline.Add(-headroom(deadline.Sub(now)))
	return func() bool { return ctx.Err() != nil || time.Now().After(soon) }
}
