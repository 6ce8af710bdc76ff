// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/api"
	"github.com/dpaccountant/accountant/internal/server"
	"github.com/dpaccountant/accountant/internal/server/servertest"
)

func tenths(n uint32) []*pb.Event { return []*pb.Event{servertest.Pure(0.1, n)} }

func charged(n uint32) *pb.Charge { return &pb.Charge{Events: tenths(n)} }

func reserve(t *testing.T, c api.Client, name string, n, seconds uint32) (*pb.WriteResponse, error) {
	t.Helper()
	return c.Reserve(servertest.Context(t), &pb.ReserveRequest{
		Lane:    &pb.Lane{Ledger: name, Writer: servertest.Writer(), Sequence: 1},
		Reserve: &pb.Reserve{Events: tenths(n), LifetimeSeconds: seconds},
	})
}

func commit(t *testing.T, c api.Client, name string, reservation uint64, n uint32) error {
	t.Helper()
	_, err := c.Commit(servertest.Context(t), &pb.CommitRequest{
		Lane:   &pb.Lane{Ledger: name, Writer: servertest.Writer(), Sequence: 1},
		Commit: &pb.Commit{Reservation: reservation, Events: tenths(n)},
	})
	return err
}

func release(t *testing.T, c api.Client, name string, reservation uint64) error {
	t.Helper()
	_, err := c.Release(servertest.Context(t),
		&pb.ReleaseRequest{
			Lane:    &pb.Lane{Ledger: name, Writer: servertest.Writer(), Sequence: 1},
			Release: &pb.Release{Reservation: reservation},
		})
	return err
}

// wantAmount checks the first budget's balance.
func wantAmount(t *testing.T, l *pb.Ledger, spent, reserved, remaining float64) {
	t.Helper()
	a := l.GetBudgets()[0].GetValue()
	if a.GetSpent() != spent || a.GetReserved() != reserved || a.GetRemaining() != remaining {
		t.Errorf("balance: %v; want %g spent, %g reserved, %g remaining", a, spent, reserved, remaining)
	}
}

