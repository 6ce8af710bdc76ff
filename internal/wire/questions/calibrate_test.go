// SPDX-License-Identifier: Apache-2.0

package questions

import (
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/wire"
	"github.com/dpaccountant/accountant/internal/wire/wiretest"
)

// calibration is a good request, changed.
func calibration(change func(*pb.CalibrateRequest)) *pb.CalibrateRequest {
	r := &pb.CalibrateRequest{
		Workload: &pb.Workload{Adjacency: pb.Workload_ADD_OR_REMOVE_ONE, Events: gaussianEvents(2)},
		Event:    &pb.Event{Mechanism: wire.FromMechanism(mechanism.Gaussian{Sensitivity: 2}), Count: 7},
		Solve:    pb.CalibrateRequest_STANDARD_DEVIATION, TargetEpsilon: proto.Float64(3),
		TargetDelta: proto.Float64(1e-6),
	}
	if change != nil {
		change(r)
	}
	return r
}

func TestToCalibration(t *testing.T) {
	q, err := ToCalibration(calibration(nil))
	if err != nil {
		t.Fatal(err)
	}
	c := q.Calibration
	if q.Ledger != "" || !q.Workload || c.Fixed.Adjacency != mechanism.AddOrRemoveOne || len(c.Fixed.Parts) != 1 ||
		c.Fixed.Parts[0].Count != 2 ||
		c.Event != (mechanism.Event{Mechanism: mechanism.Gaussian{Sensitivity: 2}, Count: 7}) ||
		c.Solve != accountant.SolveStandardDeviation || c.Epsilon != 3 || c.Delta != 1e-6 {
		t.Errorf("%+v", q)
	}
	for solve, want := range map[pb.CalibrateRequest_Solve]accountant.Solve{
		pb.CalibrateRequest_COUNT:                accountant.SolveCount,
		pb.CalibrateRequest_SAMPLING_PROBABILITY: accountant.SolveSamplingProbability,
	} {
		q, err := ToCalibration(calibration(func(r *pb.CalibrateRequest) {
			r.Solve, r.Event.Count = solve, 1
			r.Event.Mechanism = &pb.Mechanism{Kind: &pb.Mechanism_PoissonSampled{PoissonSampled: &pb.PoissonSampled{
				SamplingProbability: proto.Float64(0.1),
				Mechanism:           wire.FromMechanism(mechanism.Gaussian{NoiseMultiplier: 1})}}}
		}))
		if err != nil || q.Calibration.Solve != want || want.String() != solve.String() {
			t.Errorf("%v: %+v, %v", solve, q, err)
		}
	}
}

// What was charged is added to what stays fixed; the ledger's adjacency counts.
func TestCalibrationWith(t *testing.T) {
	charged := mechanism.Composition{Adjacency: mechanism.AddOrRemoveOne,
		Parts: []mechanism.Part{{Mechanism: mechanism.PureDP{Epsilon: 1}, Count: 5}}}
	for _, workload := range []bool{true, false} {
		q, err := ToCalibration(calibration(func(r *pb.CalibrateRequest) {
			r.Ledger = "a"
			if !workload {
				r.Workload = nil
			}
		}))
		if err != nil {
			t.Fatal(err)
		}
		c, err := q.With(charged)
		if want := 1 + map[bool]int{true: 1}[workload]; err != nil || len(c.Fixed.Parts) != want ||
			c.Fixed.Parts[0] != charged.Parts[0] || c.Fixed.Adjacency != mechanism.AddOrRemoveOne {
			t.Errorf("workload %v: %+v, %v", workload, c, err)
		}
	}
	other := charged
	other.Adjacency = mechanism.ReplaceOne
	q, err := ToCalibration(calibration(func(r *pb.CalibrateRequest) { r.Ledger = "a" }))
	if err != nil {
		t.Fatal(err)
	}
	_, err = q.With(other)
	if e := checkInvalid(t, err, "workload.adjacency"); !strings.Contains(e.Allowed, "REPLACE_ONE") {
		t.Errorf("%v", e)
	}
	full := mechanism.Composition{Adjacency: mechanism.AddOrRemoveOne,
		Parts: []mechanism.Part{{Mechanism: q.Calibration.Fixed.Parts[0].Mechanism, Count: math.MaxInt64}}}
	_, err = q.With(full)
	checkInvalid(t, err, "workload.events.count")
	// An event that is checked only now.
	q, err = ToCalibration(calibration(func(r *pb.CalibrateRequest) {
		r.Ledger, r.Workload, r.Solve = "a", nil, pb.CalibrateRequest_COUNT
		r.Event.Mechanism = wire.FromMechanism(mechanism.RandomizedResponse{Epsilon: 1})
	}))
	if err != nil {
		t.Fatal(err)
	}
	_, err = q.With(charged)
	checkInvalid(t, err, "event.mechanism.randomized_response")
	if _, err = q.With(other); err != nil {
		t.Error(err)
	}
}

