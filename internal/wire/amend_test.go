// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/ledger/budget"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/wire/wiretest"
)

// What the API takes is what entries show, less what the daemon has found.
func TestAmendmentsRoundTrip(t *testing.T) {
	refund := ledger.Refund{Position: 16, Reason: "it never ran"}
	if got, err := ToAction("refund", 0, FromAction(refund)); err != nil ||
		!reflect.DeepEqual(got, ledger.Action(refund)) {
		t.Errorf("%+v, %v; want %+v", got, err, refund)
	}
	for _, want := range []ledger.Raise{wiretest.RaisedFilter(), wiretest.RaisedPlan()} {
		want.Resolution, want.Late = ledger.Resolution{}, false
		r := FromAction(want).(*pb.Raise)
		if r.Plan != nil {
			r.Plan.Adjacency = pb.Workload_REPLACE_ONE
		}
		if got, err := To[ledger.Raise]("raise", mechanism.ReplaceOne, r); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%+v, %v; want %+v", got, err, want)
		}
	}
	many := &pb.Raise{Reason: "r",
		Plan: &pb.Workload{Adjacency: pb.Workload_REPLACE_ONE,
			Events: FromEvents([]mechanism.Event{{Mechanism: wiretest.EveryMechanism[0]}})}}
	if got, err := To[ledger.Raise]("raise", mechanism.ReplaceOne, many); err != nil || got.Plan.Events[0].Count != 0 {
		t.Errorf("as many as fit: %+v, %v", got, err)
	}
}

func TestAmendmentErrors(t *testing.T) {
	for _, c := range []struct {
		field  string
		change func(*pb.Refund)
	}{
		{"refund.position", func(r *pb.Refund) { r.Position = 0 }},
		{"refund.nothing_released", func(r *pb.Refund) { r.NothingReleased = false }},
		{"refund.reason", func(r *pb.Refund) { r.Reason = "" }},
		{"refund.reason", func(r *pb.Refund) { r.Reason = strings.Repeat("r", 1025) }},
		{"refund.events", func(r *pb.Refund) { r.Events = FromEvents(wiretest.StepCharge.Events) }},
		{"refund", func(r *pb.Refund) { r.ProtoReflect().SetUnknown(unknownField) }},
	} {
		r := &pb.Refund{Position: 1, NothingReleased: true, Reason: "r"}
		c.change(r)
		_, err := To[ledger.Refund]("refund", 0, r)
		checkInvalid(t, err, c.field)
	}
	for _, c := range []struct {
		field  string
		change func(*pb.Free)
	}{
		{"free.reservation", func(f *pb.Free) { f.Reservation = 0 }},
		{"free.nothing_released", func(f *pb.Free) { f.NothingReleased = false }},
		{"free.reason", func(f *pb.Free) { f.Reason = "" }},
		{"free.reason", func(f *pb.Free) { f.Reason = strings.Repeat("r", 1025) }},
		{"free.events", func(f *pb.Free) { f.Events = FromEvents(wiretest.StepCharge.Events) }},
		{"free", func(f *pb.Free) { f.ProtoReflect().SetUnknown(unknownField) }},
	} {
		f := &pb.Free{Reservation: 1, NothingReleased: true, Reason: "r"}
		if v, err := To[ledger.Free]("free", 0, f); err != nil || v.Reservation != 1 || v.Reason != "r" ||
			len(v.Events) > 0 {
			t.Errorf("ToFree: %+v, %v", v, err)
		}
		c.change(f)
		_, err := To[ledger.Free]("free", 0, f)
		var wrong *InvalidError
		if !errors.As(err, &wrong) || wrong.Field != c.field {
			t.Errorf("%s: %v", c.field, err)
		}
	}
	if _, err := To[ledger.Expire]("expire", 0, &pb.Expire{}); err == nil {
		t.Error("an expiry of nothing was taken")
	}
	if _, err := To[ledger.Refund]("refund", 0, (*pb.Refund)(nil)); err == nil {
		t.Error("no refund")
	}
	for _, c := range []struct {
		field  string
		change func(*pb.Raise)
	}{
		{"raise.budgets", func(r *pb.Raise) { r.Budgets, r.Plan = nil, nil }},
		{"raise.budgets", func(r *pb.Raise) { r.Budgets = slices.Repeat(r.Budgets[:1], 17) }},
		{"raise.budgets[1].bound", func(r *pb.Raise) { r.Budgets[1] = &pb.Budget{} }},
		{"raise.budgets[0].epsilon", func(r *pb.Raise) { r.Budgets[0].Epsilon = proto.Float64(-1) }},
		{"raise.budgets[0].epsilon", func(r *pb.Raise) { r.Budgets[0].Epsilon = proto.Float64(math.NaN()) }},
		{"raise.budgets[0].epsilon", func(r *pb.Raise) { r.Budgets[0].Epsilon = proto.Float64(0) }},
		{"raise.budgets[0].guard", func(r *pb.Raise) { r.Budgets[0].Guard = 9 }},
		{"raise.plan.adjacency", func(r *pb.Raise) { r.Plan.Adjacency = pb.Workload_ZERO_OUT }},
		{"raise.plan.events", func(r *pb.Raise) { r.Plan.Events = nil }},
		{"raise.plan.events[1].count", func(r *pb.Raise) { r.Plan.Events[1].Count = 0 }},
		{"raise.plan.name", func(r *pb.Raise) { r.Plan.Name = "\xff" }},
		{"raise.reason", func(r *pb.Raise) { r.Reason = "" }},
		{"raise", func(r *pb.Raise) { r.ProtoReflect().SetUnknown(unknownField) }},
	} {
		r := FromAction(ledger.Asked(wiretest.RaisedPlan())).(*pb.Raise)
		r.Plan.Adjacency = pb.Workload_REPLACE_ONE
		c.change(r)
		_, err := To[ledger.Raise]("raise", mechanism.ReplaceOne, r)
		checkInvalid(t, err, c.field)
	}
	laplace := FromAction(ledger.Raise{Reason: "r",
		Plan: ledger.Workload{Events: []mechanism.Event{{Mechanism: mechanism.Gaussian{StandardDeviation: 1,
			Sensitivity: -1}, Count: 1}}}}).(*pb.Raise)
	laplace.Plan.Adjacency = pb.Workload_ZERO_OUT
	_, err := To[ledger.Raise]("raise", mechanism.ZeroOut, laplace)
	checkInvalid(t, err, "raise.plan.events[0].mechanism.gaussian.sensitivity")
}

