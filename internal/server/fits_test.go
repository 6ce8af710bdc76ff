// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/server"
	"github.com/dpaccountant/accountant/internal/server/servertest"
	"github.com/dpaccountant/accountant/internal/testaid"
)

func epsilonDelta(guard pb.Budget_Guard, epsilon, delta float64) *pb.Budget {
	return &pb.Budget{Guard: guard, Epsilon: &epsilon, Delta: &delta}
}

func ordered(b *pb.Budget, order float64) *pb.Budget {
	b.Order = &order
	return b
}

// What Calibrate says fits is what the ledger takes: the answer is charged, and the next value is refused, by the
// ledger or because the target is not met any more.
func TestWhatFitsIsTaken(t *testing.T) {
	t.Parallel()
	testaid.Long(t, "it solves for 84 answers")
	s := withDatasets(t, server.Config{})
	data := survey(ordered(epsilonDelta(pb.Budget_RDP, 40, 1e-5), 8))
	data.Caps = &pb.DatasetCaps{Charge: 0.01}
	s.mustRegister(data)
	s.Create(servertest.Filter("parent", ordered(epsilonDelta(pb.Budget_RDP, 90, 1e-5), 8)))
	under := func(spec *pb.LedgerSpec) *pb.LedgerSpec {
		spec.Parent = "parent"
		return spec
	}
	gaussian := func(noise float64) *pb.Mechanism { return servertest.Gaussian(noise, 1).Events[0].Mechanism }
	laplace := func(scale float64) *pb.Mechanism {
		return &pb.Mechanism{Kind: &pb.Mechanism_Laplace{
			Laplace: &pb.Laplace{Scale: &scale, Sensitivity: proto.Float64(1)}}}
	}
	run := func(noise float64) *pb.Mechanism {
		return &pb.Mechanism{Kind: &pb.Mechanism_DpSgd{DpSgd: &pb.DpSgd{NoiseMultiplier: &noise,
			BatchSize: proto.Uint64(100), DatasetSize: proto.Uint64(10000), Steps: proto.Uint64(100)}}}
	}
	basic, zcdp, approximate, gdp, rdp := pb.Budget_BASIC, pb.Budget_ZCDP, pb.Budget_APPROXIMATE_ZCDP, pb.Budget_GDP,
		pb.Budget_RDP
	cases := []struct {
		spec *pb.LedgerSpec
		of   func(noise float64) *pb.Mechanism
	}{
		{servertest.Filter("basic", servertest.Basic(3)), laplace},
		{servertest.Filter("basic-delta", epsilonDelta(basic, 3, 1e-6)), laplace},
		{servertest.Filter("zcdp", epsilonDelta(zcdp, 3, 1e-6)), gaussian},
		{servertest.Filter("rho", &pb.Budget{Guard: zcdp, Rho: proto.Float64(0.3)}), laplace},
		{servertest.Filter("approximate", epsilonDelta(approximate, 3, 1e-6)), gaussian},
		{servertest.Filter("gdp", epsilonDelta(gdp, 3, 1e-6)), gaussian},
		{servertest.Filter("rdp", ordered(epsilonDelta(rdp, 3, 1e-6), 16)), run},
		{servertest.Filter("two", epsilonDelta(zcdp, 3, 1e-6), ordered(epsilonDelta(rdp, 2, 1e-6), 7)), gaussian},
		{under(servertest.Filter("parent/rdp", ordered(epsilonDelta(rdp, 3, 1e-6), 12))), run},
		{under(servertest.Filter("parent/zcdp", epsilonDelta(zcdp, 2, 1e-6))), gaussian},
		{under(servertest.Plan("parent/plan", &pb.Event{Count: 9, Mechanism: gaussian(7)})), gaussian},
		{of("Survey", "1", servertest.Filter("capped", ordered(epsilonDelta(rdp, 3, 1e-6), 12))), run},
		{servertest.Plan("plan", &pb.Event{Count: 40, Mechanism: run(1.5)}, &pb.Event{Count: 3, Mechanism: run(3)}),
			run},
		{servertest.Spec("descriptive"), gaussian},
	}
	by := map[string]int{}
	random := rand.New(rand.NewPCG(30, 10))
	for _, c := range cases {
		for i := range 6 {
			c.spec = proto.CloneOf(c.spec)
			c.spec.Name += "-1"
			name := c.spec.GetName()
			s.Create(c.spec)
			if i%2 == 0 && c.spec.GetPolicy() != pb.LedgerSpec_PLAN { // something is there already
				s.Report(name, servertest.Writer(), 1, &pb.Charge{Events: []*pb.Event{
					{Count: 1, Mechanism: c.of(20 + 20*random.Float64())}}})
			}
			ask := &pb.CalibrateRequest{Ledger: name, Solve: pb.CalibrateRequest_STANDARD_DEVIATION,
				Event: &pb.Event{Count: 1 + random.Uint32N(3), Mechanism: c.of(5)}}
			if i >= 3 {
				ask.Solve = pb.CalibrateRequest_COUNT
				ask.Event.Mechanism = c.of([]float64{20, 30, 50}[i-3])
				if c.spec.GetPolicy() == pb.LedgerSpec_PLAN {
					ask.Event.Mechanism = c.spec.GetPlan().GetEvents()[0].GetMechanism()
				}
			}
			if c.spec.GetPolicy() == servertest.Spec("").GetPolicy() || i%3 != 2 {
				ask.TargetEpsilon = proto.Float64([]float64{60, 6 + 2*float64(i)}[i%2])
				ask.TargetDelta = proto.Float64(1e-6)
			}
			t.Run(fmt.Sprintf("%s/%v/%v", name, ask.GetSolve(), ask.GetTargetEpsilon()), func(t *testing.T) {
				by[s.fits(t, ask)]++
			})
		}
	}
	for _, reason := range []string{"target", "budget", "plan", "cap", "unbounded"} {
		if by[reason] == 0 {
			t.Errorf("no case in which the %s decides: %v", reason, by)
		}
	}
}

