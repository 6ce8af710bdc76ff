// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/wire/wiretest"
)

func TestChargeRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := ledger.Charge{Events: wiretest.Events(1, 5).Draw(t, "events"),
			Labels: wiretest.Labels().Draw(t, "labels")}
		got, err := To[ledger.Charge]("charge", mechanism.ReplaceOne, fromCharge(want))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%v came back as %v, %v", want, got, err)
		}
	})
}

func TestSpecRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := wiretest.Specs().Draw(t, "spec")
		got, err := ToSpec(FromSpec(want))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%+v came back as %+v, %v", want, got, err)
		}
	})
}

func TestAdjacency(t *testing.T) {
	for value, name := range pb.Workload_Adjacency_name {
		adj, err := ToAdjacency("adjacency", pb.Workload_Adjacency(value))
		if value == 0 {
			if e := checkInvalid(t, err, "adjacency"); e.Value != missing {
				t.Errorf("unset: %v", e)
			}
			continue
		}
		if err != nil || adj.String() != name || FromAdjacency(adj) != pb.Workload_Adjacency(value) {
			t.Errorf("%s became %s, %v, and came back as %s", name, adj, err, FromAdjacency(adj))
		}
	}
	_, err := ToAdjacency("adjacency", 42)
	checkInvalid(t, err, "adjacency")
	if a := FromAdjacency(99); a != pb.Workload_ADJACENCY_UNSPECIFIED {
		t.Errorf("FromAdjacency(99) = %s", a)
	}
}

func gaussianEvents(n int) []*pb.Event {
	events := make([]*pb.Event, n)
	for i := range events {
		events[i] = &pb.Event{Mechanism: FromMechanism(mechanism.Gaussian{NoiseMultiplier: 1}), Count: 1}
	}
	return events
}

func TestChargeErrors(t *testing.T) {
	with := func(change func(*pb.Charge)) *pb.Charge {
		c := &pb.Charge{Events: gaussianEvents(2), Labels: map[string]string{"run": "1"}}
		change(c)
		return c
	}
	labels := map[string]string{}
	for i := range 17 {
		labels[fmt.Sprint(i)] = ""
	}
	for _, c := range []struct {
		name   string
		charge *pb.Charge
		field  string
	}{
		{"nothing", nil, "charge.events"},
		{"no events", &pb.Charge{}, "charge.events"},
		{"1001 events", &pb.Charge{Events: gaussianEvents(1001)}, "charge.events"},
		{"nil event", with(func(c *pb.Charge) { c.Events[1] = nil }), "charge.events[1].mechanism"},
		{"no mechanism", with(func(c *pb.Charge) { c.Events[1].Mechanism = nil }), "charge.events[1].mechanism"},
		{"no count", with(func(c *pb.Charge) { c.Events[1].Count = 0 }), "charge.events[1].count"},
		{"no sensitivity", with(func(c *pb.Charge) {
			c.Events[0].Mechanism = &pb.Mechanism{
				Kind: &pb.Mechanism_Gaussian{Gaussian: &pb.Gaussian{StandardDeviation: proto.Float64(1)}}}
		}), "charge.events[0].mechanism.gaussian.sensitivity"},
		{"zero", with(func(c *pb.Charge) {
			c.Events[0].Mechanism = &pb.Mechanism{
				Kind: &pb.Mechanism_PureDp{PureDp: &pb.PureDp{Epsilon: proto.Float64(0)}}}
		}), "charge.events[0].mechanism.pure_dp.epsilon"},
		{"wrong adjacency", with(func(c *pb.Charge) {
			c.Events[0].Mechanism = FromMechanism(mechanism.RandomizedResponse{Epsilon: 1})
		}), "charge.events[0].mechanism.randomized_response"},
		{"unknown in the charge", with(func(c *pb.Charge) { c.ProtoReflect().SetUnknown(unknownField) }), "charge"},
		{"unknown in an event",
			with(func(c *pb.Charge) { c.Events[1].ProtoReflect().SetUnknown(unknownField) }), "charge.events[1]"},
		{"unknown in a mechanism",
			with(func(c *pb.Charge) { c.Events[1].Mechanism.ProtoReflect().SetUnknown(unknownField) }),
			"charge.events[1].mechanism"},
		{"unknown in a kind", with(func(c *pb.Charge) { kindOf(c.Events[1].Mechanism).SetUnknown(unknownField) }),
			"charge.events[1].mechanism.gaussian"},
		{"17 labels", with(func(c *pb.Charge) { c.Labels = labels }), "charge.labels"},
		{"label key", with(func(c *pb.Charge) { c.Labels = map[string]string{"Run": ""} }), "charge.labels"},
		{"empty label key", with(func(c *pb.Charge) { c.Labels = map[string]string{"": ""} }), "charge.labels"},
		{"long label key",
			with(func(c *pb.Charge) { c.Labels = map[string]string{strings.Repeat("k", 64): ""} }), "charge.labels"},
		{"long label",
			with(func(c *pb.Charge) { c.Labels = map[string]string{"k": strings.Repeat("v", 257)} }),
			"charge.labels.k"},
		{"label not UTF-8", with(func(c *pb.Charge) { c.Labels = map[string]string{"k": "\xff"} }), "charge.labels.k"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := To[ledger.Charge]("charge", mechanism.AddOrRemoveOne, c.charge)
			e := checkInvalid(t, err, c.field)
			if len(got.Events) > 0 || len(e.Error()) > 400 {
				t.Errorf("returned %v and a message of %d bytes", got, len(e.Error()))
			}
		})
	}
	most := &pb.Charge{Events: gaussianEvents(1000)}
	if _, err := To[ledger.Charge]("charge", mechanism.AddOrRemoveOne, most); err != nil {
		t.Errorf("1000 events: %v", err)
	}
}