// What is wrong with budgets, plans and reservations: the code, the field, the value
// and what is allowed. Nothing is written and nothing is used up.
func TestBadBudgets(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	s.Create(servertest.Filter("filter", servertest.Basic(1)))
	s.Create(servertest.Plan("plan", servertest.Pure(0.1, 10)))
	s.NewLedger("free")
	held, err := reserve(t, s.Client, "filter", 3, 3600)
	if err != nil {
		t.Fatal(err)
	}
	gone, err := reserve(t, s.Client, "filter", 2, 3600)
	if err != nil {
		t.Fatal(err)
	}
	if err := release(t, s.Client, "filter", gone.GetReceipt().GetPosition()); err != nil {
		t.Fatal(err)
	}
	before := s.Ledger("filter")

	create := func(spec *pb.LedgerSpec) error {
		_, err := s.Client.CreateLedger(servertest.Context(t), &pb.CreateLedgerRequest{Spec: spec})
		return err
	}
	number := func(v float64) *float64 { return &v }
	budget := func(b *pb.Budget) error { return create(servertest.Filter("new", b)) }
	with := func(spec *pb.LedgerSpec, change func(*pb.LedgerSpec)) error {
		change(spec)
		return create(spec)
	}
	hold := func(name string, n, seconds uint32) error {
		_, err := reserve(t, s.Client, name, n, seconds)
		return err
	}
	charge := func(name string, e *pb.Event) error {
		_, err := s.Client.Report(servertest.Context(t),
			&pb.ReportRequest{
				Lane:   &pb.Lane{Ledger: name, Writer: servertest.Writer(), Sequence: 1},
				Charge: &pb.Charge{Events: []*pb.Event{e}},
			})
		return err
	}
	rdp := func(epsilon, delta float64) *pb.Budget {
		return &pb.Budget{Guard: pb.Budget_RDP, Epsilon: &epsilon, Delta: &delta}
	}
	gaussian := servertest.Gaussian(1, 1).GetEvents()[0]
	run := func(events ...*pb.Event) *pb.Workload {
		return &pb.Workload{Adjacency: pb.Workload_ADD_OR_REMOVE_ONE, Events: events}
	}
	position := held.GetReceipt().GetPosition()
	invalid, precondition, exhausted := codes.InvalidArgument, codes.FailedPrecondition, codes.ResourceExhausted
	for _, c := range []struct {
		name  string
		err   error
		code  codes.Code
		wants []string
	}{
		{"plan without events", create(servertest.Plan("new")), invalid,
			[]string{"spec.plan.events: missing", "allowed: at least one event"}},
		{"filter without budget", create(servertest.Filter("new")), invalid,
			[]string{"spec.budgets: missing", "allowed: at least one budget"}},
		{"budget without policy",
			with(servertest.Spec("new"), func(s *pb.LedgerSpec) { s.Budgets = []*pb.Budget{servertest.Basic(1)} }),
			invalid,
			[]string{"spec.budgets: 1 given", "allowed: no budgets with the policy DESCRIPTIVE"}},
		{"plan and no policy", with(servertest.Plan("new", gaussian), func(s *pb.LedgerSpec) { s.Policy = 0 }), invalid,
			[]string{"spec.plan: given", "allowed: no plan"}},
		{"plan of another adjacency",
			with(servertest.Plan("new", gaussian), func(s *pb.LedgerSpec) { s.Plan.Adjacency = pb.Workload_ZERO_OUT }),
			invalid,
			[]string{"spec.plan.adjacency: ZERO_OUT", "allowed: ADD_OR_REMOVE_ONE, the ledger's"}},
		{"plan above its budget", with(servertest.Plan("new", gaussian), func(s *pb.LedgerSpec) {
			s.Budgets = []*pb.Budget{{Epsilon: number(1), Delta: number(1e-6)}}
		}), invalid, []string{"spec.plan: costs more than budgets[0] (ε = 1 at δ = 1e-06)",
			"allowed: a plan that keeps within every budget"}},
		{"as many as fit of nothing that fits",
			with(servertest.Plan("new", servertest.Pure(2, 0)), func(s *pb.LedgerSpec) {
				s.Budgets = []*pb.Budget{{Epsilon: number(1), Delta: number(1e-6)}}
			}), invalid, []string{"spec.plan.events[0]: as many as fit: 0",
				"allowed: a mechanism of which one at least keeps"}},
		{"as many as fit of what", create(servertest.Plan("new", servertest.Pure(2, 0))), invalid,
			[]string{"spec.budgets: missing", "allowed: at least one budget with a plan of count 0"}},
		{"guard in a plan",
			with(servertest.Plan("new", gaussian),
				func(s *pb.LedgerSpec) { s.Budgets = []*pb.Budget{servertest.Basic(1)} }), invalid,
			[]string{"spec.budgets[0].guard: BASIC", "allowed: no guard with the policy PLAN"}},
		{"negative budget", budget(servertest.Basic(-1)), invalid,
			[]string{"spec.budgets[0].epsilon: -1", "allowed: a finite number > 0"}},
		{"zero budget", budget(servertest.Basic(0)), invalid,
			[]string{"spec.budgets[0].epsilon: 0", "allowed: a finite number > 0"}},
		{"infinite budget", budget(servertest.Basic(math.Inf(1))), invalid,
			[]string{"spec.budgets[0].epsilon: +Inf", "allowed: a finite number > 0"}},
		{"budget that is no number", budget(servertest.Basic(math.NaN())), invalid,
			[]string{"spec.budgets[0].epsilon: NaN", "allowed: a finite number > 0"}},
		{"zero δ", budget(rdp(1, 0)), invalid, []string{"spec.budgets[0].delta: 0", "allowed: a number in (0, 1)"}},
		{"δ of 1", budget(rdp(1, 1)), invalid, []string{"spec.budgets[0].delta: 1", "allowed: a number in (0, 1)"}},
		{"no guard for it", budget(&pb.Budget{Mu: number(1), Delta: number(1e-6)}), invalid,
			[]string{"spec.budgets[0].bound: ", "delta"}},
		{"guard 9", budget(&pb.Budget{Guard: 9, Epsilon: number(1)}), invalid,
			[]string{"spec.budgets[0].guard: 9", "allowed: BASIC"}},
		{"another guard's bound", budget(&pb.Budget{Guard: pb.Budget_GDP, Rho: number(1)}), invalid,
			[]string{"spec.budgets[0].bound: rho", "allowed: mu; or epsilon and delta"}},
		{"order without run", budget(rdp(1, 1e-6)), invalid, []string{"spec.budgets[0].order: missing", "allowed:"}},
		{"order 1", budget(&pb.Budget{Guard: pb.Budget_RDP, Epsilon: number(1), Delta: number(1e-6), Order: number(1)}),
			invalid,
			[]string{"spec.budgets[0].order: 1", "allowed: a finite number > 1"}},
		{"budget that can never be met",
			budget(&pb.Budget{Guard: pb.Budget_RDP, Epsilon: number(8), Delta: number(1e-5), Order: number(1.1)}),
			invalid,
			[]string{"spec.budgets[0].order: 1.1", "allowed: an order at which"}},
		{"run that the guard cannot charge",
			with(servertest.Filter("new", servertest.Basic(1)),
				func(s *pb.LedgerSpec) { s.ExpectedRun = run(gaussian) }), invalid,
			[]string{"expected_run", "no finite ε of a gaussian",
				"allowed: a run that every budget's guard can charge"}},
		{"run above the budget",
			with(servertest.Filter("new", servertest.Basic(1)),
				func(s *pb.LedgerSpec) { s.ExpectedRun = run(servertest.Pure(0.1, 11)) }), invalid,
			[]string{"expected_run", "short by 0.1",
				"allowed: a run that every budget's guard can charge and that keeps within it"}},
		{"parent of nothing", with(servertest.Spec("new"), func(s *pb.LedgerSpec) { s.Parent = "filter" }), invalid,
			[]string{"parent", "allowed:"}},

		{"lifetime 0", hold("filter", 1, 0), invalid,
			[]string{"reserve.lifetime_seconds: 0", "allowed: a whole number from 1 to 31622400"}},
		{"lifetime of two years", hold("filter", 1, 63244800), invalid,
			[]string{"reserve.lifetime_seconds: 63244800", "allowed: a whole number from 1 to 31622400"}},
		{"nothing reserved", func() error {
			_, err := s.Client.Reserve(servertest.Context(t),
				&pb.ReserveRequest{Lane: &pb.Lane{Ledger: "filter", Writer: servertest.Writer(), Sequence: 1}})
			return err
		}(), invalid, []string{"reserve.events: missing", "allowed: 1 to 1,000 events"}},
		{"a child's reservation", func() error {
			_, err := s.Client.Reserve(servertest.Context(t),
				&pb.ReserveRequest{
					Lane:    &pb.Lane{Ledger: "filter", Writer: servertest.Writer(), Sequence: 1},
					Reserve: &pb.Reserve{Events: tenths(1), LifetimeSeconds: 9, Child: "free"},
				})
			return err
		}(), invalid, []string{"reserve.child", "allowed:"}},
		{"reserved without a budget", hold("free", 1, 9), precondition,
			[]string{"free has neither a plan nor budgets", "allowed: a ledger with the policy PLAN or FILTER"}},
		{"more than is left", hold("filter", 8, 9), exhausted,
			[]string{"budgets[0] (ε = 1 by BASIC): needs 0.8 of ε, 0.7 is left, short by 0.1", "allowed: 7 × pure_dp"}},
		{"charge above the rest", charge("filter", servertest.Pure(0.1, 8)), exhausted,
			[]string{"short by 0.1", "allowed: 7 × pure_dp"}},
		{"what the guard cannot charge", charge("filter", gaussian), exhausted,
			[]string{"budgets[0]", "no finite ε of a gaussian", "allowed: 0 × gaussian"}},
		{"not in the plan", charge("plan", gaussian), exhausted,
			[]string{"plan: gaussian", "is not in it", "nearest is pure_dp(ε=0.1), from which yours differs in " +
				"mechanism: gaussian instead of pure_dp; allowed: 10 × pure_dp(ε=0.1) (10 are planned)"}},
		{"above the plan", charge("plan", servertest.Pure(0.1, 11)), exhausted,
			[]string{"plan: needs 11", "10 is left", "allowed: 10 × pure_dp"}},

		{"unknown reservation", commit(t, s.Client, "filter", 99, 1), precondition,
			[]string{"reservation: 99", "allowed: the position of one that is open"}},
		{"reservation 0", commit(t, s.Client, "filter", 0, 1), invalid,
			[]string{"commit.reservation: missing", "allowed: the position of the entry that made it"}},
		{"commit beyond the reservation", commit(t, s.Client, "filter", position, 4), precondition,
			[]string{"events[0]: 4 × pure_dp", "allowed: at most 3, what is left of reservation 1"}},
		{"commit of something else", func() error {
			_, err := s.Client.Commit(servertest.Context(t),
				&pb.CommitRequest{
					Lane:   &pb.Lane{Ledger: "filter", Writer: servertest.Writer(), Sequence: 1},
					Commit: &pb.Commit{Reservation: position, Events: []*pb.Event{servertest.Pure(0.2, 1)}},
				})
			return err
		}(), precondition, []string{"events[0]: 1 × pure_dp", "allowed: at most 0"}},
		{"double release", release(t, s.Client, "filter", gone.GetReceipt().GetPosition()), precondition,
			[]string{"reservation: 2", "allowed: the position of one that is open"}},
		{"release of nothing", release(t, s.Client, "filter", 0), invalid,
			[]string{"release.reservation: missing", "allowed:"}},
		{"unknown ledger", hold("nowhere", 1, 9), codes.NotFound, []string{"nowhere"}},

		{"watch: name", watchError(s.Client.WatchLedger(servertest.Context(t), &pb.WatchLedgerRequest{Name: "A"})),
			invalid, []string{`name: "A"`, "allowed: segments"}},
		{"watch: unknown ledger",
			watchError(s.Client.WatchLedger(servertest.Context(t), &pb.WatchLedgerRequest{Name: "nowhere"})),
			codes.NotFound, []string{"nowhere"}},
		{"statement: name", statementError(t, s.Client, ""), invalid, []string{"name: missing", "allowed: segments"}},
		{"statement: unknown ledger", statementError(t, s.Client, "nowhere"), codes.NotFound, []string{"nowhere"}},
		{"statement: δ of 1", statementError(t, s.Client, "free", 1e-5, 1), invalid,
			[]string{"deltas[1]: 1", "allowed: a number in (0, 1)"}},
		{"statement: many δ", statementError(t, s.Client, "free", make([]float64, 17)...), invalid,
			[]string{"deltas: 17 given", "allowed: at most 16"}},
	} {
		t.Run(c.name, func(t *testing.T) { wantError(t, c.err, c.code, c.wants...) })
	}
	if after := s.Ledger("filter"); !proto.Equal(after, before) {
		t.Errorf("after refusals: %v; want %v", after, before)
	}
	for _, name := range []string{"plan", "free"} {
		if got := s.Position(name); got != 0 {
			t.Errorf("%s: position %d after refusals", name, got)
		}
	}
	wantError(t, func() error {
		_, err := s.Client.GetLedger(servertest.Context(t), &pb.GetLedgerRequest{Name: "new"})
		return err
	}(), codes.NotFound)
}

