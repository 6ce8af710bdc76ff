package wire

import (
	"testing"
	"time"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"google.golang.org/protobuf/proto"
)

// stepCharge is what a DP-SGD step reports.
var stepCharge = ledger.Charge{
	Events: []mechanism.Event{{Mechanism: mechanism.PoissonSampled{
		SamplingProbability: 0.0042, Mechanism: mechanism.Gaussian{NoiseMultiplier: 1.1}}, Count: 1}},
	Labels: []ledger.Label{{Key: "run", Value: "r1"}, {Key: "step", Value: "17"}},
}

func stepEntry() ledger.Entry {
	return ledger.Entry{
		Position: 17, Writer: ledger.Writer{Principal: "unverified:anonymous", Name: "3f2b8a4e-6f0d-4b9a-9c0e-2a1d5e7f9b10"},
		Sequence: 17, Digest: Digest(stepCharge), Time: time.Unix(1790000000, 123456789).UTC(), Verb: stepCharge,
	}
}

func BenchmarkMarshalEntry(b *testing.B) {
	e := stepEntry()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := MarshalEntry(e, 16, 16); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkUnmarshalEntry(b *testing.B) {
	raw, _ := MarshalEntry(stepEntry(), 16, 16)
	b.ReportAllocs()
	for b.Loop() {
		if _, _, _, err := UnmarshalEntry(raw); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkToCharge(b *testing.B) {
	c := FromCharge(stepCharge)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ToCharge(mechanism.AddOrRemoveOne, c); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRejectUnknown(b *testing.B) {
	r := &pb.ReportRequest{Ledger: "a", Writer: "x", Sequence: 1, Charge: FromCharge(stepCharge)}
	b.ReportAllocs()
	for b.Loop() {
		if err := RejectUnknown(r); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkProtoUnmarshal(b *testing.B) {
	r := &pb.ReportRequest{Ledger: "a", Writer: "x", Sequence: 1, Charge: FromCharge(stepCharge)}
	raw, _ := proto.Marshal(r)
	b.ReportAllocs()
	for b.Loop() {
		if err := proto.Unmarshal(raw, &pb.ReportRequest{}); err != nil {
			b.Fatal(err)
		}
	}
}