func TestDomainErrorsAreWrapped(t *testing.T) {
	c := &pb.Charge{Events: gaussianEvents(1)}
	c.Events[0].Mechanism = FromMechanism(mechanism.RandomizedResponse{Epsilon: 1})
	_, err := To[ledger.Charge]("charge", mechanism.AddOrRemoveOne, c)
	var adjacency *mechanism.AdjacencyError
	if !errors.As(err, &adjacency) || !strings.Contains(err.Error(), adjacency.Hint) {
		t.Errorf("error %v does not wrap an AdjacencyError with its hint", err)
	}
	c.Events[0].Mechanism = FromMechanism(mechanism.PureDP{Epsilon: -1})
	_, err = To[ledger.Charge]("charge", mechanism.AddOrRemoveOne, c)
	var parameter *mechanism.ParameterError
	if !errors.As(err, &parameter) {
		t.Errorf("error %v does not wrap a ParameterError", err)
	}
}

func TestWorkload(t *testing.T) {
	two := &pb.Workload{Name: "w", Adjacency: pb.Workload_ZERO_OUT, Events: append(gaussianEvents(2),
		&pb.Event{Mechanism: FromMechanism(mechanism.PureDP{Epsilon: 1}), Count: math.MaxUint32})}
	name, c, err := ToWorkload(two)
	want := mechanism.Composition{Adjacency: mechanism.ZeroOut, Parts: []mechanism.Part{
		{Mechanism: mechanism.Gaussian{NoiseMultiplier: 1}, Count: 2},
		{Mechanism: mechanism.PureDP{Epsilon: 1}, Count: math.MaxUint32}}}
	if err != nil || name != "w" || !reflect.DeepEqual(c, want) {
		t.Errorf("ToWorkload = %q, %v, %v; want %v", name, c, err, want)
	}
	if _, c, err := ToWorkload(&pb.Workload{Adjacency: pb.Workload_ZERO_OUT}); err != nil || len(c.Parts) != 0 {
		t.Errorf("no events: %v, %v", c, err)
	}
	if _, _, err := ToWorkload(&pb.Workload{Adjacency: pb.Workload_ZERO_OUT,
		Events: gaussianEvents(MaxWorkloadEvents)}); err != nil {
		t.Errorf("%d events: %v", MaxWorkloadEvents, err)
	}
	for field, w := range map[string]*pb.Workload{
		"adjacency": nil,
		"events":    {Adjacency: pb.Workload_ZERO_OUT, Events: gaussianEvents(MaxWorkloadEvents + 1)},
		"name":      {Adjacency: pb.Workload_ZERO_OUT, Name: strings.Repeat("n", 257)},
		"events[2].count": {Adjacency: pb.Workload_ZERO_OUT,
			Events: append(gaussianEvents(2), &pb.Event{Mechanism: gaussianEvents(1)[0].Mechanism})},
	} {
		_, _, err := ToWorkload(w)
		checkInvalid(t, err, field)
	}
	two.ProtoReflect().SetUnknown(unknownField)
	_, _, err = ToWorkload(two)
	checkInvalid(t, err, "workload")
}