func watchError(stream pb.Ledgers_WatchLedgerClient, err error) error {
	for err == nil {
		_, err = stream.Recv()
	}
	return err
}

func statementError(t *testing.T, c api.Client, name string, deltas ...float64) error {
	t.Helper()
	_, err := c.GetStatement(servertest.Context(t), &pb.GetStatementRequest{Name: name, Deltas: deltas})
	return err
}

// A reservation is spent at once, shown apart, and becomes charges part by part;
// duplicates of each action get their first receipts.
func TestReservation(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	ctx := servertest.Context(t)
	s.Create(servertest.Filter("r", servertest.Basic(1)))
	w := servertest.Writer()
	hold := &pb.ReserveRequest{
		Lane:    &pb.Lane{Ledger: "r", Writer: w, Sequence: 1},
		Reserve: &pb.Reserve{Events: tenths(6), LifetimeSeconds: 60},
	}
	made, err := s.Client.Reserve(ctx, hold)
	if err != nil || made.GetReplayed() || made.GetReceipt().GetPosition() != 1 ||
		made.GetExpireTime().AsTime().Sub(made.GetReceipt().GetTime().AsTime()).Seconds() != 60 {
		t.Fatalf("reserve: %v, %v", made, err)
	}
	wantAmount(t, s.Ledger("r"), 0, 0.6, 0.4)
	part := &pb.CommitRequest{
		Lane:   &pb.Lane{Ledger: "r", Writer: w, Sequence: 2},
		Commit: &pb.Commit{Reservation: 1, Events: tenths(2), Labels: map[string]string{"step": "1"}},
	}
	first, err := s.Client.Commit(ctx, part)
	if err != nil {
		t.Fatal(err)
	}
	l := s.Ledger("r")
	wantAmount(t, l, 0.2, 0.4, 0.4)
	if len(l.GetReservations()) != 1 || l.GetReservations()[0].GetRest()[0].GetCount() != 4 ||
		l.GetReservations()[0].GetPosition() != 1 ||
		!proto.Equal(l.GetReservations()[0].GetExpireTime(), made.GetExpireTime()) {
		t.Errorf("reservations: %v", l.GetReservations())
	}
	end := &pb.ReleaseRequest{
		Lane:    &pb.Lane{Ledger: "r", Writer: w, Sequence: 3},
		Release: &pb.Release{Reservation: 1, Reason: "enough"},
	}
	released, err := s.Client.Release(ctx, end)
	if err != nil {
		t.Fatal(err)
	}
	l = s.Ledger("r")
	wantAmount(t, l, 0.2, 0, 0.8)
	if len(l.GetReservations()) != 0 || l.GetTotalCount() != 2 {
		t.Errorf("after the release: %v", l)
	}
	if again, err := s.Client.Reserve(ctx, hold); err != nil || !again.GetReplayed() ||
		!proto.Equal(again.GetReceipt(), made.GetReceipt()) ||
		!proto.Equal(again.GetExpireTime(), made.GetExpireTime()) {
		t.Errorf("reserve again: %v, %v", again, err)
	}
	if again, err := s.Client.Commit(ctx, part); err != nil || !again.GetReplayed() ||
		!proto.Equal(again.GetReceipt(), first.GetReceipt()) {
		t.Errorf("commit again: %v, %v", again, err)
	}
	if again, err := s.Client.Release(ctx, end); err != nil || !again.GetReplayed() ||
		!proto.Equal(again.GetReceipt(), released.GetReceipt()) {
		t.Errorf("release again: %v, %v", again, err)
	}
	entries := readLog(t, s.Client, "r", 100)
	if len(entries) != 3 || entries[0].GetReserve().GetLifetimeSeconds() != 60 ||
		entries[1].GetCommit().GetLabels()["step"] != "1" || entries[2].GetRelease().GetReason() != "enough" {
		t.Errorf("entries: %v", entries)
	}
}

