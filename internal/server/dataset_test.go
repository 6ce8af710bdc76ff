// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/access"
	"github.com/dpaccountant/accountant/internal/api"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/server"
	"github.com/dpaccountant/accountant/internal/server/servertest"
)

func survey(budget *pb.Budget) *pb.DatasetSpec {
	return &pb.DatasetSpec{Id: "Survey", Version: "1", Adjacency: pb.Workload_ADD_OR_REMOVE_ONE, PrivacyUnit: "user",
		MaxRecordsPerUnit: 1, BoundEnforcedBy: "one row for each account", Budgets: []*pb.Budget{budget}}
}

// of makes a ledger's spec name the dataset.
func of(id, version string, spec *pb.LedgerSpec) *pb.LedgerSpec {
	spec.DatasetId, spec.DatasetVersion, spec.PrivacyUnit = id, version, "user"
	return spec
}

type datasetServer struct {
	*servertest.Server
	t     *testing.T
	owner api.Client
}

func withDatasets(t *testing.T, config server.Config) *datasetServer {
	t.Helper()
	config.Socket = filepath.Join(t.TempDir(), "own")
	s := servertest.StartWith(t, servertest.Config{Server: config})
	return &datasetServer{s, t, s.Owner(t)}
}

func (s *datasetServer) register(spec *pb.DatasetSpec) (*pb.CreateDatasetResponse, error) {
	return s.owner.CreateDataset(servertest.Context(s.t), &pb.CreateDatasetRequest{Spec: spec})
}

func (s *datasetServer) mustRegister(spec *pb.DatasetSpec) *pb.CreateDatasetResponse {
	s.t.Helper()
	answer, err := s.register(spec)
	if err != nil {
		s.t.Fatal(err)
	}
	return answer
}

func (s *datasetServer) create(spec *pb.LedgerSpec) error {
	_, err := s.Client.CreateLedger(servertest.Context(s.t), &pb.CreateLedgerRequest{Spec: spec})
	return err
}

func (s *datasetServer) statement(id string) *pb.Statement {
	s.t.Helper()
	answer, err := s.Client.GetStatement(servertest.Context(s.t),
		&pb.GetStatementRequest{Name: ledger.DatasetName(id)})
	if err != nil {
		s.t.Fatal(err)
	}
	return answer.GetStatement()
}

func (s *datasetServer) amend(m *pb.AmendDataset) error {
	m.Reason = "r"
	_, err := s.owner.AmendDataset(servertest.Context(s.t),
		&pb.AmendDatasetRequest{
			Lane:  &pb.Lane{Ledger: "dataset:" + "survey", Writer: servertest.Writer(), Sequence: 1},
			Amend: m,
		})
	return err
}

// refused checks an error's text.
func (s *datasetServer) refused(err error, says string) {
	s.t.Helper()
	if err == nil || !strings.Contains(status.Convert(err).Message(), says) {
		s.t.Errorf("%v\nwant %s", err, says)
	}
}

// The attack that datasets close: a second root ledger for the same data, under any spelling,
// gets no fresh budget.
func TestASecondRootLedgerGetsNoFreshBudget(t *testing.T) {
	t.Parallel()
	s := withDatasets(t, server.Config{})
	s.mustRegister(survey(servertest.Basic(1)))
	large := of("Survey", "1", servertest.Filter("a", servertest.Basic(0.7)))
	s.refused(s.create(large), "more than half of its whole budget at once")
	if _, err := s.owner.CreateLedger(servertest.Context(t), &pb.CreateLedgerRequest{Spec: large}); err != nil {
		t.Fatal(err)
	}
	s.refused(s.create(of("Survey", "1", servertest.Filter("b", servertest.Basic(0.4)))), "budget exceeded")
	s.refused(s.create(of("Survey", "1", servertest.Spec("c"))), "PLAN or FILTER")
	s.refused(s.create(of("survey ", "1", servertest.Filter("b", servertest.Basic(0.1)))), `allowed: "Survey"`)
	s.refused(s.create(of("ＳＵＲＶＥＹ", "1", servertest.Filter("b", servertest.Basic(0.1)))), `allowed: "Survey"`)
	s.refused(s.create(of("Survey", "2", servertest.Filter("b", servertest.Basic(0.1)))), "add-version")
	if err := s.create(of("Survey", "1", servertest.Plan("b", servertest.Pure(0.1, 3)))); err != nil {
		t.Error(err)
	}
	if err := s.create(of("Survey", "1", servertest.Plan("b", servertest.Pure(0.1, 3)))); err != nil {
		t.Errorf("the same again: %v", err)
	}
	s.refused(s.create(of("Survey", "1", servertest.Plan("d", servertest.Pure(0.1, 1)))), "budget exceeded")
	// Nobody charges the record itself.
	_, err := s.owner.Report(servertest.Context(t), &pb.ReportRequest{
		Lane:   &pb.Lane{Ledger: "dataset:survey", Writer: servertest.Writer(), Sequence: 1},
		Charge: charged(1),
	})
	s.refused(err, "only ledgers spend from")
	list, err := s.Client.ListLedgers(servertest.Context(t), &pb.ListLedgersRequest{})
	if err != nil || len(list.GetLedgers()) != 2 {
		t.Errorf("ledgers: %v, %v", list, err)
	}
}

