// SPDX-License-Identifier: Apache-2.0

package questions

import (
	"errors"
	"math"
	"slices"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/mechanism/variant"
	"github.com/dpaccountant/accountant/internal/wire"
)

// CalibrationQuery is what a CalibrateRequest asks. What stays fixed of the
// ledger is not yet in Calibration.Fixed.
type CalibrationQuery struct {
	Ledger      string // its name, or ""
	Workload    bool   // whether a workload sets Fixed, and the adjacency
	Calibration accountant.Calibration
}

// ToCalibration converts a request. Without a workload its adjacency, and so the
// event, are still to be checked: see With.
func ToCalibration(r *pb.CalibrateRequest) (CalibrationQuery, error) {
	q := CalibrationQuery{Ledger: r.GetLedger(), Workload: r.GetWorkload() != nil}
	if q.Ledger == "" && !q.Workload {
		return CalibrationQuery{}, wire.Absent("ledger",
			"a ledger, a workload (for its adjacency; it may have no events), or both")
	}
	if q.Ledger != "" {
		if err := CheckAsked("ledger", q.Ledger); err != nil {
			return CalibrationQuery{}, err
		}
	}
	c := &q.Calibration
	var err error
	if q.Workload {
		if c.Fixed, err = toSubject(r.Workload); err != nil {
			return CalibrationQuery{}, err
		}
	}
	if r.Event == nil {
		return CalibrationQuery{}, wire.Absent("event", "the event to solve for")
	}
	if err := wire.Known("event", r.Event); err != nil {
		return CalibrationQuery{}, err
	}
	m, err := wire.ToIncompleteMechanism(r.Event.Mechanism)
	if err != nil {
		var e *wire.InvalidError
		if errors.As(err, &e) && e.Field != "mechanism" {
			err = wire.Under("mechanism", err)
		}
		return CalibrationQuery{}, wire.Under("event", err)
	}
	c.Event = mechanism.Event{Mechanism: m, Count: r.Event.Count}
	switch r.Solve {
	case pb.CalibrateRequest_STANDARD_DEVIATION:
		c.Solve = accountant.SolveStandardDeviation
	case pb.CalibrateRequest_COUNT:
		c.Solve = accountant.SolveCount
	case pb.CalibrateRequest_SAMPLING_PROBABILITY:
		c.Solve = accountant.SolveSamplingProbability
	default:
		const allowed = "STANDARD_DEVIATION, COUNT or SAMPLING_PROBABILITY"
		if r.Solve == pb.CalibrateRequest_SOLVE_UNSPECIFIED {
			return CalibrationQuery{}, wire.Absent("solve", allowed)
		}
		return CalibrationQuery{}, wire.Invalid("solve", r.Solve.String(), allowed)
	}
	if err := toTarget(r, c); err != nil {
		return CalibrationQuery{}, err
	}
	if q.Workload {
		if err := checkCalibration(*c); err != nil {
			return CalibrationQuery{}, err
		}
	}
	return q, nil
}

// toTarget takes ε and δ, or what is given instead of them.
func toTarget(r *pb.CalibrateRequest, c *accountant.Calibration) error {
	c.Target = accountant.Target{Mu: r.TargetMu, Advantage: r.TargetAdvantage, Alpha: r.TargetAlpha, Beta: r.TargetBeta}
	switch other := c.Target != (accountant.Target{}); {
	case other && r.TargetEpsilon != nil:
		return wire.Invalid("target_epsilon", "given with another target", "one target")
	case other && r.TargetDelta != nil:
		return wire.Invalid("target_delta", "given with another target", "one target")
	case other:
		return nil
	case r.TargetEpsilon == nil && r.Ledger != "":
		c.Open, c.Delta = true, r.GetTargetDelta()
		return nil
	case r.TargetEpsilon == nil:
		return wire.Absent("target_epsilon", "a finite number ≥ 0; or target_mu, target_advantage, or target_alpha "+
			"with target_beta in its place; none only of a ledger with a budget or a plan")
	case r.TargetDelta == nil:
		return wire.Absent("target_delta", "a number in [0, 1)")
	}
	c.Epsilon, c.Delta = *r.TargetEpsilon, *r.TargetDelta
	return nil
}