// A refusal by budgets has its detail: in a status, and in a stream's rejection; a
// check answers the same.
func TestBudgetExceededDetail(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	ctx := servertest.Context(t)
	two := servertest.Basic(0.5)
	delta := 1e-6
	two.Delta = &delta
	s.Create(servertest.Filter("d", servertest.Basic(1), two))
	want := &pb.BudgetExceeded{
		Shortfalls: []*pb.BudgetExceeded_Shortfall{
			{Budget: proto.Uint32(0), Unit: "ε", Needed: 1.1, Left: 1, Short: 0.1},
			{Budget: proto.Uint32(1), Unit: "ε", Needed: 1.1, Left: 0.5, Short: 0.6},
		},
		Fits: []*pb.MechanismCount{{Mechanism: tenths(1)[0].GetMechanism(), Count: 5}},
	}
	for _, check := range []bool{false, true} {
		_, err := s.Client.Report(ctx,
			&pb.ReportRequest{
				Lane:   &pb.Lane{Ledger: "d", Writer: servertest.Writer(), Sequence: 1, CheckOnly: check},
				Charge: charged(11),
			})
		wantError(t, err, codes.ResourceExhausted, "budgets[0]", "budgets[1]", "allowed: 5 × pure_dp")
		details := status.Convert(err).Details()
		if len(details) != 1 || !proto.Equal(details[0].(proto.Message), want) {
			t.Errorf("details: %v; want %v", details, want)
		}
	}
	stream := s.Stream("d", servertest.Writer())
	stream.Charge(1, charged(11))
	if r := stream.Rejected(); !proto.Equal(r.GetBudgetExceeded(), want) ||
		codes.Code(r.GetCode()) != codes.ResourceExhausted {
		t.Errorf("rejected: %v; want %v", r, want)
	}
	stream.Charge(1, charged(5)) // the number is free, and nothing is used up
	stream.Acknowledged(1)
}

