// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/server"
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
	wantError(t, err, codes.InvalidArgument, "spec.budgets[0].bound: ")
	_, err = create("orphan", "nowhere", open(1, 1e-6))
	wantError(t, err, codes.NotFound, "nowhere")
}

// A dataset's budget gets a guard as a ledger's does, and also an order where only that is missing; whoever repeats a
// registration without them means the dataset that is there.
func TestDaemonChoosesGuardsOfDatasets(t *testing.T) {
	s := withDatasets(t, server.Config{})
	create := func(id string, b *pb.Budget) (*pb.CreateDatasetResponse, error) {
		spec := survey(b)
		spec.Id, spec.Independence = id, "people of this test only"
		return s.register(spec)
	}
	open := func(guard pb.Budget_Guard) *pb.Budget {
		return &pb.Budget{Epsilon: proto.Float64(8), Delta: proto.Float64(1e-6), Guard: guard}
	}
	for id, guard := range map[string]pb.Budget_Guard{"open": 0, "unordered": pb.Budget_RDP} {
		made, err := create(id, open(guard))
		if err != nil {
			t.Fatal(err)
		}
		b := made.GetLedger().GetDataset().GetSpec().GetBudgets()[0]
		if b.GetGuard() != pb.Budget_RDP || !(b.GetOrder() > 1) {
			t.Errorf("%s: %v; want the guard RDP with an order", id, b)
		}
		for _, again := range []*pb.Budget{open(0), open(pb.Budget_RDP), b} {
			if made, err := create(id, again); err != nil || made.GetCreated() {
				t.Errorf("%s repeated with %v: %v, %v", id, again, made, err)
			}
		}
		other := open(0)
		other.Epsilon = proto.Float64(7)
		_, err = create(id, other)
		wantError(t, err, codes.AlreadyExists, id)
	}
	small := open(pb.Budget_RDP)
	small.Epsilon = proto.Float64(1e-9)
	_, err := create("small", small)
	wantError(t, err, codes.InvalidArgument, "spec.budgets[0].epsilon: 1e-09")
}