// What a closed ledger with a plan has not spent goes back; of one with a filter nothing does.
func TestClosedLedgersGiveBack(t *testing.T) {
	t.Parallel()
	s := withDatasets(t, server.Config{})
	s.mustRegister(survey(servertest.Basic(1)))
	for _, spec := range []*pb.LedgerSpec{servertest.Plan("a", servertest.Pure(0.1, 5)),
		servertest.Filter("b", servertest.Basic(0.5))} {
		if err := s.create(of("Survey", "1", spec)); err != nil {
			t.Fatal(err)
		}
		s.Report(spec.GetName(), servertest.Writer(), 1, charged(2))
		if _, err := s.Client.CloseLedger(servertest.Context(t),
			&pb.CloseLedgerRequest{
				Lane: &pb.Lane{Ledger: spec.GetName(), Writer: servertest.Writer(), Sequence: 1}, Close: &pb.Close{},
			}); err != nil {
			t.Fatal(err)
		}
	}
	d := s.statement("survey").GetLedger().GetBudgets()[0].GetValue()
	if d.GetSpent() != 0.7 || d.GetReserved() != 0 || d.GetRemaining() != 0.3 {
		t.Errorf("%v; want 0.7 spent", d)
	}
}

// A raise takes more of the dataset, in the same write, or is refused.
func TestRaisesTakeFromTheDataset(t *testing.T) {
	t.Parallel()
	s := withDatasets(t, server.Config{})
	s.mustRegister(survey(servertest.Basic(1)))
	if err := s.create(of("Survey", "1", servertest.Filter("a", servertest.Basic(0.3)))); err != nil {
		t.Fatal(err)
	}
	raise := func(epsilon float64) error {
		_, err := s.owner.Raise(servertest.Context(t), &pb.RaiseRequest{
			Lane:  &pb.Lane{Ledger: "a", Writer: servertest.Writer(), Sequence: 1},
			Raise: &pb.Raise{Budgets: []*pb.Budget{servertest.Basic(epsilon)}, Reason: "r"},
		})
		return err
	}
	if err := raise(0.9); err != nil {
		t.Fatal(err)
	}
	wantAmount(t, s.Ledger("dataset:survey"), 0, 0.9, 0.1)
	s.refused(raise(1.1), "budget exceeded")
	wantAmount(t, s.Ledger("dataset:survey"), 0, 0.9, 0.1)
	wantAmount(t, s.Ledger("a"), 0, 0, 0.9)
}

// Caps hold for what comes later, and for whoever asks.
func TestDatasetCaps(t *testing.T) {
	t.Parallel()
	s := withDatasets(t, server.Config{})
	spec := survey(servertest.Basic(1))
	spec.Caps = &pb.DatasetCaps{Charge: 0.2, Ledger: 0.6}
	s.mustRegister(spec)
	s.refused(s.create(of("Survey", "1", servertest.Filter("a", servertest.Basic(0.7)))), "the cap of one ledger")
	if err := s.create(of("Survey", "1", servertest.Filter("a", servertest.Basic(0.6)))); err != nil {
		t.Fatal(err)
	}
	child := of("Survey", "1", servertest.Filter("a/child", servertest.Basic(0.3)))
	child.Parent = "a"
	if err := s.create(child); err != nil {
		t.Fatal(err)
	}
	charge := func(name string, n uint32) error {
		_, err := s.Client.Report(servertest.Context(t), &pb.ReportRequest{
			Lane:   &pb.Lane{Ledger: name, Writer: servertest.Writer(), Sequence: 1},
			Charge: charged(n),
		})
		return err
	}
	for _, name := range []string{"a", "a/child"} {
		s.refused(charge(name, 3), "the cap of one charge")
	}
	if err := charge("a", 2); err != nil {
		t.Error(err)
	}
	if err := s.amend(&pb.AmendDataset{Caps: &pb.DatasetCaps{Charge: 0.3}}); err != nil {
		t.Fatal(err)
	}
	if err := charge("a/child", 3); err != nil {
		t.Errorf("after the cap was raised: %v", err)
	}
}

