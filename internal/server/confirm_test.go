// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"slices"
	"testing"

	"google.golang.org/grpc/codes"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/server/servertest"
)

func (o *officers) registerAs(name string, spec *pb.DatasetSpec, propose bool) (*pb.CreateDatasetResponse, error) {
	o.t.Helper()
	return o.as(name).CreateDataset(servertest.Context(o.t), &pb.CreateDatasetRequest{Spec: spec, Propose: propose})
}

func (o *officers) createAs(name string, spec *pb.LedgerSpec) error {
	o.t.Helper()
	_, err := o.as(name).CreateLedger(servertest.Context(o.t), &pb.CreateLedgerRequest{Spec: spec})
	return err
}

// A dataset with a budget of its own gives nobody anything to spend before a second person has
// confirmed its registration: no new ledger, no raise of an adopted one, and no derived dataset. What
// adopted ledgers hold counts at once.
func TestTwoPeopleRegisterADataset(t *testing.T) {
	t.Parallel()
	o := twoPeople(t)
	if err := o.createAs("ann", of("Survey", "1", servertest.Filter("a", servertest.Basic(1)))); err != nil {
		t.Fatal(err)
	}
	if err := o.createAs("ann", of("Derived", "1", servertest.Filter("d", servertest.Basic(0.5)))); err != nil {
		t.Fatal(err)
	}
	spec := survey(servertest.Basic(4))
	_, err := o.registerAs("ann", spec, false)
	wantCode(t, "one person registers", err, codes.FailedPrecondition, "this needs two people")
	_, err = o.registerAs("cleo", spec, true)
	wantCode(t, "an officer of the dataset's ledgers", err, codes.PermissionDenied, "the role officer on everything")
	for _, propose := range []bool{false, true} {
		_, err = o.Owner(t).CreateDataset(servertest.Context(t),
			&pb.CreateDatasetRequest{Spec: spec, Propose: propose})
		if err == nil {
			t.Errorf("the daemon's owner registers alone, propose: %v", propose)
		}
	}
	made, err := o.registerAs("ann", spec, true)
	if err != nil || !made.GetCreated() || made.GetProposal() == 0 ||
		!made.GetLedger().GetDataset().GetNeedsConfirming() || !slices.Equal(made.GetAdopted(), []string{"a"}) {
		t.Fatalf("proposed: %v, %v", made, err)
	}
	again, err := o.registerAs("ben", survey(servertest.Basic(4)), true)
	if err != nil || again.GetCreated() || again.GetProposal() != 0 {
		t.Errorf("the same again: %v, %v", again, err)
	}
	const waits = "waits for a second person"
	nothing := func() {
		t.Helper()
		wantCode(t, "a new ledger", o.createAs("ann", of("Survey", "1", servertest.Filter("b", servertest.Basic(1)))),
			codes.FailedPrecondition, waits)
		_, err := o.propose("ann", raiseTo(2))
		wantCode(t, "a raise of the adopted ledger", err, codes.FailedPrecondition, waits)
		derived := survey(servertest.Basic(4))
		derived.Id, derived.Budgets = "Derived", nil
		derived.DerivedFrom = []*pb.DatasetReference{{Id: "Survey", Version: "1"}}
		_, err = o.registerAs("ann", derived, false)
		wantCode(t, "a derived dataset with a ledger", err, codes.FailedPrecondition, waits)
	}
	nothing()
	o.Restart()
	nothing()
	const record = "dataset:survey"
	for _, name := range []string{"ann", "ann-laptop"} {
		wantCode(t, name, o.approveOn(name, record, made.GetProposal()), codes.FailedPrecondition, "another person")
	}
	wantCode(t, "an officer of the ledgers", o.approveOn("cleo", record, made.GetProposal()), codes.PermissionDenied,
		"everything")
	_, err = o.as("ben").AmendDataset(servertest.Context(t), &pb.AmendDatasetRequest{
		Lane:  &pb.Lane{Ledger: "dataset:" + "Survey", Sequence: 1, Writer: servertest.Writer()},
		Amend: &pb.AmendDataset{Confirm: true, Reason: "r"},
	})
	wantCode(t, "alone", err, codes.FailedPrecondition, "this needs two people")
	title := "another"
	_, err = o.proposeOn("ben", record, &pb.Propose{Action: &pb.Propose_AmendDataset{
		AmendDataset: &pb.AmendDataset{Confirm: true, Title: &title, Reason: "r"}}})
	wantCode(t, "with another change", err, codes.FailedPrecondition, "together with another change")
	if err := o.approveOn("ben", record, made.GetProposal()); err != nil {
		t.Fatal(err)
	}
	wantCode(t, "twice", o.approveOn("ben", record, made.GetProposal()), codes.FailedPrecondition, "one that is open")
	if err := o.createAs("ann", of("Survey", "1", servertest.Filter("b", servertest.Basic(1)))); err != nil {
		t.Errorf("a new ledger after the approval: %v", err)
	}
	wantCode(t, "more than the budget", o.createAs("ann", of("Survey", "1", servertest.Filter("c",
		servertest.Basic(2.5)))), codes.ResourceExhausted, "budget exceeded")
	got, err := o.as("ann").GetLedger(servertest.Context(t), &pb.GetLedgerRequest{Name: record})
	if d := got.GetLedger().GetDataset(); err != nil || d.GetNeedsConfirming() || d.GetConfirmedBy() != "cn:ben" ||
		d.GetConfirmation().GetProposer() != "cn:ann" {
		t.Errorf("afterwards: %v, %v", got, err)
	}
	replayed(t, o.Owner(t), record)
	replayed(t, o.Owner(t), "a")
}

// A dataset that shares another one's budget gives nobody more to spend, so one officer registers it.
func TestOnePersonRegistersADerivedDataset(t *testing.T) {
	t.Parallel()
	o := twoPeople(t)
	made, err := o.registerAs("ann", survey(servertest.Basic(4)), true)
	if err != nil {
		t.Fatal(err)
	}
	if err := o.approveOn("ben", "dataset:survey", made.GetProposal()); err != nil {
		t.Fatal(err)
	}
	derived := survey(nil)
	derived.Id, derived.Budgets = "Derived", nil
	derived.DerivedFrom = []*pb.DatasetReference{{Id: "Survey", Version: "1"}}
	_, err = o.registerAs("ann", derived, true)
	wantCode(t, "proposed", err, codes.FailedPrecondition, "a dataset with a budget of its own")
	if _, err := o.registerAs("ann", derived, false); err != nil {
		t.Errorf("alone: %v", err)
	}
}

// Somebody whose identity nothing proves proposes no dataset, and nothing is registered then.
func TestUnprovenPeopleProposeNoDataset(t *testing.T) {
	t.Parallel()
	g := guard(t, "grants:\n  - {roles: officer, to: 'unverified:eve', on: everything}\ntwo_people: {within: 1h}\n")
	_, err := g.Client.CreateDataset(as(t, "eve"), &pb.CreateDatasetRequest{Spec: survey(servertest.Basic(4)),
		Propose: true})
	wantCode(t, "unproven", err, codes.FailedPrecondition, "which nothing proves")
	_, err = g.Owner.GetLedger(servertest.Context(t), &pb.GetLedgerRequest{Name: "dataset:survey"})
	wantCode(t, "afterwards", err, codes.NotFound, "not registered")
}
