// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/keeper"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/record"
	"github.com/dpaccountant/accountant/internal/server/servertest"
)

// proposed is a ledger and the positions of two proposals of Ann to raise its budget.
func proposed(t *testing.T) (o *officers, raise, other uint64) {
	t.Helper()
	o = twoPeople(t)
	_, err := o.as("ann").CreateLedger(servertest.Context(t), &pb.CreateLedgerRequest{
		Spec: servertest.Filter("a", servertest.Basic(1))})
	if err == nil {
		raise, err = o.propose("ann", raiseTo(2))
	}
	if err == nil {
		other, err = o.propose("ann", raiseTo(3))
	}
	if err != nil {
		t.Fatal(err)
	}
	return o, raise, other
}

// What somebody proposed who is no officer any more cannot be approved, and what was approved before stays done.
func TestProposalOfARemovedOfficer(t *testing.T) {
	t.Parallel()
	o, raise, other := proposed(t)
	approve := &pb.ApproveRequest{
		Lane:    &pb.Lane{Ledger: "a", Writer: servertest.Writer(), Sequence: 1},
		Approve: &pb.Approve{Proposal: raise},
	}
	if _, err := o.as("ben").Approve(servertest.Context(t), approve); err != nil {
		t.Fatal(err)
	}
	o.policy.change(strings.Replace(twoOfThree, "['person:ann', 'cn:ben']", "'cn:ben'", 1))
	wantCode(t, "approving what a removed officer proposed", o.approve("ben", other), codes.FailedPrecondition,
		"was made by cn:ann, who by the access policy of now may not propose it")
	if _, err := o.as("ben").Approve(servertest.Context(t), approve); err != nil {
		t.Errorf("the first approval, sent again: %v", err)
	}
	o.policy.change(twoOfThree + "# again\n")
	if err := o.approve("ben", other); err != nil {
		t.Errorf("an officer's again: %v", err)
	}
}

// A clock that has gone back does not bring back a proposal whose time was over by an entry of its ledger.
func TestProposalAfterAClockWentBack(t *testing.T) {
	t.Parallel()
	o, raise, _ := proposed(t)
	o.Stop()
	ahead := keeper.New(keeper.Config{Store: o.store, Digest: record.Digest,
		Now: func() time.Time { return time.Now().Add(73 * time.Hour) }})
	later := ledger.Withdraw{Proposal: raise + 1, Reason: "an entry of a later time"}
	ann := ledger.Writer{Name: servertest.Writer(), Principal: "cn:ann"}
	if _, err := ahead.Do(t.Context(), "a", ledger.Request{Writer: ann, Sequence: 1, Action: later}); err != nil {
		t.Fatal(err)
	}
	o.Restart()
	wantCode(t, "approving after its time", o.approve("ben", raise), codes.FailedPrecondition,
		"and the ledger has an entry of")
}
