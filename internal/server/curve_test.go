// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"context"
	"math"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/server/servertest"
)

// A ledger's curve is the accountant's for what is committed, and says of what;
// each point is no worse than the answer to the same ε alone.
func TestQueryCurve(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	s.NewLedger("curve")
	s.Report("curve", servertest.Writer(), 1, servertest.Gaussian(20, 7))
	ctx := servertest.Context(t)
	c, err := mechanism.Compose(mechanism.AddOrRemoveOne,
		[]mechanism.Event{{Mechanism: mechanism.Gaussian{NoiseMultiplier: 20}, Count: 7}})
	if err != nil {
		t.Fatal(err)
	}
	want, err := accountant.AskCurve(c, accountant.CurveQuestion{Epsilons: []float64{2, 0, 1}})
	if err != nil {
		t.Fatal(err)
	}
	byLedger := &pb.QueryPrivacyCurveRequest_Ledger{Ledger: "curve"}
	got, err := s.Client.QueryPrivacyCurve(ctx,
		&pb.QueryPrivacyCurveRequest{Subject: byLedger, Epsilons: []float64{2, 0, 1}})
	if err != nil {
		t.Fatal(err)
	}
	if got.GetPosition() != 1 || got.GetGuarantee() != "descriptive" || len(got.GetPoints()) != 3 ||
		len(got.GetTradeOff()) != len(want.TradeOff) ||
		got.GetAdvantage() != want.Advantage || got.GetEqualErrorRate() != want.EqualError {
		t.Errorf("%v; want %+v", got, want)
	}
	for i, p := range got.GetPoints() {
		if p.GetEpsilon() != want.Points[i].Epsilon || p.GetDelta() != want.Points[i].Delta ||
			p.GetLogDelta() != want.Points[i].LogDelta || p.GetDeltaLower() != *want.Points[i].DeltaLower {
			t.Errorf("point %d: %v; want %+v", i, p, want.Points[i])
		}
		alone, err := s.Client.QueryPrivacy(ctx, &pb.QueryPrivacyRequest{
			Subject: &pb.QueryPrivacyRequest_Ledger{Ledger: "curve"},
			Given:   &pb.QueryPrivacyRequest_Epsilon{Epsilon: p.GetEpsilon()}})
		if err != nil || p.GetDelta() > alone.GetDelta() {
			t.Errorf("point %d: %v; alone %v, %v", i, p, alone, err)
		}
	}
	workload, err := s.Client.QueryPrivacyCurve(ctx, &pb.QueryPrivacyCurveRequest{Points: 5,
		Subject: &pb.QueryPrivacyCurveRequest_Workload{Workload: &pb.Workload{Adjacency: pb.Workload_ADD_OR_REMOVE_ONE,
			Events: servertest.Gaussian(20, 7).Events}}})
	if err != nil || workload.Position != nil || len(workload.GetPoints()) != 5 ||
		workload.GetAdvantage() != got.GetAdvantage() {
		t.Errorf("workload: %v, %v", workload, err)
	}
}

// A calibration on top of a ledger: charged as found, the ledger meets the
// target; one more step would not.
func TestCalibrateOnLedger(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	s.NewLedger("calibrate")
	w := servertest.Writer()
	s.Report("calibrate", w, 1, servertest.Gaussian(20, 7))
	ctx := servertest.Context(t)
	request := &pb.CalibrateRequest{Ledger: "calibrate", Event: servertest.Gaussian(10, 0).Events[0],
		Solve:         pb.CalibrateRequest_COUNT,
		TargetEpsilon: proto.Float64(2), TargetDelta: proto.Float64(1e-6)}
	got, err := s.Client.Calibrate(ctx, request)
	if err != nil {
		t.Fatal(err)
	}
	if got.GetField() != "count" || got.GetValue() < 1 || got.GetExceedingValue() != got.GetValue()+1 ||
		got.GetPosition() != 1 || got.GetEvent().GetCount() != uint32(got.GetValue()) {
		t.Errorf("%v", got)
	}
	query := func() *pb.QueryPrivacyResponse {
		answer, err := s.Client.QueryPrivacy(ctx, &pb.QueryPrivacyRequest{
			Subject: &pb.QueryPrivacyRequest_Ledger{Ledger: "calibrate"},
			Given:   &pb.QueryPrivacyRequest_Delta{Delta: 1e-6}})
		if err != nil {
			t.Fatal(err)
		}
		return answer
	}
	s.Report("calibrate", w, 2, &pb.Charge{Events: []*pb.Event{got.GetEvent()}})
	if a := query(); a.GetEpsilon() > 2 || a.GetEpsilon() != got.GetEpsilon() || a.GetAnalysis() != got.GetAnalysis() {
		t.Errorf("after the charge: %v; want ε = %v", a, got.GetEpsilon())
	}
	if _, err := s.Client.Calibrate(ctx, request); status.Code(err) != codes.InvalidArgument {
		t.Errorf("again: %v; want that nothing fits", err)
	}
	s.Report("calibrate", w, 3, servertest.Gaussian(10, 1))
	if a := query(); a.GetEpsilon() <= 2 {
		t.Errorf("one more: %v; want more than 2", a)
	}

	// The smallest noise of a workload alone: of no position.
	noise, err := s.Client.Calibrate(ctx, &pb.CalibrateRequest{
		Workload: &pb.Workload{Adjacency: pb.Workload_ADD_OR_REMOVE_ONE}, Solve: pb.CalibrateRequest_STANDARD_DEVIATION,
		Event: &pb.Event{Count: 1,
			Mechanism: &pb.Mechanism{Kind: &pb.Mechanism_Gaussian{Gaussian: &pb.Gaussian{}}}},
		TargetEpsilon: proto.Float64(4.377178), TargetDelta: proto.Float64(1e-5)})
	// One Gaussian with σ = Δ has ε(1e−5) = 4.37717809568 (Balle–Wang 2018, Thm 8).
	if err != nil || noise.Position != nil || math.Abs(noise.GetValue()-1) > 2e-6 ||
		noise.GetField() != "noise_multiplier" {
		t.Errorf("%v, %v; want noise multiplier 1", noise, err)
	}
}

// A deadline that is near ends the search with what is proven.
func TestCalibrateInTime(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	var events []*pb.Event
	for i := range 50 {
		q, z := 1e-3+1e-6*float64(i), 1.0
		events = append(events,
			&pb.Event{Count: 1,
				Mechanism: &pb.Mechanism{Kind: &pb.Mechanism_PoissonSampled{PoissonSampled: &pb.PoissonSampled{
					SamplingProbability: &q,
					Mechanism: &pb.Mechanism{
						Kind: &pb.Mechanism_Gaussian{Gaussian: &pb.Gaussian{NoiseMultiplier: &z}}}}}}})
	}
	w := &pb.Workload{Adjacency: pb.Workload_ADD_OR_REMOVE_ONE, Events: events[1:]}
	ctx, cancel := context.WithTimeout(servertest.Context(t), 50*time.Millisecond)
	defer cancel()
	answer, err := s.Client.Calibrate(ctx,
		&pb.CalibrateRequest{Workload: w, Event: events[0], Solve: pb.CalibrateRequest_COUNT,
			TargetEpsilon: proto.Float64(50), TargetDelta: proto.Float64(1e-6)})
	if err == nil && !(answer.GetEpsilon() <= 50 && answer.GetValue() >= 1) ||
		err != nil && status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("%v, %v", answer, err)
	}
}
