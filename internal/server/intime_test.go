package server

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/dpaccountant/accountant/internal/accountant"
)

// A computation ends with its call, or headroom before the deadline.
func TestStopFor(t *testing.T) {
	deadline := time.Now().Add(time.Hour)
	ctx, cancel := context.WithDeadline(t.Context(), deadline)
	if stopFor(ctx, deadline.Add(-2*time.Hour))() {
		t.Error("an hour before the deadline of a call that has 2: stopped; want 12 minutes kept")
	}
	if !stopFor(ctx, deadline.Add(-20*time.Hour))() {
		t.Error("an hour before the deadline of a call that has 20: goes on; want 2 hours kept")
	}
	stop := stopFor(ctx, time.Now())
	cancel()
	if !stop() {
		t.Error("goes on after the call has ended")
	}
	if stopFor(t.Context(), time.Now())() {
		t.Error("without a deadline: stopped")
	}
	for of, want := range map[time.Duration]time.Duration{time.Second: 100 * time.Millisecond, 50 * time.Millisecond: 10 * time.Millisecond, 8 * time.Millisecond: 4 * time.Millisecond} {
		if headroom(of) != want {
			t.Errorf("of %v %v are kept; want %v", of, headroom(of), want)
		}
	}
}

// What is proven when time runs out is the answer, even where Stop is not asked.
func TestInTime(t *testing.T) {
	t.Parallel()
	proven := accountant.Answer{Epsilon: 3}
	for name, c := range map[string]struct {
		ctx  func() (context.Context, context.CancelFunc)
		ask  func(ctx context.Context, q accountant.Question) (accountant.Answer, error)
		want float64
		err  error
	}{
		"interim": {
			ask: func(ctx context.Context, q accountant.Question) (accountant.Answer, error) {
				q.Interim(accountant.Answer{Epsilon: 4})
				q.Interim(proven)
				<-t.Context().Done()
				return accountant.Answer{}, nil
			}, want: 3},
		"stopped": {
			ask: func(ctx context.Context, q accountant.Question) (accountant.Answer, error) {
				q.Interim(proven)
				<-ctx.Done()
				if !q.Stop() {
					t.Error("goes on after the deadline")
				}
				return proven, nil
			}, want: 3},
		"nothing yet": {
			ask: func(ctx context.Context, q accountant.Question) (accountant.Answer, error) {
				<-t.Context().Done()
				return accountant.Answer{}, nil
			}, err: context.DeadlineExceeded},
		"gone": {
			ctx: func() (context.Context, context.CancelFunc) {
				ctx, cancel := context.WithCancel(t.Context())
				cancel()
				return ctx, cancel
			},
			ask: func(ctx context.Context, q accountant.Question) (accountant.Answer, error) {
				q.Interim(proven)
				<-t.Context().Done()
				return accountant.Answer{}, nil
			}, err: context.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			if c.ctx != nil {
				cancel()
				ctx, cancel = c.ctx()
			}
			defer cancel()
			a, err := inTime{}.answer(ctx, accountant.AtDelta(1e-5), func(q accountant.Question) (accountant.Answer, error) { return c.ask(ctx, q) })
			if a.Epsilon != c.want || !errors.Is(err, c.err) {
				t.Errorf("%+v, %v; want ε = %g, %v", a, err, c.want, c.err)
			}
		})
	}
}
