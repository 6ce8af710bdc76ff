// SPDX-License-Identifier: Apache-2.0

package record

import (
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	recordv1 "github.com/dpaccountant/accountant/gen/accountant/record/v1"
	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/wire/wiretest"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"
)

func TestDamagedAmendments(t *testing.T) {
	for _, c := range []struct {
		action ledger.Action
		change func(*recordv1.Entry)
		says   string
	}{
		{wiretest.RaisedFilter(), func(e *recordv1.Entry) { e.GetRaise().Resolution = nil },
			"raise.resolution.limits: 0 limits"},
		{wiretest.RaisedFilter(), func(e *recordv1.Entry) { e.GetRaise().Budgets = nil }, "raise.budgets: missing"},
		{wiretest.RaisedFilter(), func(e *recordv1.Entry) { e.GetRaise().Resolution.Limits[0].Value = math.Inf(1) },
			"raise.resolution.limits[0].value: +Inf"},
		{wiretest.RaisedFilter(), func(e *recordv1.Entry) { e.GetRaise().Resolution.Limits[0].Order = math.NaN() },
			"raise.resolution.limits[0].order: NaN"},
		{wiretest.RaisedFilter(), func(e *recordv1.Entry) { e.GetRaise().Resolution.Limits[0].Guard = 2 },
			"raise.resolution.limits[0].guard: ZCDP; allowed: BASIC"},
		{wiretest.RaisedFilter(), func(e *recordv1.Entry) { e.GetRaise().Budgets[0].Guard = 0 },
			"raise.budgets[0].bound"},
		{wiretest.RaisedFilter(), func(e *recordv1.Entry) { e.GetRaise().Reason = "" }, "raise.reason: missing"},
		{wiretest.RaisedFilter(),
			func(e *recordv1.Entry) { e.GetRaise().Resolution.ProtoReflect().SetUnknown(unknownField) },
			"unknown field 99"},
		{wiretest.RaisedPlan(), func(e *recordv1.Entry) { e.GetRaise().Resolution.Plan = nil },
			"raise.resolution.plan: 0 mechanisms"},
		{wiretest.RaisedPlan(),
			func(e *recordv1.Entry) { e.GetRaise().Resolution.Plan[1] = e.GetRaise().Resolution.Plan[0] },
			"raise.resolution.plan[1].mechanism"},
		{wiretest.RaisedPlan(), func(e *recordv1.Entry) { e.GetRaise().Plan.Adjacency = 1 },
			"raise.plan.adjacency: ADD_OR_REMOVE_ONE"},
		{wiretest.RaisedPlan(), func(e *recordv1.Entry) { e.GetRaise().Plan.Events = nil },
			"raise.plan.events: missing"},
		{wiretest.RaisedPlan(), func(e *recordv1.Entry) { e.GetRaise().Plan.Events[0].Count = 0 },
			"raise.plan.events[0].count: 0"},
		{wiretest.RaisedPlan(), func(e *recordv1.Entry) { e.GetRaise().Budgets[0].Guard = 1 },
			"raise.budgets[0].guard: BASIC"},
		{wiretest.RaisedPlan(),
			func(e *recordv1.Entry) { e.GetRaise().Resolution.Limits = []*pb.Limit{{Guard: 1, Value: 1}} },
			"raise.resolution.limits: 1 limits"},
		{ledger.Acknowledge{Warning: "w", Reason: "r"},
			func(e *recordv1.Entry) { e.GetAcknowledge().Warning = "" }, "acknowledge.warning: missing"},
		{ledger.Acknowledge{Warning: "w", Reason: "r"},
			func(e *recordv1.Entry) { e.GetAcknowledge().Reason = "" }, "acknowledge.reason: missing"},
		{ledger.Free{Reservation: 1, Events: wiretest.StepCharge.Events, Reason: "r"},
			func(e *recordv1.Entry) { e.GetFree().NothingReleased = false }, "free.nothing_released: false"},
		{ledger.Free{Reservation: 1, Events: wiretest.StepCharge.Events, Reason: "r"},
			func(e *recordv1.Entry) { e.GetFree().Events = nil }, "free.events: missing"},
		{ledger.Free{Reservation: 1, Events: wiretest.StepCharge.Events, Reason: "r"},
			func(e *recordv1.Entry) { e.GetFree().Reservation = 0 }, "free.reservation: missing"},
		{ledger.Free{Reservation: 1, Events: wiretest.StepCharge.Events, Reason: "r"},
			func(e *recordv1.Entry) { e.GetFree().Reason = "" }, "free.reason: missing"},
		{ledger.Refund{Position: 1, Events: wiretest.StepCharge.Events, Reason: "r"},
			func(e *recordv1.Entry) { e.GetRefund().NothingReleased = false }, "refund.nothing_released: false"},
		{ledger.Refund{Position: 1, Events: wiretest.StepCharge.Events, Reason: "r"},
			func(e *recordv1.Entry) { e.GetRefund().Events = nil }, "refund.events: missing"},
		{ledger.Refund{Position: 1, Events: wiretest.StepCharge.Events, Reason: "r"},
			func(e *recordv1.Entry) { e.GetRefund().Position = 0 }, "refund.position: missing"},
		{ledger.Refund{Position: 1, Events: wiretest.StepCharge.Events, Reason: "r"},
			func(e *recordv1.Entry) { e.GetRefund().Reason = "" }, "refund.reason: missing"},
		{ledger.Refund{Position: 1, Events: wiretest.StepCharge.Events, Reason: "r"},
			func(e *recordv1.Entry) { e.GetRefund().Events[0].Count = 0 }, "refund.events[0].count: 0"},
		{ledger.Reserve{Events: wiretest.StepCharge.Events, Child: "a"},
			func(e *recordv1.Entry) { e.GetReserve().LifetimeSeconds = 1 },
			"reserve.lifetime_seconds: 1; allowed: 0 with a child"},
		{ledger.Reserve{Events: wiretest.StepCharge.Events, Child: "a"},
			func(e *recordv1.Entry) { e.GetReserve().Child = "A" }, "reserve.child"},
	} {
		entry := wiretest.StepEntry()
		entry.Action = c.action
		var e recordv1.Entry
		if err := proto.Unmarshal(plainEntry(t, entry, 16), &e); err != nil {
			t.Fatal(err)
		}
		c.change(&e)
		raw, err := proto.Marshal(&e)
		if err != nil {
			t.Fatal(err)
		}
		if got, _, err := UnmarshalEntry(raw); !errors.Is(err, ledger.ErrDamaged) ||
			!strings.Contains(err.Error(), c.says) || !reflect.DeepEqual(got, ledger.Entry{}) {
			t.Errorf("%+v, %v; want damaged: %s", got, err, c.says)
		}
	}
}