func TestReservationErrors(t *testing.T) {
	adj := mechanism.AddOrRemoveOne
	reserve := func(change func(*pb.Reserve)) error {
		r := &pb.Reserve{Events: FromEvents(wiretest.StepCharge.Events), LifetimeSeconds: 60}
		change(r)
		_, err := To[ledger.Reserve]("reserve", adj, r)
		return err
	}
	commit := func(change func(*pb.Commit)) error {
		c := &pb.Commit{Events: FromEvents(wiretest.StepCharge.Events), Reservation: 3}
		change(c)
		_, err := To[ledger.Commit]("commit", adj, c)
		return err
	}
	for field, err := range map[string]error{
		"reserve.lifetime_seconds": reserve(func(r *pb.Reserve) { r.LifetimeSeconds = 0 }),
		"reserve.child":            reserve(func(r *pb.Reserve) { r.Child = "a" }),
		"reserve.events":           reserve(func(r *pb.Reserve) { r.Events = nil }),
		"reserve.events[0].count":  reserve(func(r *pb.Reserve) { r.Events[0].Count = 0 }),
		"reserve":                  reserve(func(r *pb.Reserve) { r.ProtoReflect().SetUnknown(unknownField) }),
		"commit.reservation":       commit(func(c *pb.Commit) { c.Reservation = 0 }),
		"commit.events[0].count":   commit(func(c *pb.Commit) { c.Events[0].Count = 0 }),
		"commit.labels":            commit(func(c *pb.Commit) { c.Labels = map[string]string{"A": ""} }),
	} {
		checkInvalid(t, err, field)
	}
	if err := errors.Join(reserve(func(*pb.Reserve) {}), commit(func(*pb.Commit) {})); err != nil {
		t.Error(err)
	}
	if v, err := To[ledger.Release]("release", 0, &pb.Release{Reservation: 3, Reason: "r"}); err != nil ||
		v != (ledger.Release{Reservation: 3, Reason: "r"}) {
		t.Errorf("%+v, %v", v, err)
	}
	_, err := To[ledger.Release]("release", 0, &pb.Release{})
	checkInvalid(t, err, "release.reservation")
	_, err = To[ledger.Release]("release", 0, &pb.Release{Reservation: 1, Reason: strings.Repeat("r", 1025)})
	checkInvalid(t, err, "release.reason")
}

