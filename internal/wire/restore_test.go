package wire

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	recordv1 "github.com/dpaccountant/accountant/gen/accountant/record/v1"
	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

func restoredEntry() ledger.Restored {
	return ledger.Restored{From: someUUID, StoreID: otherUUID, Copy: ledger.Hash{1, 2, 3}, Newest: time.Unix(1789999999, 5).UTC()}
}

// What the API takes is what entries show, less what the daemon has found.
func TestReconcileRoundTrip(t *testing.T) {
	for _, want := range []ledger.Reconcile{{}, {Reason: "r"}, {Events: stepCharge.Events}, {AcceptLoss: true, Reason: "r"}} {
		if got, err := ToReconcile(mechanism.AddOrRemoveOne, fromReconcile(want)); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%+v, %v; want %+v", got, err, want)
		}
	}
	e := stepEntry()
	e.Action = ledger.Reconcile{Events: stepCharge.Events, Over: true}
	if r := FromRecord(ledger.Record{Entry: e}, false).GetReconcile(); !r.GetOverBudget() || len(r.GetEvents()) != 1 {
		t.Errorf("%v", r)
	}
	e.Action = restoredEntry()
	r := FromRecord(ledger.Record{Entry: e}, false).GetRestored()
	if r.GetFromStoreId() != someUUID || r.GetStoreId() != otherUUID || len(r.GetBackupSha256()) != 32 || !r.GetNewestTime().AsTime().Equal(restoredEntry().Newest) {
		t.Errorf("%v", r)
	}
	if l := FromSummary(ledger.Summary{Genesis: someGenesis(), Unreconciled: true}); !l.GetNeedsReconciling() {
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
		{"reconcile.reason", func(r *pb.Reconcile) { r.Events, r.AcceptLoss, r.Reason = nil, true, "" }},
		{"reconcile.reason", func(r *pb.Reconcile) { r.Reason = strings.Repeat("r", 1025) }},
		{"reconcile.over_budget", func(r *pb.Reconcile) { r.OverBudget = true }},
		{"reconcile.events[0].count", func(r *pb.Reconcile) { r.Events[0].Count = 0 }},
		{"reconcile.events[0]", func(r *pb.Reconcile) { r.Events[0].ProtoReflect().SetUnknown(unknownField) }},
		{"reconcile", func(r *pb.Reconcile) { r.ProtoReflect().SetUnknown(unknownField) }},
	} {
		r := fromReconcile(ledger.Reconcile{Events: stepCharge.Events, Reason: "r"})
		c.change(r)
		_, err := ToReconcile(mechanism.AddOrRemoveOne, r)
		checkInvalid(t, err, c.field)
	}
	if _, err := ToReconcile(mechanism.AddOrRemoveOne, nil); err == nil {
		t.Error("no reconcile")
	}
}

// Entries that no daemon has written are damaged.
func TestStoredRestoreErrors(t *testing.T) {
	for _, c := range []struct {
		action ledger.Action
		change func(*recordv1.Entry)
		says   string
	}{
		{restoredEntry(), func(e *recordv1.Entry) { e.GetRestored().BackupSha256 = []byte{1} }, "restored.backup_sha256: 1 bytes"},
		{restoredEntry(), func(e *recordv1.Entry) { e.GetRestored().StoreId = "x" }, `restored.store_id: "x"`},
		{restoredEntry(), func(e *recordv1.Entry) { e.GetRestored().FromStoreId = "" }, "restored.from_store_id"},
		{restoredEntry(), func(e *recordv1.Entry) { e.GetRestored().NewestTime = nil }, "restored.newest_time"},
		{restoredEntry(), func(e *recordv1.Entry) {
			e.GetRestored().NewestTime = timestamppb.New(time.Date(3000, 1, 1, 0, 0, 0, 0, time.UTC))
		}, "years 1678 to 2262"},
		{restoredEntry(), func(e *recordv1.Entry) { e.GetRestored().ProtoReflect().SetUnknown(unknownField) }, "unknown field 99"},
		{ledger.Reconcile{AcceptLoss: true, Reason: "r"}, func(e *recordv1.Entry) { e.GetReconcile().Reason = "" }, "reconcile.reason: missing"},
		{ledger.Reconcile{Events: stepCharge.Events}, func(e *recordv1.Entry) { e.GetReconcile().Events[0].Count = 0 }, "reconcile.events[0].count: 0"},
		{ledger.Reconcile{}, func(e *recordv1.Entry) { e.GetReconcile().ProtoReflect().SetUnknown(unknownField) }, "unknown field 99"},
	} {
		e := stepEntry()
		e.Action, e.Digest = c.action, Digest(c.action)
		raw, err := MarshalEntry(e, 1, 1)
		if err != nil {
			t.Fatal(err)
		}
		var r recordv1.Entry
		if err := proto.Unmarshal(raw, &r); err != nil {
			t.Fatal(err)
		}
		c.change(&r)
		if raw, err = proto.Marshal(&r); err != nil {
			t.Fatal(err)
		}
		if _, _, _, err := UnmarshalEntry(raw); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%v; want %q", err, c.says)
		}
	}
}
