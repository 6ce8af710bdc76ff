// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"math"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/server/servertest"
)

// One release of σ = 7 and Δ = 1 that is charged to seven ledgers. A person with a row in each moves it by 7, which is
// σ = 1: ε = 4.88656 at δ = 1e-6 (Balle and Wang 2018, Thm 8). Where Δ is over all of them it is σ = 7.
func TestOneReleaseInSevenLedgers(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	ctx := servertest.Context(t)
	for contribution, noise := range map[pb.SetPart_Contribution]float64{
		pb.SetPart_IN_EACH: 1, pb.SetPart_OVER_ALL: 7} {
		want := askAt(t, normals(noise, 1), 1e-6).Epsilon
		prefix := strings.ToLower(strings.ReplaceAll(contribution.String(), "_", "-")) + "/"
		var names []string
		for day := range 7 {
			names = append(names, prefix+string(rune('1'+day)))
			s.NewLedger(names[day])
		}
		_, err := s.Client.Report(ctx, &pb.ReportRequest{Lane: &pb.Lane{Ledgers: &pb.LedgerSet{Ledgers: names},
			Sequence: 1, Writer: servertest.Writer(), Contribution: contribution},
			Charge: servertest.Gaussian(7, 1)})
		if err != nil {
			t.Fatal(err)
		}
		got, err := s.Client.QueryPrivacySet(ctx, setAtDelta(1e-6, names...))
		if err != nil {
			t.Fatal(err)
		}
		if !near(got.InAll.GetEpsilon(), want) || !near(got.InAll.GetRunning(), want) {
			t.Errorf("%v: ε = %v, %v so far; want %v", contribution, got.InAll.GetEpsilon(), got.InAll.GetRunning(),
				want)
		}
		if contribution == pb.SetPart_IN_EACH && math.Abs(want-4.88656) > 1e-5 {
			t.Errorf("ε = %v; want 4.88656", want)
		}
	}
}

// What the parts of one person in n ledgers do together, by the contribution: closed forms of each, and what is drawn
// of Poisson samples.
func TestMembersOfASet(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	ctx := servertest.Context(t)
	const n, delta, q = 3, 0.01, 0.1
	sampled := func(inside *pb.Mechanism) *pb.Charge {
		return &pb.Charge{Events: []*pb.Event{{Count: 1, Mechanism: &pb.Mechanism{Kind: &pb.Mechanism_PoissonSampled{
			PoissonSampled: &pb.PoissonSampled{SamplingProbability: proto.Float64(q), Mechanism: inside}}}}}}
	}
	of := func(m mechanism.Mechanism) float64 {
		return askAt(t, mechanism.Composition{Adjacency: mechanism.AddOrRemoveOne,
			Parts: []mechanism.Part{{Mechanism: m, Count: 1}}}, 1e-6).Epsilon
	}
	deltaOf, epsilon := delta, 0.25
	gaussian := servertest.Gaussian(4, 1)
	shame := &pb.Charge{Events: []*pb.Event{{Count: 1, Mechanism: &pb.Mechanism{Kind: &pb.Mechanism_NameAndShame{
		NameAndShame: &pb.NameAndShame{Delta: &deltaOf}}}}}}
	pure := &pb.Charge{Events: []*pb.Event{{Count: 1, Mechanism: &pb.Mechanism{Kind: &pb.Mechanism_PureDp{
		PureDp: &pb.PureDp{Epsilon: &epsilon}}}}}}
	inside := gaussian.Events[0].GetMechanism()
	for i, c := range []struct {
		contribution pb.SetPart_Contribution
		charge       *pb.Charge
		epsilon      float64 // at 1e-6
		delta        float64 // at ε = 0, where ε is 0
	}{
		{pb.SetPart_IN_EACH, gaussian, of(mechanism.Gaussian{NoiseMultiplier: 4.0 / n}), 0},
		{pb.SetPart_IN_EACH, pure, of(mechanism.PureDP{Epsilon: n * epsilon}), 0},
		{pb.SetPart_IN_EACH, shame, 0, 1 - math.Pow(1-delta, n)},
		{pb.SetPart_OVER_ALL, shame, 0, delta},
		// Bin(3, q) rows of one person, each at distance 1; or with probability q all three.
		{pb.SetPart_ROWS_DRAWN_IN_EACH, sampled(inside), of(mechanism.Group{Size: n,
			Mechanism: mechanism.PoissonSampled{
				SamplingProbability: q, Mechanism: mechanism.Gaussian{NoiseMultiplier: 4}}}), 0},
		{pb.SetPart_PEOPLE_DRAWN_IN_EACH, sampled(inside), of(mechanism.PoissonSampled{SamplingProbability: q,
			Mechanism: mechanism.Gaussian{NoiseMultiplier: 4.0 / n}}), 0},
	} {
		prefix := "m" + string(rune('0'+i)) + "/"
		names := []string{prefix + "1", prefix + "2", prefix + "3"}
		for _, name := range names {
			s.NewLedger(name)
		}
		if _, err := s.Client.Report(ctx, &pb.ReportRequest{Lane: &pb.Lane{Ledgers: &pb.LedgerSet{Ledgers: names},
			Sequence: 1, Writer: servertest.Writer(), Contribution: c.contribution},
			Charge: c.charge}); err != nil {
			t.Fatal(err)
		}
		ask := setAtDelta(1e-6, names...)
		if c.epsilon == 0 {
			ask.Given = &pb.QueryPrivacySetRequest_Epsilon{}
		}
		got, err := s.Client.QueryPrivacySet(ctx, ask)
		if err != nil {
			t.Fatal(err)
		}
		if c.epsilon > 0 && !near(got.InAll.GetEpsilon(), c.epsilon) ||
			c.delta > 0 && !near(got.InAll.GetDelta(), c.delta) {
			t.Errorf("%v of %v: ε = %v, δ = %v; want %v, %v", c.contribution, c.charge, got.InAll.GetEpsilon(),
				got.InAll.GetDelta(), c.epsilon, c.delta)
		}
	}
}

