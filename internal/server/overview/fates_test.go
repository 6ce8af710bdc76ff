// SPDX-License-Identifier: Apache-2.0

package overview_test

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/server/servertest"
)

// Histories and spending of ledgers that come into a dataset's budget, are charged together with others, are lost and
// restored from a backup while reservations are open, and are reconciled: with what was lost, with more than the
// budget allows, or with an accepted loss.
func TestFatesOfLedgers(t *testing.T) {
	t.Parallel()
	s := startStories(t)
	owner := s.Owner(t)
	s.Create(servertest.Spec("story/other"))
	var stories []*story
	for policy, spec := range policies {
		for seed := range uint64(2) {
			of := spec(fmt.Sprintf("story/%s-%d", policy[:4], seed))
			of.DatasetId, of.DatasetVersion, of.PrivacyUnit = policy, "1", "user"
			x := tell(t, s, 200+seed, of)
			x.ask()
			stories = append(stories, x)
		}
	}
	each := func(steps int, check bool) {
		for _, x := range stories {
			for range steps {
				x.stepTogether()
				x.ask()
			}
			if check {
				x.checkAll()
			}
		}
	}
	each(20, true)
	adopted := 0
	for policy := range policies {
		order := 8.0
		made, err := owner.CreateDataset(servertest.Context(t), &pb.CreateDatasetRequest{Spec: &pb.DatasetSpec{
			Id: policy, Version: "1", Adjacency: pb.Workload_ADD_OR_REMOVE_ONE, PrivacyUnit: "user",
			MaxRecordsPerUnit: 1, BoundEnforcedBy: "one row each", Independence: "other people",
			Budgets: []*pb.Budget{{Guard: pb.Budget_RDP, Epsilon: proto.Float64(1e5), Delta: proto.Float64(1e-3),
				Order: &order}}}})
		if err == nil {
			adopted += len(made.GetAdopted())
		} else if policy != "descriptive" && policy != "filter" {
			t.Errorf("%s: %v", policy, err)
		}
	}
	if adopted == 0 {
		t.Error("no ledger was adopted")
	}
	each(20, true)
	copied := map[string]int{}
	for _, x := range stories {
		copied[x.name] = len(x.seen)
	}
	s.LoseAfter(func() { each(5, false) })
	for i, x := range stories {
		x.seen = x.seen[:copied[x.name]]
		x.ask() // it is restored, and nothing else
		x.checkAll()
		r := &pb.Reconcile{Reason: "as far as the jobs' logs say"}
		switch i % 3 {
		case 0:
			r.AcceptLoss = true
		case 1:
			r.Events = []*pb.Event{gaussian(8, 2), servertest.Pure(0.1, 3)}
		case 2:
			r.Events = []*pb.Event{servertest.Pure(0.1, 5000), gaussian(20, 2)} // more than most budgets allow
		}
		if len(r.Events) > 0 {
			r.Contribution = pb.SetPart_OVER_ALL
		}
		_, err := owner.Reconcile(servertest.Context(t), &pb.ReconcileRequest{
			Lane:      &pb.Lane{Ledger: x.name, Writer: servertest.Writer(), Sequence: 1},
			Reconcile: r,
		})
		if err != nil && !strings.Contains(err.Error(), "parent") {
			t.Fatal(err)
		}
		x.held, x.charges = nil, nil
		x.ask()
		x.checkAll()
	}
	each(15, true)
}

// checkAll compares history and spending with what queries and entries say.
func (x *story) checkAll() {
	x.t.Helper()
	x.compare()
	seen := x.seen // which checkSpending forgets
	x.checkSpending()
	x.seen = seen
}

// stepTogether is step, or a charge together with another ledger.
func (x *story) stepTogether() {
	if x.rand.IntN(4) > 0 {
		x.step()
		return
	}
	ctx, set := servertest.Context(x.t), &pb.LedgerSet{Ledgers: []string{x.name, "story/other"}}
	key := servertest.Writer()
	if x.rand.IntN(2) == 0 {
		_, _ = x.owner.Report(ctx, &pb.ReportRequest{Lane: &pb.Lane{Contribution: pb.SetPart_OVER_ALL, Ledgers: set,
			Writer: key, Sequence: 1},
			Charge: &pb.Charge{Events: []*pb.Event{x.event()}, Labels: map[string]string{"run": "together"}}})
		return
	}
	_, _ = x.owner.Reserve(ctx, &pb.ReserveRequest{Lane: &pb.Lane{Contribution: pb.SetPart_OVER_ALL, Ledgers: set,
		Writer: key, Sequence: 1},
		Reserve: &pb.Reserve{Events: []*pb.Event{x.event(), x.event()}, LifetimeSeconds: 3600}})
}
