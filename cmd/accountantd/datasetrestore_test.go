// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/uuid"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/api"
	"github.com/dpaccountant/accountant/internal/server/servertest"
)

// An office is a daemon whose policy asks for two people, Ann and Ben, who prove who they are by
// certificates.
type office struct {
	t         *testing.T
	dir       string
	args      []string
	authority *servertest.Authority
	d         *daemon
}

func openOffice(t *testing.T) *office {
	t.Helper()
	a := servertest.NewAuthority(t)
	cert, key := a.Issue("server", nil)
	a.Issue("ann", nil)
	a.Issue("ben", nil)
	policy := filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(policy, []byte(`version: 1
grants:
  - {roles: [officer, manager, reporter], to: ['cn:ann', 'cn:ben'], on: everything}
two_people: {within: 72h}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	o := &office{t: t, dir: dataDir(t), authority: a,
		args: []string{"--access-policy", policy, "--tls-cert", cert, "--tls-key", key, "--tls-client-ca", a.File}}
	o.d = start(t, o.dir, o.args...)
	return o
}

// as is a client of somebody.
func (o *office) as(name string) api.Client {
	o.t.Helper()
	conn, err := grpc.NewClient(strings.Split(o.d.ready["listen"], ",")[0],
		grpc.WithTransportCredentials(credentials.NewTLS(o.authority.Client(name))))
	if err != nil {
		o.t.Fatal(err)
	}
	o.t.Cleanup(func() { _ = conn.Close() })
	return api.NewClient(conn)
}

func newKey() string { return "request/" + uuid.NewString() }

func (o *office) must(err error) {
	o.t.Helper()
	if err != nil {
		o.t.Fatal(err)
	}
}

func (o *office) refused(err error, code codes.Code, says string) {
	o.t.Helper()
	if status.Code(err) != code || !strings.Contains(status.Convert(err).Message(), says) {
		o.t.Errorf("%v; want %v: %s", err, code, says)
	}
}

func (o *office) create(spec *pb.LedgerSpec) error {
	spec.PrivacyUnit, spec.DatasetId = "user", "survey"
	_, err := o.as("ann").CreateLedger(patiently(o.t), &pb.CreateLedgerRequest{Spec: spec})
	return err
}

func (o *office) charge(name string, epsilon float64) error {
	_, err := o.as("ann").Report(patiently(o.t), &pb.ReportRequest{
		Lane:   &pb.Lane{Ledger: name, Writer: newKey(), Sequence: 1},
		Charge: &pb.Charge{Events: []*pb.Event{servertest.Pure(epsilon, 1)}},
	})
	return err
}

func (o *office) propose(name string, p *pb.Propose) uint64 {
	o.t.Helper()
	answer, err := o.as("ann").Propose(patiently(o.t), &pb.ProposeRequest{
		Lane:    &pb.Lane{Ledger: name, Writer: newKey(), Sequence: 1},
		Propose: p,
	})
	o.must(err)
	return answer.GetReceipt().GetPosition()
}

func (o *office) approve(by, name string, proposal uint64) error {
	_, err := o.as(by).Approve(patiently(o.t), &pb.ApproveRequest{
		Lane:    &pb.Lane{Ledger: name, Writer: newKey(), Sequence: 1},
		Approve: &pb.Approve{Proposal: proposal},
	})
	return err
}

// reconcile has both of them reconcile a ledger, or a dataset's record.
func (o *office) reconcile(name string, r *pb.Reconcile) {
	o.t.Helper()
	at := o.propose(name, &pb.Propose{Action: &pb.Propose_Reconcile{Reconcile: r}})
	o.refused(o.approve("ann", name, at), codes.FailedPrecondition, "another person")
	o.must(o.approve("ben", name, at))
}

// A store with datasets is backed up while shares are out and approvals are under way, goes on, and
// is restored. What was charged since the backup is not given out a second time: nothing of the
// dataset may be spent before two people have said what was lost, for the dataset and for each
// ledger. Then the approvals that were under way can be given.
func TestRestoreWithDatasets(t *testing.T) {
	ctl := accountctl(t)
	o := openOffice(t)
	const record = "dataset:survey"
	registered, err := o.as("ann").CreateDataset(patiently(t), &pb.CreateDatasetRequest{Propose: true,
		Spec: &pb.DatasetSpec{Id: "survey", Adjacency: pb.Workload_ADD_OR_REMOVE_ONE, PrivacyUnit: "user",
			MaxRecordsPerUnit: 1, BoundEnforcedBy: "a key", Budgets: []*pb.Budget{servertest.Basic(4)}}})
	o.must(err)
	o.must(o.approve("ben", record, registered.GetProposal()))
	o.must(o.create(servertest.Filter("survey/a", servertest.Basic(1))))
	o.must(o.create(servertest.Plan("survey/b", servertest.Pure(0.25, 4))))
	o.must(o.charge("survey/a", 0.5))
	o.must(o.charge("survey/b", 0.25))
	raise := o.propose("survey/a", &pb.Propose{Action: &pb.Propose_Raise{Raise: &pb.Raise{Reason: "more tables",
		Budgets: []*pb.Budget{servertest.Basic(1.5)}}}})
	more := o.propose(record, &pb.Propose{Action: &pb.Propose_AmendDataset{AmendDataset: &pb.AmendDataset{
		Reason: "the board agreed", Budgets: []*pb.Budget{servertest.Basic(5)}}}})

	backup := filepath.Join(t.TempDir(), "backup")
	socket := "unix:" + o.d.ready["socket"]
	if code, out := ctl("backup", backup, "--server", socket); code != 0 {
		t.Fatalf("backup: %d, %s", code, out)
	}
	// Of this the backup knows nothing: 1 of ε in a ledger that it does not have, and 0.25 in one that it has.
	o.must(o.create(servertest.Filter("survey/late", servertest.Basic(1))))
	o.must(o.charge("survey/late", 1))
	o.must(o.charge("survey/a", 0.25))
	o.d.kill()
	o.must(os.Rename(o.dir, o.dir+".old"))
	t.Cleanup(func() { _ = os.RemoveAll(o.dir + ".old") })
	if code, out, stderr := exitCode(t, "restore", backup, "--data", o.dir); code != 0 {
		t.Fatalf("restore: %d, %s%s", code, out, stderr)
	}
	verified(t, o.dir)
	o.d = start(t, o.dir, o.args...)

	// Nothing before it is reconciled, and nobody reconciles alone, also not the daemon's owner.
	const unreconciled = "needs reconciling"
	o.refused(o.create(servertest.Filter("survey/late", servertest.Basic(1))), codes.FailedPrecondition, unreconciled)
	o.refused(o.charge("survey/a", 0.25), codes.FailedPrecondition, unreconciled)
	o.refused(o.approve("ben", "survey/a", raise), codes.FailedPrecondition, unreconciled)
	o.refused(o.approve("ben", record, more), codes.FailedPrecondition, unreconciled)
	for _, c := range []api.Client{o.as("ann"), dial(t, socket)} {
		_, err := c.Reconcile(patiently(t), &pb.ReconcileRequest{
			Lane:      &pb.Lane{Ledger: record, Writer: newKey(), Sequence: 1},
			Reconcile: &pb.Reconcile{Reason: "alone"},
		})
		o.refused(err, codes.FailedPrecondition, "two people")
	}

	// The dataset is charged for the ledger that is gone, and survey/a for what it lost.
	lost := func(epsilon float64) *pb.Reconcile {
		return &pb.Reconcile{Reason: "from the logs", Events: []*pb.Event{servertest.Pure(epsilon, 1)},
			Contribution: pb.SetPart_OVER_ALL}
	}
	o.reconcile("survey/a", lost(0.25))
	o.refused(o.approve("ben", "survey/a", raise), codes.FailedPrecondition, unreconciled) // the dataset is not yet
	o.reconcile(record, lost(1))
	o.reconcile("survey/b", &pb.Reconcile{Reason: "nothing ran"})

	// 1 for a, 1 for b and 1 for what is gone are spent of 4. The approvals under way are given:
	// a's larger share comes on top of what the restore has charged for it.
	o.refused(o.create(servertest.Filter("survey/c", servertest.Basic(1.25))), codes.ResourceExhausted,
		"at most ε = 0.999")
	o.refused(o.approve("ben", "survey/a", raise), codes.ResourceExhausted, "at most ε = 0.999")
	o.must(o.approve("ben", record, more))
	o.must(o.approve("ben", "survey/a", raise))
	o.must(o.charge("survey/a", 0.75))
	o.refused(o.charge("survey/a", 0.25), codes.ResourceExhausted, "0 is left")
	o.must(o.charge("survey/b", 0.25))
	o.must(o.create(servertest.Filter("survey/c", servertest.Basic(0.5))))
	o.refused(o.create(servertest.Filter("survey/d", servertest.Basic(0.25))), codes.ResourceExhausted,
		"nothing any more")
	for _, name := range []string{"survey/a", "survey/b", "survey/c", record, "system:access"} {
		if code, out := ctl("verify", name, "--server", socket); code != 0 {
			t.Errorf("verify %s: %d, %s", name, code, out)
		}
	}
	statement, err := o.as("ann").GetStatement(patiently(t), &pb.GetStatementRequest{Name: record})
	o.must(err)
	if text := statement.GetStatement().String(); !strings.Contains(text, "restored") {
		t.Errorf("the statement does not say that the store was restored: %s", text)
	}
	o.d.stop(syscall.SIGTERM)
	verified(t, o.dir)
}