// A view shows every balance, and what answers rest on.
func TestFromView(t *testing.T) {
	filtered := wiretest.FilteredGenesis()
	v := ledger.View{Summary: ledger.Summary{Genesis: filtered}, Balance: ledger.Balance{
		Budgets: []ledger.BudgetBalance{
			{Budget: accountant.Budget{Guard: accountant.GuardRDP, Epsilon: 8, Delta: 1e-5, Order: 12},
				Value: budget.Amount{Unit: "u", Limit: 4, Spent: 1, Reserved: 2, Remaining: 1}},
			{Budget: accountant.Budget{Guard: accountant.GuardBasic, Epsilon: 8, Delta: 1e-5},
				Delta: budget.Amount{Unit: "δ", Limit: 1e-5}}},
		Plan: []ledger.PlanBalance{{Mechanism: wiretest.EveryMechanism[0], Planned: 6, Spent: 3,
			Reserved: 2, Remaining: 1}},
		Reservations: []ledger.Reservation{
			{Position: 3, Deadline: time.Unix(100, 5), Principal: "p",
				Rest: []mechanism.Part{{Mechanism: wiretest.EveryMechanism[0], Count: 1<<32 + 5}}},
			{Position: 4, Child: "c", Principal: ledger.Daemon,
				Rest: []mechanism.Part{{Mechanism: wiretest.EveryMechanism[1], Count: 1}}}},
		Assumptions: []ledger.Assumption{{Position: 9, Kind: "refund", Text: "t", Descriptive: true}},
	}}
	got := FromView(v)
	want := FromSummary(v.Summary)
	want.Budgets = []*pb.BudgetBalance{
		{Budget: &pb.Budget{Guard: pb.Budget_RDP, Epsilon: proto.Float64(8), Delta: proto.Float64(1e-5),
			Order: proto.Float64(12)},
			Value: &pb.Amount{Unit: "u", Limit: 4, Spent: 1, Reserved: 2, Remaining: 1}},
		{Budget: &pb.Budget{Guard: pb.Budget_BASIC, Epsilon: proto.Float64(8), Delta: proto.Float64(1e-5)},
			Value: &pb.Amount{}, Delta: &pb.Amount{Unit: "δ", Limit: 1e-5}}}
	want.Plan = []*pb.PlanBalance{{Mechanism: FromMechanism(wiretest.EveryMechanism[0]), Planned: 6, Spent: 3,
		Reserved: 2, Remaining: 1}}
	want.Assumptions = []*pb.Assumption{{Position: 9, Kind: "refund", Text: "t", Descriptive: true}}
	if len(got.Reservations) != 2 {
		t.Fatalf("%v", got)
	}
	timed, child := got.Reservations[0], got.Reservations[1]
	if timed.Position != 3 || !timed.ExpireTime.AsTime().Equal(time.Unix(100, 5)) ||
		timed.Principal != "p" || len(timed.Rest) != 2 ||
		uint64(timed.Rest[0].Count)+uint64(timed.Rest[1].Count) != 1<<32+5 || child.Child != "c" ||
		child.ExpireTime != nil || len(child.Rest) != 1 {
		t.Errorf("%v", got.Reservations)
	}
	if got.Reservations = nil; !proto.Equal(got, want) {
		t.Errorf("%v; want %v", got, want)
	}
}

// Entries of amendments show in the API what they are.
func TestAmendmentViews(t *testing.T) {
	names, entries := wiretest.GoldenEntries()
	shown := 0
	for i, e := range entries {
		p := FromRecord(ledger.Record{Entry: e}, false)
		switch names[i] {
		case "refund":
			if r := p.GetRefund(); r.GetPosition() != 16 || !r.GetNothingReleased() ||
				len(r.GetEvents()) != 1 || r.GetReason() == "" {
				t.Errorf("%v", p)
			}
			shown++
		case "raise", "raise-plan":
			if r := p.GetRaise(); len(r.GetBudgets()) == 0 || r.GetReason() == "" ||
				(r.GetPlan() != nil) != (names[i] == "raise-plan") {
				t.Errorf("%v", p)
			}
			shown++
		case "allocate":
			if r := p.GetReserve(); r.GetChild() != "team/project-1/a" || r.GetLifetimeSeconds() != 0 {
				t.Errorf("%v", p)
			}
			shown++
		}
	}
	if shown != 4 {
		t.Errorf("%d shown", shown)
	}
}

// A dataset has at most 16 owners, and each name has up to 256 bytes.
func TestOwnersOfAnAmendment(t *testing.T) {
	long := strings.Repeat("o", 256)
	for _, c := range []struct {
		owners []string
		field  string // what is refused; "" for nothing
	}{
		{[]string{"someone@statistics.example", long}, ""},
		{slices.Repeat([]string{"ann"}, 16), ""},
		{slices.Repeat([]string{"ann"}, 17), "owners"},
		{[]string{"ann", long + "o"}, "owners[1]"},
	} {
		err := CheckAction(ledger.AmendDataset{Owners: c.owners, Reason: "r"})
		if (err == nil) != (c.field == "") || err != nil && !strings.Contains(err.Error(), c.field) {
			t.Errorf("%d owners: %v; want %q refused", len(c.owners), err, c.field)
		}
	}
}
