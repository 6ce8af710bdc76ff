// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"errors"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"pgregory.net/rapid"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
)

func stream(t testing.TB, c *Client) *Stream {
	t.Helper()
	s, err := c.Stream(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func streamSteps(t testing.TB, s *Stream, from, to int) {
	t.Helper()
	for n := from; n <= to; n++ {
		events, labels := oneStep(n)
		if err := s.Report(t.Context(), events, labels); err != nil {
			t.Fatal(err)
		}
	}
}

// wantNoGoroutines checks that no stream of the package leaves anything running.
// Who learns that a stream has ended may do so while its goroutine returns.
func wantNoGoroutines(t testing.TB) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; runtime.Gosched() {
		var b strings.Builder
		if err := pprof.Lookup("goroutine").WriteTo(&b, 2); err != nil {
			t.Fatal(err)
		}
		left := strings.Contains(b.String(), "client.(*Stream).run") ||
			strings.Contains(b.String(), "client.(*connection)")
		if !left {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("goroutines are left:\n%s", b.String())
		}
	}
}

// TestStreamWritesOnceInOrder: whatever goes wrong, and however often, every
// charge is written exactly once and in order.
func TestStreamWritesOnceInOrder(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		f := newFake("a")
		c := f.start(t, Config{
			Window:  rapid.IntRange(1, 20).Draw(r, "window"),
			Timeout: 20 * time.Millisecond, // of a connection that went silent
		})
		defer func() { _ = c.Close() }()
		charges := rapid.SliceOfN(rapid.SampledFrom([]fault{none, none, none, failBefore, failAfter, quiet, unready}),
			0, 40).Draw(r, "charges")
		opens := rapid.SliceOfN(rapid.SampledFrom([]fault{none, none, failBefore}), 0, 5).Draw(r, "opens")
		if rapid.IntRange(0, 9).Draw(r, "silent") == 0 {
			charges = append(charges, stall)
		}
		one, two := script("Charge", charges...), script("Open", opens...)
		f.set(func(op string) fault { return max(one(op), two(op)) })
		n := rapid.IntRange(0, 50).Draw(r, "n")
		s := stream(t, c)
		streamSteps(t, s, 1, n)
		if rapid.Bool().Draw(r, "flush") {
			if err := s.Flush(t.Context()); err != nil {
				r.Fatal(err)
			}
			if st := s.Status(); st.Outstanding != 0 || st.Acknowledged != uint64(n) {
				r.Fatalf("flushed: %+v", st)
			}
			s.mu.Lock()
			left := s.bytes
			s.mu.Unlock()
			if left != 0 {
				r.Fatalf("%d bytes of an empty queue", left)
			}
		}
		if err := s.Close(t.Context()); err != nil {
			r.Fatal(err)
		}
		if got := f.notes("a"); !slices.Equal(got, count(1, n)) {
			r.Fatalf("ledger holds %v of 1 … %d", got, n)
		}
		// The lane goes on where the stream ended.
		if _, err := report(t, c, n+1); err != nil {
			r.Fatal(err)
		}
	})
	wantNoGoroutines(t)
}

