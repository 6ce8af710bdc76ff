// SPDX-License-Identifier: Apache-2.0

package overview_test

import (
	"testing"

	"google.golang.org/protobuf/proto"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/server/servertest"
)

// What a group has spent of each of many ledgers is what each ledger says of it: charges, reservations, commits,
// refunds, child ledgers, raises and closings among them.
func TestAnywhereIsWhatEachLedgerSays(t *testing.T) {
	t.Parallel()
	s := startStories(t)
	ctx := servertest.Context(t)
	var names []string
	for i, policy := range []string{"filter", "plan", "descriptive"} {
		x := newStory(t, s, uint64(40+i), policy)
		for range 25 {
			x.step()
		}
		names = append(names, x.name)
	}
	for _, by := range []pb.QuerySpendingRequest_By{pb.QuerySpendingRequest_PRINCIPAL, pb.QuerySpendingRequest_LABEL,
		pb.QuerySpendingRequest_MECHANISM, pb.QuerySpendingRequest_MONTH} {
		label := map[pb.QuerySpendingRequest_By]string{pb.QuerySpendingRequest_LABEL: "run"}[by]
		want := map[string]map[string]*pb.SpendingGroup{} // by group and ledger
		for _, name := range names {
			answer, err := s.Client.QuerySpending(ctx, &pb.QuerySpendingRequest{Ledger: name, By: by, LabelKey: label,
				Limit: 500})
			if err != nil {
				t.Fatal(err)
			}
			for _, g := range answer.GetGroups() {
				if g.GetUnnamed() {
					continue
				}
				if want[g.GetName()] == nil {
					want[g.GetName()] = map[string]*pb.SpendingGroup{}
				}
				want[g.GetName()][name] = g
			}
		}
		if len(want) == 0 {
			t.Fatalf("no groups by %v", by)
		}
		for group, ledgers := range want {
			answer, err := s.Client.QuerySpendingAnywhere(ctx, &pb.QuerySpendingAnywhereRequest{Name: group, By: by,
				LabelKey: label, PageSize: 200})
			if err != nil || answer.GetNextPageToken() != "" {
				t.Fatalf("%s: %v", group, err)
			}
			found := 0
			for _, r := range answer.GetRows() {
				if ledgers[r.GetLedger()] == nil {
					continue // of a child ledger
				}
				found++
				// Both ε are upper bounds, and the other question has found its own with what was known of more groups.
				got, said := r.GetGroup(), ledgers[r.GetLedger()]
				same := sameNumber(got.GetEpsilon(), said.GetEpsilon())
				if got.Epsilon = said.GetEpsilon(); !same || !proto.Equal(got, said) {
					t.Errorf("%s of %s:\n%v; want\n%v", group, r.GetLedger(), got, said)
				}
			}
			if found != len(ledgers) {
				t.Errorf("%s: found in %d ledgers; want %d", group, found, len(ledgers))
			}
		}
	}
}
