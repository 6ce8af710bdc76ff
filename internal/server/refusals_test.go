// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/server/servertest"
)

// refusalsOf asks what was refused of a ledger.
func refusalsOf(t *testing.T, s *servertest.Server, name string) *pb.ListRefusalsResponse {
	t.Helper()
	answer, err := s.Client.ListRefusals(servertest.Context(t), &pb.ListRefusalsRequest{Ledger: name})
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

// pureCharge is a charge of count ε-DP mechanisms.
func pureCharge(epsilon float64, count uint32) *pb.Charge {
	return &pb.Charge{Events: []*pb.Event{servertest.Pure(epsilon, count)}}
}

// Whatever a ledger refuses is remembered with what the refusal said, by whichever way it came: a call, a stream, a
// reservation and what becomes of it, or a set. What is no refusal by a ledger is not remembered.
func TestRefusals(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	ctx := servertest.Context(t)
	for _, name := range []string{"small", "large", "closed"} {
		budget := map[string]float64{"small": 2, "large": 100, "closed": 100}[name]
		s.Create(servertest.Filter(name, servertest.Basic(budget)))
	}
	w := servertest.Writer()
	s.Report("small", w, 1, pureCharge(0.5, 1))
	if none := refusalsOf(t, s, "small"); none.GetCount() != 0 || len(none.GetRefusals()) != 0 ||
		none.GetStartTime() == nil {
		t.Errorf("nothing was refused yet: %v", none)
	}
	var said []string // by the refusals that are to be remembered, the newest last
	refused := func(err error, code codes.Code) {
		t.Helper()
		if status.Code(err) != code {
			t.Fatalf("%v; want %v", err, code)
		}
		said = append(said, status.Convert(err).Message())
	}
	_, err := s.Client.Report(ctx, &pb.ReportRequest{
		Lane:   &pb.Lane{Ledger: "small", Writer: w, Sequence: 2},
		Charge: pureCharge(0.5, 4),
	})
	refused(err, codes.ResourceExhausted)
	_, err = s.Client.Reserve(ctx, &pb.ReserveRequest{
		Lane:    &pb.Lane{Ledger: "small", Writer: w, Sequence: 2},
		Reserve: &pb.Reserve{Events: pureCharge(0.5, 5).Events, LifetimeSeconds: 60},
	})
	refused(err, codes.ResourceExhausted)
	_, err = s.Client.Commit(ctx, &pb.CommitRequest{
		Lane:   &pb.Lane{Ledger: "small", Writer: w, Sequence: 2},
		Commit: &pb.Commit{Reservation: 77, Events: pureCharge(0.5, 1).Events},
	})
	refused(err, codes.FailedPrecondition)
	stream := s.Stream("small", servertest.Writer())
	stream.Charge(1, pureCharge(0.25, 16))
	rejected := stream.Next().GetRejected()
	if rejected == nil {
		t.Fatal("the stream's charge was not rejected")
	}
	said = append(said, rejected.GetDetail())

	// None of these is a refusal by the ledger.
	if _, err := s.Client.Report(ctx, &pb.ReportRequest{
		Lane:   &pb.Lane{Ledger: "small", Writer: w, Sequence: 2, CheckOnly: true},
		Charge: pureCharge(0.5, 9),
	}); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("a check: %v", err)
	}
	if _, err := s.Client.Report(ctx, &pb.ReportRequest{
		Lane:   &pb.Lane{Ledger: "small", Writer: w, Sequence: 9},
		Charge: pureCharge(0.5, 1),
	}); status.Code(err) != codes.FailedPrecondition {
		t.Errorf("a gap: %v", err)
	}
	if _, err := s.Client.Report(ctx, &pb.ReportRequest{
		Lane:   &pb.Lane{Ledger: "small", Writer: w, Sequence: 2},
		Charge: &pb.Charge{},
	}); status.Code(err) != codes.InvalidArgument {
		t.Errorf("no events: %v", err)
	}
	if _, err := s.Client.Report(ctx, &pb.ReportRequest{
		Lane:   &pb.Lane{Ledger: "nowhere", Writer: w, Sequence: 1},
		Charge: pureCharge(0.5, 1),
	}); status.Code(err) != codes.NotFound {
		t.Errorf("no such ledger: %v", err)
	}
	stream.Charge(1, &pb.Charge{})
	if got := stream.Next().GetRejected(); codes.Code(got.GetCode()) != codes.InvalidArgument {
		t.Errorf("no events in a stream: %v", got)
	}

	got := refusalsOf(t, s, "small")
	if got.GetCount() != uint64(len(said)) || len(got.GetRefusals()) != len(said) {
		t.Fatalf("%d refusals are counted and %d listed; there were %d", got.GetCount(), len(got.GetRefusals()),
			len(said))
	}
	for i, m := range got.GetRefusals() {
		want := said[len(said)-1-i]
		if !strings.HasPrefix(want, strings.TrimSuffix(m.GetDetail(), " …")) ||
			len(m.GetDetail()) < min(len(want), 500) {
			t.Errorf("%q is remembered; the refusal said %q", m.GetDetail(), want)
		}
		if m.GetPrincipal() == "" || m.GetWriter() == "" || m.GetTime().AsTime().Before(got.GetStartTime().AsTime()) {
			t.Errorf("%v: lacks who, or when", m)
		}
	}
	if newest := got.GetRefusals()[0]; newest.GetReason() != "budget exceeded" || newest.GetSequence() != 1 ||
		codes.Code(newest.GetCode()) != codes.ResourceExhausted ||
		newest.GetBudgetExceeded().GetShortfalls()[0].GetNeeded() < 4 ||
		newest.GetBudgetExceeded().GetFits()[0].GetCount() != 6 { // 1.5 are left
		t.Errorf("the newest: %v", newest)
	}

	// Of a set only the ledgers that refused remember it.
	if _, err := s.Client.CloseLedger(ctx, &pb.CloseLedgerRequest{
		Lane: &pb.Lane{Ledger: "closed", Writer: servertest.Writer(), Sequence: 1}, Close: &pb.Close{},
	}); err != nil {
		t.Fatal(err)
	}
	_, err = s.Client.Report(ctx, &pb.ReportRequest{Lane: &pb.Lane{Contribution: pb.SetPart_OVER_ALL,
		Writer: servertest.Writer(), Sequence: 1, Ledgers: &pb.LedgerSet{Ledgers: []string{"small", "large",
			"closed"}}},
		Charge: pureCharge(0.5, 4)})
	if status.Code(err) == codes.OK {
		t.Fatal("the set was taken")
	}
	for name, want := range map[string]uint64{"small": uint64(len(said)) + 1, "large": 0, "closed": 1} {
		got := refusalsOf(t, s, name)
		if got.GetCount() != want || want > 0 && got.GetRefusals()[0].GetSetLedgers() != 3 {
			t.Errorf("%s: %v; want %d refusals", name, got, want)
		}
	}
	if m := refusalsOf(t, s, "closed").GetRefusals()[0]; m.GetReason() != "ledger is closed" {
		t.Errorf("%v", m)
	}
	_, err = s.Client.Report(ctx, &pb.ReportRequest{Lane: &pb.Lane{Contribution: pb.SetPart_OVER_ALL,
		Writer: servertest.Writer(), Sequence: 1, CheckOnly: true, Ledgers: &pb.LedgerSet{Ledgers: []string{"small",
			"large"}}},
		Charge: pureCharge(0.5, 4)})
	if err != nil || refusalsOf(t, s, "small").GetCount() != uint64(len(said))+1 {
		t.Errorf("a check of a set counts: %v", err)
	}

	if _, err := s.Client.ListRefusals(ctx,
		&pb.ListRefusalsRequest{Ledger: "nowhere"}); status.Code(err) != codes.NotFound {
		t.Errorf("no such ledger: %v", err)
	}
	if _, err := s.Client.ListRefusals(ctx, &pb.ListRefusalsRequest{}); status.Code(err) != codes.InvalidArgument {
		t.Errorf("no ledger: %v", err)
	}
	// Another start knows nothing of it, and says since when it counts.
	s.Restart()
	if after := refusalsOf(t, s, "small"); after.GetCount() != 0 ||
		!after.GetStartTime().AsTime().After(got.GetStartTime().AsTime()) {
		t.Errorf("after a restart: %v", after)
	}
}

// A stream whose every charge is refused: what a refusal costs.
func BenchmarkRefusedStream(b *testing.B) {
	s := servertest.Start(b)
	s.Create(servertest.Filter("bench", servertest.Basic(1)))
	s.Report("bench", servertest.Writer(), 1, pureCharge(1, 1))
	stream := s.Stream("bench", servertest.Writer())
	charge := pureCharge(0.5, 1)
	b.ReportAllocs()
	b.ResetTimer()
	done := make(chan error, 1)
	go func() {
		for {
			if _, err := stream.Recv(); err != nil {
				done <- err
				return
			}
		}
	}()
	for range b.N {
		stream.Charge(1, charge)
	}
	if err := stream.CloseSend(); err != nil {
		b.Fatal(err)
	}
	if err := <-done; !errors.Is(err, io.EOF) {
		b.Fatal(err)
	}
}
