// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/structpb"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/wire/wiretest"
)

var unknownField = protoreflect.RawFields(protowire.AppendVarint(protowire.AppendTag(nil, 99, protowire.VarintType), 1))

func TestRejectUnknown(t *testing.T) {
	charge := fromCharge(wiretest.StepCharge)
	for _, c := range []struct {
		name   string
		whole  proto.Message
		within proto.Message // of whole
		field  string
	}{
		{"at the top", &pb.GetLedgerRequest{Name: "a"}, nil, "request"},
		{"a spec", &pb.CreateLedgerRequest{Spec: FromSpec(wiretest.Genesis().Spec)}, nil, "spec"},
		{"a report", &pb.ReportRequest{Charge: charge}, nil, "request"},
		{"a stream's message", &pb.ReportStreamRequest{}, nil, "request"},
		{"a stream's opening",
			&pb.ReportStreamRequest{Message: &pb.ReportStreamRequest_Open_{Open: &pb.ReportStreamRequest_Open{}}},
			nil, "open"},
		{"a stream's charge",
			&pb.ReportStreamRequest{
				Message: &pb.ReportStreamRequest_Charge{
					Charge: &pb.ReportStreamRequest_SequencedCharge{Charge: charge}}}, nil, "charge"},
		{"a stream's reservation",
			&pb.ReportStreamRequest{
				Message: &pb.ReportStreamRequest_Reserve{Reserve: &pb.ReportStreamRequest_SequencedReserve{}}},
			nil, "reserve"},
		{"a stream's commit",
			&pb.ReportStreamRequest{
				Message: &pb.ReportStreamRequest_Commit{Commit: &pb.ReportStreamRequest_SequencedCommit{}}},
			nil, "commit"},
		{"a stream's release",
			&pb.ReportStreamRequest{
				Message: &pb.ReportStreamRequest_Release{Release: &pb.ReportStreamRequest_SequencedRelease{}}},
			nil, "release"},
		{"a query", &pb.QueryPrivacyRequest{}, nil, "request"},
		{"a curve's query", &pb.QueryPrivacyCurveRequest{}, nil, "request"},
		{"a calibration", &pb.CalibrateRequest{}, nil, "request"},
		{"a plan", &pb.LedgerSpec{Plan: &pb.Workload{Events: gaussianEvents(3)}}, nil,
			"plan.events[2].mechanism.gaussian"},
		{"a map's value", &structpb.Struct{Fields: map[string]*structpb.Value{"k": {}}}, nil, `fields["k"]`},
	} {
		if err := RejectUnknown(c.whole); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		switch m := c.whole.(type) {
		case *pb.CreateLedgerRequest:
			c.within = m.Spec
		case *pb.LedgerSpec:
			c.within = m.Plan.Events[2].Mechanism.GetGaussian()
		case *structpb.Struct:
			c.within = m.Fields["k"]
		case *pb.ReportStreamRequest:
			switch {
			case m.GetOpen() != nil:
				c.within = m.GetOpen()
			case m.GetCharge() != nil:
				c.within = m.GetCharge()
			case m.GetReserve() != nil:
				c.within = m.GetReserve()
			case m.GetCommit() != nil:
				c.within = m.GetCommit()
			case m.GetRelease() != nil:
				c.within = m.GetRelease()
			default:
				c.within = m
			}
		default:
			c.within = m
		}
		c.within.ProtoReflect().SetUnknown(unknownField)
		e := checkInvalid(t, RejectUnknown(c.whole), c.field)
		if e.Value != "unknown field 99" {
			t.Errorf("%s: %v", c.name, e)
		}
	}
	if err := RejectUnknown((*pb.GetLedgerRequest)(nil)); err != nil {
		t.Errorf("nil: %v", err)
	}
}

func TestUnknownFieldDeepInside(t *testing.T) {
	m := FromMechanism(mechanism.PureDP{Epsilon: 1})
	m.ProtoReflect().SetUnknown(unknownField)
	for range 2000 {
		m = &pb.Mechanism{Kind: &pb.Mechanism_PoissonSampled{PoissonSampled: &pb.PoissonSampled{Mechanism: m}}}
	}
	err := RejectUnknown(&pb.LedgerSpec{Plan: &pb.Workload{Events: []*pb.Event{{Mechanism: m}}}})
	if err == nil || len(err.Error()) > 1000 ||
		!strings.HasPrefix(err.Error(), "plan.events[0].mechanism.poisson_sampled.") {
		t.Errorf("error %v", err)
	}
}

func BenchmarkRejectUnknown(b *testing.B) {
	r := &pb.ReportRequest{
		Lane:   &pb.Lane{Ledger: "a", Writer: wiretest.UUID, Sequence: 1},
		Charge: fromCharge(wiretest.StepCharge),
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := RejectUnknown(r); err != nil {
			b.Fatal(err)
		}
	}
}