// Every door refuses a charge that does not say whose rows Δ bounds, one on Poisson samples that does not say what is
// drawn, and one in each of two ledgers that spend one budget.
func TestContributionIsRequired(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	ctx := servertest.Context(t)
	s.NewLedger("a")
	s.Create(servertest.Filter("family", zcdp(0.5)))
	child := servertest.Filter("family/child", zcdp(0.1))
	child.Parent = "family"
	s.Create(child)
	only := servertest.Filter("only", zcdp(0.5))
	only.OverAllOnly = true
	s.Create(only)
	sampled := &pb.Charge{Events: []*pb.Event{{Count: 1, Mechanism: &pb.Mechanism{Kind: &pb.Mechanism_PoissonSampled{
		PoissonSampled: &pb.PoissonSampled{SamplingProbability: proto.Float64(0.1),
			Mechanism: servertest.Gaussian(4, 1).Events[0].GetMechanism()}}}}}}
	charge := func(m *pb.Mechanism) *pb.Charge { return &pb.Charge{Events: []*pb.Event{{Count: 1, Mechanism: m}}} }
	dealt := charge(&pb.Mechanism{Kind: &pb.Mechanism_RandomAllocation{RandomAllocation: &pb.RandomAllocation{
		Steps: proto.Uint64(2), Mechanism: servertest.Gaussian(4, 1).Events[0].GetMechanism()}}})
	cut := charge(&pb.Mechanism{Kind: &pb.Mechanism_TruncatedPoissonSampled{
		TruncatedPoissonSampled: &pb.TruncatedPoissonSampled{BatchSize: proto.Uint64(50),
			DatasetSize: proto.Uint64(100), MaximumBatchSize: proto.Uint64(70),
			Mechanism: servertest.Gaussian(4, 1).Events[0].GetMechanism()}}})
	for _, c := range []struct {
		contribution pb.SetPart_Contribution
		names        []string
		charge       *pb.Charge
		code         codes.Code
		wants        []string
	}{
		{0, []string{"a", "only"}, servertest.Gaussian(40, 1), codes.InvalidArgument,
			[]string{"contribution: missing", "OVER_ALL", "IN_EACH", "group of n"}},
		{9, []string{"a", "only"}, servertest.Gaussian(40, 1), codes.InvalidArgument, []string{"contribution: 9"}},
		{pb.SetPart_IN_EACH, []string{"a", "only"}, sampled, codes.InvalidArgument,
			[]string{"ROWS_DRAWN_IN_EACH", "PEOPLE_DRAWN_IN_EACH"}},
		// Rows dealt together: δ = 0.232 at ε = 2 with σ = 1, where rows that are dealt apart have 0.167.
		{pb.SetPart_IN_EACH, []string{"a", "only"}, dealt, codes.InvalidArgument, []string{"ROWS_DRAWN_IN_EACH"}},
		{pb.SetPart_IN_EACH, []string{"a", "only"}, cut, codes.InvalidArgument, []string{"ROWS_DRAWN_IN_EACH"}},
		{pb.SetPart_IN_EACH, []string{"a", "only"}, servertest.Gaussian(40, 1), codes.FailedPrecondition,
			[]string{"only", "OVER_ALL"}},
		{pb.SetPart_IN_EACH, []string{"family", "family/child"}, servertest.Gaussian(40, 1), codes.FailedPrecondition,
			[]string{"family pays for ledger family"}},
	} {
		_, err := s.Client.Report(ctx, &pb.ReportRequest{Lane: &pb.Lane{Ledgers: &pb.LedgerSet{Ledgers: c.names},
			Sequence: 1, Writer: servertest.Writer(), Contribution: c.contribution},
			Charge: c.charge})
		wantError(t, err, c.code, c.wants...)
		_, err = s.Client.Reserve(ctx, &pb.ReserveRequest{Lane: &pb.Lane{Ledgers: &pb.LedgerSet{Ledgers: c.names},
			Sequence: 1, Writer: servertest.Writer(), Contribution: c.contribution},
			Reserve: &pb.Reserve{Events: c.charge.GetEvents(), LifetimeSeconds: 60}})
		if err == nil {
			t.Errorf("%v of %v was reserved", c.contribution, c.names)
		}
	}
}

