// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/dpaccountant/accountant/client"
	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/server/servertest"
)

func tenths(n uint32) []*pb.Event { return []*pb.Event{servertest.Pure(0.1, n)} }

// Connections break at any byte: each reservation is made once and its position is
// the right one, whatever was lost; commits and releases go to it, once each.
func TestReservationsUnderDisconnections(t *testing.T) {
	s := servertest.Start(t)
	ledgers := 0
	rapid.Check(t, func(r *rapid.T) {
		ledgers++
		name := fmt.Sprintf("run/%d", ledgers)
		s.Create(servertest.Filter(name, servertest.Basic(1000)))
		lives := rapid.SliceOfN(rapid.IntRange(1, 4000), 0, 8).Draw(r, "bytes")
		c := connect(t, s, client.Config{Window: rapid.IntRange(1, 8).Draw(r, "window")}, lives...)
		defer func() { _ = c.Close() }()
		ctx := servertest.Context(t)
		streaming := rapid.Bool().Draw(r, "streaming")
		reserve := func(n uint32, labels map[string]string) (*pb.Receipt, error) {
			a, err := c.Reserve(ctx, name, tenths(n), time.Hour, labels)
			return a.GetReceipt(), err
		}
		commit := func(p uint64, n uint32, labels map[string]string) error {
			_, err := c.Commit(ctx, name, p, tenths(n), labels)
			return err
		}
		release := func(p uint64) error { _, err := c.Release(ctx, name, p, "rest"); return err }
		end := func() error { return nil }
		if streaming {
			lane, err := c.Stream(ctx, name)
			if err != nil {
				r.Fatal(err)
			}
			reserve = func(n uint32, labels map[string]string) (*pb.Receipt, error) {
				return lane.Reserve(ctx, tenths(n), time.Hour, labels)
			}
			commit = func(p uint64, n uint32, labels map[string]string) error {
				return lane.Commit(ctx, p, tenths(n), labels)
			}
			release = func(p uint64) error { return lane.Release(ctx, p, "rest") }
			end = func() error { return lane.Close(ctx) }
		}
		rounds := rapid.IntRange(1, 6).Draw(r, "rounds")
		for n := 1; n <= rounds; n++ {
			receipt, err := reserve(5, labels(n))
			if err != nil {
				r.Fatal(err)
			}
			if want := uint64(3*n - 2); receipt.GetPosition() != want || receipt.GetSequence() != want {
				r.Fatalf("reservation %d: receipt %v; want position %d", n, receipt, want)
			}
			if err := commit(receipt.GetPosition(), 2, labels(n)); err != nil {
				r.Fatal(err)
			}
			if err := release(receipt.GetPosition()); err != nil {
				r.Fatal(err)
			}
		}
		if err := end(); err != nil {
			r.Fatal(err)
		}
		i := uint64(0)
		for e, err := range c.Entries(ctx, name, client.EntriesOptions{}) {
			if err != nil {
				r.Fatal(err)
			}
			round, first := int(i/3)+1, i/3*3+1
			if got := [...]uint64{1, e.GetCommit().GetReservation(), e.GetRelease().GetReservation()}[i%3]; i%3 == 0 &&
				e.GetReserve().GetLabels()["n"] != fmt.Sprint(round) || i%3 != 0 && got != first {
				r.Fatalf("entry %d: %v", i+1, e)
			}
			i++
		}
		if i != uint64(3*rounds) {
			r.Fatalf("%d entries; want %d", i, 3*rounds)
		}
	})
}

// A refusal by budgets is told from the transport's by its detail, is not tried
// again, leaves the number free, and says what would fit.
func TestBudgetRefusal(t *testing.T) {
	s := servertest.Start(t)
	s.Create(servertest.Filter("a", servertest.Basic(1)))
	c := connect(t, s, client.Config{})
	ctx := servertest.Context(t)
	want := &pb.BudgetExceeded{
		Shortfalls: []*pb.BudgetExceeded_Shortfall{{Budget: proto.Uint32(0), Unit: "ε",
			Needed: 1.1, Left: 1, Short: 0.1}},
		Fits: []*pb.MechanismCount{{Mechanism: tenths(1)[0].GetMechanism(), Count: 10}},
	}
	check := func(what string, err error) *client.Error {
		t.Helper()
		var e *client.Error
		if !errors.As(err, &e) || !errors.Is(err, client.ErrBudget) ||
			errors.Is(err, client.ErrTooLarge) || e.Unknown ||
			status.Code(err) != codes.ResourceExhausted || !proto.Equal(e.Budget, want) {
			t.Fatalf("%s: %v (%+v)", what, err, e)
		}
		if d := status.Convert(err).Details(); len(d) != 1 || !proto.Equal(d[0].(proto.Message), want) {
			t.Errorf("%s: details %v", what, d)
		}
		return e
	}
	_, err := c.Report(ctx, "a", tenths(11), nil)
	check("Report", err)
	_, err = c.ReportOnce(ctx, "a", "key", tenths(11), nil)
	check("ReportOnce", err)
	_, err = c.Check(ctx, "a", tenths(11), nil)
	check("Check", err)
	_, err = c.Reserve(ctx, "a", tenths(11), time.Minute, nil)
	check("Reserve", err)
	lane, err := c.Stream(ctx, "a")
	if err != nil {
		t.Fatal(err)
	}
	_, err = lane.Reserve(ctx, tenths(11), time.Minute, nil)
	e := check("Stream.Reserve", err)
	if len(e.NotWritten) != 1 || e.NotWritten[0].Action.(*pb.Reserve).GetEvents()[0].GetCount() != 11 {
		t.Errorf("not written: %v", e.NotWritten)
	}
	if again := lane.Close(ctx); again != err {
		t.Errorf("Close: %v", again)
	}
	if answer, err := c.Report(ctx, "a", tenths(10), nil); err != nil || answer.GetReceipt().GetSequence() != 1 {
		t.Errorf("what fits: %v, %v", answer, err)
	}
	for _, lifetime := range []time.Duration{-time.Second, 1500 * time.Millisecond, 1 << 62} {
		if _, err := c.Reserve(ctx, "a", tenths(1), lifetime, nil); status.Code(err) != codes.InvalidArgument {
			t.Errorf("lifetime %v: %v", lifetime, err)
		}
	}
	huge := map[string]string{"x": string(make([]byte, 5<<20))}
	if _, err := c.Report(ctx, "a", tenths(1), huge); !errors.Is(err, client.ErrTooLarge) ||
		errors.Is(err, client.ErrBudget) {
		t.Errorf("too large: %v", err)
	}
}

