// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/wire/wiretest"
)

// What the API takes is what entries show, less what the daemon has found.
func TestReconcileRoundTrip(t *testing.T) {
	for _, want := range []ledger.Reconcile{{}, {Reason: "r"},
		{Events: wiretest.StepCharge.Events, Contribution: ledger.OverAll},
		{Events: wiretest.StepCharge.Events, Contribution: ledger.RowsDrawnInEach},
		{AcceptLoss: true, Reason: "r"}} {
		if got, err := To[ledger.Reconcile]("reconcile", mechanism.AddOrRemoveOne, FromAction(want)); err != nil ||
			!reflect.DeepEqual(got, want) {
			t.Errorf("%+v, %v; want %+v", got, err, want)
		}
	}
	e := wiretest.StepEntry()
	e.Action = ledger.Reconcile{Events: wiretest.StepCharge.Events, Over: true}
	if r := FromRecord(ledger.Record{Entry: e}, false).GetReconcile(); !r.GetOverBudget() || len(r.GetEvents()) != 1 {
		t.Errorf("%v", r)
	}
	e.Action = wiretest.Restored()
	r := FromRecord(ledger.Record{Entry: e}, false).GetRestored()
	if r.GetFromStoreId() != wiretest.UUID || r.GetStoreId() != wiretest.OtherUUID || len(r.GetBackupSha256()) != 32 ||
		!r.GetNewestTime().AsTime().Equal(wiretest.Restored().Newest) {
		t.Errorf("%v", r)
	}
	if l := FromSummary(ledger.Summary{Genesis: wiretest.Genesis(), Unreconciled: true}); !l.GetNeedsReconciling() {
		t.Errorf("%v", l)
	}
}

func TestReconcileErrors(t *testing.T) {
	for _, c := range []struct {
		field  string
		change func(*pb.Reconcile)
	}{
		{"reconcile.events", func(r *pb.Reconcile) { r.Events = slices.Repeat(r.Events, MaxChargeEvents+1) }},
		{"reconcile.events", func(r *pb.Reconcile) { r.AcceptLoss = true }},
		{"reconcile.reason", func(r *pb.Reconcile) {
			r.Events, r.Contribution, r.AcceptLoss, r.Reason = nil, 0, true, ""
		}},
		{"reconcile.reason", func(r *pb.Reconcile) { r.Reason = strings.Repeat("r", 1025) }},
		{"reconcile.over_budget", func(r *pb.Reconcile) { r.OverBudget = true }},
		{"reconcile.events[0].count", func(r *pb.Reconcile) { r.Events[0].Count = 0 }},
		{"reconcile.events[0]", func(r *pb.Reconcile) { r.Events[0].ProtoReflect().SetUnknown(unknownField) }},
		{"reconcile", func(r *pb.Reconcile) { r.ProtoReflect().SetUnknown(unknownField) }},
		{"reconcile.contribution", func(r *pb.Reconcile) { r.Contribution = 0 }},
		{"reconcile.contribution", func(r *pb.Reconcile) { r.Contribution = 5 }},
		{"reconcile.contribution", func(r *pb.Reconcile) { r.Contribution = pb.SetPart_IN_EACH }}, // of a sample
		{"reconcile.contribution", func(r *pb.Reconcile) { r.Events = nil }},
	} {
		r := FromAction(ledger.Reconcile{Events: wiretest.StepCharge.Events, Contribution: ledger.OverAll,
			Reason: "r"}).(*pb.Reconcile)
		c.change(r)
		_, err := To[ledger.Reconcile]("reconcile", mechanism.AddOrRemoveOne, r)
		checkInvalid(t, err, c.field)
	}
	if _, err := To[ledger.Reconcile]("reconcile", mechanism.AddOrRemoveOne, (*pb.Reconcile)(nil)); err == nil {
		t.Error("no reconcile")
	}
}
