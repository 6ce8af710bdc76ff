// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/api"
	"github.com/dpaccountant/accountant/internal/audit"
	"github.com/dpaccountant/accountant/internal/persist/memory"
	"github.com/dpaccountant/accountant/internal/server"
	"github.com/dpaccountant/accountant/internal/server/endpoint"
	"github.com/dpaccountant/accountant/internal/server/servertest"
)

// officers is a server with mutual TLS and a policy that asks for two people. Ann has two
// principals, cn:ann and cn:ann-laptop.
type officers struct {
	*servertest.Server
	t         *testing.T
	authority *servertest.Authority
	store     *memory.Store
	policy    *guarded
}

const twoOfThree = `people:
  ann: [cn:ann, cn:ann-laptop]
grants:
  - {roles: [officer, manager, reporter], to: ['person:ann', 'cn:ben'], on: everything}
  - {roles: reporter, to: 'cn:job', on: everything}
  - {roles: officer, to: 'cn:cleo', on: 'dataset:Survey'}
two_people: {within: 72h}
`

func twoPeople(t *testing.T) *officers {
	t.Helper()
	a := servertest.NewAuthority(t)
	var files endpoint.TLSFiles
	files.Cert, files.Key = a.Issue("server", nil)
	files.ClientCA = a.File
	for _, name := range []string{"ann", "ann-laptop", "ben", "cleo", "job"} {
		a.Issue(name, nil)
	}
	g := &guarded{t: t, file: filepath.Join(t.TempDir(), "policy.yaml"), reload: make(chan struct{})}
	g.write(twoOfThree)
	o := &officers{t: t, authority: a, store: memory.New(memory.Config{}), policy: g}
	o.Server = servertest.StartWith(t, servertest.Config{Store: o.store, Server: server.Config{TLS: files,
		AccessPolicy: g.file, Reload: g.reload, Socket: filepath.Join(t.TempDir(), "own")}})
	return o
}

func (o *officers) as(name string) api.Client {
	return api.NewClient(o.Dial(grpc.WithTransportCredentials(
		credentials.NewTLS(o.authority.Client(name)))))
}

// propose proposes an action on the ledger a, and returns the proposal.
func (o *officers) propose(name string, p *pb.Propose) (uint64, error) {
	return o.proposeOn(name, "a", p)
}

func (o *officers) proposeOn(name, ledger string, p *pb.Propose) (uint64, error) {
	o.t.Helper()
	answer, err := o.as(name).Propose(servertest.Context(o.t),
		&pb.ProposeRequest{Lane: &pb.Lane{Ledger: ledger, Writer: servertest.Writer(), Sequence: 1}, Propose: p})
	return answer.GetReceipt().GetPosition(), err
}

func (o *officers) approve(name string, proposal uint64) error {
	return o.approveOn(name, "a", proposal)
}

func (o *officers) approveOn(name, ledger string, proposal uint64) error {
	o.t.Helper()
	_, err := o.as(name).Approve(servertest.Context(o.t),
		&pb.ApproveRequest{
			Lane:    &pb.Lane{Ledger: ledger, Writer: servertest.Writer(), Sequence: 1},
			Approve: &pb.Approve{Proposal: proposal},
		})
	return err
}

func (o *officers) get() *pb.Ledger {
	o.t.Helper()
	answer, err := o.as("ann").GetLedger(servertest.Context(o.t), &pb.GetLedgerRequest{Name: "a"})
	if err != nil {
		o.t.Fatal(err)
	}
	return answer.GetLedger()
}

func refundOf(position uint64) *pb.Propose {
	return &pb.Propose{Action: &pb.Propose_Refund{Refund: &pb.Refund{Position: position, NothingReleased: true,
		Reason: "it never ran"}}}
}

func raiseTo(epsilon float64) *pb.Propose {
	return &pb.Propose{Action: &pb.Propose_Raise{Raise: &pb.Raise{Budgets: []*pb.Budget{servertest.Basic(epsilon)},
		Reason: "the second quarter"}}}
}

