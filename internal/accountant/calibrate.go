// SPDX-License-Identifier: Apache-2.0

package accountant

import (
	"errors"
	"fmt"
	"math"

	"github.com/dpaccountant/accountant/internal/mechanism"
)

// Calibration asks for one parameter of one event, such that the event and all
// that stays fixed cost at most a target.
type Calibration struct {
	// Fixed is what stays as it is, maybe nothing, and the adjacency.
	Fixed mechanism.Composition
	// Event is solved for. Its value of the parameter does not matter.
	Event mechanism.Event
	Solve Solve

	Epsilon float64 // of the target, in nats; finite and ≥ 0
	Delta   float64 // of the target, in [0, 1)

	Target Target // instead of Epsilon and Delta
	Open   bool   // there is no target: a ledger alone says what fits, and Epsilon is ∞

	Stop func() bool // as in Question
}

// Solve names the parameter to solve for.
type Solve uint8

// What can be solved for.
const (
	SolveStandardDeviation   Solve = iota + 1 // the smallest noise (variant.NoiseOf)
	SolveCount                                // the largest count
	SolveSamplingProbability                  // the largest sampling probability, instead of sizes
)

// String is the API's spelling.
func (s Solve) String() string {
	switch s {
	case SolveStandardDeviation:
		return "STANDARD_DEVIATION"
	case SolveCount:
		return "COUNT"
	case SolveSamplingProbability:
		return "SAMPLING_PROBABILITY"
	}
	return fmt.Sprintf("Solve(%d)", uint8(s))
}

// Calibrated is the parameter that was found.
type Calibrated struct {
	Event mechanism.Event // with the value in it
	Field string          // what was solved for: "noise_multiplier", "count", …
	Value float64

	// Exceeding is the nearest value tried that does not fit; nil where Value is
	// the end of its range, and after Stop.
	Exceeding *float64

	// Cost is what everything costs, the event included, by the measure of the target: ε, μ, the
	// advantage, or 1 − α − β. It is at most the target's.
	Cost float64

	// Answer is that of everything, the event included, at the target's δ: its
	// Epsilon is at most the target's. With an advantage as target it is that at ε = 0, and with an
	// error at the ε that proves it; with a μ it has nothing but Stopped.
	Answer Answer

	// TargetValue is the value that the target alone allows, if a ledger does not take it, and Refusal what the
	// ledger says: see Taken.
	TargetValue *float64
	Refusal     error
}

// Tolerance is the relative distance between Value and Exceeding, at most, of
// noises and probabilities. Counts are exact.
const Tolerance = 1e-6

// ErrStopped says that Stop came before anything was proven: any bound, or of a
// calibration any value that fits.
var ErrStopped = errors.New("no time left: nothing was proven yet")

// Calibrate finds the least noise, or the largest count or probability, that
// fits: Ask says of everything together that it costs at most the target. So it
// errs to the safe side exactly as Ask does. It searches on the logarithm of
// the value, in a bracket, for the equality of the logarithms of ε; the true ε
// is monotone in each parameter (less noise, more steps and larger samples are
// each simulated by the other with post-processing). Of discrete Gaussian noise that
// is not proven: there too the value found fits and the next one does not, but a smaller one
// might fit again.
//
// After Stop the best value so far is returned. It fails with a
// *mechanism.ParameterError where the question is not allowed or nothing fits,
// and with ErrStopped. See docs/math/conversions.md §4.8.
func Calibrate(q Calibration) (Calibrated, error) {
	s, err := newSearch(q)
	if err != nil {
		return Calibrated{}, err
	}
	return s.run()
}

// Check returns nil, or a *mechanism.ParameterError on what is not allowed.
func (q Calibration) Check() error {
	_, err := q.check()
	return err
}

func (q Calibration) check() (knob, error) {
	bad := func(field, value, allowed string) (knob, error) {
		return knob{}, &mechanism.ParameterError{Field: field, Value: value, Allowed: allowed}
	}
	if q.Target.given() {
		if err := q.Target.check(); err != nil {
			return knob{}, err
		}
	}
	switch {
	case q.Target.given():
	case !isFinite(q.Epsilon) && !q.Open:
		return bad("target_epsilon", number(q.Epsilon), "a finite number ≥ 0")
	case !(q.Delta >= 0 && q.Delta < 1):
		return bad("target_delta", number(q.Delta), "a number in [0, 1)")
	}
	if q.Event.Mechanism == nil {
		return bad("event.mechanism", "missing", "one of the mechanisms of docs/mechanisms.md")
	}
	k, err := q.knob()
	if err != nil {
		return knob{}, err
	}
	if err := k.set(k.startValue()).Check(q.Fixed.Adjacency); err != nil {
		return knob{}, inEvent(err)
	}
	return k, nil
}

// inEvent places what an event's own Check says below the field "event".
func inEvent(err error) error {
	var p *mechanism.ParameterError
	if !errors.As(err, &p) || p.Field == "adjacency" {
		return err
	}
	moved := *p
	if p.Field == "count" || p.Field == "mechanism" {
		moved.Field = "event." + p.Field
	} else {
		moved.Field = "event.mechanism." + p.Field
	}
	return &moved
}

// tooLittle says that a target cannot be met, and what could be.
func (q Calibration) tooLittle(least float64, why string) error {
	o := q.objective()
	switch {
	case math.IsInf(least, 1) && q.Target.given():
		return &mechanism.ParameterError{Field: o.field, Value: number(o.most),
			Allowed: "another target: no bound is known of this one, " + why}
	case math.IsInf(least, 1) && q.Delta == 0:
		return &mechanism.ParameterError{Field: "target_delta", Value: "0",
			Allowed: "a number above 0: with δ = 0, ε is ∞ whatever is chosen"}
	case math.IsInf(least, 1):
		return &mechanism.ParameterError{Field: "target_delta", Value: number(q.Delta),
			Allowed: "a larger one: at this ε is ∞, " + why}
	}
	given := o.most
	if q.Target.Beta != nil {
		given = *q.Target.Beta
	}
	return &mechanism.ParameterError{Field: o.field, Value: number(given), Allowed: o.words(least) + ": " + why}
}

// Join is everything of all, at least one, which have the same adjacency. It fails with a
// *mechanism.ParameterError where a mechanism's total count would pass 2^63 − 1.
func Join(all ...mechanism.Composition) (mechanism.Composition, error) {
	out := mechanism.Composition{Adjacency: all[0].Adjacency, Parts: append([]mechanism.Part{}, all[0].Parts...)}
	at := make(map[mechanism.Mechanism]int, len(out.Parts))
	for i, p := range out.Parts {
		at[p.Mechanism] = i
	}
	for _, c := range all[1:] {
		for _, p := range c.Parts {
			i, ok := at[p.Mechanism]
			if !ok {
				at[p.Mechanism] = len(out.Parts)
				out.Parts = append(out.Parts, p)
				continue
			}
			if p.Count > math.MaxInt64-out.Parts[i].Count {
				return mechanism.Composition{}, &mechanism.ParameterError{Field: "count", Value: fmt.Sprint(p.Count),
					Allowed: fmt.Sprintf("at most %d more of this mechanism (a total of 2^63 − 1)",
						math.MaxInt64-out.Parts[i].Count)}
			}
			out.Parts[i].Count += p.Count
		}
	}
	return out, nil
}
