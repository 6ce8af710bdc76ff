// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/server/servertest"
)

// A budget without a guard gets one from the daemon: what its parent can set aside, the same when the creation is
// repeated, and that of the ledger that is there.
func TestDaemonChoosesGuards(t *testing.T) {
	s := servertest.Start(t)
	ctx := servertest.Context(t)
	create := func(name, parent string, budgets ...*pb.Budget) (*pb.CreateLedgerResponse, error) {
		spec := servertest.Spec(name)
		spec.Policy, spec.Parent, spec.Budgets = pb.LedgerSpec_FILTER, parent, budgets
		return s.Client.CreateLedger(ctx, &pb.CreateLedgerRequest{Spec: spec})
	}
	open := func(epsilon, delta float64) *pb.Budget {
		return &pb.Budget{Epsilon: proto.Float64(epsilon), Delta: proto.Float64(delta)}
	}
	guard := func(made *pb.CreateLedgerResponse, err error) pb.Budget_Guard {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return made.GetLedger().GetSpec().GetBudgets()[0].GetGuard()
	}
	if got := guard(create("top", "", open(8, 1e-6))); got != pb.Budget_RDP {
		t.Errorf("top has the guard %v; want RDP", got)
	}
	again, err := create("top", "", open(8, 1e-6))
	if guard(again, err) != pb.Budget_RDP || again.GetCreated() {
		t.Errorf("repeated: %v", again)
	}
	_, err = create("top", "", open(7, 1e-6))
	wantError(t, err, codes.AlreadyExists, "top")

	given := open(2, 1e-6)
	given.Guard = pb.Budget_BASIC
	if got := guard(create("given", "", given)); got != pb.Budget_BASIC {
		t.Errorf("given has the guard %v", got)
	}
	repeated, err := create("given", "", open(2, 1e-6)) // who repeats it without a guard means the ledger that is there
	if guard(repeated, err) != pb.Budget_BASIC || repeated.GetCreated() {
		t.Errorf("given, without a guard: %v", repeated)
	}

	// A parent with the guard rdp at a high order takes no child with that guard at a lower one.
	strict := open(8, 1e-5)
	strict.Guard, strict.Order = pb.Budget_RDP, proto.Float64(40)
	guard(create("strict", "", strict))
	if got := guard(create("child", "strict", open(1, 1e-6))); got != pb.Budget_ZCDP {
		t.Errorf("the child has the guard %v; want ZCDP", got)
	}
	charge := servertest.Gaussian(20, 1)
	if _, err := s.Client.Report(ctx, &pb.ReportRequest{Lane: &pb.Lane{Ledger: "child", Writer: servertest.Writer(),
		Sequence: 1}, Charge: charge}); err != nil {
		t.Error(err)
	}

	_, err = create("nothing", "", &pb.Budget{Mu: proto.Float64(1), Delta: proto.Float64(1e-6)})
	wantError(t, err, codes.InvalidArgument, "spec.budgets: ")
	_, err = create("orphan", "nowhere", open(1, 1e-6))
	wantError(t, err, codes.NotFound, "nowhere")
}
