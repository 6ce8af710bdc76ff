// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/server/servertest"
)

// A root ledger takes its budget from its dataset, so who creates one must be a manager of that, too;
// and who is not is told the same whether the dataset is registered or not.
func TestCreatingALedgerNeedsTheDataset(t *testing.T) {
	t.Parallel()
	g := guard(t, "grants:\n  - {roles: manager, to: 'unverified:eve', on: 'prefix:mine/'}\n"+
		"  - {roles: manager, to: 'unverified:ann', on: ['prefix:mine/', 'dataset:Survey']}\n")
	_, err := g.Owner.CreateDataset(servertest.Context(t), &pb.CreateDatasetRequest{Spec: survey(servertest.Basic(2))})
	if err != nil {
		t.Fatal(err)
	}
	create := func(who, id string) error {
		_, err := g.Client.CreateLedger(as(t, who), &pb.CreateLedgerRequest{
			Spec: of(id, "1", servertest.Filter("mine/"+who, servertest.Basic(2)))})
		return err
	}
	registered, missing := create("eve", "Survey"), create("eve", "Nothing")
	if !denied(registered) || !denied(missing) ||
		strings.ReplaceAll(registered.Error(), "Survey", "X") != strings.ReplaceAll(missing.Error(), "Nothing", "X") {
		t.Errorf("who has no right on the dataset: %v\n%v", registered, missing)
	}
	if err := create("ann", "Survey"); err != nil {
		t.Errorf("who has: %v", err)
	}
}

// With a policy that asks for two people, no single person changes a dataset's budget or caps.
func TestOnePersonAmendsNoBudget(t *testing.T) {
	t.Parallel()
	g := guard(t, "grants: []\n")
	_, err := g.Owner.CreateDataset(servertest.Context(t), &pb.CreateDatasetRequest{Spec: survey(servertest.Basic(2))})
	if err != nil {
		t.Fatal(err)
	}
	g.change("grants: []\ntwo_people: {within: 72h}\n")
	amend := func(m *pb.AmendDataset) error {
		m.Reason = "more is needed"
		_, err := g.Owner.AmendDataset(servertest.Context(t),
			&pb.AmendDatasetRequest{
				Lane:  &pb.Lane{Ledger: "dataset:" + "survey", Writer: servertest.Writer(), Sequence: 1},
				Amend: m,
			})
		return err
	}
	wantCode(t, "its budget", amend(&pb.AmendDataset{Budgets: []*pb.Budget{servertest.Basic(9)}}),
		codes.FailedPrecondition, "two people")
	wantCode(t, "its caps", amend(&pb.AmendDataset{Caps: &pb.DatasetCaps{}}), codes.FailedPrecondition, "two people")
	title := "2027"
	if err := amend(&pb.AmendDataset{Title: &title}); err != nil {
		t.Errorf("its title: %v", err)
	}
}

// Whoever owns the daemon has two principals at hand, the daemon's user and root, and perhaps a
// certificate beside them. So on the daemon's own socket, too, only officers propose and approve.
func TestOwnerIsNoSecondPerson(t *testing.T) {
	t.Parallel()
	o := twoPeople(t)
	ctx := servertest.Context(t)
	ann, owner := o.as("ann"), o.Owner(t)
	_, err := ann.CreateLedger(ctx, &pb.CreateLedgerRequest{Spec: servertest.Filter("a", servertest.Basic(10))})
	if err != nil {
		t.Fatal(err)
	}
	raise, err := o.propose("ann", raiseTo(20))
	if err != nil {
		t.Fatal(err)
	}
	_, err = owner.Approve(ctx, &pb.ApproveRequest{
		Lane:    &pb.Lane{Ledger: "a", Writer: servertest.Writer(), Sequence: 1},
		Approve: &pb.Approve{Proposal: raise},
	})
	wantCode(t, "the owner approves", err, codes.PermissionDenied, "needs the role officer")
	_, err = owner.Propose(ctx, &pb.ProposeRequest{
		Lane:    &pb.Lane{Ledger: "a", Writer: servertest.Writer(), Sequence: 1},
		Propose: raiseTo(30),
	})
	wantCode(t, "the owner proposes", err, codes.PermissionDenied, "needs the role officer")
	_, err = owner.Withdraw(ctx, &pb.WithdrawRequest{
		Lane:     &pb.Lane{Ledger: "a", Writer: servertest.Writer(), Sequence: 1},
		Withdraw: &pb.Withdraw{Proposal: raise, Reason: "it was not meant"},
	})
	if err != nil {
		t.Errorf("the owner withdraws: %v", err)
	}
}

