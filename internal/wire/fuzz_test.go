// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"errors"
	"reflect"
	"testing"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/wire/wiretest"
)

// FuzzReport: whatever a client sends is refused with a short *InvalidError or
// becomes a charge that the domain accepts, that can be stored, and that comes
// back from the API's view as the same.
func FuzzReport(f *testing.F) {
	for _, m := range wiretest.EveryMechanism {
		c := ledger.Charge{Events: []mechanism.Event{{Mechanism: m, Count: 7}}, Labels: wiretest.StepCharge.Labels}
		b, err := proto.Marshal(&pb.ReportRequest{
			Lane:   &pb.Lane{Ledger: "a/b", Writer: wiretest.UUID, Sequence: 3},
			Charge: fromCharge(c),
		})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, uint8(mechanism.ReplaceOne))
	}
	f.Fuzz(func(t *testing.T, b []byte, adjacency uint8) {
		var r pb.ReportRequest
		if proto.Unmarshal(b, &r) != nil {
			return
		}
		adj := mechanism.Adjacency(adjacency)
		charge, err := To[ledger.Charge]("charge", adj, r.Charge)
		if err == nil {
			err = errors.Join(RejectUnknown(&r), CheckLedgerName("ledger", r.GetLane().GetLedger()))
		}
		w, bad := ToWriter(wiretest.Principal, r.GetLane().GetWriter())
		if bad == nil {
			bad = CheckSequence(w, r.GetLane().GetSequence())
		}
		if err != nil || bad != nil {
			for _, err := range []error{err, bad} {
				var invalid *InvalidError
				if err != nil &&
					(!errors.As(err, &invalid) || len(err.Error()) > 2000 || !utf8.ValidString(err.Error())) {
					t.Fatalf("error %q", err)
				}
			}
			return
		}
		for _, e := range charge.Events {
			if err := e.Check(adj); err != nil {
				t.Fatalf("%v passed, but %v", e, err)
			}
		}
		if back, err := To[ledger.Charge]("charge", adj, fromCharge(charge)); err != nil ||
			!reflect.DeepEqual(back, charge) {
			t.Fatalf("%+v came back as %+v, %v", charge, back, err)
		}
		if err := CheckAction(charge); err != nil {
			t.Fatalf("%+v cannot be stored: %v", charge, err)
		}
	})
}

func FuzzSpec(f *testing.F) {
	child := wiretest.FilteredGenesis()
	child.Spec.Parent = "team/all"
	for _, g := range []ledger.Genesis{wiretest.Genesis(), wiretest.PlannedGenesis(), child} {
		b, err := proto.Marshal(FromSpec(g.Spec))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var s pb.LedgerSpec
		if proto.Unmarshal(b, &s) != nil {
			return
		}
		spec, err := ToSpec(&s)
		if err != nil {
			var invalid *InvalidError
			if !errors.As(err, &invalid) || len(err.Error()) > 2000 {
				t.Fatalf("error %q", err)
			}
			return
		}
		if back, err := ToSpec(FromSpec(spec)); err != nil || !back.Equal(spec) {
			t.Fatalf("%+v came back as %+v, %v", spec, back, err)
		}
	})
}
