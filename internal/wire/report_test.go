// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"reflect"
	"testing"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/wire/wiretest"
)

// readReport reads a request as the server does; ok: without decoding it in full.
func readReport(r *Charges, b []byte) (Report, ledger.Charge, bool) {
	report, ok := ReadReport(b)
	if !ok {
		return report, ledger.Charge{}, false
	}
	c, ok := r.Charge(report.Charge)
	return report, c, ok
}

// same reports whether a report that was read is what decoding in full makes of b.
func same(b []byte, adj mechanism.Adjacency, r *Report, got ledger.Charge) bool {
	var m pb.ReportRequest
	if proto.Unmarshal(b, &m) != nil || CheckSize(&m) != nil || RejectUnknown(&m) != nil {
		return false
	}
	want, err := To[ledger.Charge]("charge", adj, m.GetCharge())
	return err == nil && reflect.DeepEqual(got, want) && r.Lane.Ledger == m.GetLane().GetLedger() &&
		r.Lane.Writer == m.GetLane().GetWriter() &&
		r.Lane.Sequence == m.GetLane().GetSequence() && r.Lane.CheckOnly == m.GetLane().GetCheckOnly()
}

// Every valid report is read without decoding it in full, the second time too.
func TestReadReport(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		adj := rapid.SampledFrom([]mechanism.Adjacency{mechanism.AddOrRemoveOne, mechanism.ReplaceOne,
			mechanism.ZeroOut}).Draw(t, "adjacency")
		charge, ok := wiretest.FewActions().Draw(t, "action").(ledger.Charge)
		if !ok {
			charge = wiretest.StepCharge
		}
		b, err := proto.Marshal(&pb.ReportRequest{
			Lane: &pb.Lane{Ledger: rapid.StringN(1, 300, -1).Draw(t, "ledger"),
				Writer:   rapid.StringN(1, 50, -1).Draw(t, "writer"),
				Sequence: rapid.Uint64Min(1).Draw(t, "sequence"), CheckOnly: rapid.Bool().Draw(t, "check")},
			Charge: fromCharge(charge),
		})
		if err != nil {
			t.Fatal(err)
		}
		_, err = To[ledger.Charge]("charge", adj, fromCharge(charge))
		r := NewCharges(adj, maxKnownEvents)
		for range 2 {
			message := append([]byte(nil), b...)
			report, got, ok := readReport(r, message)
			clear(message) // what was read does not lie in it
			if ok != (err == nil) || ok && !same(b, adj, &report, got) {
				t.Fatalf("%x: read: %v, %+v %+v; valid: %v", b, ok, report, got, err)
			}
		}
	})
}

func TestReadReportLeavesWhatIsUnusual(t *testing.T) {
	usual := &pb.ReportRequest{
		Lane:   &pb.Lane{Ledger: "a", Writer: "w", Sequence: 1},
		Charge: fromCharge(wiretest.StepCharge),
	}
	for name, change := range map[string]func(b []byte) []byte{
		"unknown field": func(b []byte) []byte { return append(b, 0x78, 1) },
		"twice":         func(b []byte) []byte { return append(b, b...) },
		"cut short":     func(b []byte) []byte { return b[:len(b)-1] },
		"too large":     func(b []byte) []byte { return append(b, make([]byte, MaxRequestBytes)...) },
	} {
		b, err := proto.Marshal(usual)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, ok := readReport(NewCharges(mechanism.AddOrRemoveOne, maxKnownEvents), b); !ok {
			t.Fatal("the usual one is not read")
		}
		if _, _, ok := readReport(NewCharges(mechanism.AddOrRemoveOne, maxKnownEvents), change(b)); ok {
			t.Errorf("%s: was read", name)
		}
	}
}

// Whatever the bytes: what is read is what decoding in full makes of them.
func FuzzReadReport(f *testing.F) {
	for _, m := range wiretest.EveryMechanism {
		b, err := proto.Marshal(&pb.ReportRequest{
			Lane: &pb.Lane{Ledger: "a/b", Writer: "request/x", Sequence: 300, CheckOnly: true},
			Charge: fromCharge(ledger.Charge{Events: []mechanism.Event{{Mechanism: m, Count: 7}},
				Labels: wiretest.StepCharge.Labels}),
		})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, uint8(mechanism.AddOrRemoveOne))
		f.Add(append(b, b...), uint8(mechanism.ReplaceOne)) // protobuf merges the two
	}
	f.Fuzz(func(t *testing.T, b []byte, adjacency uint8) {
		adj := mechanism.Adjacency(adjacency)
		r := NewCharges(adj, maxKnownEvents)
		for range 2 {
			if report, got, ok := readReport(r, b); ok && !same(b, adj, &report, got) {
				t.Fatalf("%x: %+v %+v", b, report, got)
			}
		}
	})
}
