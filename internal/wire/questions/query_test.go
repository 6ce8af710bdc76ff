// SPDX-License-Identifier: Apache-2.0

package questions

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

type query = pb.QueryPrivacyRequest

func byLedger(name string) *pb.QueryPrivacyRequest_Ledger {
	return &pb.QueryPrivacyRequest_Ledger{Ledger: name}
}

func byWorkload(w *pb.Workload) *pb.QueryPrivacyRequest_Workload {
	return &pb.QueryPrivacyRequest_Workload{Workload: w}
}

func givenDelta(v float64) *pb.QueryPrivacyRequest_Delta {
	return &pb.QueryPrivacyRequest_Delta{Delta: v}
}

func givenEpsilon(v float64) *pb.QueryPrivacyRequest_Epsilon {
	return &pb.QueryPrivacyRequest_Epsilon{Epsilon: v}
}

func TestToQuestion(t *testing.T) {
	q, err := ToQuestion(&query{Subject: byLedger("a/b"), Given: givenDelta(1e-5)})
	if err != nil || q.Ledger != "a/b" || !reflect.DeepEqual(q.Question, accountant.AtDelta(1e-5)) {
		t.Errorf("%+v, %v", q, err)
	}
	q, err = ToQuestion(
		&query{Subject: byWorkload(&pb.Workload{Adjacency: pb.Workload_ZERO_OUT, Events: gaussianEvents(3)}),
			Given: givenEpsilon(0)})
	if err != nil || q.Ledger != "" || q.Workload.Adjacency != mechanism.ZeroOut || q.Workload.Parts[0].Count != 3 ||
		!reflect.DeepEqual(q.Question, accountant.AtEpsilon(0)) {
		t.Errorf("%+v, %v", q, err)
	}
}

func TestMaxGap(t *testing.T) {
	r := &query{Subject: byLedger("a"), Given: givenDelta(1e-5)}
	if q, err := ToQuestion(r); err != nil || q.Question.MaxGap != nil {
		t.Errorf("%+v, %v", q, err)
	}
	r.MaxGap = proto.Float64(1e-3)
	if q, err := ToQuestion(r); err != nil || q.Question.MaxGap == nil || *q.Question.MaxGap != 1e-3 {
		t.Errorf("%+v, %v", q, err)
	}
}

func TestToQuestionErrors(t *testing.T) {
	ledger := byLedger("a")
	for _, c := range []struct {
		field string
		q     *query
	}{
		{"ledger", nil},
		{"ledger", &query{Given: givenDelta(0.5)}},
		{"ledger", &query{Subject: byLedger(""), Given: givenDelta(0.5)}},
		{"ledger", &query{Subject: byLedger("A"), Given: givenDelta(0.5)}},
		{"workload.adjacency", &query{Subject: byWorkload(nil), Given: givenDelta(0.5)}},
		{"workload.events[0].mechanism",
			&query{Subject: byWorkload(&pb.Workload{Adjacency: 1, Events: []*pb.Event{{}}}), Given: givenDelta(0.5)}},
		{"delta", &query{Subject: byWorkload(&pb.Workload{Adjacency: 1})}},
		{"delta", &query{Subject: ledger, Given: givenDelta(1)}},
		{"delta", &query{Subject: ledger, Given: givenDelta(-1)}},
		{"delta", &query{Subject: ledger, Given: givenDelta(math.NaN())}},
		{"delta", &query{Subject: ledger, Given: givenDelta(math.Inf(1))}},
		{"epsilon", &query{Subject: ledger, Given: givenEpsilon(-1)}},
		{"epsilon", &query{Subject: ledger, Given: givenEpsilon(math.NaN())}},
		{"epsilon", &query{Subject: ledger, Given: givenEpsilon(math.Inf(1))}},
		{"max_gap", &query{Subject: ledger, Given: givenDelta(0.5), MaxGap: proto.Float64(0)}},
		{"max_gap", &query{Subject: ledger, Given: givenDelta(0.5), MaxGap: proto.Float64(-1)}},
		{"max_gap", &query{Subject: ledger, Given: givenEpsilon(1), MaxGap: proto.Float64(math.NaN())}},
		{"max_gap", &query{Subject: ledger, Given: givenEpsilon(1), MaxGap: proto.Float64(math.Inf(1))}},
	} {
		got, err := ToQuestion(c.q)
		checkInvalid(t, err, c.field)
		if !reflect.DeepEqual(got, Query{}) {
			t.Errorf("%v: returned %+v", c.q, got)
		}
	}
}

