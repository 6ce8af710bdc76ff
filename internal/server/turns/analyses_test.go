// SPDX-License-Identifier: Apache-2.0

package turns

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// No more compute at once than may, whatever the number of questions; each of them has its
// turns, also those that would never end; and when their calls are over nothing is left.
func TestAnalysesTakeTurns(t *testing.T) {
	t.Parallel()
	in := InTime{analyses: NewRotation(2, time.Minute, new(testMeter))}
	ctx, cancel := context.WithCancel(t.Context())
	var computing, most atomic.Int64
	var had sync.WaitGroup // each a turn
	var calls sync.WaitGroup
	for range in.analyses.most {
		if err := in.analyses.admit(ctx, ""); err != nil {
			t.Fatal(err)
		}
		had.Add(1)
		calls.Go(func() {
			_, _ = Beside(ctx, in, NothingYet, func(t *Turn) (n int, _ error) {
				for ; ; n++ {
					now := computing.Add(1)
					for old := most.Load(); now > old && !most.CompareAndSwap(old, now); old = most.Load() {
					}
					computing.Add(-1)
					if n == 0 {
						had.Done()
					}
					if t.Stop() {
						return n, nil
					}
				}
			})
		})
	}
	had.Wait()
	err := in.analyses.admit(ctx, "")
	var busy busyError
	if !errors.As(err, &busy) {
		t.Fatalf("one question too many: %v", err)
	}
	s := status.Convert(err)
	if d := s.Details(); s.Code() != codes.Unavailable || len(d) != 1 ||
		d[0].(*errdetails.RetryInfo).GetRetryDelay().AsDuration() <= 0 {
		t.Errorf("%v, %v; want UNAVAILABLE with a time to come back", s, d)
	}
	cancel()
	calls.Wait()
	for in.Admitted() > 0 || len(in.analyses.turns) > 0 {
		time.Sleep(time.Millisecond) // the test's own time ends it
	}
	if n := most.Load(); n > 2 {
		t.Errorf("%d computed at once; want at most 2", n)
	}
}

// While charges are written a question leaves three quarters of the time to them; when none
// have come for a while it computes all the time.
func TestQuestionsRestWhileChargesComeIn(t *testing.T) {
	t.Parallel()
	for _, charges := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			m := new(testMeter)
			in := InTime{analyses: NewRotation(1, time.Second, m)}
			var writing sync.WaitGroup
			writing.Go(func() {
				for i := 0; charges && i < 60; i++ {
					m.commit()
					time.Sleep(20 * time.Millisecond)
				}
			})
			if err := in.analyses.admit(t.Context(), ""); err != nil {
				t.Fatal(err)
			}
			computed, err := Beside(t.Context(), in, NothingYet, func(t *Turn) (n int, _ error) {
				for ; !t.Stop(); n++ {
					time.Sleep(time.Millisecond) // stands for work
				}
				return n, nil
			})
			writing.Wait()
			if err != nil || charges != (computed < 300) || computed < 200 {
				t.Errorf("charges %v: computed for %d ms of 900, %v", charges, computed, err)
			}
		})
	}
}