func TestStreamFromManyGoroutines(t *testing.T) {
	f := newFake("a")
	c := f.start(t, Config{Window: 8})
	f.set(script("Charge", none, failAfter, quiet, failBefore, none, none, failAfter, unready))
	s := stream(t, c)
	var wg sync.WaitGroup
	for n := range 100 {
		wg.Go(func() {
			events, labels := oneStep(n)
			if err := s.Report(t.Context(), events, labels); err != nil {
				t.Error(err)
			}
			if n%10 == 0 {
				if err := s.Flush(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	got, want := f.notes("a"), count(0, 99)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("ledger holds %v", got)
	}
}

func TestStreamRejected(t *testing.T) {
	f := newFake("a")
	c := f.start(t, Config{})
	f.hold = make(chan struct{})
	f.refuse = func(c *pb.Charge) error {
		if c.Labels["n"] == "3" {
			return status.Error(codes.InvalidArgument, "n: 3; allowed: others")
		}
		return nil
	}
	s := stream(t, c)
	streamSteps(t, s, 1, 6)
	close(f.hold) // now all six are on their way or behind
	err := s.Flush(t.Context())
	e := asError(t, err)
	if e.Code != codes.InvalidArgument || e.Sequence != 3 || e.Unknown || !strings.Contains(e.Message, "n: 3") {
		t.Fatalf("%+v", e)
	}
	var not []string
	for _, c := range e.NotWritten {
		not = append(not, c.Action.(*pb.Charge).Labels["n"])
	}
	if !slices.Equal(not, count(3, 6)) {
		t.Errorf("not charged: %v", not)
	}
	events, labels := oneStep(7)
	if again := s.Report(t.Context(), events, labels); again != err {
		t.Errorf("Report after the end: %v", again)
	}
	if again := s.Close(t.Context()); again != err {
		t.Errorf("Close after the end: %v", again)
	}
	if len(c.Pending("a")) != 0 {
		t.Errorf("pending: %v", c.Pending("a"))
	}
	// The number is free for something else, and the lane is not busy.
	s = stream(t, c)
	streamSteps(t, s, 7, 8)
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantNotes(t, f, []string{"1", "2", "7", "8"})
	wantNoGoroutines(t)
}

// TestStreamRejectedBehindASilence: a charge whose acknowledgement was still
// owed when one behind it was refused is written, and not listed as refused.
func TestStreamRejectedBehindASilence(t *testing.T) {
	f := newFake("a")
	c := f.start(t, Config{})
	f.set(script("Charge", none, quiet))
	f.refuse = func(c *pb.Charge) error {
		if c.Labels["n"] == "3" {
			return status.Error(codes.InvalidArgument, "n: 3; allowed: others")
		}
		return nil
	}
	s := stream(t, c)
	streamSteps(t, s, 1, 3)
	e := asError(t, s.Close(t.Context()))
	if e.Code != codes.InvalidArgument || e.Sequence != 3 || len(e.NotWritten) != 1 ||
		e.NotWritten[0].Action.(*pb.Charge).Labels["n"] != "3" {
		t.Errorf("%+v", e)
	}
	wantNotes(t, f, count(1, 2))
}

// TestStreamForbiddenLater: what a stream has sent stays of unknown outcome when
// the daemon will not talk to this caller any more.
func TestStreamForbiddenLater(t *testing.T) { synctest.Test(t, streamForbiddenLater) }

func streamForbiddenLater(t *testing.T) {
	f := newFake("a")
	c := f.start(t, Config{})
	s := stream(t, c)
	f.set(func(op string) fault { return map[string]fault{"Open": failBefore, "Charge": failAfter}[op] })
	streamSteps(t, s, 1, 1)
	if e := asError(t, s.Close(expired(t))); !e.Unknown || len(c.Pending("a")) != 1 {
		t.Fatalf("%+v, pending %v", e, c.Pending("a"))
	}
	f.set(func(string) fault { return forbidden })
	if err := c.Settle(t.Context(), "a"); !asError(t, err).Unknown || len(c.Pending("a")) != 1 {
		t.Fatalf("%v, pending %v", err, c.Pending("a"))
	}
	f.set(nil)
	if err := c.Settle(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	wantNotes(t, f, count(1, 1))
}

// TestStreamThatSentNothing: what no connection took, or what the daemon ended the stream before it took, is not of
// unknown outcome. What an earlier connection took is. The lane keeps it unless time cures nothing.
func TestStreamThatSentNothing(t *testing.T) {
	noConnection := func(_ *testing.T, f *fake, s *Stream) {
		f.server.Stop()
		for live := true; live; runtime.Gosched() {
			s.mu.Lock()
			live = s.live
			s.mu.Unlock()
		}
	}
	in := func(faults map[string]fault) func(*testing.T, *fake, *Stream) {
		return func(_ *testing.T, f *fake, _ *Stream) { f.set(func(op string) fault { return faults[op] }) }
	}
	for name, c := range map[string]struct {
		before  func(*testing.T, *fake, *Stream)
		patient func(testing.TB) context.Context
		unknown bool
		keeps   bool
	}{
		"no connection": {before: noConnection, patient: expired, keeps: true},
		"a lost right":  {before: in(map[string]fault{"Charge": forbidden}), patient: testing.TB.Context},
		"a lost answer, then a lost right": {before: in(map[string]fault{"Charge": failAfter, "Open": forbidden}),
			patient: testing.TB.Context, unknown: true, keeps: true},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake("a")
			config := Config{BackoffMin: time.Millisecond, BackoffMax: time.Millisecond}
			if name == "no connection" {
				config = Config{BackoffMin: time.Hour, BackoffMax: time.Hour}
			}
			client := f.start(t, config)
			s := stream(t, client)
			streamSteps(t, s, 1, 1)
			if err := s.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
			c.before(t, f, s)
			sent := 0
			for i := 2; i <= 4; i++ {
				events, labels := oneStep(i)
				if err := s.Report(t.Context(), events, labels); err != nil {
					break // the stream has ended, so this one was not taken
				}
				sent++
			}
			e := asError(t, s.Close(c.patient(t)))
			kept, listed := len(client.Pending("a")), len(e.NotWritten)
			want := map[bool][2]int{true: {0, sent}, false: {sent, 0}}[c.keeps]
			if sent == 0 || e.Unknown != c.unknown || want != [2]int{listed, kept} {
				t.Errorf("%v; %d not written, %d pending; want unknown: %v, %d", e, listed, kept, c.unknown, want)
			}
		})
	}
}

// TestStreamIsPatient: a daemon that has so much to do that it answers later than the time-out is asked less and less
// often, instead of getting everything again each time until it never comes to an end.
func TestStreamIsPatient(t *testing.T) {
	byFakeTime(func(t *testing.T) {
		f := newFake("a")
		f.slow = 5 * time.Second
		c := f.start(t, Config{Timeout: time.Second})
		s := stream(t, c)
		streamSteps(t, s, 1, 3)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if err := s.Close(ctx); err != nil {
			t.Error(err)
		}
		if opened := s.Status().Connections; opened != 4 { // it waits for 1, 2, 4 and 8 s
			t.Errorf("%d connections; want 4", opened)
		}
	})(t)
}

// TestStreamEndsWithoutTheDaemon: a daemon that does not end the stream, or is
// gone, does not hold up a stream that has nothing to wait for.
func TestStreamEndsWithoutTheDaemon(t *testing.T) {
	t.Run("deaf", byFakeTime(func(t *testing.T) {
		f := newFake("a")
		f.deaf = true
		c := f.start(t, Config{Timeout: 20 * time.Millisecond})
		for n := range 2 {
			s := stream(t, c)
			streamSteps(t, s, 1, n)
			if err := s.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}
		f.refuse = func(*pb.Charge) error { return status.Error(codes.OutOfRange, "enough") }
		s := stream(t, c)
		streamSteps(t, s, 2, 2)
		if err := s.Close(t.Context()); status.Code(err) != codes.OutOfRange {
			t.Error(err)
		}
	}))
	t.Run("gone", func(t *testing.T) {
		f := newFake("a")
		c := f.start(t, Config{BackoffMin: time.Hour, BackoffMax: time.Hour})
		s := stream(t, c)
		streamSteps(t, s, 1, 1)
		if err := s.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		f.server.Stop()
		for live := true; live; runtime.Gosched() {
			s.mu.Lock()
			live = s.live
			s.mu.Unlock()
		}
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
	wantNoGoroutines(t)
}

func TestStreamWindowIsBounded(t *testing.T) {
	for name, cfg := range map[string]Config{"charges": {Window: 5}, "bytes": {WindowBytes: 5 * 70}} {
		t.Run(name, byFakeTime(func(t *testing.T) {
			f := newFake("a")
			f.hold = make(chan struct{})
			c := f.start(t, cfg)
			s := stream(t, c)
			taken := 0
			for ctx := expired(t); ; taken++ {
				events, labels := oneStep(taken + 1)
				if err := s.Report(ctx, events, labels); err != nil {
					if !errors.Is(err, context.DeadlineExceeded) || asError(t, err).Unknown {
						t.Fatal(err)
					}
					break
				}
			}
			st := s.Status()
			if taken == 0 || taken > 10 || st.Outstanding != taken {
				t.Errorf("%d taken, %+v", taken, st)
			}
			if name == "charges" && taken != 5 {
				t.Errorf("%d taken in a window of 5", taken)
			}
			if err := s.Flush(expired(t)); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Flush: %v", err)
			}
			close(f.hold)
			streamSteps(t, s, taken+1, 100)
			if err := s.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			wantNotes(t, f, count(1, 100))
		}))
	}
}

func TestStreamContentIsFixed(t *testing.T) {
	f := newFake("a")
	f.hold = make(chan struct{})
	c := f.start(t, Config{})
	s := stream(t, c)
	events, labels := oneStep(1)
	if err := s.Report(t.Context(), events, labels); err != nil {
		t.Fatal(err)
	}
	labels["n"], events[0].Count = "changed", 99
	close(f.hold)
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantNotes(t, f, count(1, 1))
	if got := f.ledgers["a"].entries[0].GetCharge().Events[0].Count; got != 1 {
		t.Errorf("count %d", got)
	}
}

// TestStreamClosedEarly: what is not acknowledged is kept, and settled by
// whatever comes next on the lane.
func TestStreamClosedEarly(t *testing.T) {
	for name, end := range map[string]func(*testing.T, *Client, *Stream) error{
		"close": func(t *testing.T, _ *Client, s *Stream) error { return s.Close(expired(t)) },
		"no progress": func(t *testing.T, _ *Client, s *Stream) error {
			return s.Flush(t.Context())
		},
	} {
		t.Run(name, byFakeTime(func(t *testing.T) {
			f := newFake("a")
			cfg := Config{}
			if name == "no progress" {
				cfg.MaxAttempts = 3
			}
			c := f.start(t, cfg)
			f.set(script("Charge", none, none, failAfter))
			s := stream(t, c)
			streamSteps(t, s, 1, 2)
			if err := s.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
			charges := script("Charge", failAfter)
			f.set(func(op string) fault {
				if op == "Open" {
					return failBefore
				}
				return charges(op)
			})
			streamSteps(t, s, 3, 5)
			e := asError(t, end(t, c, s))
			if !e.Unknown || len(e.NotWritten) != 0 {
				t.Fatalf("%+v", e)
			}
			if p := c.Pending("a"); len(p) != 3 || p[0].Sequence != 3 || p[2].Action.(*pb.Charge).Labels["n"] != "5" {
				t.Fatalf("pending: %v", p)
			}
			f.set(nil)
			s = stream(t, c)
			streamSteps(t, s, 6, 6)
			if err := s.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			wantNotes(t, f, count(1, 6))
			wantNoGoroutines(t)
		}))
	}
}

func TestStreamHasTheLane(t *testing.T) {
	f := newFake("a", "b")
	c := f.start(t, Config{})
	s := stream(t, c)
	if _, err := report(t, c, 1); !errors.Is(err, ErrStreamOpen) {
		t.Error(err)
	}
	if _, err := c.Stream(t.Context(), "a"); !errors.Is(err, ErrStreamOpen) {
		t.Error(err)
	}
	events, labels := oneStep(1)
	if _, err := c.Report(t.Context(), "b", events, labels); err != nil {
		t.Error(err)
	}
	if _, err := c.Check(t.Context(), "a", events, labels); err != nil {
		t.Error(err)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if err := s.Report(t.Context(), events, labels); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
	if _, err := report(t, c, 1); err != nil {
		t.Error(err)
	}
}

func TestStreamOpening(t *testing.T) { synctest.Test(t, streamOpening) }

func streamOpening(t *testing.T) {
	f := newFake("a")
	c := f.start(t, Config{})
	if _, err := c.Stream(t.Context(), "none"); status.Code(err) != codes.NotFound || asError(t, err).Unknown {
		t.Error(err)
	}
	if _, err := c.Stream(t.Context(), "\xff"); err == nil || asError(t, err).Unknown {
		t.Error(err)
	}
	f.set(func(string) fault { return failBefore })
	if _, err := c.Stream(expired(t), "a"); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	f.set(script("Open", failBefore, failBefore))
	s := stream(t, c)
	if err := s.Close(t.Context()); err != nil {
		t.Error(err)
	}
	wantNoGoroutines(t)
}

func TestStreamEndsWithTheClient(t *testing.T) {
	f := newFake("a")
	f.hold = make(chan struct{})
	c := f.start(t, Config{Window: 2})
	s := stream(t, c)
	streamSteps(t, s, 1, 2)
	blocked := make(chan error)
	go func() {
		events, labels := oneStep(3)
		blocked <- s.Report(context.Background(), events, labels)
	}()
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-blocked; !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
	if err := s.Close(t.Context()); !errors.Is(err, ErrClosed) || !asError(t, err).Unknown {
		t.Error(err)
	}
	wantNoGoroutines(t)
}

// TestStreamOfADaemonThatForgot: a daemon that was restored from an old backup
// no longer has what it acknowledged; that must not pass in silence.
func TestStreamOfADaemonThatForgot(t *testing.T) {
	f := newFake("a")
	c := f.start(t, Config{})
	s := stream(t, c)
	streamSteps(t, s, 1, 3)
	if err := s.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.mu.Lock()
	f.ledgers["a"].last[c.Writer()] = 1
	f.ledgers["a"].entries = f.ledgers["a"].entries[:1]
	f.mu.Unlock()
	f.set(script("Charge", failBefore))
	streamSteps(t, s, 4, 4)
	err := s.Flush(t.Context())
	if e := asError(t, err); !errors.Is(err, ErrLost) || e.Code != codes.DataLoss ||
		len(e.NotWritten) != 1 || e.Unknown {
		t.Fatalf("%+v", e)
	}
	wantNotes(t, f, count(1, 1))
}

func TestStreamReceiptAndConnections(t *testing.T) {
	f := newFake("a")
	c := f.start(t, Config{})
	f.set(script("Charge", none, failAfter, none, none))
	s := stream(t, c)
	streamSteps(t, s, 1, 4)
	if err := s.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if st := s.Status(); st.Connections != 2 || st.Receipt.GetSequence() != 4 || st.Acknowledged != 4 {
		t.Errorf("%+v", st)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}