// fits charges what an answer says fits, after it was tried to charge more, and returns what decided.
func (s *datasetServer) fits(t *testing.T, ask *pb.CalibrateRequest) string {
	ctx := servertest.Context(t)
	report := func(e *pb.Event, check bool) error {
		_, err := s.Client.Report(ctx, &pb.ReportRequest{
			Lane:   &pb.Lane{Ledger: ask.GetLedger(), Writer: servertest.Writer(), Sequence: 1, CheckOnly: check},
			Charge: &pb.Charge{Events: []*pb.Event{e}},
		})
		return err
	}
	got, err := s.Client.Calibrate(ctx, ask)
	if err != nil {
		if ask.GetSolve() == pb.CalibrateRequest_COUNT { // there may be no room for one
			one := proto.CloneOf(ask.GetEvent())
			one.Count = 1
			if refused := report(one, true); status.Code(refused) == status.Code(err) && refused != nil {
				return "full"
			}
		}
		t.Fatal(err)
	}
	next := proto.CloneOf(got.GetEvent())
	switch v := got.GetExceedingValue(); {
	case got.ExceedingValue == nil:
	case ask.GetSolve() == pb.CalibrateRequest_COUNT:
		next.Count = uint32(v)
	default:
		switch m := next.GetMechanism().GetKind().(type) {
		case *pb.Mechanism_Gaussian:
			m.Gaussian.NoiseMultiplier = &v
		case *pb.Mechanism_Laplace:
			m.Laplace.Scale = &v
		case *pb.Mechanism_DpSgd:
			m.DpSgd.NoiseMultiplier = &v
		}
	}
	refusal, decided := report(next, true), "target"
	switch {
	case got.GetRefusal() == "":
		if ask.TargetEpsilon == nil || got.TargetValue != nil || got.ExceedingValue == nil {
			t.Errorf("nothing says why: %v", got)
		}
	case got.GetGuarantee() == "plan":
		decided = "plan"
		if got.ExceedingValue != nil && refusal == nil {
			t.Errorf("the plan takes %v, too", next)
		}
	case refusal == nil:
		t.Errorf("the ledger also takes %v; want a refusal as of %v", next, got)
	case ask.TargetEpsilon == nil:
		decided = "unbounded"
	case got.TargetValue == nil:
		t.Errorf("no value of the target: %v", got)
	case status.Code(refusal) == codes.FailedPrecondition:
		decided = "cap"
	default:
		decided = "budget"
	}
	if ask.TargetEpsilon != nil && got.GetEpsilon() > ask.GetTargetEpsilon() {
		t.Errorf("ε = %v; want at most %v", got.GetEpsilon(), ask.GetTargetEpsilon())
	}
	if err := report(got.GetEvent(), false); err != nil {
		t.Errorf("%v; want that what fits is taken: %v", err, got)
	}
	return decided
}