// Who asks about themselves is not told what a group may do that they say they are in.
func TestGroupsAreNotClaimed(t *testing.T) {
	t.Parallel()
	g := guard(t, "grants:\n  - {roles: viewer, to: 'group:https://i#secret', on: 'ledger:hidden'}\n")
	for _, principal := range []string{"", "unverified:eve"} {
		answer, err := g.Client.GetAccess(as(t, "eve"), &pb.GetAccessRequest{Principal: principal,
			Groups: []string{"https://i#secret"}})
		if err == nil && len(answer.GetGrants()) > 0 || principal != "" && !denied(err) {
			t.Errorf("as %q: %v, %v", principal, answer, err)
		}
	}
}

// Statements name no dataset and no ledger on which the caller has no right; that there are other
// datasets, on whose independence the statement rests, they say.
func TestStatementsHideOtherDatasets(t *testing.T) {
	t.Parallel()
	g := guard(t, "grants:\n  - {roles: viewer, to: 'unverified:ann', on: ['dataset:Part']}\n  - {roles: viewer, to: "+
		"'unverified:ben', on: ['prefix:b/']}\n  - {roles: viewer, to: 'unverified:all', on: everything}\n")
	ctx := servertest.Context(t)
	register := func(id, version string, change func(*pb.DatasetSpec)) {
		t.Helper()
		spec := survey(servertest.Basic(2))
		spec.Id, spec.Version = id, version
		change(spec)
		if _, err := g.Owner.CreateDataset(ctx, &pb.CreateDatasetRequest{Spec: spec}); err != nil {
			t.Fatal(err)
		}
	}
	register("Survey", "1", func(*pb.DatasetSpec) {})
	register("Part", "1", func(s *pb.DatasetSpec) {
		s.Budgets, s.DerivedFrom = nil, []*pb.DatasetReference{{Id: "Survey", Version: "1"}}
	})
	register("Hospital", "1", func(s *pb.DatasetSpec) { s.Independence = "no patient answered the Survey" })
	g.create(of("Survey", "1", servertest.Filter("a/layoffs", servertest.Basic(1))),
		of("Part", "1", servertest.Filter("b/part", servertest.Basic(0.5))))
	texts := map[string]string{}
	for who, ask := range map[string]func() (fmt.Stringer, error){
		"ben": func() (fmt.Stringer, error) {
			return g.Client.GetStatement(as(t, "ben"), &pb.GetStatementRequest{Name: "b/part"})
		},
		"all": func() (fmt.Stringer, error) {
			return g.Client.GetStatement(as(t, "all"), &pb.GetStatementRequest{Name: "dataset:part"})
		},
	} {
		answer, err := ask()
		if err != nil {
			t.Fatal(err)
		}
		texts[who] = answer.String()
	}
	for _, secret := range []string{"a/layoffs", "Hospital", "no patient"} {
		if strings.Contains(texts["ben"], secret) {
			t.Errorf("ben is told of %q: %s", secret, texts["ben"])
		}
	}
	if !strings.Contains(texts["ben"], "that you may not see") {
		t.Errorf("ben is not told that there is more: %s", texts["ben"])
	}
	_, err := g.Client.GetStatement(as(t, "ann"), &pb.GetStatementRequest{Name: "dataset:part"})
	wantCode(t, "a dataset whose budget is another's", err, codes.PermissionDenied, "shares the budget of a dataset")
	for _, known := range []string{"a/layoffs", "Hospital", "no patient", "b/part"} {
		if !strings.Contains(texts["all"], known) {
			t.Errorf("who may see everything is not told of %q: %s", known, texts["all"])
		}
	}
}
