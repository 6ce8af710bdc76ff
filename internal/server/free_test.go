// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/dpaccountant/accountant/client"
	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/api"
	"github.com/dpaccountant/accountant/internal/server"
	"github.com/dpaccountant/accountant/internal/server/servertest"
)

// What a dead job has reserved is charged early, or freed on the owner's word, over the
// daemon's own socket only; what was freed is listed with every answer from then on.
func TestReservationsOfTheDead(t *testing.T) {
	t.Parallel()
	socket := filepath.Join(shortDir(t), "s")
	s := servertest.StartWith(t, servertest.Config{Server: server.Config{Socket: socket}})
	owner, ctx := s.Owner(t), servertest.Context(t)
	s.Create(servertest.Filter("d", servertest.Basic(1)))
	for range 3 {
		if _, err := s.Client.Reserve(ctx, &pb.ReserveRequest{
			Lane: &pb.Lane{Ledger: "d", Writer: servertest.Writer(), Sequence: 1},
			Reserve: &pb.Reserve{Events: []*pb.Event{servertest.Pure(0.1, 3)},
				LifetimeSeconds: 31622400},
		}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Client.Commit(ctx, &pb.CommitRequest{
		Lane:   &pb.Lane{Ledger: "d", Writer: servertest.Writer(), Sequence: 1},
		Commit: &pb.Commit{Reservation: 1, Events: []*pb.Event{servertest.Pure(0.1, 1)}},
	}); err != nil {
		t.Fatal(err)
	}
	expire := func(c api.Client, e *pb.Expire) error {
		_, err := c.Expire(ctx, &pb.ExpireRequest{
			Lane:   &pb.Lane{Ledger: "d", Writer: servertest.Writer(), Sequence: 1},
			Expire: e,
		})
		return err
	}
	free := func(c api.Client, f *pb.Free) error {
		_, err := c.Free(ctx, &pb.FreeRequest{
			Lane: &pb.Lane{Ledger: "d", Writer: servertest.Writer(), Sequence: 1},
			Free: f,
		})
		return err
	}
	dead := func(position uint64) *pb.Free {
		return &pb.Free{Reservation: position, NothingReleased: true, Reason: "its machine died"}
	}
	for name, c := range map[string]struct {
		err   error
		code  codes.Code
		wants []string
	}{
		"free elsewhere": {free(s.Client, dead(1)), codes.PermissionDenied,
			[]string{"own socket", "use --server unix:" + socket}},
		"expire elsewhere": {expire(s.Client, &pb.Expire{Reservation: 1}), codes.PermissionDenied,
			[]string{"own socket", "use --server unix:" + socket}},
		"no assertion": {free(owner, &pb.Free{Reservation: 1, Reason: "x"}), codes.InvalidArgument,
			[]string{"free.nothing_released: false; allowed: true"}},
		"no reason": {free(owner, &pb.Free{Reservation: 1, NothingReleased: true}), codes.InvalidArgument,
			[]string{"free.reason: missing"}},
		"no reservation": {free(owner, dead(0)), codes.InvalidArgument, []string{"free.reservation: missing"}},
		"nothing":        {free(owner, nil), codes.InvalidArgument, []string{"free"}},
		"not open": {free(owner, dead(4)), codes.FailedPrecondition,
			[]string{"reservation: 4", "one that is open"}},
		"expire not open": {expire(owner, &pb.Expire{Reservation: 9}), codes.FailedPrecondition,
			[]string{"reservation: 9"}},
		"expire nothing": {expire(owner, nil), codes.InvalidArgument, []string{"expire"}},
	} {
		t.Run(name, func(t *testing.T) { wantError(t, c.err, c.code, c.wants...) })
	}
	wantAmount(t, s.Ledger("d"), 0.1, 0.8, 0.1)
	if _, err := owner.Release(ctx,
		&pb.ReleaseRequest{
			Lane:    &pb.Lane{Ledger: "d", Writer: servertest.Writer(), Sequence: 1},
			Release: &pb.Release{Reservation: 1},
		}); err == nil {
		t.Error("somebody else's reservation was released without a word")
	} else {
		wantError(t, err, codes.FailedPrecondition, "or on the daemon's own socket to let it expire now, or to free it",
			"reservation: 1 is of unverified:", ", and you are uid:",
			"release --nothing-released, each with --server unix:"+socket)
	}
	request := &pb.FreeRequest{Lane: &pb.Lane{Ledger: "d", Writer: "request/free-1", Sequence: 1}, Free: dead(1)}
	first, err := owner.Free(ctx, request)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := owner.Free(ctx, request); err != nil || !again.GetReplayed() ||
		again.GetReceipt().GetPosition() != first.GetReceipt().GetPosition() {
		t.Errorf("again: %v, %v", again, err)
	}
	wantAmount(t, s.Ledger("d"), 0.1, 0.6, 0.3)
	if err := expire(owner, &pb.Expire{Reservation: 2}); err != nil {
		t.Fatal(err)
	}
	wantAmount(t, s.Ledger("d"), 0.4, 0.3, 0.3)
	s.Restart()
	wantAmount(t, s.Ledger("d"), 0.4, 0.3, 0.3)
	answer, err := s.Client.QueryPrivacy(ctx,
		&pb.QueryPrivacyRequest{Subject: &pb.QueryPrivacyRequest_Ledger{Ledger: "d"},
			Given: &pb.QueryPrivacyRequest_Delta{Delta: 1e-6}})
	if err != nil || answer.GetGuarantee() != "descriptive" || len(answer.GetAssumptions()) != 1 {
		t.Fatalf("%v, %v; want a descriptive answer with the freed reservation", answer, err)
	}
	const told = "what was left of reservation 1, 2 × pure_dp(ε=0.1), is not counted: nothing computed for it was, " +
		"or will be, released (reason given: its machine died)"
	if a := answer.GetAssumptions()[0]; a.GetKind() != "freed" || a.GetText() != told || !a.GetDescriptive() ||
		a.GetPosition() != first.GetReceipt().GetPosition() {
		t.Errorf("assumption %v; want %q", a, told)
	}
	curve, err := s.Client.QueryPrivacyCurve(ctx,
		&pb.QueryPrivacyCurveRequest{Subject: &pb.QueryPrivacyCurveRequest_Ledger{Ledger: "d"}})
	if err != nil || curve.GetGuarantee() != "descriptive" || len(curve.GetAssumptions()) != 1 ||
		curve.GetAssumptions()[0].GetText() != told {
		t.Errorf("curve: %v, %v; want %q", curve.GetAssumptions(), err, told)
	}
	asked := &pb.CalibrateRequest{Ledger: "d", Solve: pb.CalibrateRequest_STANDARD_DEVIATION,
		Event: &pb.Event{Count: 1, Mechanism: client.Gaussian(1)}, TargetEpsilon: proto.Float64(5),
		TargetDelta: proto.Float64(1e-6)}
	if _, err := s.Client.Calibrate(ctx, asked); err == nil || !strings.Contains(err.Error(), "no value fits") ||
		strings.Contains(err.Error(), "e+308") {
		t.Errorf("a mechanism that the guard cannot add up: %v", err)
	}
	asked.Event.Mechanism = &pb.Mechanism{Kind: &pb.Mechanism_Laplace{
		Laplace: &pb.Laplace{Scale: proto.Float64(1), Sensitivity: proto.Float64(1)}}}
	calibrated, err := s.Client.Calibrate(ctx, asked)
	if err != nil || len(calibrated.GetAssumptions()) != 1 || calibrated.GetAssumptions()[0].GetText() != told {
		t.Errorf("calibration: %v, %v; want %q", calibrated.GetAssumptions(), err, told)
	}
	statement, err := s.Client.GetStatement(ctx, &pb.GetStatementRequest{Name: "d"})
	if err != nil || statement.GetStatement().GetGuarantee() != "descriptive" ||
		!strings.Contains(strings.Join(statement.GetStatement().GetAssumptions(), "\n"), told) {
		t.Errorf("statement %v, %v", statement, err)
	}
}

// What a child ledger holds is its own; and in a ledger with a parent nothing is freed,
// as the parent's answers would rest on that without saying so.
func TestFreeingInFamilies(t *testing.T) {
	t.Parallel()
	s := servertest.StartWith(t, servertest.Config{Server: server.Config{Socket: filepath.Join(shortDir(t), "s")}})
	owner, ctx := s.Owner(t), servertest.Context(t)
	s.Create(servertest.Filter("parent", servertest.Basic(4)))
	child := servertest.Filter("child", servertest.Basic(1))
	child.Parent = "parent"
	s.Create(child)
	if _, err := s.Client.Reserve(ctx, &pb.ReserveRequest{
		Lane:    &pb.Lane{Ledger: "child", Writer: servertest.Writer(), Sequence: 1},
		Reserve: &pb.Reserve{Events: []*pb.Event{servertest.Pure(0.1, 3)}, LifetimeSeconds: 60},
	}); err != nil {
		t.Fatal(err)
	}
	free := func(name string) error {
		_, err := owner.Free(ctx,
			&pb.FreeRequest{
				Lane: &pb.Lane{Ledger: name, Writer: servertest.Writer(), Sequence: 1},
				Free: &pb.Free{Reservation: 1, NothingReleased: true, Reason: "r"},
			})
		return err
	}
	wantError(t, free("parent"), codes.FailedPrecondition, "reservation: 1 is held by ledger child")
	wantError(t, free("child"), codes.FailedPrecondition, "ledger: child has a parent", "expire now")
	expire := func(name string) error {
		_, err := owner.Expire(ctx,
			&pb.ExpireRequest{
				Lane:   &pb.Lane{Ledger: name, Writer: servertest.Writer(), Sequence: 1},
				Expire: &pb.Expire{Reservation: 1},
			})
		return err
	}
	wantError(t, expire("parent"), codes.FailedPrecondition, "reservation: 1 is held by ledger child")
	if err := expire("child"); err != nil {
		t.Fatal(err)
	}
	wantAmount(t, s.Ledger("child"), 0.3, 0, 0.7)
}