func message(sequence uint64, action any) *pb.ReportStreamRequest {
	switch v := action.(type) {
	case *pb.Reserve:
		return &pb.ReportStreamRequest{Message: &pb.ReportStreamRequest_Reserve{
			Reserve: &pb.ReportStreamRequest_SequencedReserve{Sequence: sequence, Reserve: v}}}
	case *pb.Commit:
		return &pb.ReportStreamRequest{Message: &pb.ReportStreamRequest_Commit{
			Commit: &pb.ReportStreamRequest_SequencedCommit{Sequence: sequence, Commit: v}}}
	case *pb.Release:
		return &pb.ReportStreamRequest{Message: &pb.ReportStreamRequest_Release{
			Release: &pb.ReportStreamRequest_SequencedRelease{Sequence: sequence, Release: v}}}
	case *pb.Charge:
		return &pb.ReportStreamRequest{Message: &pb.ReportStreamRequest_Charge{
			Charge: &pb.ReportStreamRequest_SequencedCharge{Sequence: sequence, Charge: v}}}
	}
	panic(fmt.Sprintf("%T", action))
}

// Reservations, commits and releases travel in streams too, in the lane's order; a
// reservation is acknowledged by its own receipt, however many follow it at once.
func TestStreamReservations(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	s.Create(servertest.Filter("s", servertest.Basic(1)))
	w := servertest.Writer()
	send := func(stream *servertest.Stream, messages ...*pb.ReportStreamRequest) {
		t.Helper()
		for _, m := range messages {
			if err := stream.Send(m); err != nil {
				t.Fatal(err)
			}
		}
	}
	receipts := func(stream *servertest.Stream, through uint64) map[uint64]uint64 {
		t.Helper()
		positions := map[uint64]uint64{}
		for {
			a := stream.Next().GetAcknowledged()
			positions[a.GetThrough()] = a.GetReceipt().GetPosition()
			if a.GetThrough() >= through {
				return positions
			}
		}
	}
	stream := s.Stream("s", w)
	batch := []*pb.ReportStreamRequest{
		message(1, charged(1)), message(2, &pb.Reserve{Events: tenths(2), LifetimeSeconds: 60}), message(3, charged(1)),
		message(4, &pb.Reserve{Events: tenths(3), LifetimeSeconds: 60}),
		message(5, &pb.Commit{Reservation: 2, Events: tenths(1)}), message(6, charged(1)),
	}
	send(stream, batch...)
	if got := receipts(stream, 6); got[2] != 2 || got[4] != 4 || got[6] != 6 {
		t.Errorf("receipts: %v; want those of 2, 4 and 6", got)
	}
	wantAmount(t, s.Ledger("s"), 0.4, 0.4, 0.2)
	// Beyond the reservation: refused, and what is behind it dropped.
	send(stream, message(7, &pb.Commit{Reservation: 2, Events: tenths(2)}), message(8, &pb.Release{Reservation: 4}))
	r := stream.Rejected()
	wantStatus(t, codes.Code(r.GetCode()), r.GetDetail(), codes.FailedPrecondition, "events[0]: 2 × pure_dp",
		"allowed: at most 1, what is left of reservation 2")
	if r.GetSequence() != 7 || r.GetBudgetExceeded() != nil {
		t.Errorf("rejected: %v", r)
	}
	// Invalid: refused in order, with the field.
	send(stream, message(7, &pb.Reserve{Events: tenths(1)}))
	if r := stream.Rejected(); r.GetSequence() != 7 {
		t.Errorf("rejected: %v", r)
	} else {
		wantStatus(t, codes.Code(r.GetCode()), r.GetDetail(), codes.InvalidArgument,
			"reserve.lifetime_seconds: 0", "allowed:")
	}
	send(stream, message(7, &pb.Commit{Reservation: 2, Events: tenths(1)}),
		message(8, &pb.Release{Reservation: 4, Reason: "stop"}))
	receipts(stream, 8)
	wantAmount(t, s.Ledger("s"), 0.5, 0, 0.5)
	// After a broken connection the same messages get the same receipts.
	again := s.Stream("s", w)
	if again.Last != 8 {
		t.Errorf("last %d; want 8", again.Last)
	}
	send(again, batch...)
	if got := receipts(again, 6); got[2] != 2 || got[4] != 4 {
		t.Errorf("receipts again: %v", got)
	}
	wantAmount(t, s.Ledger("s"), 0.5, 0, 0.5)
	if err := again.CloseSend(); err != nil {
		t.Fatal(err)
	}
	if _, err := again.Recv(); !errors.Is(err, io.EOF) {
		t.Errorf("after the end: %v", err)
	}
}