// Whole budgets of zCDP are the square of the sum of the roots, and their sum in ledgers that are over_all_only.
func TestWholeBudgetsOfSets(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	for i, rho := range []float64{0.1, 0.4} {
		for _, only := range []bool{false, true} {
			spec := servertest.Filter("each/"+string(rune('1'+i)), zcdp(rho))
			if spec.OverAllOnly = only; only {
				spec.Name = "all/" + string(rune('1'+i))
			}
			s.Create(spec)
		}
	}
	for prefix, rho := range map[string]float64{"each/": 0.9, "all/": 0.5} { // (√0.1 + √0.4)² = 0.9
		want := askAt(t, mechanism.Composition{Adjacency: mechanism.AddOrRemoveOne,
			Parts: []mechanism.Part{{Mechanism: mechanism.ZeroConcentratedDP{Rho: rho}, Count: 1}}}, 1e-6)
		got, err := s.Client.QueryPrivacySet(servertest.Context(t), rangeAtDelta(1e-6, prefix, "", ""))
		if err != nil || !near(got.InAll.GetEpsilon(), want.Epsilon) {
			t.Errorf("%s: ε = %v, %v; want %v", prefix, got.GetInAll().GetEpsilon(), err, want.Epsilon)
		}
	}
	// A budget that may fail more than δ allows proves nothing, and the answer says what to do.
	for _, name := range []string{"fails/1", "fails/2"} {
		epsilon, delta := 1.0, 1e-6
		s.Create(servertest.Filter(name, &pb.Budget{Guard: pb.Budget_BASIC, Epsilon: &epsilon, Delta: &delta}))
	}
	got, err := s.Client.QueryPrivacySet(servertest.Context(t), rangeAtDelta(1e-6, "fails/", "", ""))
	if err != nil || !math.IsInf(got.InAll.GetEpsilon(), 1) ||
		!strings.Contains(got.GetNotInAll(), "over all of them") {
		t.Errorf("%v, %v", got, err)
	}
}

// What each of two ledgers commits alone of what was set aside in both at once may be two releases, and need not be one
// that both had. With a sensitivity in each, it may be either.
func TestCommitsAloneOfAReservationOfASet(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	ctx := servertest.Context(t)
	want := askAt(t, normals(20, 6), 1e-6).Epsilon
	for c, one := range map[pb.SetPart_Contribution]float64{
		pb.SetPart_OVER_ALL: 0, pb.SetPart_IN_EACH: askAt(t, normals(10, 3), 1e-6).Epsilon} {
		names := []string{strings.ToLower(c.String()) + "/a", strings.ToLower(c.String()) + "/b"}
		for _, name := range names {
			s.Create(servertest.Filter(name, epsilonDelta(pb.Budget_ZCDP, 3, 1e-5)))
		}
		held, err := s.Client.Reserve(ctx, &pb.ReserveRequest{Lane: &pb.Lane{Ledgers: &pb.LedgerSet{Ledgers: names},
			Sequence: 1, Writer: servertest.Writer(), Contribution: c},
			Reserve: &pb.Reserve{LifetimeSeconds: 600,
				Events: servertest.Gaussian(20, 10).GetEvents()}})
		if err != nil {
			t.Fatal(err)
		}
		for i, name := range names {
			if _, err := s.Client.Commit(ctx, &pb.CommitRequest{
				Lane: &pb.Lane{Ledger: name, Writer: servertest.Writer(), Sequence: 1},
				Commit: &pb.Commit{Reservation: held.GetReceipt().GetMembers()[i].GetPosition(),
					Events: servertest.Gaussian(20, 3).GetEvents()}}); err != nil {
				t.Fatal(err)
			}
		}
		got, err := s.Client.QueryPrivacySet(ctx, setAtDelta(1e-6, names...))
		if err != nil {
			t.Fatal(err)
		}
		if e := got.GetInAll().GetRunning(); c == pb.SetPart_OVER_ALL && !near(e, want) || e < max(want, one) {
			t.Errorf("%v: ε ≤ %v so far; want %v, and %v if it was one release", c, e, want, one)
		}
	}
}