// Entries that no daemon has written are damaged.
func TestStoredRestoreErrors(t *testing.T) {
	for _, c := range []struct {
		action ledger.Action
		change func(*recordv1.Entry)
		says   string
	}{
		{wiretest.Restored(), func(e *recordv1.Entry) { e.GetRestored().BackupSha256 = []byte{1} },
			"restored.backup_sha256: 1 bytes"},
		{wiretest.Restored(), func(e *recordv1.Entry) { e.GetRestored().StoreId = "x" }, `restored.store_id: "x"`},
		{wiretest.Restored(), func(e *recordv1.Entry) { e.GetRestored().FromStoreId = "" }, "restored.from_store_id"},
		{wiretest.Restored(), func(e *recordv1.Entry) { e.GetRestored().NewestTime = nil }, "restored.newest_time"},
		{wiretest.Restored(), func(e *recordv1.Entry) {
			e.GetRestored().NewestTime = timestamppb.New(time.Date(3000, 1, 1, 0, 0, 0, 0, time.UTC))
		}, "years 1678 to 2262"},
		{wiretest.Restored(),
			func(e *recordv1.Entry) { e.GetRestored().ProtoReflect().SetUnknown(unknownField) }, "unknown field 99"},
		{ledger.Reconcile{AcceptLoss: true, Reason: "r"}, func(e *recordv1.Entry) { e.GetReconcile().Reason = "" },
			"reconcile.reason: missing"},
		{ledger.Reconcile{Events: wiretest.StepCharge.Events, Contribution: ledger.OverAll},
			func(e *recordv1.Entry) { e.GetReconcile().Events[0].Count = 0 }, "reconcile.events[0].count: 0"},
		{ledger.Reconcile{},
			func(e *recordv1.Entry) { e.GetReconcile().ProtoReflect().SetUnknown(unknownField) }, "unknown field 99"},
	} {
		e := wiretest.StepEntry()
		e.Action, e.Digest = c.action, Digest(c.action)
		raw, err := MarshalEntry(e, 1)
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
		if _, _, err := UnmarshalEntry(raw); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%v; want %q", err, c.says)
		}
	}
}