func wantCode(t *testing.T, what string, err error, code codes.Code, says string) {
	t.Helper()
	if status.Code(err) != code || !strings.Contains(fmt.Sprint(err), says) {
		t.Errorf("%s: %v; want %v and %q", what, err, code, says)
	}
}

// What needs two people is done once another person has approved it, exactly as it was proposed
// and decided anew; also after a restart. One person alone, also by another of their principals,
// can do nothing.
func TestTwoPeople(t *testing.T) {
	t.Parallel()
	o := twoPeople(t)
	ctx := servertest.Context(t)
	ann, ben := o.as("ann"), o.as("ben")
	spec := servertest.Filter("a", servertest.Basic(10))
	if _, err := ann.CreateLedger(ctx, &pb.CreateLedgerRequest{Spec: spec}); err != nil {
		t.Fatal(err)
	}
	charge := func(epsilon float64) uint64 {
		t.Helper()
		answer, err := ann.Report(ctx, &pb.ReportRequest{
			Lane:   &pb.Lane{Ledger: "a", Writer: servertest.Writer(), Sequence: 1},
			Charge: &pb.Charge{Events: []*pb.Event{servertest.Pure(epsilon, 1)}},
		})
		if err != nil {
			t.Fatal(err)
		}
		return answer.GetReceipt().GetPosition()
	}
	first := charge(2)

	_, err := ann.Refund(ctx, &pb.RefundRequest{
		Lane:   &pb.Lane{Ledger: "a", Writer: servertest.Writer(), Sequence: 1},
		Refund: refundOf(first).GetRefund(),
	})
	wantCode(t, "a refund by one person", err, codes.FailedPrecondition, "needs two people")
	_, err = o.Owner(t).Refund(ctx, &pb.RefundRequest{
		Lane:   &pb.Lane{Ledger: "a", Writer: servertest.Writer(), Sequence: 1},
		Refund: refundOf(first).GetRefund(),
	})
	wantCode(t, "a refund by the daemon's owner", err, codes.FailedPrecondition, "needs two people")
	_, err = o.propose("job", refundOf(first))
	wantCode(t, "a proposal by who is no officer", err, codes.PermissionDenied, "needs the role officer")
	_, err = o.propose("ann", refundOf(99))
	wantCode(t, "a proposal of what cannot be done", err, codes.FailedPrecondition, "99")

	refund, err := o.propose("ann", refundOf(first))
	if err != nil {
		t.Fatal(err)
	}
	wantCode(t, "the proposer approves", o.approve("ann", refund), codes.FailedPrecondition, "another person")
	wantCode(t, "an alias approves", o.approve("ann-laptop", refund), codes.FailedPrecondition, "another person")
	wantCode(t, "who is no officer approves", o.approve("job", refund), codes.PermissionDenied, "role officer")
	wantCode(t, "of no proposal", o.approve("ben", first), codes.FailedPrecondition, "an entry that proposes")
	raise, err := o.propose("ben", raiseTo(20))
	if err != nil {
		t.Fatal(err)
	}
	l := o.get()
	if n := len(l.GetProposals()); n != 2 || l.GetTotalCount() != 1 || l.GetBudgets()[0].GetValue().GetLimit() != 10 {
		t.Errorf("%d proposals; the ledger is %v", n, l)
	}

	o.Restart()
	approval := &pb.ApproveRequest{
		Lane:    &pb.Lane{Ledger: "a", Writer: servertest.Writer(), Sequence: 1},
		Approve: &pb.Approve{Proposal: refund},
	}
	done, err := ben.Approve(ctx, approval)
	if err != nil {
		t.Fatal(err)
	}
	again, err := ben.Approve(ctx, approval)
	if err != nil || !again.GetReplayed() || !proto.Equal(again.GetReceipt(), done.GetReceipt()) {
		t.Errorf("the same approval sent again: %v, %v", again, err)
	}
	wantCode(t, "a second approval", o.approve("ben", refund), codes.FailedPrecondition, "one that is open")
	if err := o.approve("ann-laptop", raise); err != nil {
		t.Error(err)
	}
	l = o.get()
	if len(l.GetProposals()) != 0 || l.GetTotalCount() != 0 || l.GetBudgets()[0].GetValue().GetLimit() != 20 {
		t.Errorf("after both approvals: %v", l)
	}
	var texts []string
	for _, a := range l.GetAssumptions() {
		texts = append(texts, a.GetText())
	}
	if all := strings.Join(texts, "\n"); !strings.Contains(all, "by cn:ann, proposed it, and cn:ben approved it") ||
		!strings.Contains(all, "by cn:ben, proposed it, and cn:ann-laptop approved it") {
		t.Errorf("assumptions:\n%s", all)
	}

	// It is decided on the state at the approval, not at the proposal.
	second := charge(1)
	one, err := o.propose("ann", refundOf(second))
	if err != nil {
		t.Fatal(err)
	}
	other, err := o.propose("ann", refundOf(second))
	if err != nil {
		t.Fatal(err)
	}
	if err := o.approve("ben", one); err != nil {
		t.Error(err)
	}
	wantCode(t, "what was done meanwhile", o.approve("ben", other), codes.FailedPrecondition, "was refunded")
	_, err = ann.Withdraw(ctx, &pb.WithdrawRequest{
		Lane:     &pb.Lane{Ledger: "a", Writer: servertest.Writer(), Sequence: 1},
		Withdraw: &pb.Withdraw{Proposal: other, Reason: "done"},
	})
	if err != nil {
		t.Error(err)
	}
	wantCode(t, "what was withdrawn", o.approve("ben", other), codes.FailedPrecondition, "one that is open")

	// A reservation of somebody else's.
	reserved, err := ann.Reserve(ctx, &pb.ReserveRequest{
		Lane:    &pb.Lane{Ledger: "a", Writer: servertest.Writer(), Sequence: 1},
		Reserve: &pb.Reserve{LifetimeSeconds: 600, Events: []*pb.Event{servertest.Pure(1, 1)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	free, err := o.propose("ben", &pb.Propose{Action: &pb.Propose_Free{Free: &pb.Free{
		Reservation: reserved.GetReceipt().GetPosition(), NothingReleased: true, Reason: "the job died"}}})
	if err == nil {
		err = o.approve("ann", free)
	}
	if err != nil {
		t.Error(err)
	}
	if n := len(o.get().GetReservations()); n != 0 {
		t.Errorf("%d reservations after one was freed", n)
	}
	o.Restart()
	replayed(t, o.as("ann"), "a")
}

// A dataset's record is changed by two people, too: one officer alone, or the daemon's owner, can
// change neither its budget nor its caps, and an officer of the dataset's ledgers cannot approve it.
func TestTwoPeopleAmendADataset(t *testing.T) {
	t.Parallel()
	o := twoPeople(t)
	ctx := servertest.Context(t)
	ann := o.as("ann")
	made, err := o.registerAs("ann", survey(servertest.Basic(1)), true)
	if err != nil {
		t.Fatal(err)
	}
	if err := o.approveOn("ben", "dataset:survey", made.GetProposal()); err != nil {
		t.Fatal(err)
	}
	title := "Survey of users"
	larger := &pb.AmendDataset{Budgets: []*pb.Budget{servertest.Basic(5)}, Caps: &pb.DatasetCaps{Charge: 0.5},
		Title: &title, Labels: map[string]string{"b": "2", "a": "1"}, Owners: []string{"ann", "ben"},
		AddVersion: &pb.DatasetVersion{Of: &pb.DatasetReference{Id: "Survey", Version: "2"}},
		Reason:     "the second wave"}
	amend := func(client api.Client, m *pb.AmendDataset) error {
		_, err := client.AmendDataset(ctx, &pb.AmendDatasetRequest{
			Lane:  &pb.Lane{Ledger: "dataset:" + "survey", Writer: servertest.Writer(), Sequence: 1},
			Amend: m,
		})
		return err
	}
	get := func() *pb.Ledger {
		t.Helper()
		answer, err := ann.GetLedger(ctx, &pb.GetLedgerRequest{Name: "dataset:survey"})
		if err != nil {
			t.Fatal(err)
		}
		return answer.GetLedger()
	}
	limit := func() float64 { return get().GetBudgets()[0].GetValue().GetLimit() }
	wantCode(t, "a budget by one person", amend(ann, larger), codes.FailedPrecondition, "needs two people")
	wantCode(t, "a budget by the daemon's owner", amend(o.Owner(t), larger), codes.FailedPrecondition,
		"needs two people")
	wantCode(t, "caps by one person", amend(ann, &pb.AmendDataset{Caps: &pb.DatasetCaps{}, Reason: "r"}),
		codes.FailedPrecondition, "needs two people")
	wantCode(t, "by who is no officer", amend(o.as("job"), larger), codes.PermissionDenied, "role officer")

	const record = "dataset:survey"
	proposed := &pb.Propose{Action: &pb.Propose_AmendDataset{AmendDataset: larger}}
	_, err = o.proposeOn("job", record, proposed)
	wantCode(t, "a proposal by who is no officer", err, codes.PermissionDenied, "needs the role officer")
	_, err = o.proposeOn("cleo", record, proposed)
	wantCode(t, "a proposal by an officer of its ledgers", err, codes.PermissionDenied, "officer on everything")
	_, err = o.proposeOn("ann", record, raiseTo(5))
	wantCode(t, "a raise of the record", err, codes.FailedPrecondition, "accountctl dataset amend")
	forged := proto.Clone(larger).(*pb.AmendDataset)
	forged.Late = true
	_, err = o.proposeOn("ann", record, &pb.Propose{Action: &pb.Propose_AmendDataset{AmendDataset: forged}})
	wantCode(t, "a proposal that says what a decision finds", err, codes.InvalidArgument, "late")
	_, err = o.proposeOn("ann", record, &pb.Propose{Action: &pb.Propose_AmendDataset{AmendDataset: &pb.AmendDataset{
		Budgets: []*pb.Budget{servertest.Basic(0.5)}, Reason: "less"}}})
	wantCode(t, "a proposal of what cannot be done", err, codes.FailedPrecondition, "")

	proposal, err := o.proposeOn("ann", record, proposed)
	if err != nil {
		t.Fatal(err)
	}
	wantCode(t, "the proposer approves", o.approveOn("ann", record, proposal), codes.FailedPrecondition,
		"another person")
	wantCode(t, "an alias approves", o.approveOn("ann-laptop", record, proposal), codes.FailedPrecondition,
		"another person")
	wantCode(t, "an officer of its ledgers approves", o.approveOn("cleo", record, proposal), codes.PermissionDenied,
		"officer on everything")
	if n := len(ledgerOf(t, ann, record).GetProposals()); n != 1 || limit() != 1 {
		t.Errorf("%d proposals; the dataset is %v", n, get())
	}
	o.Restart()
	if err := o.approveOn("ben", record, proposal); err != nil {
		t.Fatal(err)
	}
	d := get().GetDataset()
	if d.GetSpec().GetTitle() != title || d.GetSpec().GetCaps().GetCharge() != 0.5 || limit() != 5 ||
		len(d.GetVersions()) != 2 {
		t.Errorf("after the approval: %v", d)
	}
	wantCode(t, "a second approval", o.approveOn("ben", record, proposal), codes.FailedPrecondition,
		"one that is open")

	// Without a restart between them, and after something was set aside.
	spec := of("Survey", "1", servertest.Filter("a", servertest.Basic(1)))
	if _, err := ann.CreateLedger(ctx, &pb.CreateLedgerRequest{Spec: spec}); err != nil {
		t.Fatal(err)
	}
	larger.Budgets, larger.AddVersion = []*pb.Budget{servertest.Basic(9)}, nil
	if proposal, err = o.proposeOn("ben", record, proposed); err == nil {
		err = o.approveOn("ann", record, proposal)
	}
	if err != nil || limit() != 9 {
		t.Errorf("a second amendment: %v, %v", get(), err)
	}
	all := fmt.Sprint(get().GetAssumptions())
	if !strings.Contains(all, "by cn:ben, proposed it, and cn:ann approved") {
		t.Errorf("assumptions: %s", all)
	}
	o.Restart()
	if limit() != 9 {
		t.Errorf("after a restart: %v", get())
	}
	replayed(t, ann, record)
}

// replayed decides a ledger's entries again, as an audit does.
func replayed(t *testing.T, client api.Client, name string) *audit.Replay {
	t.Helper()
	page, err := client.ListEntries(servertest.Context(t), &pb.ListEntriesRequest{Ledger: name, Raw: true,
		PageSize: 1000})
	if err != nil {
		t.Fatal(err)
	}
	r, err := audit.Begin(page.GetGenesis(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range page.GetEntries() {
		if _, err := r.NextRaw(e.GetRaw()); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := r.State().Summary().Total, ledgerOf(t, client, name).GetTotalCount(); got != want {
		t.Errorf("replayed: %d, the daemon says %d", got, want)
	}
	return r
}

func ledgerOf(t *testing.T, client api.Client, name string) *pb.Ledger {
	t.Helper()
	answer, err := client.GetLedger(servertest.Context(t), &pb.GetLedgerRequest{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	return answer.GetLedger()
}

// A reservation belongs to all who are reporters by a grant with the same holder, and to nobody
// else; an audit decides the same without the policy.
func TestHolder(t *testing.T) {
	t.Parallel()
	a := servertest.NewAuthority(t)
	var files endpoint.TLSFiles
	files.Cert, files.Key = a.Issue("server", nil)
	files.ClientCA = a.File
	for _, name := range []string{"auditor", "trainer-1", "trainer-2", "other"} {
		a.Issue(name, nil)
	}
	g := &guarded{t: t, file: filepath.Join(t.TempDir(), "policy.yaml")}
	g.write(`grants:
  - {roles: reporter, to: 'cn:trainer-*', on: 'prefix:v/', holder: trainers}
  - {roles: reporter, to: ['cn:trainer-*', 'cn:other'], on: everything}
  - {roles: auditor, to: 'cn:auditor', on: everything}
`)
	o := &officers{t: t, authority: a}
	o.Server = servertest.StartWith(t, servertest.Config{Server: server.Config{TLS: files, AccessPolicy: g.file,
		Socket: filepath.Join(t.TempDir(), "own")}})
	ctx := servertest.Context(t)
	for _, name := range []string{"v/a", "v/b", "w"} {
		_, err := o.Owner(t).CreateLedger(ctx, &pb.CreateLedgerRequest{
			Spec: servertest.Filter(name, servertest.Basic(100))})
		if err != nil {
			t.Fatal(err)
		}
	}
	reserve := func(who, name string) uint64 {
		t.Helper()
		answer, err := o.as(who).Reserve(ctx, &pb.ReserveRequest{
			Lane:    &pb.Lane{Ledger: name, Writer: servertest.Writer(), Sequence: 1},
			Reserve: &pb.Reserve{LifetimeSeconds: 600, Events: []*pb.Event{servertest.Pure(1, 4)}},
		})
		if err != nil {
			t.Fatal(err)
		}
		return answer.GetReceipt().GetPosition()
	}
	commit := func(who, name string, reservation uint64) error {
		_, err := o.as(who).Commit(ctx, &pb.CommitRequest{
			Lane:   &pb.Lane{Ledger: name, Writer: servertest.Writer(), Sequence: 1},
			Commit: &pb.Commit{Reservation: reservation, Events: []*pb.Event{servertest.Pure(1, 1)}},
		})
		return err
	}
	shared, own, others := reserve("trainer-1", "v/a"), reserve("trainer-1", "w"), reserve("other", "v/a")
	for _, c := range []struct {
		who, name   string
		reservation uint64
		allowed     bool
	}{
		{"trainer-1", "v/a", shared, true}, {"trainer-2", "v/a", shared, true}, {"other", "v/a", shared, false},
		{"trainer-1", "w", own, true}, {"trainer-2", "w", own, false}, {"other", "w", own, false},
		{"other", "v/a", others, true}, {"trainer-1", "v/a", others, false},
	} {
		if err := commit(c.who, c.name, c.reservation); (err == nil) != c.allowed {
			t.Errorf("%s commits reservation %d of %s: %v", c.who, c.reservation, c.name, err)
		}
	}
	// Of what a set has reserved too, where all of its ledgers say the same holder.
	commitSet := func(who string, of ...string) error {
		made, err := o.as("trainer-1").Reserve(ctx,
			&pb.ReserveRequest{Lane: &pb.Lane{Contribution: pb.SetPart_OVER_ALL, Ledgers: &pb.LedgerSet{Ledgers: of},
				Writer: servertest.Writer(), Sequence: 1},
				Reserve: &pb.Reserve{LifetimeSeconds: 600, Events: []*pb.Event{servertest.Pure(1, 1)}}})
		if err != nil {
			t.Fatal(err)
		}
		_, err = o.as(who).Commit(ctx, &pb.CommitRequest{Lane: &pb.Lane{Ledger: made.GetReceipt().GetLedger(),
			Writer: servertest.Writer(), Sequence: 1},
			Commit: &pb.Commit{Reservation: made.GetReceipt().GetPosition(), Events: []*pb.Event{servertest.Pure(1,
				1)}}})
		return err
	}
	if err := commitSet("trainer-2", "v/a", "v/b"); err != nil {
		t.Errorf("a set of one holder: %v", err)
	}
	for who, of := range map[string][]string{"other": {"v/a", "v/b"}, "trainer-2": {"v/a", "w"}} {
		if err := commitSet(who, of...); status.Code(err) != codes.FailedPrecondition {
			t.Errorf("%s commits what trainer-1 has reserved in %v: %v", who, of, err)
		}
	}
	o.Restart()
	if err := commit("trainer-2", "v/a", shared); err != nil {
		t.Errorf("after a restart: %v", err)
	}
	_, err := o.as("trainer-2").Release(ctx, &pb.ReleaseRequest{
		Lane:    &pb.Lane{Ledger: "v/a", Writer: servertest.Writer(), Sequence: 1},
		Release: &pb.Release{Reservation: shared},
	})
	if err != nil {
		t.Error(err)
	}
	replayed(t, o.as("auditor"), "v/a")
	replayed(t, o.as("auditor"), "v/b")
	replayed(t, o.as("auditor"), "w")
}

// What the approver says is kept in the entry, and belongs to what was sent: the same number with another comment is
// another request.
func TestCommentOfAnApproval(t *testing.T) {
	t.Parallel()
	o := twoPeople(t)
	ctx := servertest.Context(t)
	if err := o.createAs("ann", servertest.Filter("a", servertest.Basic(10))); err != nil {
		t.Fatal(err)
	}
	proposal, err := o.propose("ann", raiseTo(20))
	if err != nil {
		t.Fatal(err)
	}
	lane := &pb.Lane{Ledger: "a", Writer: servertest.Writer(), Sequence: 1}
	approve := func(comment string) (*pb.WriteResponse, error) {
		return o.as("ben").Approve(ctx, &pb.ApproveRequest{Lane: lane,
			Approve: &pb.Approve{Proposal: proposal, Comment: comment}})
	}
	_, err = approve(strings.Repeat("x", 1025))
	wantCode(t, "a long comment", err, codes.InvalidArgument, "approve.comment")
	const said = "agreed; =1+1 \u202e<b>"
	done, err := approve(said)
	if err != nil {
		t.Fatal(err)
	}
	again, err := approve(said)
	if err != nil || again.GetReceipt().GetPosition() != done.GetReceipt().GetPosition() {
		t.Errorf("sent again: %v, %v", again, err)
	}
	_, err = approve("something else")
	wantCode(t, "another comment", err, codes.AlreadyExists, "")
	_, err = approve("")
	wantCode(t, "no comment", err, codes.AlreadyExists, "")
	list, err := o.as("ann").ListEntries(ctx, &pb.ListEntriesRequest{Ledger: "a",
		StartPosition: done.GetReceipt().GetPosition()})
	if err != nil || len(list.GetEntries()) != 1 || list.GetEntries()[0].GetApproval().GetComment() != said {
		t.Errorf("%v, %v", list, err)
	}
}
