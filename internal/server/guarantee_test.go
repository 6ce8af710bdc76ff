// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"math"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/server"
	"github.com/dpaccountant/accountant/internal/server/servertest"
)

func ofLedger(name string) *pb.QueryPrivacyRequest_Ledger {
	return &pb.QueryPrivacyRequest_Ledger{Ledger: name}
}

func atDelta(t *testing.T, s *servertest.Server, name string, delta float64) *pb.QueryPrivacyResponse {
	t.Helper()
	a, err := s.Client.QueryPrivacy(servertest.Context(t),
		&pb.QueryPrivacyRequest{Subject: ofLedger(name), Given: &pb.QueryPrivacyRequest_Delta{Delta: delta}})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func atEpsilon(t *testing.T, s *servertest.Server, name string, epsilon float64) *pb.QueryPrivacyResponse {
	t.Helper()
	a, err := s.Client.QueryPrivacy(servertest.Context(t),
		&pb.QueryPrivacyRequest{Subject: ofLedger(name), Given: &pb.QueryPrivacyRequest_Epsilon{Epsilon: epsilon}})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func wantNear(t *testing.T, what string, got, truth float64) {
	t.Helper()
	if !(got >= truth && got <= truth*(1+1e-7)) {
		t.Errorf("%s: %v; want at least %v, and hardly more", what, got, truth)
	}
}

// Truths of 1-GDP (docs/math/README.md §0.1): ε at δ = 1e−5, and δ at ε = 1.
const (
	epsilonOf1 = 4.37717809568122
	deltaOf1   = 0.126936737506644
)

// gaussians are n Gaussians of noise multiplier 2: μ = √n/2.
func gaussians(n uint32) []*pb.Event { return servertest.Gaussian(2, n).GetEvents() }

// A plan's answer is the plan's, by every analysis, whatever was charged; what was
// charged is beside it.
func TestQueryPlan(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	s.Create(servertest.Plan("plan", gaussians(4)...)) // μ = 1
	for n := range uint64(2) {
		a := atDelta(t, s, "plan", 1e-5)
		wantNear(t, "ε", a.GetEpsilon(), epsilonOf1)
		if a.GetGuarantee() != "plan" || a.GetPosition() != n || len(a.GetAnalyses()) != 5 || a.EpsilonLower == nil ||
			a.GetEpsilonLower() > epsilonOf1 {
			t.Errorf("%v", a)
		}
		if r := a.GetRunning(); a.Running == nil || (n == 0) != (r == 0) || r >= epsilonOf1 {
			t.Errorf("after %d charges: running %v", n, r)
		}
		d := atEpsilon(t, s, "plan", 1)
		wantNear(t, "δ", d.GetDelta(), deltaOf1)
		if d.Running == nil || d.GetRunning() >= deltaOf1 || (n == 0) != (d.GetRunning() == 0) {
			t.Errorf("after %d charges: running %v", n, d.GetRunning())
		}
		if n == 0 {
			s.Report("plan", servertest.Writer(), 1, &pb.Charge{Events: gaussians(1)}) // μ = ½
		}
	}
	curve, err := s.Client.QueryPrivacyCurve(servertest.Context(t), &pb.QueryPrivacyCurveRequest{
		Subject: &pb.QueryPrivacyCurveRequest_Ledger{Ledger: "plan"}, Epsilons: []float64{1}})
	if err != nil || curve.GetGuarantee() != "plan" {
		t.Fatalf("%v, %v", curve, err)
	}
	wantNear(t, "δ of the curve", curve.GetPoints()[0].GetDelta(), deltaOf1)
	// On top of the plan: what the plan costs leaves nothing.
	request := &pb.CalibrateRequest{Ledger: "plan", Event: gaussians(1)[0], Solve: pb.CalibrateRequest_COUNT,
		TargetEpsilon: proto.Float64(4), TargetDelta: proto.Float64(1e-5)}
	_, err = s.Client.Calibrate(servertest.Context(t), request)
	wantError(t, err, codes.InvalidArgument, "target_epsilon: 4", "allowed: at least 4.377178",
		"everything costs that")
	// With any target that the plan meets, what is left of the plan: one of its four was charged.
	request.TargetEpsilon = proto.Float64(atWorkload(t, s, gaussians(8)))
	c, err := s.Client.Calibrate(servertest.Context(t), request)
	if err != nil || c.GetValue() != 3 || c.GetGuarantee() != "plan" ||
		c.GetExceedingValue() != 4 || c.GetRefusal() == "" {
		t.Errorf("on top of the plan: %v, %v; want the 3 that are left", c, err)
	}
}

func atWorkload(t *testing.T, s *servertest.Server, events []*pb.Event) float64 {
	t.Helper()
	a, err := s.Client.QueryPrivacy(servertest.Context(t), &pb.QueryPrivacyRequest{
		Subject: &pb.QueryPrivacyRequest_Workload{Workload: &pb.Workload{Adjacency: pb.Workload_ADD_OR_REMOVE_ONE,
			Events: events}},
		Given: &pb.QueryPrivacyRequest_Delta{Delta: 1e-5}})
	if err != nil {
		t.Fatal(err)
	}
	return a.GetEpsilon()
}

// A filter's answer is what the least of its full budgets implies.
func TestQueryFilter(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	number := proto.Float64
	s.Create(servertest.Filter("filter",
		&pb.Budget{Guard: pb.Budget_GDP, Mu: number(1)},
		&pb.Budget{Guard: pb.Budget_RDP, Epsilon: number(9), Delta: number(1e-6), Order: number(12)}))
	s.Report("filter", servertest.Writer(), 1, &pb.Charge{Events: gaussians(2)})
	a := atDelta(t, s, "filter", 1e-5)
	wantNear(t, "ε", a.GetEpsilon(), epsilonOf1)
	if a.GetGuarantee() != "filter" || a.GetAnalysis() != "gdp" || a.EpsilonLower != nil || len(a.GetAnalyses()) != 2 ||
		a.GetAnalyses()[1].GetAnalysis() != "rdp" || a.GetAnalyses()[1].GetOrder() != 12 ||
		!(a.GetAnalyses()[1].GetEpsilon() > a.GetEpsilon()) {
		t.Errorf("%v", a)
	}
	if r := a.GetRunning(); !(r > 0 && r < a.GetEpsilon()) {
		t.Errorf("running %v", r)
	}
	d := atEpsilon(t, s, "filter", 1)
	wantNear(t, "δ", d.GetDelta(), deltaOf1)
	if d.DeltaLower != nil || d.LogDeltaLower != nil || d.LogDelta == nil {
		t.Errorf("%v", d)
	}
	curve, err := s.Client.QueryPrivacyCurve(servertest.Context(t), &pb.QueryPrivacyCurveRequest{
		Subject: &pb.QueryPrivacyCurveRequest_Ledger{Ledger: "filter"}, Epsilons: []float64{1}, Alphas: []float64{0.1}})
	if err != nil || curve.GetGuarantee() != "filter" || curve.GetPoints()[0].DeltaLower != nil {
		t.Fatalf("%v, %v", curve, err)
	}
	wantNear(t, "δ of the curve", curve.GetPoints()[0].GetDelta(), deltaOf1)
	// Of one Gaussian with μ = 1: G(0.1) = Φ(Φ⁻¹(0.9) − 1) = 0.610816….
	if beta := curve.GetTradeOff()[0].GetBeta(); !(beta <= 0.610816 && beta > 0.5) {
		t.Errorf("β(0.1) = %v; want at most 0.610816", beta)
	}
	// Calibrating looks at what was charged, and says so: eight with μ = ½ meet the target, and the guard takes four.
	c, err := s.Client.Calibrate(servertest.Context(t), &pb.CalibrateRequest{Ledger: "filter", Event: gaussians(1)[0],
		Solve: pb.CalibrateRequest_COUNT, TargetEpsilon: number(atWorkload(t, s, gaussians(8))),
		TargetDelta: number(1e-5)})
	if err != nil || c.GetValue() != 2 || c.GetTargetValue() != 6 || c.GetGuarantee() != "descriptive" {
		t.Errorf("calibrated: %v, %v; want 2 more where 6 meet the target, descriptive", c, err)
	}

	// Below a basic budget's δ nothing is implied.
	s.Create(servertest.Filter("basic", &pb.Budget{Guard: pb.Budget_BASIC, Epsilon: number(1), Delta: number(1e-6)}))
	if a := atDelta(t, s, "basic", 1e-7); !math.IsInf(a.GetEpsilon(), 1) || a.GetRunning() != 0 {
		t.Errorf("below δ: %v", a)
	}
	if a := atDelta(t, s, "basic", 1e-6); a.GetEpsilon() != 1 {
		t.Errorf("at δ: %v", a)
	}
}

// After a refund, and after a raise that may have depended on outputs, answers are of
// what was charged, and say why.
func TestQueryBecomesDescriptive(t *testing.T) {
	t.Parallel()
	s := servertest.StartWith(t, servertest.Config{Server: server.Config{Socket: filepath.Join(shortDir(t), "s")}})
	owner := s.Owner(t)
	s.Create(servertest.Plan("p", gaussians(4)...))
	s.Report("p", servertest.Writer(), 1, &pb.Charge{Events: gaussians(4)})
	_, err := owner.Raise(servertest.Context(t),
		&pb.RaiseRequest{
			Lane: &pb.Lane{Ledger: "p", Writer: servertest.Writer(), Sequence: 1},
			Raise: &pb.Raise{
				Plan:   &pb.Workload{Adjacency: pb.Workload_ADD_OR_REMOVE_ONE, Events: gaussians(400)},
				Reason: "looks | promising"},
		})
	if err != nil {
		t.Fatal(err)
	}
	a := atDelta(t, s, "p", 1e-5)
	wantNear(t, "ε of what was charged", a.GetEpsilon(), epsilonOf1)
	if a.GetGuarantee() != "descriptive" || a.GetRunning() != a.GetEpsilon() || len(a.GetAssumptions()) != 1 ||
		!strings.Contains(a.GetAssumptions()[0].GetText(), "looks | promising") {
		t.Errorf("%v", a)
	}
	// What is reserved may have been used: it counts, though it is not yet charged.
	held, err := s.Client.Reserve(servertest.Context(t),
		&pb.ReserveRequest{
			Lane:    &pb.Lane{Ledger: "p", Writer: servertest.Writer(), Sequence: 1},
			Reserve: &pb.Reserve{Events: gaussians(12), LifetimeSeconds: 3600},
		})
	if err != nil {
		t.Fatal(err)
	}
	a = atDelta(t, s, "p", 1e-5)
	wantNear(t, "ε with what is reserved", a.GetEpsilon(), atWorkload(t, s, gaussians(16)))
	wantNear(t, "running", a.GetRunning(), epsilonOf1)
	if a.GetPosition() != 3 || len(a.GetAssumptions()) != 1 {
		t.Errorf("%v", a)
	}
	const reservedCounts = "What is reserved counts as charged"
	statement, err := s.Client.GetStatement(servertest.Context(t), &pb.GetStatementRequest{Name: "p"})
	if err != nil || statement.GetStatement().GetMechanisms()[0].GetCount() != 16 ||
		!strings.Contains(strings.Join(statement.GetStatement().GetAssumptions(), "\n"), reservedCounts) {
		t.Errorf("with what is reserved: %v, %v", statement, err)
	}
	if err := release(t, s.Client, "p", held.GetReceipt().GetPosition()); err != nil {
		t.Fatal(err)
	}
	if l := s.Ledger("p"); l.GetPlan()[0].GetPlanned() != 400 || l.GetPlan()[0].GetRemaining() != 396 {
		t.Errorf("balance: %v", l.GetPlan())
	}
	statement, err = s.Client.GetStatement(servertest.Context(t), &pb.GetStatementRequest{Name: "p"})
	if err != nil {
		t.Fatal(err)
	}
	st := statement.GetStatement()
	if st.GetGuarantee() != "descriptive" || st.GetMechanisms()[0].GetCount() != 4 {
		t.Errorf("%v", st)
	}
	if all := strings.Join(st.GetAssumptions(), "\n"); !strings.Contains(all, "looks | promising") ||
		!strings.Contains(all, "nor when it stopped depended on outputs") || strings.Contains(all, reservedCounts) {
		t.Errorf("assumptions: %v", st.GetAssumptions())
	}
}

func TestStatement(t *testing.T) {
	t.Parallel()
	s := servertest.StartWith(t, servertest.Config{Server: server.Config{Version: "v1.2.3"}})
	plan := servertest.Plan("plan", gaussians(4)...)
	plan.PrivacyUnit, plan.DatasetId = "user", "mnist"
	plan.Budgets = []*pb.Budget{{Epsilon: proto.Float64(5), Delta: proto.Float64(1e-5)},
		{Epsilon: proto.Float64(9), Delta: proto.Float64(3e-7)}}
	s.Create(plan)
	s.Report("plan", servertest.Writer(), 1, &pb.Charge{Events: gaussians(1)})
	state := func(name string, deltas ...float64) *pb.Statement {
		t.Helper()
		a, err := s.Client.GetStatement(servertest.Context(t), &pb.GetStatementRequest{Name: name, Deltas: deltas})
		if err != nil {
			t.Fatal(err)
		}
		return a.GetStatement()
	}
	st := state("plan")
	if st.GetGuarantee() != "plan" || st.GetVersion() != "v1.2.3" || st.GetTime() == nil ||
		!proto.Equal(st.GetLedger(), s.Ledger("plan")) {
		t.Errorf("%v", st)
	}
	if m := st.GetMechanisms(); len(m) != 1 || m[0].GetCount() != 4 {
		t.Errorf("mechanisms: %v; want the plan's", m)
	}
	var deltas []float64
	for _, p := range st.GetPrivacy() {
		deltas = append(deltas, p.GetDelta())
		if a := atDelta(t, s, "plan", p.GetDelta()); math.Abs(a.GetEpsilon()-p.GetEpsilon()) > 1e-6 ||
			math.Abs(a.GetRunning()-p.GetRunning()) > 1e-6 ||
			p.EpsilonLower == nil || p.GetAnalysis() != a.GetAnalysis() {
			t.Errorf("%v; a query says %v", p, a)
		}
	}
	if want := []float64{1e-5, 1e-6, 3e-7, 1e-8, 1e-10}; len(deltas) != len(want) || deltas[2] != want[2] {
		t.Errorf("δ: %v; want %v", deltas, want)
	}
	if st.GetMu() != 1 || st.GetRho() != 0.5 {
		t.Errorf("μ = %v, ρ = %v; want 1, ½", st.GetMu(), st.GetRho())
	}
	// Total variation of N(0,1) and N(1,1): 2Φ(½) − 1 = 0.382924922548026.
	wantNear(t, "advantage", st.GetAdvantage(), 0.382924922548026)
	// One group of two is N(0,1) against N(2,1), whose ε at 1e-5 follows from δ(ε) = Φ(1 − ε/2) − e^ε·Φ(−1 − ε/2).
	groups := st.GetGroups()
	if len(groups) != 2 || groups[0].GetSize() != 2 || groups[1].GetSize() != 5 || groups[0].GetDelta() != 1e-5 {
		t.Fatalf("groups: %v", groups)
	}
	for i, mu := range []float64{2, 5} {
		e := groups[i].GetEpsilon()
		if d := gaussianDelta(mu, e); !(d <= 1e-5*(1+1e-9) && gaussianDelta(mu, e-1e-3) > 1e-5) {
			t.Errorf("group of %v: ε = %v has δ = %v; want 1e-5", mu, e, d)
		}
	}
	// β(α) = Φ(Φ⁻¹(1 − α) − 1): 0.9076 at 0.01, 0.9817 at 0.001 (Dong, Roth and Su 2022, eq. 6).
	if p := st.GetTradeOff(); len(p) != 2 || !(p[0].GetBeta() <= 0.90766 && p[0].GetBeta() > 0.89 &&
		p[1].GetBeta() <= 0.98171 && p[1].GetBeta() > 0.96) {
		t.Errorf("trade-off: %v", p)
	}
	wantIn(t, st.GetSummary(), "Everything that this ledger's plan allows is (4.38, 1e-05)-differentially private for "+
		"one user: 4 × gaussian", "ε is at most 4.377")
	wantIn(t, sectionOf(t, st, "What an attacker can do"), "right at most 69.2 % of the time")
	if all := strings.Join(st.GetAssumptions(), "\n"); !strings.Contains(all, "one user") ||
		!strings.Contains(all, "Only what the plan declares") || strings.Contains(all, "Poisson") {
		t.Errorf("assumptions: %v", st.GetAssumptions())
	}
	if p := state("plan", 1e-3, 1e-9, 1e-3).GetPrivacy(); len(p) != 2 || p[0].GetDelta() != 1e-3 ||
		p[1].GetDelta() != 1e-9 {
		t.Errorf("asked δ: %v", p)
	}

	s.Create(servertest.Filter("filter",
		&pb.Budget{Guard: pb.Budget_ZCDP, Rho: proto.Float64(0.5)}, servertest.Basic(3)))
	st = state("filter")
	if st.GetRho() != 0.5 || st.Mu != nil || len(st.GetMechanisms()) != 0 || st.GetPrivacy()[0].EpsilonLower != nil ||
		st.GetPrivacy()[0].GetRunning() != 0 {
		t.Errorf("%v", st)
	}
	// ε = 3 alone bounds the advantage by tanh(3/2) = 0.905148253644866.
	if a := st.GetAdvantage(); !(a <= 0.9051483) {
		t.Errorf("advantage: %v; want at most tanh(3/2)", a)
	}
	s.NewLedger("free")
	s.Report("free", servertest.Writer(), 1, charged(3))
	st = state("free")
	if st.GetGuarantee() != "descriptive" || st.Mu != nil || !(st.GetRho() > 0) ||
		st.GetPrivacy()[0].GetRunning() != st.GetPrivacy()[0].GetEpsilon() {
		t.Errorf("%v", st)
	}
}
