// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/wire/wiretest"
)

// Specs with budgets come back as they were requested.
func TestBudgetSpecs(t *testing.T) {
	for _, g := range []ledger.Genesis{wiretest.PlannedGenesis(), wiretest.FilteredGenesis()} {
		got, err := ReadSpec(FromSpec(g.Spec))
		if err != nil || !reflect.DeepEqual(got, g.Spec) {
			t.Errorf("%+v came back as %+v, %v", g.Spec, got, err)
		}
	}
	for _, g := range []ledger.Genesis{wiretest.PlannedGenesis(), wiretest.FilteredGenesis()} { // as a client asks
		g.Spec.Parent = "team/all"
		if got, err := ToSpec(FromSpec(g.Spec)); err != nil || !reflect.DeepEqual(got, g.Spec) {
			t.Errorf("%+v came back as %+v, %v", g.Spec, got, err)
		}
	}
	many := wiretest.PlannedGenesis().Spec
	many.Plan.Events = many.Plan.Events[:1]
	many.Plan.Events[0].Count = 0
	if got, err := ReadSpec(FromSpec(many)); err != nil || !reflect.DeepEqual(got, many) {
		t.Errorf("as many as fit came back as %+v, %v", got, err)
	}
}

func TestBudgetSpecErrors(t *testing.T) {
	planned := func() *pb.LedgerSpec { return FromSpec(wiretest.PlannedGenesis().Spec) }
	filtered := func() *pb.LedgerSpec { return FromSpec(wiretest.FilteredGenesis().Spec) }
	for _, c := range []struct {
		field  string
		spec   *pb.LedgerSpec
		change func(*pb.LedgerSpec)
	}{
		{"policy", planned(), func(s *pb.LedgerSpec) { s.Policy = 9 }},
		{"plan", planned(), func(s *pb.LedgerSpec) { s.Policy = 0 }},
		{"plan.events", planned(), func(s *pb.LedgerSpec) { s.Plan = nil }},
		{"plan.events", planned(), func(s *pb.LedgerSpec) { s.Plan.Events = nil }},
		{"plan.events", planned(), func(s *pb.LedgerSpec) { s.Plan.Events = gaussianEvents(MaxWorkloadEvents + 1) }},
		{"plan.events[1].count", planned(), func(s *pb.LedgerSpec) { s.Plan.Events[1].Count = 0 }},
		{"plan.events[0].mechanism", planned(), func(s *pb.LedgerSpec) { s.Plan.Events[0].Mechanism = nil }},
		{"plan.events[0].mechanism.poisson_sampled.sampling_probability", planned(), func(s *pb.LedgerSpec) {
			s.Plan.Events[0].Mechanism.GetPoissonSampled().SamplingProbability = proto.Float64(0.1)
		}},
		{"plan.adjacency", planned(), func(s *pb.LedgerSpec) { s.Plan.Adjacency = pb.Workload_ZERO_OUT }},
		{"plan.adjacency", planned(), func(s *pb.LedgerSpec) { s.Plan.Adjacency = 0 }},
		{"plan.name", planned(), func(s *pb.LedgerSpec) { s.Plan.Name = strings.Repeat("n", 257) }},
		{"plan", planned(), func(s *pb.LedgerSpec) { s.Plan.ProtoReflect().SetUnknown(unknownField) }},
		{"budgets[1].guard", planned(), func(s *pb.LedgerSpec) { s.Budgets[1].Guard = pb.Budget_GDP }},
		{"budgets", filtered(), func(s *pb.LedgerSpec) { s.Budgets = nil }},
		{"budgets[0]", filtered(), func(s *pb.LedgerSpec) { s.Budgets[0].ProtoReflect().SetUnknown(unknownField) }},
		{"budgets[0].guard", filtered(), func(s *pb.LedgerSpec) { s.Budgets[0].Guard = 0 }},
		{"budgets[0].guard", filtered(), func(s *pb.LedgerSpec) { s.Budgets[0].Guard = 9 }},
		{"budgets[0].epsilon", filtered(), func(s *pb.LedgerSpec) { s.Budgets[0].Epsilon = proto.Float64(0) }},
		{"budgets[0].epsilon", filtered(), func(s *pb.LedgerSpec) { s.Budgets[0].Epsilon = proto.Float64(-1) }},
		{"budgets[0].bound", filtered(), func(s *pb.LedgerSpec) { s.Budgets[0].Mu = proto.Float64(1) }},
		{"budgets[5].order", filtered(), func(s *pb.LedgerSpec) { s.Budgets[5].Order = proto.Float64(1) }},
		{"expected_run.events[0].count", filtered(), func(s *pb.LedgerSpec) { s.ExpectedRun.Events[0].Count = 0 }},
	} {
		c.change(c.spec)
		_, err := ReadSpec(c.spec)
		if strings.HasSuffix(c.field, "plan") || strings.HasSuffix(c.field, "]") {
			var e *InvalidError
			if !errors.As(err, &e) || !strings.HasPrefix(e.Field, c.field) {
				t.Errorf("%v; want an error about %s", err, c.field)
			}
			continue
		}
		checkInvalid(t, err, c.field)
	}
}
