// SPDX-License-Identifier: Apache-2.0

package questions

import (
	"math"
	"reflect"
	"testing"

	"google.golang.org/protobuf/proto"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

type curveQuery = pb.QueryPrivacyCurveRequest

var curveLedger = &pb.QueryPrivacyCurveRequest_Ledger{Ledger: "a/b"}

func curveWorkload(w *pb.Workload) *pb.QueryPrivacyCurveRequest_Workload {
	return &pb.QueryPrivacyCurveRequest_Workload{Workload: w}
}

func TestToCurveQuestion(t *testing.T) {
	q, err := ToCurveQuestion(&curveQuery{Subject: curveLedger})
	if err != nil || q.Ledger != "a/b" || !reflect.DeepEqual(q.Question, accountant.CurveQuestion{}) {
		t.Errorf("%+v, %v", q, err)
	}
	q, err = ToCurveQuestion(&curveQuery{
		Subject:    curveWorkload(&pb.Workload{Adjacency: pb.Workload_ZERO_OUT, Events: gaussianEvents(3)}),
		EpsilonMin: proto.Float64(1), EpsilonMax: proto.Float64(2), Points: 1000, Alphas: []float64{0, 1},
		MaxGap: proto.Float64(0.5),
	})
	top, gap := 2.0, 0.5
	want := accountant.CurveQuestion{Min: 1, Max: &top, Points: 1000, Alphas: []float64{0, 1}, MaxGap: &gap}
	if err != nil || q.Ledger != "" || q.Workload.Adjacency != mechanism.ZeroOut ||
		!reflect.DeepEqual(q.Question, want) {
		t.Errorf("%+v, %v", q, err)
	}
	q, err = ToCurveQuestion(&curveQuery{Subject: curveLedger, Epsilons: []float64{2, 0, 2}})
	if err != nil || !reflect.DeepEqual(q.Question.Epsilons, []float64{2, 0, 2}) {
		t.Errorf("%+v, %v", q, err)
	}
}

func TestToCurveQuestionErrors(t *testing.T) {
	number := proto.Float64
	for _, c := range []struct {
		field string
		q     *curveQuery
	}{
		{"ledger", nil},
		{"ledger", &curveQuery{}},
		{"ledger", &curveQuery{Subject: &pb.QueryPrivacyCurveRequest_Ledger{}}},
		{"ledger", &curveQuery{Subject: &pb.QueryPrivacyCurveRequest_Ledger{Ledger: "A"}}},
		{"workload.adjacency", &curveQuery{Subject: curveWorkload(nil)}},
		{"workload.events[0].mechanism",
			&curveQuery{Subject: curveWorkload(&pb.Workload{Adjacency: 1, Events: []*pb.Event{{}}})}},
		{"epsilon_min", &curveQuery{Subject: curveLedger, EpsilonMin: number(math.Inf(-1))}},
		{"epsilon_min", &curveQuery{Subject: curveLedger, EpsilonMin: number(math.NaN())}},
		{"epsilon_max", &curveQuery{Subject: curveLedger, EpsilonMax: number(0)}},
		{"epsilon_max", &curveQuery{Subject: curveLedger, EpsilonMin: number(2), EpsilonMax: number(1)}},
		{"epsilon_max", &curveQuery{Subject: curveLedger, EpsilonMax: number(math.Inf(1))}},
		{"points", &curveQuery{Subject: curveLedger, Points: 1}},
		{"points", &curveQuery{Subject: curveLedger, Points: 1001}},
		{"points", &curveQuery{Subject: curveLedger, Points: math.MaxUint32}},
		{"epsilons", &curveQuery{Subject: curveLedger, Epsilons: make([]float64, 1001)}},
		{"epsilons", &curveQuery{Subject: curveLedger, Epsilons: []float64{1}, EpsilonMin: number(0)}},
		{"epsilons", &curveQuery{Subject: curveLedger, Epsilons: []float64{1}, EpsilonMax: number(2)}},
		{"epsilons", &curveQuery{Subject: curveLedger, Epsilons: []float64{1}, Points: 3}},
		{"epsilons[1]", &curveQuery{Subject: curveLedger, Epsilons: []float64{1, math.NaN()}}},
		{"alphas", &curveQuery{Subject: curveLedger, Alphas: make([]float64, 1001)}},
		{"alphas[0]", &curveQuery{Subject: curveLedger, Alphas: []float64{-1e-300}}},
		{"alphas[2]", &curveQuery{Subject: curveLedger, Alphas: []float64{0, 1, math.NaN()}}},
		{"max_gap", &curveQuery{Subject: curveLedger, MaxGap: number(0)}},
	} {
		got, err := ToCurveQuestion(c.q)
		checkInvalid(t, err, c.field)
		if !reflect.DeepEqual(got, CurveQuery{}) {
			t.Errorf("%v: returned %+v", c.q, got)
		}
	}
}

// A wiretest.Positive δ stays wiretest.Positive, what is not known is absent, and zeros are shown.
func TestFromCurve(t *testing.T) {
	lower, position := 0.25, uint64(9)
	log := math.Log(lower)
	r := FromCurve(accountant.Curve{
		Points: []accountant.CurvePoint{
			{Epsilon: 0, Delta: 0.5, LogDelta: math.Log(0.5), DeltaLower: &lower, LogDeltaLower: &log,
				Analysis: accountant.PLD},
			{Epsilon: 900, LogDelta: -800, Analysis: accountant.RDP},
		},
		TradeOff:  []accountant.TradeOffPoint{{Alpha: 0, Beta: 0.5, BetaUpper: 0.75}},
		Advantage: 0.5, AdvantageLower: 0.25, EqualError: 0.25, EqualErrorUpper: 0.375,
	}, Standing{Position: &position})
	want := &pb.QueryPrivacyCurveResponse{
		Points: []*pb.CurvePoint{
			{Epsilon: 0, Delta: 0.5, LogDelta: math.Log(0.5), DeltaLower: &lower, LogDeltaLower: &log, Analysis: "pld"},
			{Epsilon: 900, Delta: math.SmallestNonzeroFloat64, LogDelta: -800, Analysis: "rdp"},
		},
		TradeOff:  []*pb.TradeOffPoint{{Alpha: 0, Beta: 0.5, BetaUpper: 0.75}},
		Advantage: proto.Float64(0.5), AdvantageLower: proto.Float64(0.25),
		EqualErrorRate: proto.Float64(0.25), EqualErrorRateUpper: proto.Float64(0.375),
		Guarantee: "descriptive", Position: &position,
	}
	if !proto.Equal(r, want) {
		t.Errorf("got %v, want %v", r, want)
	}
}
