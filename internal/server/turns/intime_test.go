// SPDX-License-Identifier: Apache-2.0

package turns

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
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
		gone bool // its caller
		ask  func(q accountant.Question, end chan struct{}) (accountant.Answer, error)
		want float64
		err  error
	}{
		"interim": {
			ask: func(q accountant.Question, end chan struct{}) (accountant.Answer, error) {
				q.Interim(accountant.Answer{Epsilon: 4})
				q.Interim(proven)
				<-end
				return accountant.Answer{}, nil
			}, want: 3},
		"stopped": {
			ask: func(q accountant.Question, end chan struct{}) (accountant.Answer, error) {
				q.Interim(proven)
				time.Sleep(50 * time.Millisecond)
				if !q.Stop() {
					t.Error("goes on after the deadline")
				}
				return proven, nil
			}, want: 3},
		"nothing yet": {
			ask: func(q accountant.Question, end chan struct{}) (accountant.Answer, error) {
				<-end
				return accountant.Answer{}, nil
			}, err: context.DeadlineExceeded},
		"gone": {
			gone: true,
			ask: func(q accountant.Question, end chan struct{}) (accountant.Answer, error) {
				q.Interim(proven)
				<-end
				return accountant.Answer{}, nil
			}, err: context.Canceled},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			if c.gone {
				cancel()
			}
			in, end := newTestInTime(), make(chan struct{})
			if err := in.analyses.admit(ctx, ""); err != nil {
				t.Fatal(err)
			}
			a, err := in.Answer(ctx, accountant.AtDelta(1e-5),
				func(q accountant.Question) (accountant.Answer, error) { return c.ask(q, end) })
			close(end)
			time.Sleep(time.Second) // until the computation has ended, too
			if a.Epsilon != c.want || !errors.Is(err, c.err) {
				t.Errorf("%s: %+v, %v; want ε = %g, %v", name, a, err, c.want, c.err)
			}
		})
	}
}
