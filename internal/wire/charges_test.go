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

func streamed(sequence uint64, c *pb.Charge) *pb.ReportStreamRequest {
	return &pb.ReportStreamRequest{Message: &pb.ReportStreamRequest_Charge{
		Charge: &pb.ReportStreamRequest_SequencedCharge{Sequence: sequence, Charge: c}}}
}

// readInFull is what Read must agree with.
func readInFull(b []byte, adj mechanism.Adjacency) (uint64, ledger.Charge, bool) {
	var m pb.ReportStreamRequest
	if proto.Unmarshal(b, &m) != nil || RejectUnknown(&m) != nil || m.GetCharge() == nil {
		return 0, ledger.Charge{}, false
	}
	c, err := To[ledger.Charge]("charge", adj, m.GetCharge().GetCharge())
	return m.GetCharge().GetSequence(), c, err == nil
}

// Every valid charge is read without decoding in full, the second time too.
func TestChargesReadsWhatIsValid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		adj := rapid.SampledFrom([]mechanism.Adjacency{mechanism.AddOrRemoveOne, mechanism.ReplaceOne,
			mechanism.ZeroOut}).Draw(t, "adjacency")
		r := NewCharges(adj, maxKnownEvents)
		charges := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) ledger.Charge {
			if v, ok := wiretest.FewActions().Draw(t, "action").(ledger.Charge); ok {
				return v
			}
			return wiretest.StepCharge
		}), 1, 4).Draw(t, "charges")
		for i, c := range append(charges, charges...) {
			sequence := rapid.Uint64Min(1).Draw(t, "sequence")
			b, err := proto.Marshal(streamed(sequence, fromCharge(c)))
			if err != nil {
				t.Fatal(err)
			}
			wantSequence, want, valid := readInFull(b, adj)
			gotSequence, got, ok := readStreamed(r, b)
			if ok != valid {
				t.Fatalf("charge %d: read: %v; valid: %v", i, ok, valid)
			}
			clear(b) // what was read does not lie in it
			if ok && (gotSequence != wantSequence || !reflect.DeepEqual(got, want)) {
				t.Fatalf("charge %d:\n got %d %+v\nwant %d %+v", i, gotSequence, got, wantSequence, want)
			}
		}
	})
}

// readStreamed reads an encoded ReportStreamRequest with a charge as a stream does.
func readStreamed(r *Charges, b []byte) (sequence uint64, charge ledger.Charge, ok bool) {
	sequence, body, ok := Sequenced(b)
	if ok {
		charge, ok = r.Charge(body)
	}
	return sequence, charge, ok
}

func TestChargesForgetsNothingItWasTold(t *testing.T) {
	r := NewCharges(mechanism.AddOrRemoveOne, maxKnownEvents)
	for n := range uint32(3 * maxKnownEvents) { // more than are kept
		b, err := proto.Marshal(streamed(1,
			&pb.Charge{Events: []*pb.Event{{Mechanism: FromMechanism(wiretest.StepCharge.Events[0].Mechanism),
				Count: n + 1}}}))
		if err != nil {
			t.Fatal(err)
		}
		if _, c, ok := readStreamed(r, b); !ok || c.Events[0].Count != n+1 {
			t.Fatalf("count %d: %v %+v", n+1, ok, c)
		}
	}
	if len(r.known) != maxKnownEvents {
		t.Errorf("%d events are kept; want %d", len(r.known), maxKnownEvents)
	}
}

// Whatever the bytes: what is read is what decoding in full makes of them.
func FuzzCharges(f *testing.F) {
	for _, m := range wiretest.EveryMechanism {
		b, err := proto.Marshal(streamed(3,
			fromCharge(ledger.Charge{Events: []mechanism.Event{{Mechanism: m, Count: 7}},
				Labels: wiretest.StepCharge.Labels})))
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
			sequence, got, ok := readStreamed(r, b)
			if !ok {
				return
			}
			wantSequence, want, valid := readInFull(b, adj)
			if !valid || sequence != wantSequence || !reflect.DeepEqual(got, want) {
				t.Fatalf("%x:\n got %d %+v\nwant %v %d %+v", b, sequence, got, valid, wantSequence, want)
			}
		}
	})
}

func fromCharge(v ledger.Charge) *pb.Charge { return FromAction(v).(*pb.Charge) }