// Refunds, raises and reconciling are for the daemon's owner, who can open its socket: over TCP
// they are refused, whatever else is wrong with them, and nothing is written.
func TestOwnSocket(t *testing.T) {
	t.Parallel()
	s := servertest.StartWith(t, servertest.Config{Server: server.Config{Socket: filepath.Join(shortDir(t), "s")}})
	owner := s.Owner(t)
	ctx := servertest.Context(t)
	s.Create(servertest.Filter("o", servertest.Basic(1)))
	s.Report("o", servertest.Writer(), 1, charged(10))
	refund := func(c api.Client, r *pb.Refund) error {
		_, err := c.Refund(ctx, &pb.RefundRequest{
			Lane:   &pb.Lane{Ledger: "o", Writer: servertest.Writer(), Sequence: 1},
			Refund: r,
		})
		return err
	}
	raise := func(c api.Client, r *pb.Raise) error {
		_, err := c.Raise(ctx, &pb.RaiseRequest{
			Lane:  &pb.Lane{Ledger: "o", Writer: servertest.Writer(), Sequence: 1},
			Raise: r,
		})
		return err
	}
	reconcile := func(c api.Client, r *pb.Reconcile) error {
		_, err := c.Reconcile(ctx,
			&pb.ReconcileRequest{
				Lane:      &pb.Lane{Ledger: "o", Writer: servertest.Writer(), Sequence: 1},
				Reconcile: r,
			})
		return err
	}
	accept := &pb.Reconcile{AcceptLoss: true, Reason: "x"}
	guarantee := func() (string, []*pb.Assumption) {
		t.Helper()
		a, err := s.Client.QueryPrivacy(ctx,
			&pb.QueryPrivacyRequest{Subject: &pb.QueryPrivacyRequest_Ledger{Ledger: "o"},
				Given: &pb.QueryPrivacyRequest_Delta{Delta: 1e-6}})
		if err != nil {
			t.Fatal(err)
		}
		return a.GetGuarantee(), a.GetAssumptions()
	}
	good := &pb.Refund{Position: 1, NothingReleased: true, Reason: "crashed"}
	larger := &pb.Raise{Budgets: []*pb.Budget{servertest.Basic(2)}, Reason: "more", IndependentOfOutputs: true}
	for name, err := range map[string]error{
		"refund": refund(s.Client, good), "bad refund": refund(s.Client, nil), "raise": raise(s.Client, larger),
		"bad raise": raise(s.Client, nil),
		"reconcile": reconcile(s.Client, accept), "bad reconcile": reconcile(s.Client, nil),
	} {
		t.Run(name, func(t *testing.T) {
			wantError(t, err, codes.PermissionDenied, "own socket", "allowed: accountant.sock")
		})
	}
	if got := s.Position("o"); got != 1 {
		t.Fatalf("position %d after refusals", got)
	}
	for name, c := range map[string]struct {
		err   error
		code  codes.Code
		wants []string
	}{
		"no refund": {refund(owner, nil), codes.InvalidArgument, []string{"refund.", "allowed:"}},
		"no assertion": {refund(owner, &pb.Refund{Position: 1, Reason: "x"}), codes.InvalidArgument,
			[]string{"nothing_released", "allowed: true"}},
		"no reason": {refund(owner, &pb.Refund{Position: 1, NothingReleased: true}), codes.InvalidArgument,
			[]string{"reason: missing", "allowed:"}},
		"no such entry": {refund(owner, &pb.Refund{Position: 9, NothingReleased: true, Reason: "x"}),
			codes.FailedPrecondition, []string{"position: 9", "allowed:"}},
		"smaller budget": {raise(owner, &pb.Raise{Budgets: []*pb.Budget{servertest.Basic(0.5)}, Reason: "x"}),
			codes.FailedPrecondition, []string{"budgets[0].epsilon: 0.5", "allowed: at least 1"}},
		"not restored": {reconcile(owner, accept), codes.FailedPrecondition,
			[]string{"ledger: o was not restored from a backup", "allowed:"}},
		"no reconcile": {reconcile(owner, nil), codes.InvalidArgument, []string{"reconcile: missing", "allowed:"}},
		"loss unnamed": {reconcile(owner, &pb.Reconcile{AcceptLoss: true}), codes.InvalidArgument,
			[]string{"reconcile.reason: missing", "allowed:"}},
		"no raise": {raise(owner, &pb.Raise{Reason: "x"}), codes.InvalidArgument,
			[]string{"raise.budgets: missing", "allowed: all budgets of the ledger, or a plan"}},
	} {
		t.Run(name, func(t *testing.T) { wantError(t, c.err, c.code, c.wants...) })
	}
	if got, _ := guarantee(); s.Position("o") != 1 || got != "filter" {
		t.Errorf("after refusals: position %d, guarantee %s", s.Position("o"), got)
	}
	if err := raise(owner, larger); err != nil {
		t.Fatal(err)
	}
	wantAmount(t, s.Ledger("o"), 1, 0, 1)
	if got, list := guarantee(); got != "filter" || len(list) != 1 || list[0].GetKind() != "raise" ||
		list[0].GetDescriptive() {
		t.Errorf("after an independent raise: %s, %v", got, list)
	}
	if err := refund(owner, good); err != nil {
		t.Fatal(err)
	}
	wantAmount(t, s.Ledger("o"), 0, 0, 2)
	if got, list := guarantee(); got != "descriptive" || len(list) != 2 || list[1].GetKind() != "refund" ||
		!list[1].GetDescriptive() {
		t.Errorf("after a refund: %s, %v", got, list)
	}
	wantError(t, refund(owner, good), codes.FailedPrecondition, "position: 1 was refunded")
}
