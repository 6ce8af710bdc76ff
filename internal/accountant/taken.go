// SPDX-License-Identifier: Apache-2.0

package accountant

import (
	"cmp"
	"math"
	"slices"

	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/mechanism/variant"
)

// Refuses returns why a ledger would refuse an event, and nil if it would take it. The error says that this
// could not be found out, and is ErrStopped if there was no time for it.
type Refuses func(mechanism.Event) (refusal, err error)

// Taken finds the value of the parameter with which a ledger takes the event: the least noise, or the largest count
// or probability. If found is what Calibrate has found, no value that costs more is looked at. What is returned
// has no Cost and no Answer, which At adds. Its Refusal is that of found's value, or without found that of
// Exceeding. It fails with the ledger's refusal of the value that costs least, if the ledger does not even take that.
func (q Calibration) Taken(found *Calibrated, refuses Refuses) (Calibrated, error) {
	k, err := q.check()
	if err != nil {
		return Calibrated{}, err
	}
	start := k.startValue()
	if found != nil {
		if start = found.Value; k.falls {
			k.least = start
		} else {
			k.most = start
		}
	}
	var first, latest error // refusals
	s := &search{q: q, goal: objective{most: 1}, knob: k, start: start}
	s.try = func(e mechanism.Event) (float64, Answer, error) {
		refusal, err := refuses(e)
		s.late = s.late || q.Stop != nil && q.Stop()
		if refusal == nil {
			return 0, Answer{}, err
		}
		first, latest = cmp.Or(first, refusal), refusal
		return math.Inf(1), Answer{}, err
	}
	s.none = func(*probe) error { return latest }
	out, err := s.run()
	out.Refusal = latest
	if found != nil {
		out.Refusal = first
	}
	return out, err
}

// Planned returns the events that the plan has and that differ from the event in the value of the parameter only, those
// that cost most first. If there is none, it returns the event itself.
func (q Calibration) Planned(plan []mechanism.Part) ([]Calibrated, error) {
	k, err := q.check()
	if err != nil {
		return nil, err
	}
	var values []float64
	for _, p := range plan {
		noise, _ := variant.NoiseOf(p.Mechanism)
		v := noise.Value
		if s, ok := p.Mechanism.(mechanism.PoissonSampled); ok && q.Solve == SolveSamplingProbability {
			v = s.SamplingProbability
		}
		if v >= k.least && v <= k.most && k.set(v).Mechanism == p.Mechanism {
			values = append(values, v)
		}
	}
	slices.Sort(values)
	if !k.falls {
		slices.Reverse(values)
	}
	if len(values) == 0 {
		values = []float64{k.startValue()}
	}
	out := make([]Calibrated, len(values))
	for i, v := range values {
		out[i] = Calibrated{Event: k.set(v), Field: k.field, Value: v}
	}
	return out, nil
}

// At is what Calibrate would return if it had found the value v. If inside, the event is part of what stays fixed. It
// fails if everything costs more than the target.
func (q Calibration) At(v float64, inside bool) (Calibrated, error) {
	k, err := q.check()
	if err != nil {
		return Calibrated{}, err
	}
	out := Calibrated{Event: k.set(v), Field: k.field, Value: v}
	everything := q.Fixed
	if !inside {
		everything = with(everything, out.Event)
	}
	goal := q.objective()
	if out.Cost, out.Answer, err = goal.cost(everything, q.Stop); err == nil && !(out.Cost <= goal.most) {
		err = q.tooLittle(out.Cost, "everything costs that")
	}
	return out, err
}