// Registering adopts the ledgers that are there, with their past, or changes nothing and says
// which cannot come and what to do.
func TestAdoption(t *testing.T) {
	t.Parallel()
	s := withDatasets(t, server.Config{})
	loose, other := of("survey", "0", servertest.Spec("loose")), of("survey", "1", servertest.Filter("other",
		servertest.Basic(0.1)))
	other.Adjacency = pb.Workload_REPLACE_ONE
	for _, spec := range []*pb.LedgerSpec{of("SURVEY", "1", servertest.Filter("a", servertest.Basic(0.4))),
		of("survey", "1", servertest.Plan("b", servertest.Pure(0.1, 3))), loose, other} {
		s.Create(spec)
	}
	s.Report("a", servertest.Writer(), 1, charged(2))
	s.Report("loose", servertest.Writer(), 1, charged(1))
	_, err := s.register(survey(servertest.Basic(0.6)))
	for _, says := range []string{"3 of the 4 ledgers", "ledger b: ", "ledger loose: ", "accountctl ledger close loose",
		"ledger other: ", "adjacency: REPLACE_ONE"} {
		s.refused(err, says)
	}
	for name, position := range map[string]uint64{"a": 1, "b": 0, "loose": 1, "other": 0} {
		if got := s.Position(name); got != position {
			t.Errorf("%s has %d entries after a refusal, not %d", name, got, position)
		}
	}
	_, err = s.Client.GetLedger(servertest.Context(t), &pb.GetLedgerRequest{Name: "dataset:survey"})
	if status.Code(err) != codes.NotFound {
		t.Errorf("the dataset is there: %v", err)
	}
	other.Adjacency = pb.Workload_ADD_OR_REMOVE_ONE
	if _, err := s.Client.CloseLedger(servertest.Context(t),
		&pb.CloseLedgerRequest{Lane: &pb.Lane{Ledger: "loose", Writer: servertest.Writer(), Sequence: 1},
			Close: &pb.Close{}}); err != nil {
		t.Fatal(err)
	}
	s.refused(func() error { _, err := s.register(survey(servertest.Basic(0.9))); return err }(), "1 of the 4 ledgers")
}

// Adoption is one write with respect to charges, creations and raises that race with it.
func TestAdoptionRaces(t *testing.T) {
	t.Parallel()
	s := withDatasets(t, server.Config{})
	for i := range 4 {
		s.Create(of("survey", "1", servertest.Plan(fmt.Sprint("l", i), servertest.Pure(0.1, 10))))
	}
	var all sync.WaitGroup
	var charges, created atomic.Int64
	for i := range 8 {
		all.Go(func() {
			for n := range 12 {
				name := fmt.Sprint("l", i%4)
				if _, err := s.Client.Report(servertest.Context(t), &pb.ReportRequest{
					Lane:   &pb.Lane{Ledger: name, Writer: servertest.Writer(), Sequence: 1},
					Charge: charged(1),
				}); err == nil {
					charges.Add(1)
				}
				spec := of("survey", "1", servertest.Plan(fmt.Sprintf("n%d-%d", i, n), servertest.Pure(0.1, 1)))
				if s.create(spec) == nil {
					created.Add(1)
				}
			}
		})
	}
	all.Go(func() { _, _ = s.register(survey(servertest.Basic(6))) })
	all.Go(func() { _, _ = s.register(survey(servertest.Basic(6))) })
	all.Wait()
	answer := s.mustRegister(survey(servertest.Basic(6)))
	d := s.Ledger("dataset:survey")
	held := uint64(0)
	for _, r := range d.GetReservations() {
		for _, e := range r.GetRest() {
			held += uint64(e.GetCount())
		}
	}
	if want := 40 + uint64(created.Load()); held != want || held > 60 {
		t.Errorf("%d tenths are held of 60 for 4 ledgers with 10 each and %d with 1 each (%v)", held, created.Load(),
			answer.GetCreated())
	}
}

// --require-dataset refuses roots without a registered dataset.
func TestRequireDataset(t *testing.T) {
	t.Parallel()
	s := withDatasets(t, server.Config{Rules: access.Rules{RequireDataset: true}})
	s.refused(s.create(servertest.Spec("a")), "of no registered dataset, which the store requires")
	s.mustRegister(survey(servertest.Basic(1)))
	s.refused(s.create(of("survvey", "1", servertest.Filter("a", servertest.Basic(0.1)))), "no registered dataset")
	if err := s.create(of("Survey", "1", servertest.Filter("a", servertest.Basic(0.1)))); err != nil {
		t.Error(err)
	}
}