// A refusal of a child, or of a ledger of a dataset, speaks of the budget that was asked for. What it names fits, and
// what is a little larger does not.
func TestWhatFitsUnderAParent(t *testing.T) {
	t.Parallel()
	said := regexp.MustCompile(`a ledger with the budget ε = 7 at δ = 1e-06 by [A-Z]+ needs more than is left of ` +
		`budgets\[0\] \(ε = 8 at δ = 1e-05 by [A-Z_]+\); allowed: at most ε = ([0-9.]+) at δ = 1e-06 by`)
	for _, c := range []struct{ parent, child *pb.Budget }{
		{ordered(epsilonDelta(pb.Budget_RDP, 8, 1e-5), 8), ordered(epsilonDelta(pb.Budget_RDP, 7, 1e-6), 12)},
		{ordered(epsilonDelta(pb.Budget_RDP, 8, 1e-5), 8), epsilonDelta(pb.Budget_GDP, 7, 1e-6)},
		{epsilonDelta(pb.Budget_ZCDP, 8, 1e-5), epsilonDelta(pb.Budget_GDP, 7, 1e-6)},
		{epsilonDelta(pb.Budget_BASIC, 8, 1e-5), epsilonDelta(pb.Budget_BASIC, 7, 1e-6)},
	} {
		s := withDatasets(t, server.Config{})
		s.mustRegister(survey(c.parent))
		parent := servertest.Filter("parent", c.parent)
		parent.PrivacyUnit = "user"
		s.Create(parent)
		for _, name := range []string{"of-parent", "of-dataset"} {
			spec := func(name string, epsilon float64) *pb.LedgerSpec {
				b := proto.CloneOf(c.child)
				b.Epsilon = &epsilon
				spec := servertest.Filter(name, b)
				if strings.HasPrefix(name, "of-dataset") {
					return of("Survey", "1", spec)
				}
				spec.Parent, spec.Adjacency = "parent", pb.Workload_ADJACENCY_UNSPECIFIED
				return spec
			}
			create := func(spec *pb.LedgerSpec) error {
				_, err := s.owner.CreateLedger(servertest.Context(t), &pb.CreateLedgerRequest{Spec: spec})
				return err
			}
			if err := create(spec(name+"-first", 4)); err != nil {
				t.Fatal(err)
			}
			err := create(spec(name, 7))
			found := said.FindStringSubmatch(status.Convert(err).Message())
			if found == nil || status.Code(err) != codes.ResourceExhausted {
				t.Fatalf("%v; want %v", err, said)
			}
			most, _ := strconv.ParseFloat(found[1], 64)
			if err := create(spec(name+"-more", most*1.01)); status.Code(err) != codes.ResourceExhausted {
				t.Errorf("ε = %v: %v; want that at most %v fits", most*1.01, err, most)
			}
			if err := create(spec(name, most)); err != nil {
				t.Errorf("ε = %v: %v", most, err)
			}
			if l := s.Ledger(name).GetSpec(); l.GetAdjacency() != pb.Workload_ADD_OR_REMOVE_ONE ||
				l.GetPrivacyUnit() != "user" {
				t.Errorf("it has not taken its parent's adjacency and unit: %v", l)
			}
			if err := create(spec(name, most)); err != nil {
				t.Errorf("the same again: %v", err)
			}
		}
	}
}