// A reader that gives up on Stream.Reserve does not end the stream.
func TestStreamReserveGivenUp(t *testing.T) {
	s := servertest.Start(t)
	s.Create(servertest.Filter("a", servertest.Basic(1)))
	c := connect(t, s, client.Config{Window: 4})
	lane, err := c.Stream(servertest.Context(t), "a")
	if err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(servertest.Context(t))
	cancel()
	var e *client.Error
	if _, err := lane.Reserve(ended, tenths(2), time.Minute, nil); err != nil &&
		(!errors.As(err, &e) || !e.Unknown || !errors.Is(err, context.Canceled)) {
		t.Errorf("%v", err)
	}
	if err := lane.Report(servertest.Context(t), tenths(1), nil); err != nil {
		t.Fatal(err)
	}
	if err := lane.Close(servertest.Context(t)); err != nil {
		t.Fatal(err)
	}
	if l := s.Ledger("a"); l.GetPosition() != 2 || len(l.GetReservations()) != 1 {
		t.Errorf("%v", l)
	}
}

// Privileged actions say why they are refused, and are not tried again.
func TestOwnersActionsOverTCP(t *testing.T) {
	s := servertest.Start(t)
	s.Create(servertest.Filter("a", servertest.Basic(1)))
	c := connect(t, s, client.Config{})
	ctx := servertest.Context(t)
	_, refund := c.Write(ctx, "a", &pb.Refund{Position: 1, NothingReleased: true, Reason: "x"})
	_, refundOnce := c.WriteOnce(ctx, "a", "k", &pb.Refund{})
	_, raise := c.Write(ctx, "a", &pb.Raise{})
	_, raiseOnce := c.WriteOnce(ctx, "a", "k", &pb.Raise{})
	for i, err := range []error{refund, refundOnce, raise, raiseOnce} {
		var e *client.Error
		if !errors.As(err, &e) || e.Code != codes.PermissionDenied || e.Unknown {
			t.Errorf("%d: %v", i, err)
		}
	}
}

// Watch goes on through restarts and ends with the ledger.
func TestWatchThroughRestart(t *testing.T) {
	s := servertest.Start(t)
	s.Create(servertest.Filter("a", servertest.Basic(1)))
	c := connect(t, s, client.Config{})
	ctx := servertest.Context(t)
	next := uint64(0)
	for l, err := range c.Watch(ctx, "a") {
		if err != nil {
			t.Fatal(err)
		}
		if l.GetPosition() != next || l.GetClosed() != (next == 3) {
			t.Fatalf("%v; want position %d", l, next)
		}
		next++
		switch next {
		case 2:
			s.Restart()
			fallthrough
		case 1:
			if _, err := c.Report(ctx, "a", tenths(1), nil); err != nil {
				t.Fatal(err)
			}
		case 3:
			if _, err := c.Write(ctx, "a", &pb.Close{Reason: ""}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if next != 4 {
		t.Errorf("shown until position %d; want 3", next-1)
	}
	for _, err := range c.Watch(ctx, "nowhere") {
		if status.Code(err) != codes.NotFound {
			t.Errorf("%v", err)
		}
	}
	ended, cancel := context.WithCancel(ctx)
	defer cancel()
	s.NewLedger("b")
	for l, err := range c.Watch(ended, "b") {
		if cancel(); err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("%v, %v", l, err)
		}
	}
	st, err := c.Statement(ctx, "a", 1e-6)
	if err != nil || len(st.GetPrivacy()) != 1 || st.GetGuarantee() != "filter" {
		t.Errorf("%v, %v", st, err)
	}
}
