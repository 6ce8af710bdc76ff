// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"fmt"
	"testing"

	"google.golang.org/grpc/codes"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/server/servertest"
)

// What somebody has spent anywhere is told ledger by ledger, and of those alone of which the asker is an auditor. What
// was spent of others is not told, not even by how many pages there are or what stands in their tokens.
func TestSpentAnywhereOfWhatOneMaySee(t *testing.T) {
	t.Parallel()
	g := guard(t, "grants:\n  - {roles: reporter, to: ['unverified:ben', 'unverified:carl'], on: everything}\n"+
		"  - {roles: auditor, to: 'unverified:ann', on: ['prefix:in/', 'ledger:z']}\n"+
		"  - {roles: viewer, to: 'unverified:ann', on: everything}\n"+
		"  - {roles: viewer, to: 'unverified:eve', on: everything}\n")
	report := func(who, name string, n uint32) {
		_, err := g.Client.Report(as(t, who), &pb.ReportRequest{
			Lane:   &pb.Lane{Ledger: name, Writer: servertest.Writer(), Sequence: 1},
			Charge: &pb.Charge{Events: []*pb.Event{servertest.Pure(0.5, n)}, Labels: map[string]string{"run": who}}})
		if err != nil {
			t.Fatal(err)
		}
	}
	for i, name := range []string{"in/a", "in/b", "in/none", "out/a", "out/secret", "z"} {
		g.create(servertest.Filter(name, servertest.Basic(10)))
		if name != "in/none" {
			report("ben", name, uint32(i+1))
		}
	}
	report("carl", "in/a", 4)
	g.create(servertest.Spec("in/free"))
	report("ben", "in/free", 1)

	for _, size := range []uint32{0, 1, 2} {
		var got []string
		for token := ""; ; {
			answer, err := g.Client.QuerySpendingAnywhere(as(t, "ann"), &pb.QuerySpendingAnywhereRequest{
				Name: "unverified:ben", PageSize: size, PageToken: token})
			if err != nil {
				t.Fatal(err)
			}
			if size > 0 && len(answer.GetRows()) > int(size) || answer.GetText() == "" {
				t.Errorf("a page of %d: %v", size, answer)
			}
			for _, r := range answer.GetRows() {
				got = append(got, fmt.Sprint(r.GetLedger(), r.GetGroup().GetCharged(), r.GetGroup().GetShares()))
				if r.GetGroup().GetLastTime() == nil || len(r.GetBudgets()) != len(r.GetGroup().GetShares()) {
					t.Errorf("%v", r)
				}
			}
			if token = answer.GetNextPageToken(); token == "" {
				break
			}
		}
		// Of a budget of 10, n times 0.5 are n/20.
		want := "[in/a1 [0.05] in/b2 [0.1] in/free1 [] z6 [0.3]]"
		if fmt.Sprint(got) != want {
			t.Errorf("pages of %d: %v; want %s", size, got, want)
		}
	}
	one := func(who string, r *pb.QuerySpendingAnywhereRequest) []*pb.LedgerSpending {
		answer, err := g.Client.QuerySpendingAnywhere(as(t, who), r)
		if err != nil || answer.GetNextPageToken() != "" {
			t.Fatalf("%v: %v %v", r, answer, err)
		}
		return answer.GetRows()
	}
	if rows := one("ann", &pb.QuerySpendingAnywhereRequest{Name: "carl", By: pb.QuerySpendingRequest_LABEL,
		LabelKey: "run"}); len(rows) != 1 || rows[0].GetLedger() != "in/a" || rows[0].GetGroup().GetCharged() != 4 {
		t.Errorf("by label: %v", rows)
	}
	if rows := one("ann", &pb.QuerySpendingAnywhereRequest{Name: "unverified:ben", Prefix: "out/"}); len(rows) != 0 {
		t.Errorf("of ledgers that ann may not audit: %v", rows)
	}
	if rows := one("ann", &pb.QuerySpendingAnywhereRequest{Name: "without label run",
		By: pb.QuerySpendingRequest_LABEL, LabelKey: "run"}); len(rows) != 0 {
		t.Errorf("a group in our own words: %v", rows)
	}
	if _, err := g.Client.QuerySpendingAnywhere(as(t, "eve"),
		&pb.QuerySpendingAnywhereRequest{Name: "unverified:ben"}); !denied(err) {
		t.Errorf("a viewer: %v", err)
	}
	for name, r := range map[string]*pb.QuerySpendingAnywhereRequest{
		"name":      {},
		"label_key": {Name: "x", LabelKey: "run"},
		"by":        {Name: "x", By: 9},
		"delta":     {Name: "x", Delta: new(float64)},
		"page_size": {Name: "x", PageSize: 201},
		"prefix":    {Name: "x", Prefix: "\x01"},
	} {
		_, err := g.Client.QuerySpendingAnywhere(as(t, "ann"), r)
		wantCode(t, name, err, codes.InvalidArgument, name+":")
	}
	// Another question's token leads nowhere.
	first, err := g.Client.QuerySpendingAnywhere(as(t, "ann"),
		&pb.QuerySpendingAnywhereRequest{Name: "unverified:ben", PageSize: 1})
	if err != nil {
		t.Fatal(err)
	}
	_, err = g.Client.QuerySpendingAnywhere(as(t, "ann"), &pb.QuerySpendingAnywhereRequest{Name: "unverified:carl",
		PageToken: first.GetNextPageToken()})
	wantCode(t, "another token", err, codes.InvalidArgument, "page_token")
}
