// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
)

func report(t testing.TB, c *Client, n int) (*pb.WriteResponse, error) {
	t.Helper()
	events, labels := oneStep(n)
	return c.Report(t.Context(), "a", events, labels)
}

// wantNotes checks what the ledger holds, in order.
func wantNotes(t testing.TB, f *fake, want []string) {
	t.Helper()
	if got := f.notes("a"); !slices.Equal(got, want) {
		t.Errorf("ledger holds %v, want %v", got, want)
	}
}

func asError(t testing.TB, err error) *Error {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("got %T %v, want *Error", err, err)
	}
	if status.Code(err) != e.Code {
		t.Errorf("status.Code is %v, Error.Code %v", status.Code(err), e.Code)
	}
	return e
}

// expired is a context whose deadline comes after a few attempts. Its tests run by a clock of their own (synctest),
// which stands still while anybody has something to do.
func expired(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	t.Cleanup(cancel)
	return ctx
}

// byFakeTime returns a test that runs by such a clock.
func byFakeTime(test func(*testing.T)) func(*testing.T) {
	return func(t *testing.T) { synctest.Test(t, test) }
}

func TestReportSurvivesFaults(t *testing.T) {
	for name, faults := range map[string][]fault{
		"none":           nil,
		"down":           {failBefore, failBefore},
		"lost answer":    {failAfter},
		"lost twice":     {failAfter, failAfter},
		"lost and busy":  {failAfter, busy, busy},
		"down then lost": {failBefore, failAfter},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake("a")
			c := f.start(t, Config{Principal: "ann@example.org"})
			f.set(script("Report", faults...))
			answer, err := report(t, c, 1)
			if err != nil {
				t.Fatal(err)
			}
			if want := slices.Contains(faults, failAfter); answer.Replayed != want {
				t.Errorf("replayed: %v, want %v", answer.Replayed, want)
			}
			if _, err := report(t, c, 2); err != nil {
				t.Fatal(err)
			}
			wantNotes(t, f, count(1, 2))
			if !f.principals["ann@example.org"] {
				t.Error("the principal was not sent")
			}
		})
	}
}