// HasParameter reports whether an event has the parameter that is solved for, and whether it has no
// value of it. An event that cannot be read has none.
func HasParameter(e *pb.Event, solve pb.CalibrateRequest_Solve) (has, lacks bool) {
	if solve == pb.CalibrateRequest_COUNT {
		return true, e.GetCount() == 0
	}
	m, err := wire.ToIncompleteMechanism(e.GetMechanism())
	if err != nil {
		return false, false
	}
	if solve == pb.CalibrateRequest_SAMPLING_PROBABILITY {
		s, ok := m.(mechanism.PoissonSampled)
		return ok, ok && s.SamplingProbability == 0 && s.BatchSize == 0
	}
	noise, none := variant.NoiseOf(m)
	return none == "", none == "" && noise.Value == 0
}

// With adds what stays fixed of the ledger: its plan, or what was charged.
func (q CalibrationQuery) With(charged mechanism.Composition) (accountant.Calibration, error) {
	c := q.Calibration
	if q.Workload && c.Fixed.Adjacency != charged.Adjacency {
		return accountant.Calibration{}, wire.Invalid("workload.adjacency", c.Fixed.Adjacency.String(),
			"the ledger's, "+charged.Adjacency.String())
	}
	var err error
	if c.Fixed, err = accountant.Join(charged, c.Fixed); err != nil {
		return accountant.Calibration{}, wire.Under("workload.events", wire.FromDomain(err))
	}
	if err := checkCalibration(c); err != nil {
		return accountant.Calibration{}, err
	}
	return c, nil
}

// checkCalibration gives an event that is not defined for the adjacency its path.
func checkCalibration(c accountant.Calibration) error {
	err := c.Check()
	var a *mechanism.AdjacencyError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &a):
		return wire.Under("event.mechanism", wire.FromDomain(err))
	}
	return wire.FromDomain(err)
}

// FromCalibrated makes the API's view of the answer to q. The answer rests on what on says
// of the ledger, and on what the mechanisms of q and the one that was found assume.
func FromCalibrated(q accountant.Calibration, c accountant.Calibrated, on Standing) *pb.CalibrateResponse {
	on.Mechanisms = mechanism.Composition{Adjacency: q.Fixed.Adjacency,
		Parts: append(slices.Clip(q.Fixed.Parts), mechanism.Part{Mechanism: c.Event.Mechanism, Count: 1})}
	out := &pb.CalibrateResponse{
		Field: c.Field, Value: c.Value, ExceedingValue: c.Exceeding,
		Event:     &pb.Event{Mechanism: wire.FromMechanism(c.Event.Mechanism), Count: c.Event.Count},
		Guarantee: on.guarantee(), Position: on.Position,
		Warnings:    append(NotCounted(on.Assumptions), timeNotes(c.Answer.Stopped)...),
		Assumptions: on.assumptions(), TargetValue: c.TargetValue,
	}
	if c.Refusal != nil {
		out.Refusal = c.Refusal.Error()
	}
	switch t := q.Target; {
	case t.Mu != nil:
		out.Mu = &c.Cost
	case t.Advantage != nil:
		out.Advantage = &c.Cost
	case t.Alpha != nil:
		beta := math.Max(*t.Beta, math.Nextafter(1-*t.Alpha-c.Cost, 0)-0x1p-50)
		out.Beta = &beta
	default:
		out.Epsilon, out.EpsilonLower, out.Delta = &c.Answer.Epsilon, c.Answer.EpsilonLower, &c.Answer.Delta
		out.Analysis = string(c.Answer.Analysis)
	}
	return out
}
