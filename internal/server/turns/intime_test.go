package turns

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/dpaccountant/accountant/internal/accountant"
)

func newTestInTime() InTime {
	return InTime{analyses: NewRotation(2, time.Hour, new(testMeter)),
		recovered: func(_ context.Context, p any) error { return fmt.Errorf("panic: %v", p) }}
}

// A computation ends with its call, or headroom before the deadline.
func TestTurnEnds(t *testing.T) {
	all := NewRotation(4, time.Hour, new(testMeter))
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	turn := all.begin(ctx)
	if kept := time.Until(time.Now().Add(10*time.Minute)) - time.Until(turn.end); kept < 50*time.Second ||
		kept > 70*time.Second {
		t.Errorf("of 10 minutes %v are kept; want one", kept)
	}
	if turn.Stop() {
		t.Error("stopped long before the deadline")
	}
	cancel()
	if !turn.Stop() || !turn.Share(2)() {
		t.Error("goes on after the call has ended")
	}
	if turn := all.begin(t.Context()); turn.Stop() || time.Until(turn.end) > time.Hour {
		t.Errorf("without a deadline: it ends at %v; want within the longest time", turn.end)
	}
	for of, want := range map[time.Duration]time.Duration{time.Second: 100 * time.Millisecond,
		50 * time.Millisecond: 10 * time.Millisecond, 8 * time.Millisecond: 4 * time.Millisecond} {
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
			in := newTestInTime()
			if err := in.analyses.admit(ctx); err != nil {
				t.Fatal(err)
			}
			a, err := in.Answer(ctx, accountant.AtDelta(1e-5),
				func(q accountant.Question) (accountant.Answer, error) { return c.ask(ctx, q) })
			if a.Epsilon != c.want || !errors.Is(err, c.err) {
				t.Errorf("%+v, %v; want ε = %g, %v", a, err, c.want, c.err)
			}
		})
	}
}
