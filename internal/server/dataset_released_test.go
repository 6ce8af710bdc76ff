// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"math"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/server"
	"github.com/dpaccountant/accountant/internal/server/servertest"
)

// What was charged so far to all ledgers of a dataset costs what the same charges cost in one ledger
// with the dataset's guard: also of closed ledgers, of ledgers that were there before, of a derived
// dataset's, and without what was refunded or is only set aside.
func TestWhatADatasetHasReleased(t *testing.T) {
	t.Parallel()
	for name, budget := range map[string]*pb.Budget{
		"zcdp": {Guard: pb.Budget_ZCDP, Rho: proto.Float64(10)},
		"gdp":  {Guard: pb.Budget_GDP, Mu: proto.Float64(10)},
		"rdp": {Guard: pb.Budget_RDP, Epsilon: proto.Float64(20), Delta: proto.Float64(1e-6),
			Order: proto.Float64(4)},
		"approximate zcdp": {Guard: pb.Budget_APPROXIMATE_ZCDP, Epsilon: proto.Float64(20), Delta: proto.Float64(1e-6)},
	} {
		s := withDatasets(t, server.Config{})
		share := &pb.Budget{Guard: pb.Budget_ZCDP, Rho: proto.Float64(0.5)}
		if name == "gdp" {
			share = &pb.Budget{Guard: pb.Budget_GDP, Mu: proto.Float64(1)}
		}
		charge := func(ledger string, noise float64, count uint32) {
			s.Report(ledger, servertest.Writer(), 1, servertest.Gaussian(noise, count))
		}
		create := func(id, version, ledger string) {
			t.Helper()
			if err := s.create(of(id, version, servertest.Filter(ledger, share))); err != nil {
				t.Fatal(err)
			}
		}
		create("Survey", "1", "before")
		charge("before", 4, 2)
		spec := survey(budget)
		s.mustRegister(spec)
		create("Survey", "1", "open")
		charge("open", 4, 1)
		charge("open", 8, 5)
		create("Survey", "1", "closed")
		charge("closed", 16, 3)
		derived := survey(nil)
		derived.Id, derived.Budgets = "survey-eu", nil
		derived.DerivedFrom = []*pb.DatasetReference{{Id: "Survey", Version: "1"}}
		s.mustRegister(derived)
		create("survey-eu", "1", "eu")
		charge("eu", 8, 2)
		charge("eu", 3, 1)
		s.refund("eu", 2)
		_, err := s.Client.CloseLedger(servertest.Context(t), &pb.CloseLedgerRequest{
			Lane: &pb.Lane{Ledger: "closed", Writer: servertest.Writer(), Sequence: 1}, Close: &pb.Close{},
		})
		if err != nil {
			t.Fatal(err)
		}

		one := servertest.Filter("one", budget)
		one.PrivacyUnit = "user"
		if err := s.create(one); err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			noise float64
			count uint32
		}{{4, 3}, {8, 7}, {16, 3}} {
			charge("one", c.noise, c.count)
		}
		want, err := s.Client.GetStatement(servertest.Context(t), &pb.GetStatementRequest{Name: "one"})
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range []string{"Survey", "survey-eu"} {
			got := s.statement(id)
			for i, p := range got.GetPrivacy() {
				w := want.GetStatement().GetPrivacy()[i]
				if p.GetDelta() != w.GetDelta() || p.GetRunning() != w.GetRunning() {
					t.Errorf("%s, %s: %v; in one ledger %v", name, id, p, w)
				}
				mu := math.Sqrt(3./16 + 7./64 + 3./256)
				if d := gaussianDelta(mu, p.GetRunning()); d > p.GetDelta() {
					t.Errorf("%s, δ = %v: ε = %v is below the true one", name, p.GetDelta(), p.GetRunning())
				}
				if d := gaussianDelta(mu, 0.999*p.GetRunning()); d < p.GetDelta() {
					t.Errorf("%s, δ = %v: ε = %v is too large", name, p.GetDelta(), p.GetRunning())
				}
			}
			if n := len(got.GetMechanisms()); n != 3 {
				t.Errorf("%s: %d mechanisms; want 3", name, n)
			}
			for _, text := range append(got.GetAssumptions(), got.GetSummary()) {
				if strings.Contains(text, "dataset:") || strings.Contains(text, "this ledger") {
					t.Errorf("a statement of a dataset says %q", text)
				}
			}
			if !strings.Contains(got.GetSummary(), "to its 4 ledgers together, has ε ≤ ") {
				t.Error(got.GetSummary())
			}
		}
	}
}