// Versions and derived datasets share one budget; another budget needs a reason, and each
// statement lists it.
func TestVersionsAndIndependence(t *testing.T) {
	t.Parallel()
	s := withDatasets(t, server.Config{})
	s.mustRegister(survey(servertest.Basic(1)))
	derived := survey(nil)
	derived.Id, derived.Budgets = "survey-eu", nil
	derived.DerivedFrom = []*pb.DatasetReference{{Id: "Survey", Version: "1"}}
	s.mustRegister(derived)
	if err := s.amend(&pb.AmendDataset{AddVersion: &pb.DatasetVersion{
		Of: &pb.DatasetReference{Id: "Survey", Version: "2"}}}); err != nil {
		t.Fatal(err)
	}
	for i, spec := range []*pb.LedgerSpec{of("survey-eu", "1", servertest.Filter("a", servertest.Basic(0.4))),
		of("Survey", "2", servertest.Filter("b", servertest.Basic(0.4)))} {
		if err := s.create(spec); err != nil {
			t.Errorf("%d: %v", i, err)
		}
	}
	s.refused(s.create(of("Survey", "1", servertest.Filter("c", servertest.Basic(0.4)))), "budget exceeded")
	census := survey(servertest.Basic(2))
	census.Id = "census"
	_, err := s.register(census)
	s.refused(err, "independence: missing")
	census.Independence = "other country"
	s.mustRegister(census)
	both := proto.Clone(derived).(*pb.DatasetSpec)
	both.Id, both.DerivedFrom = "joined", append(derived.DerivedFrom, &pb.DatasetReference{Id: "census", Version: "1"})
	_, err = s.register(both)
	s.refused(err, "datasets that share one budget")
	for _, id := range []string{"survey", "survey-eu", "CENSUS"} {
		text := strings.Join(s.statement(id).GetAssumptions(), "\n")
		if !strings.Contains(text, "other country") || !strings.Contains(text, "uid:") {
			t.Errorf("%s does not list the assertion and its author: %s", id, text)
		}
	}
	ledger, err := s.Client.GetStatement(servertest.Context(t), &pb.GetStatementRequest{Name: "a"})
	if err != nil || !strings.Contains(strings.Join(ledger.GetStatement().GetAssumptions(), "\n"), "other country") {
		t.Errorf("the ledger's statement: %v", err)
	}
	s.Create(servertest.Filter("free", servertest.Basic(1)))
	ledger, err = s.Client.GetStatement(servertest.Context(t), &pb.GetStatementRequest{Name: "free"})
	if err != nil || !strings.Contains(strings.Join(ledger.GetStatement().GetAssumptions(), "\n"),
		"other ledgers of the same data may exist") {
		t.Errorf("the free ledger's statement: %v", err)
	}
}

// A refund in a ledger makes the dataset's statement descriptive, as its room is used twice.
func TestDatasetStatementRestsOnItsLedgers(t *testing.T) {
	t.Parallel()
	s := withDatasets(t, server.Config{})
	s.mustRegister(survey(servertest.Basic(1)))
	if err := s.create(of("Survey", "1", servertest.Filter("a", servertest.Basic(0.5)))); err != nil {
		t.Fatal(err)
	}
	s.Report("a", servertest.Writer(), 1, charged(5))
	if before := s.statement("survey"); before.GetGuarantee() != "filter" ||
		before.GetLedgers()[0].GetShare() != 0.5 || before.GetLedgers()[0].GetTotalCount() != 5 {
		t.Errorf("before: %v", before)
	}
	if _, err := s.owner.Refund(servertest.Context(t), &pb.RefundRequest{
		Lane:   &pb.Lane{Ledger: "a", Writer: servertest.Writer(), Sequence: 1},
		Refund: &pb.Refund{Position: 1, NothingReleased: true, Reason: "never ran"},
	}); err != nil {
		t.Fatal(err)
	}
	after := s.statement("survey")
	if text := strings.Join(after.GetAssumptions(), "\n"); after.GetGuarantee() != "descriptive" ||
		!strings.Contains(text, "ledger a: ") || !strings.Contains(text, "never ran") {
		t.Errorf("after: %s, %s", after.GetGuarantee(), text)
	}
	_, err := s.Client.QueryPrivacy(servertest.Context(t), &pb.QueryPrivacyRequest{
		Subject: &pb.QueryPrivacyRequest_Ledger{Ledger: "dataset:survey"},
		Given:   &pb.QueryPrivacyRequest_Delta{Delta: 1e-6}})
	s.refused(err, "accountctl dataset statement")
}
