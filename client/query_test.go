// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"errors"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/dpaccountant/accountant/client"
	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/server/servertest"
)

// Questions reach the daemon as they were asked, and its refusals come back.
func TestQuestions(t *testing.T) {
	s := servertest.Start(t)
	s.NewLedger("a")
	c := connect(t, s, client.Config{})
	ctx := servertest.Context(t)
	gaussian := client.Event(client.Gaussian(1), 1)
	if _, err := c.Report(ctx, "a", []*pb.Event{gaussian}, nil); err != nil {
		t.Fatal(err)
	}
	// One Gaussian with σ = Δ has ε(1e−5) = 4.37717809568 (Balle–Wang 2018, Thm 8).
	const least, most = 4.37717809567, 4.3771781
	w := &pb.Workload{Adjacency: pb.Workload_ADD_OR_REMOVE_ONE, Events: []*pb.Event{gaussian}}
	for _, given := range []client.Given{client.Delta(1e-5), client.Delta(1e-5).WithMaxGap(0.5)} {
		ledger, err := c.Query(ctx, "a", given)
		if err != nil || !(ledger.GetEpsilon() > least && ledger.GetEpsilon() < most) || ledger.GetPosition() != 1 {
			t.Errorf("%v, %v", ledger, err)
		}
		workload, err := c.Compute(ctx, w, given)
		if err != nil || workload.GetEpsilon() != ledger.GetEpsilon() || workload.Position != nil {
			t.Errorf("%v, %v", workload, err)
		}
	}
	var e *client.Error
	if _, err := c.Query(ctx, "a", client.Epsilon(1).WithMaxGap(0)); !errors.As(err, &e) ||
		e.Code != codes.InvalidArgument || e.Ledger != "a" {
		t.Errorf("a gap of 0: %v", err)
	}
	if own, err := c.Query(ctx, "a", client.Given{}); err != nil || own.GetDelta() != 1e-6 {
		t.Errorf("nothing given: %v, %v; want the ledger's own δ", own, err)
	}

	curve, err := c.Curve(ctx,
		&pb.QueryPrivacyCurveRequest{Subject: &pb.QueryPrivacyCurveRequest_Ledger{Ledger: "a"}, Epsilons: []float64{1}})
	// δ(1) = 0.126936737506644 (the same).
	if err != nil || len(curve.GetPoints()) != 1 ||
		!(curve.Points[0].GetDelta() > 0.1269367375066 && curve.Points[0].GetDelta() < 0.1269367376) {
		t.Errorf("%v, %v", curve, err)
	}
	if _, err := c.Curve(ctx,
		&pb.QueryPrivacyCurveRequest{Subject: &pb.QueryPrivacyCurveRequest_Ledger{Ledger: "b"}}); !errors.As(err, &e) ||
		e.Code != codes.NotFound || e.Op != "Curve" || e.Ledger != "b" {
		t.Errorf("an unknown ledger: %v", err)
	}

	request := &pb.CalibrateRequest{Ledger: "a", Event: client.Event(client.Gaussian(2), 1),
		Solve:         pb.CalibrateRequest_COUNT,
		TargetEpsilon: proto.Float64(6), TargetDelta: proto.Float64(1e-5)}
	answer, err := c.Calibrate(ctx, request)
	if err != nil || answer.GetValue() < 1 || answer.GetEpsilon() > 6 || answer.GetPosition() != 1 {
		t.Errorf("%v, %v", answer, err)
	}
	request.TargetEpsilon = proto.Float64(4)
	if _, err := c.Calibrate(ctx, request); !errors.As(err, &e) || e.Code != codes.InvalidArgument ||
		e.Op != "Calibrate" || e.Ledger != "a" {
		t.Errorf("a target that is spent: %v", err)
	}
}