// refund gives back what an entry charged.
func (s *datasetServer) refund(ledger string, position uint64) {
	s.t.Helper()
	_, err := s.owner.Refund(servertest.Context(s.t), &pb.RefundRequest{
		Lane:   &pb.Lane{Ledger: ledger, Writer: servertest.Writer(), Sequence: 1},
		Refund: &pb.Refund{Position: position, NothingReleased: true, Reason: "it never ran"},
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

// Before anything was charged the statement says so, and where the guarantee is descriptive it is of
// all that the ledgers may still spend.
func TestStatementsOfDatasetsWithoutCharges(t *testing.T) {
	t.Parallel()
	s := withDatasets(t, server.Config{})
	s.mustRegister(survey(servertest.Basic(2)))
	text := func() string { return s.statement("Survey").GetSummary() }
	const all = "the budget of dataset Survey allows to all its ledgers together is (2.00"
	if got := text(); !strings.Contains(got, all) ||
		!strings.Contains(got, "nothing was charged to its ledgers yet") {
		t.Error(got)
	}
	if err := s.create(of("Survey", "1", servertest.Filter("a", servertest.Basic(1)))); err != nil {
		t.Fatal(err)
	}
	if err := s.amend(&pb.AmendDataset{Budgets: []*pb.Budget{servertest.Basic(3)}}); err != nil {
		t.Fatal(err)
	}
	s.Report("a", servertest.Writer(), 1, &pb.Charge{Events: []*pb.Event{servertest.Pure(0.25, 1)}})
	got := s.statement("Survey")
	p := got.GetPrivacy()[0]
	if got.GetGuarantee() != "descriptive" || p.GetEpsilon() < 0.99 || p.GetEpsilon() > 1 || p.GetRunning() > 0.25 ||
		p.GetRunning() < 0.249 || !strings.Contains(got.GetSummary(), "or may still be charged to them") ||
		!strings.Contains(got.GetSummary(), "to its one ledger together") {
		t.Errorf("%v\n%s", p, got.GetSummary())
	}
}

// What a ledger without a budget rests on, which was closed before its dataset was registered, stands
// in the dataset's statement: the dataset has counted its charges, and not what was refunded there.
func TestRefundsBeforeRegistrationAreListed(t *testing.T) {
	t.Parallel()
	s := withDatasets(t, server.Config{})
	for _, name := range []string{"all", "some"} { // of which all was refunded, or some
		if err := s.create(of("Survey", "1", servertest.Spec(name))); err != nil {
			t.Fatal(err)
		}
		s.Report(name, servertest.Writer(), 1, &pb.Charge{Events: []*pb.Event{servertest.Pure(5, 1)}})
		if name == "some" {
			s.Report(name, servertest.Writer(), 1, &pb.Charge{Events: []*pb.Event{servertest.Pure(0.25, 1)}})
		}
		s.refund(name, 1)
		if _, err := s.Client.CloseLedger(servertest.Context(t), &pb.CloseLedgerRequest{
			Lane: &pb.Lane{Ledger: name, Writer: servertest.Writer(), Sequence: 1}, Close: &pb.Close{},
		}); err != nil {
			t.Fatal(err)
		}
	}
	_, err := s.owner.CreateDataset(servertest.Context(t), &pb.CreateDatasetRequest{
		Spec: survey(servertest.Basic(1)), IndependentOfOutputs: true, Reason: "the law"})
	if err != nil {
		t.Fatal(err)
	}
	answer := s.statement("Survey")
	text := strings.Join(answer.GetAssumptions(), "\n")
	for _, name := range []string{"all", "some"} {
		if !strings.Contains(text, "of ledger "+name+": ") {
			t.Errorf("the refund in ledger %s is not among what the statement rests on:\n%s", name, text)
		}
	}
	if got := answer.GetGuarantee(); got != "descriptive" || len(answer.GetLedgers()) != 2 {
		t.Errorf("guarantee %s, %d ledgers; want descriptive, as in those ledgers, and both", got,
			len(answer.GetLedgers()))
	}
}