func TestReportFromManyGoroutines(t *testing.T) {
	f := newFake("a")
	c := f.start(t, Config{})
	f.set(script("Report", failAfter, none, failBefore, failAfter))
	var wg sync.WaitGroup
	for n := range 20 {
		wg.Go(func() {
			if _, err := report(t, c, n); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	got := f.notes("a")
	slices.Sort(got)
	want := count(0, 19)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("ledger holds %v", got)
	}
}

func TestRefusalFreesTheNumber(t *testing.T) {
	f := newFake("a")
	c := f.start(t, Config{})
	_, err := c.Report(t.Context(), "a", nil, nil)
	if e := asError(t, err); e.Code != codes.InvalidArgument || e.Unknown || e.Sequence != 1 {
		t.Errorf("%+v", e)
	}
	if f.calls["Report"] != 1 {
		t.Errorf("%d attempts of a refused charge", f.calls["Report"])
	}
	answer, err := report(t, c, 1)
	if err != nil || answer.Receipt.Sequence != 1 {
		t.Errorf("%v %v", answer, err)
	}
	_, err = c.Report(t.Context(), "b", nil, nil)
	if status.Code(err) != codes.NotFound {
		t.Errorf("%v", err)
	}
}

// TestUnknownIsSettledFirst: a charge whose answer never came is kept, and the
// next write settles it before it sends anything new.
func TestUnknownIsSettledFirst(t *testing.T) {
	for name, fault1 := range map[string]fault{"written": failAfter, "not written": failBefore} {
		t.Run(name, byFakeTime(func(t *testing.T) {
			f := newFake("a")
			c := f.start(t, Config{})
			f.set(func(string) fault { return fault1 })
			events, labels := oneStep(1)
			_, err := c.Report(expired(t), "a", events, labels)
			e := asError(t, err)
			if !e.Unknown || !errors.Is(err, context.DeadlineExceeded) ||
				!strings.Contains(err.Error(), "unknown whether") {
				t.Fatalf("%+v", e)
			}
			if p := c.Pending("a"); len(p) != 1 || p[0].Sequence != 1 || p[0].Action.(*pb.Charge).Labels["n"] != "1" {
				t.Fatalf("pending: %v", p)
			}
			// Still down: the next one is not sent.
			_, err = c.Report(expired(t), "a", events, map[string]string{"n": "x"})
			if e := asError(t, err); e.Unknown || !errors.Is(err, ErrNotSent) || len(e.NotWritten) != 0 ||
				len(c.Pending("a")) != 1 {
				t.Fatalf("%+v", e)
			}
			f.set(nil)
			if answer, err := report(t, c, 2); err != nil || answer.Receipt.Sequence != 2 {
				t.Fatalf("%v %v", answer, err)
			}
			wantNotes(t, f, count(1, 2))
			if len(c.Pending("a")) != 0 {
				t.Error("still pending")
			}
		}))
	}
}

func TestUnknownThenRefused(t *testing.T) {
	f := newFake("a")
	c := f.start(t, Config{MaxAttempts: 2})
	f.set(func(string) fault { return failBefore })
	if _, err := report(t, c, 1); !asError(t, err).Unknown {
		t.Fatal(err)
	}
	f.set(nil)
	f.ledgers["a"].closed = true
	_, err := report(t, c, 2)
	e := asError(t, err)
	if !errors.Is(err, ErrNotSent) || e.Code != codes.FailedPrecondition || len(e.NotWritten) != 1 ||
		e.NotWritten[0].Action.(*pb.Charge).Labels["n"] != "1" {
		t.Fatalf("%+v", e)
	}
	if len(c.Pending("a")) != 0 {
		t.Error("a refused charge is still pending")
	}
	f.ledgers["a"].closed = false
	if _, err := report(t, c, 3); err != nil {
		t.Fatal(err)
	}
	wantNotes(t, f, count(3, 3))
}

// TestForbiddenSaysNothingOfEarlierAttempts: a refusal of the caller does not
// tell what became of an attempt whose answer was lost.
func TestForbiddenSaysNothingOfEarlierAttempts(t *testing.T) {
	f := newFake("a")
	c := f.start(t, Config{MaxAttempts: 1})
	f.set(script("Report", failAfter))
	if _, err := report(t, c, 1); !asError(t, err).Unknown {
		t.Fatal(err)
	}
	f.set(func(string) fault { return forbidden })
	if err := c.Settle(t.Context(), "a"); !asError(t, err).Unknown || status.Code(err) != codes.PermissionDenied ||
		len(c.Pending("a")) != 1 {
		t.Fatalf("%v, pending %v", err, c.Pending("a"))
	}
	f.set(nil)
	if err := c.Settle(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	// A first attempt that is forbidden is known not to be written.
	f.set(script("Report", forbidden))
	if _, err := report(t, c, 2); asError(t, err).Unknown {
		t.Fatal(err)
	}
	wantNotes(t, f, count(1, 1))
}

func TestInternalIsUnknownAndNotRetried(t *testing.T) {
	f := newFake("a")
	c := f.start(t, Config{})
	f.refuse = func(*pb.Charge) error { return status.Error(codes.Internal, "panic") }
	if _, err := report(t, c, 1); !asError(t, err).Unknown || f.calls["Report"] != 1 {
		t.Fatalf("%v after %d attempts", err, f.calls["Report"])
	}
	f.refuse = nil
	if err := c.Settle(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	wantNotes(t, f, count(1, 1))
}

func TestTooLarge(t *testing.T) {
	f := newFake("a")
	c := f.start(t, Config{})
	events, _ := oneStep(1)
	huge := map[string]string{"n": strings.Repeat("x", maxMessage)}
	if _, err := c.Report(t.Context(), "a", events, huge); !errors.Is(err, ErrTooLarge) || asError(t, err).Unknown {
		t.Error(err)
	}
	f.refuse = func(*pb.Charge) error {
		return status.Error(codes.ResourceExhausted, "grpc: received message larger than max (5000000 vs. 4194304)")
	}
	if _, err := report(t, c, 1); !errors.Is(err, ErrTooLarge) || f.calls["Report"] != 1 {
		t.Error(err)
	}
	spent, err := status.New(codes.ResourceExhausted, "budget: epsilon 8 is spent").WithDetails(&pb.BudgetExceeded{})
	if err != nil {
		t.Fatal(err)
	}
	f.refuse = func(*pb.Charge) error { return spent.Err() }
	if _, err := report(t, c, 1); errors.Is(err, ErrTooLarge) || asError(t, err).Unknown || f.calls["Report"] != 2 {
		t.Error(err)
	}
	if _, err := c.Report(t.Context(), "a", events,
		map[string]string{"n": "\xff"}); status.Code(err) != codes.InvalidArgument {
		t.Error(err)
	}
	f.refuse = nil
	if answer, err := report(t, c, 1); err != nil || answer.Receipt.Sequence != 1 {
		t.Errorf("%v %v", answer, err)
	}
}

func TestReportOnceAndCheck(t *testing.T) {
	f := newFake("a")
	c := f.start(t, Config{})
	events, labels := oneStep(1)
	for i, want := range []bool{false, true, true} {
		f.set(script("Report", busy))
		answer, err := c.ReportOnce(t.Context(), "a", "job-7", events, labels)
		if err != nil || answer.Replayed != want || answer.Receipt.Writer != "request/job-7" {
			t.Errorf("%d: %v %v", i, answer, err)
		}
	}
	if _, err := c.ReportOnce(t.Context(), "a", "job-7", events, nil); status.Code(err) != codes.AlreadyExists {
		t.Error(err)
	}
	if _, err := c.ReportOnce(t.Context(), "a", "no spaces", events, nil); status.Code(err) != codes.InvalidArgument {
		t.Error(err)
	}
	if answer, err := c.CheckOnce(t.Context(), "a", "job-7", events, labels); err != nil || !answer.Replayed ||
		answer.Receipt.GetPosition() != 1 {
		t.Errorf("%v %v", answer, err)
	}
	if answer, err := c.CheckOnce(t.Context(), "a", "job-8", events, labels); err != nil || !answer.CheckOnly {
		t.Errorf("%v %v", answer, err)
	}
	if answer, err := c.Check(t.Context(), "a", events, labels); err != nil ||
		!answer.CheckOnly || answer.Receipt != nil {
		t.Errorf("%v %v", answer, err)
	}
	if _, err := c.Check(t.Context(), "a", nil, nil); status.Code(err) != codes.InvalidArgument {
		t.Error(err)
	}
	wantNotes(t, f, count(1, 1))
}

func TestCloseLedger(t *testing.T) {
	f := newFake("a", "b")
	c := f.start(t, Config{})
	if _, err := report(t, c, 1); err != nil {
		t.Fatal(err)
	}
	answer, err := c.Write(t.Context(), "a", &pb.Close{Reason: "done"})
	if err != nil || answer.Receipt.Sequence != 2 {
		t.Fatalf("%v %v", answer, err)
	}
	if _, err := report(t, c, 3); status.Code(err) != codes.FailedPrecondition {
		t.Error(err)
	}
	for i, want := range []bool{false, true} {
		answer, err := c.WriteOnce(t.Context(), "b", "end", &pb.Close{Reason: "done"})
		if err != nil || answer.Replayed != want {
			t.Errorf("%d: %v %v", i, answer, err)
		}
	}
	if _, err := c.WriteOnce(t.Context(), "b", "", &pb.Close{Reason: ""}); status.Code(err) != codes.InvalidArgument {
		t.Error(err)
	}
	if w, err := c.GetWriter(t.Context(), "a", ""); err != nil || w.LastSequence != 2 {
		t.Errorf("%v %v", w, err)
	}
}

func TestIterators(t *testing.T) {
	f := newFake("a")
	c := f.start(t, Config{})
	var names []string
	for l, err := range c.ListLedgers(t.Context(), "x") {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, l.Name)
	}
	if !slices.Equal(names, []string{"x0", "x1", "x2"}) {
		t.Errorf("%v", names)
	}
	for n := 1; n <= 5; n++ {
		if _, err := report(t, c, n); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	genesis := ""
	for e, err := range c.Entries(t.Context(), "a",
		EntriesOptions{PageSize: 2, Raw: true, Genesis: func(b []byte) { genesis += string(b) }}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, e.GetCharge().Labels["n"])
	}
	if !slices.Equal(got, count(1, 5)) || genesis != "genesis" {
		t.Errorf("%v %q", got, genesis)
	}
	for e, err := range c.Entries(t.Context(), "a", EntriesOptions{PageSize: 2, Start: 4}) {
		if err != nil || e.Position != 4 {
			t.Errorf("%v %v", e, err)
		}
		break
	}
	for _, err := range c.ListLedgers(expiredNow(t), "x") {
		if status.Code(err) != codes.Canceled {
			t.Errorf("%v", err)
		}
	}
}

func expiredNow(t testing.TB) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

func TestClosedClient(t *testing.T) {
	f := newFake("a")
	c := f.start(t, Config{})
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := report(t, c, 1); !errors.Is(err, ErrClosed) || asError(t, err).Unknown {
		t.Error(err)
	}
	if _, err := c.Stream(t.Context(), "a"); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
	if _, err := c.GetLedger(t.Context(), "a"); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
	if len(c.Pending("a")) != 0 {
		t.Error("pending after a call that sent nothing")
	}
}

// RESOURCE_EXHAUSTED without the detail of a refusal by budgets is somebody else's, who may have taken away the
// daemon's answer: it is not tried again either, and is not taken for the lane's word.
func TestExhaustedWithoutDetail(t *testing.T) {
	f := newFake("a")
	c := f.start(t, Config{})
	f.refuse = func(*pb.Charge) error {
		return status.Error(codes.ResourceExhausted, "budget exceeded: quota of the proxy")
	}
	_, err := report(t, c, 1)
	if e := asError(t, err); errors.Is(err, ErrBudget) || errors.Is(err, ErrTooLarge) || e.Budget != nil ||
		!e.Unknown || f.calls["Report"] != 1 {
		t.Errorf("%+v after %d attempts", e, f.calls["Report"])
	}
	// After an attempt of unknown outcome it says nothing about that one.
	f.set(script("Report", failBefore))
	err = c.Settle(t.Context(), "a")
	if e := asError(t, err); !e.Unknown || errors.Is(err, ErrBudget) || len(c.Pending("a")) != 1 {
		t.Errorf("%+v", e)
	}
	// With the detail it does: the lane looks for duplicates first.
	detailed, err := status.New(codes.ResourceExhausted, "budget exceeded").WithDetails(&pb.BudgetExceeded{})
	if err != nil {
		t.Fatal(err)
	}
	f.mu.Lock()
	f.refuse = func(*pb.Charge) error { return detailed.Err() }
	f.mu.Unlock()
	f.set(script("Report", failBefore))
	err = c.Settle(t.Context(), "a")
	if e := asError(t, err); e.Unknown || !errors.Is(err, ErrBudget) || len(e.NotWritten) != 1 ||
		e.NotWritten[0].Action.(*pb.Charge).Labels["n"] != "1" || len(c.Pending("a")) != 0 {
		t.Errorf("%+v", e)
	}
}