func TestToCalibrationErrors(t *testing.T) {
	for name, c := range map[string]struct {
		field  string
		change func(*pb.CalibrateRequest)
	}{
		"no base":       {"ledger", func(r *pb.CalibrateRequest) { r.Workload = nil }},
		"ledger's name": {"ledger", func(r *pb.CalibrateRequest) { r.Ledger = "A" }},
		"workload":      {"workload.adjacency", func(r *pb.CalibrateRequest) { r.Workload = &pb.Workload{} }},
		"workload's event": {"workload.events[0].mechanism",
			func(r *pb.CalibrateRequest) { r.Workload.Events = []*pb.Event{{}} }},
		"no event":        {"event", func(r *pb.CalibrateRequest) { r.Event = nil }},
		"no mechanism":    {"event.mechanism", func(r *pb.CalibrateRequest) { r.Event.Mechanism = nil }},
		"empty mechanism": {"event.mechanism", func(r *pb.CalibrateRequest) { r.Event.Mechanism = &pb.Mechanism{} }},
		"no count":        {"event.count", func(r *pb.CalibrateRequest) { r.Event.Count = 0 }},
		"present 0": {"event.mechanism.gaussian.sensitivity",
			func(r *pb.CalibrateRequest) { r.Event.Mechanism.GetGaussian().Sensitivity = new(float64) }},
		"NaN": {"event.mechanism.gaussian.sensitivity",
			func(r *pb.CalibrateRequest) { *r.Event.Mechanism.GetGaussian().Sensitivity = math.NaN() }},
		"unknown field": {"event",
			func(r *pb.CalibrateRequest) { r.Event.ProtoReflect().SetUnknown(unknownField) }},
		"unknown parameter": {"event.mechanism",
			func(r *pb.CalibrateRequest) { r.Event.Mechanism.ProtoReflect().SetUnknown(unknownField) }},
		"adjacency": {"event.mechanism.randomized_response", func(r *pb.CalibrateRequest) {
			r.Solve, r.Event.Mechanism = 2, wire.FromMechanism(mechanism.RandomizedResponse{Epsilon: 1})
		}},
		"no solve": {"solve", func(r *pb.CalibrateRequest) { r.Solve = 0 }},
		"solve 9":  {"solve", func(r *pb.CalibrateRequest) { r.Solve = 9 }},
		"solve what is not": {"solve",
			func(r *pb.CalibrateRequest) { r.Solve = pb.CalibrateRequest_SAMPLING_PROBABILITY }},
		"no target_epsilon":   {"target_epsilon", func(r *pb.CalibrateRequest) { r.TargetEpsilon = nil }},
		"target_epsilon < 0":  {"target_epsilon", func(r *pb.CalibrateRequest) { *r.TargetEpsilon = -1 }},
		"target_epsilon NaN":  {"target_epsilon", func(r *pb.CalibrateRequest) { *r.TargetEpsilon = math.NaN() }},
		"target_epsilon ∞":    {"target_epsilon", func(r *pb.CalibrateRequest) { *r.TargetEpsilon = math.Inf(1) }},
		"no target_delta":     {"target_delta", func(r *pb.CalibrateRequest) { r.TargetDelta = nil }},
		"target_delta < 0":    {"target_delta", func(r *pb.CalibrateRequest) { *r.TargetDelta = -1e-9 }},
		"target_delta 1":      {"target_delta", func(r *pb.CalibrateRequest) { *r.TargetDelta = 1 }},
		"target_delta is NaN": {"target_delta", func(r *pb.CalibrateRequest) { *r.TargetDelta = math.NaN() }},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ToCalibration(calibration(c.change))
			checkInvalid(t, err, c.field)
			if !reflect.DeepEqual(got, CalibrationQuery{}) {
				t.Errorf("returned %+v", got)
			}
		})
	}
	_, err := ToCalibration(nil)
	checkInvalid(t, err, "ledger")
}

func TestFromCalibrated(t *testing.T) {
	exceeding, lower, position := 12.0, 0.9, uint64(4)
	event := mechanism.Event{Mechanism: mechanism.PureDP{Epsilon: 0.1}, Count: 11}
	fixed := mechanism.Composition{Parts: []mechanism.Part{{Mechanism: mechanism.Parallel{PartitionFixedInAdvance: true,
		Parts: mechanism.ListOf[mechanism.Mechanism](mechanism.PureDP{Epsilon: 1}, mechanism.PureDP{Epsilon: 2})},
		Count: 1}}}
	r := FromCalibrated(accountant.Calibration{Fixed: fixed}, accountant.Calibrated{
		Event: event, Field: "count", Value: 11, Exceeding: &exceeding,
		Answer: accountant.Answer{Delta: 1e-5, Epsilon: 1, EpsilonLower: &lower, Analysis: accountant.PLD},
	}, Standing{Position: &position})
	want := &pb.CalibrateResponse{
		Field: "count", Value: 11, ExceedingValue: &exceeding,
		Event:   &pb.Event{Mechanism: wire.FromMechanism(event.Mechanism), Count: 11},
		Epsilon: proto.Float64(1), EpsilonLower: &lower, Delta: proto.Float64(1e-5), Analysis: "pld",
		Guarantee: "descriptive", Position: &position,
		Assumptions: wire.MechanismAssumptions(fixed),
	}
	if !proto.Equal(r, want) || len(want.Assumptions) != 1 {
		t.Errorf("got %v, want %v", r, want)
	}
}

// FuzzCalibration: whatever a client sends is refused with a short *InvalidError
// or becomes a question that the accountant accepts.
func FuzzCalibration(f *testing.F) {
	for _, m := range wiretest.EveryMechanism {
		b, err := proto.Marshal(calibration(func(r *pb.CalibrateRequest) { r.Event.Mechanism = wire.FromMechanism(m) }))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var r pb.CalibrateRequest
		if proto.Unmarshal(b, &r) != nil {
			return
		}
		q, err := ToCalibration(&r)
		if err == nil && q.Workload {
			err = q.Calibration.Check()
			if err != nil {
				t.Fatalf("%v passed, but %v", &r, err)
			}
		}
		if err != nil {
			var invalid *wire.InvalidError
			if !errors.As(err, &invalid) || len(err.Error()) > 2000 {
				t.Fatalf("error %q", err)
			}
		}
	})
}