func TestFromAnswerAtDelta(t *testing.T) {
	lower, position := 0.5, uint64(9)
	r := FromAnswer(accountant.AtDelta(1e-5), accountant.Answer{
		Delta: 1e-5, Epsilon: math.Inf(1), EpsilonLower: &lower, Analysis: accountant.Basic,
		Analyses: []accountant.Result{
			{Analysis: accountant.RDP, Unsupported: "why", Epsilon: 7, Order: 7},
			{Analysis: accountant.Basic, Epsilon: 0},
		}}, Standing{Position: &position})
	want := &pb.QueryPrivacyResponse{
		Delta: proto.Float64(1e-5), Epsilon: proto.Float64(math.Inf(1)), EpsilonLower: proto.Float64(0.5),
		Analysis: "basic", Guarantee: "descriptive", Running: proto.Float64(math.Inf(1)), Position: proto.Uint64(9),
		Analyses: []*pb.AnalysisResult{
			{Analysis: "rdp", Unsupported: proto.String("why")},
			{Analysis: "basic", Epsilon: proto.Float64(0)},
		}}
	if !proto.Equal(r, want) {
		t.Errorf("got %v, want %v", r, want)
	}
}

// Under a guarantee what was charged so far is another answer.
func TestFromAnswerStanding(t *testing.T) {
	on := Standing{Guarantee: ledger.GuaranteePlan, Running: &accountant.Answer{Delta: 0, LogDelta: -800, Epsilon: 2}}
	r := FromAnswer(accountant.AtDelta(1e-5), accountant.Answer{Delta: 1e-5, Epsilon: 3}, on)
	if r.GetEpsilon() != 3 || r.GetRunning() != 2 || r.GetGuarantee() != "plan" {
		t.Errorf("%v", r)
	}
	r = FromAnswer(accountant.AtEpsilon(2), accountant.Answer{Epsilon: 2, Delta: 0.1, LogDelta: math.Log(0.1)}, on)
	if r.GetDelta() != 0.1 || r.GetRunning() != math.SmallestNonzeroFloat64 {
		t.Errorf("%v", r)
	}
}

// Whatever was cut short says so; what was not does not.
func TestOutOfTime(t *testing.T) {
	for _, stopped := range []bool{false, true} {
		a, whole := accountant.Answer{Delta: 1e-5, Epsilon: 3, Stopped: stopped},
			accountant.Answer{Delta: 1e-5, Epsilon: 3}
		for name, warnings := range map[string][]string{
			"an answer":        FromAnswer(accountant.AtDelta(1e-5), a, Standing{}).GetWarnings(),
			"what was charged": FromAnswer(accountant.AtDelta(1e-5), whole, Standing{Running: &a}).GetWarnings(),
			"a curve":          FromCurve(accountant.Curve{Stopped: stopped}, Standing{}).GetWarnings(),
			"a parameter's value": FromCalibrated(accountant.Calibration{},
				accountant.Calibrated{Event: mechanism.Event{Mechanism: mechanism.Gaussian{NoiseMultiplier: 1}},
					Answer: a}, Standing{}).GetWarnings(),
			"a statement": FromStatement(Statement{Stopped: stopped}).GetWarnings(),
		} {
			if said := strings.Contains(strings.Join(warnings, " "), "ran out"); said != stopped {
				t.Errorf("%s, stopped %v: %q", name, stopped, warnings)
			}
		}
	}
}

// A lower bound on δ goes on in its logarithm.
func TestFromAnswerLower(t *testing.T) {
	delta, log := 0.0, -900.0
	r := FromAnswer(accountant.AtEpsilon(1),
		accountant.Answer{Epsilon: 1, LogDelta: -800, DeltaLower: &delta, LogDeltaLower: &log}, Standing{})
	if r.DeltaLower == nil || r.GetDeltaLower() != 0 || r.GetLogDeltaLower() != -900 {
		t.Errorf("%v", r)
	}
}

// TestPositiveDelta: exp(−800) is below all float64; it must not become 0. No
// steps have δ = 0, and that is shown.
func TestPositiveDelta(t *testing.T) {
	for logDelta, want := range map[float64]float64{-800: math.SmallestNonzeroFloat64, math.Inf(-1): 0} {
		r := FromAnswer(accountant.AtEpsilon(1), accountant.Answer{
			Epsilon: 1, LogDelta: logDelta, Analysis: accountant.RDP,
			Analyses: []accountant.Result{{Analysis: accountant.RDP, LogDelta: logDelta, Order: 3}}}, Standing{})
		a := r.Analyses[0]
		if r.GetEpsilon() != 1 || r.GetLogDelta() != logDelta || a.GetLogDelta() != logDelta || a.GetOrder() != 3 ||
			a.Epsilon != nil || r.Position != nil {
			t.Errorf("ln δ = %v: %v", logDelta, r)
		}
		for _, delta := range []*float64{r.Delta, r.Running, a.Delta} {
			if delta == nil || *delta != want {
				t.Errorf("ln δ = %v: δ = %v in %v, want %v", logDelta, delta, r, want)
			}
		}
	}
}