func TestSpecErrors(t *testing.T) {
	good := func() *pb.LedgerSpec { return FromSpec(wiretest.Genesis().Spec) }
	for _, c := range []struct {
		field  string
		change func(*pb.LedgerSpec)
	}{
		{"spec.adjacency", func(s *pb.LedgerSpec) { s.Adjacency = 0 }},
		{"spec.name", func(s *pb.LedgerSpec) { s.Name = "" }},
		{"spec.name", func(s *pb.LedgerSpec) { s.Name = "Über" }},
		{"spec.privacy_unit", func(s *pb.LedgerSpec) { s.PrivacyUnit = strings.Repeat("u", 65) }},
		{"spec.privacy_unit", func(s *pb.LedgerSpec) { s.PrivacyUnit = "\xc3" }},
		{"spec.dataset_id", func(s *pb.LedgerSpec) { s.DatasetId = strings.Repeat("d", 257) }},
		{"spec.dataset_version", func(s *pb.LedgerSpec) { s.DatasetVersion = strings.Repeat("d", 257) }},
		{"spec.owner", func(s *pb.LedgerSpec) { s.Owner = strings.Repeat("o", 257) }},
		{"spec.labels", func(s *pb.LedgerSpec) { s.Labels["a b"] = "" }},
		{"spec.plan.events", func(s *pb.LedgerSpec) { s.Policy = pb.LedgerSpec_PLAN }},
		{"spec.budgets", func(s *pb.LedgerSpec) { s.Policy = pb.LedgerSpec_FILTER }},
		{"spec.policy", func(s *pb.LedgerSpec) { s.Policy = 9 }},
		{"spec.plan.adjacency", func(s *pb.LedgerSpec) { s.Plan = &pb.Workload{} }},
		{"spec.budgets[0].bound", func(s *pb.LedgerSpec) { s.Budgets = []*pb.Budget{{}} }},
		{"spec.parent", func(s *pb.LedgerSpec) { s.Parent = "Über" }},
		{"spec.parent", func(s *pb.LedgerSpec) { s.Parent = s.Name }},
		{"spec.parent", func(s *pb.LedgerSpec) { s.Parent = "other" }},
	} {
		s := good()
		c.change(s)
		_, err := ToSpec(s)
		checkInvalid(t, err, c.field)
	}
	if _, err := ToSpec(nil); err == nil {
		t.Error("a missing spec was accepted")
	}
	unset := good()
	unset.Policy = pb.LedgerSpec_POLICY_UNSPECIFIED
	a, _ := ToSpec(unset)
	if b, err := ToSpec(good()); err != nil || !a.Equal(b) {
		t.Errorf("policy unset and DESCRIPTIVE differ: %v, %v, %v", a, b, err)
	}
}

func TestViews(t *testing.T) {
	g := wiretest.Genesis()
	s := ledger.Summary{Genesis: g, Head: ledger.Head{Position: 3, Hash: ledger.Hash{1}}, Closed: true,
		Distinct: 2, Total: math.MaxInt64}
	l := FromSummary(s)
	spec, err := ToSpec(l.Spec)
	if err != nil || !spec.Equal(g.Spec) || l.Name != g.Spec.Name || l.Position != 3 || l.HeadHash[0] != 1 ||
		len(l.HeadHash) != 32 ||
		!l.Closed || l.DistinctMechanisms != 2 || l.TotalCount != math.MaxInt64 || l.StoreId != g.StoreID ||
		l.Principal != g.Principal || !l.CreateTime.AsTime().Equal(g.Time) {
		t.Errorf("FromSummary = %v", l)
	}
	e := wiretest.StepEntry()
	record := ledger.Record{Entry: e, Hash: ledger.Hash{2}, Previous: ledger.Hash{1}, Raw: []byte("raw")}
	r := FromReceipt(record.Receipt("store", "a/b"))
	if r.StoreId != "store" || r.Ledger != "a/b" || r.Writer != wiretest.UUID || r.Sequence != 17 || r.Position != 17 ||
		r.HeadHash[0] != 2 || len(r.HeadHash) != 32 || !r.Time.AsTime().Equal(e.Time) {
		t.Errorf("FromReceipt = %v", r)
	}
	for _, raw := range []bool{false, true} {
		p := FromRecord(record, raw)
		charge, err := To[ledger.Charge]("charge", mechanism.AddOrRemoveOne, p.GetCharge())
		if err != nil || !reflect.DeepEqual(charge, wiretest.StepCharge) ||
			(string(p.Raw) == "raw") != raw || p.Hash[0] != 2 ||
			p.Position != 17 || p.Sequence != 17 || p.Writer != wiretest.UUID || p.Principal != wiretest.Principal ||
			!p.Time.AsTime().Equal(e.Time) {
			t.Errorf("FromRecord = %v, %v", p, err)
		}
	}
	record.Entry.Action = ledger.Close{Reason: "done"}
	if p := FromRecord(record, false); p.GetClose().GetReason() != "done" {
		t.Errorf("FromRecord = %v", p)
	}
}

func BenchmarkToCharge(b *testing.B) {
	c := fromCharge(wiretest.StepCharge)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := To[ledger.Charge]("charge", mechanism.AddOrRemoveOne, c); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkFromReceipt(b *testing.B) {
	r := ledger.Record{Entry: wiretest.StepEntry()}.Receipt(wiretest.UUID, "a/b")
	b.ReportAllocs()
	for b.Loop() {
		if FromReceipt(r).Time.AsTime() == (time.Time{}) {
			b.Fatal("no time")
		}
	}
}
