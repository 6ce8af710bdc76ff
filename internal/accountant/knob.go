// SPDX-License-Identifier: Apache-2.0

package accountant

import (
	"math"

	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/mechanism/variant"
)

// knob is the parameter that is solved for.
type knob struct {
	field       string
	least, most float64 // its range
	whole       bool    // a whole number
	falls       bool    // ε falls as it grows
	start       float64 // the event's own value, 0 where that is not allowed
	set         func(v float64) mechanism.Event
}

// The range of every positive parameter (package mechanism).
const leastParameter, mostParameter = 0x1p-1022, math.MaxFloat64

// knob returns what the question turns, or why the event has no such thing.
func (q Calibration) knob() (knob, error) {
	e := q.Event
	bad := func(allowed string) (knob, error) {
		return knob{}, &mechanism.ParameterError{Field: "solve", Value: q.Solve.String(), Allowed: allowed}
	}
	switch q.Solve {
	case SolveCount:
		most := uint64(math.MaxUint32)
		for _, p := range q.Fixed.Parts {
			if p.Mechanism == e.Mechanism {
				most = min(most, math.MaxInt64-p.Count)
			}
		}
		return knob{field: "count", least: 1, most: float64(most), whole: true, start: float64(e.Count),
				set: func(v float64) mechanism.Event {
					return mechanism.Event{Mechanism: e.Mechanism,
						Count: uint32(v)}
				}},
			nil
	case SolveStandardDeviation:
		noise, none := variant.NoiseOf(e.Mechanism)
		if none != "" {
			return bad("COUNT for a " + e.Mechanism.Kind() + ", which " + none)
		}
		return knob{field: noise.Field, least: leastParameter, most: mostParameter, falls: true,
			start: inRange(noise.Value, mostParameter),
			set: func(v float64) mechanism.Event {
				return mechanism.Event{Mechanism: noise.With(v),
					Count: e.Count}
			}}, nil
	case SolveSamplingProbability:
		s, ok := e.Mechanism.(mechanism.PoissonSampled)
		if !ok {
			return bad("STANDARD_DEVIATION or COUNT for a " + e.Mechanism.Kind() + ", which is not sampled")
		}
		return knob{field: "sampling_probability", least: leastParameter, most: 1,
			start: inRange(s.SamplingProbability, 1),
			set: func(v float64) mechanism.Event {
				return mechanism.Event{Mechanism: mechanism.PoissonSampled{SamplingProbability: v,
					Mechanism: s.Mechanism}, Count: e.Count}
			}}, nil
	}
	return bad("STANDARD_DEVIATION, COUNT or SAMPLING_PROBABILITY")
}

// inRange is v, or 0 where that is no parameter.
func inRange(v, most float64) float64 {
	if v >= leastParameter && v <= most {
		return v
	}
	return 0
}

// guess starts the search where the central limit theorem puts the answer, or at
// the event's own value where it says nothing: n steps with sampling probability
// p cost about what one Gaussian costs with
//
//	μ² = n·p²·(e^{(d/σ)²} − 1)
//
// (Bu–Dong–Long–Su 2020, arXiv 1911.11607v3, Cor. 5.4), and ε is about μ²/2 +
// μ√(2 ln 1/δ). It proves nothing; spent is the ε of what stays fixed.
func (q Calibration) guess(k knob, spent float64) float64 {
	if q.Target.given() {
		return k.startValue()
	}
	l := math.Sqrt(-2 * math.Log(q.Delta))
	mu := func(epsilon float64) float64 { return math.Sqrt(l*l+2*epsilon) - l }
	room := mu(q.Epsilon)*mu(q.Epsilon) - mu(spent)*mu(spent)
	e := k.set(1)
	p, m, n := 1.0, e.Mechanism, float64(e.Count)
	if parts := mechanism.Expand(m); len(parts) == 1 {
		m, n = parts[0].Mechanism, n*float64(parts[0].Count)
	}
	if s, ok := m.(mechanism.PoissonSampled); ok {
		p, m = s.Probability(), s.Mechanism
	}
	noise, ok := m.(interface {
		Ratio(mechanism.Adjacency) (scale, distance float64)
	})
	if !ok {
		return k.startValue()
	}
	scale, distance := noise.Ratio(q.Fixed.Adjacency)
	perStep := distance / scale * distance / scale
	if p < 1 || k.field == "sampling_probability" {
		perStep = math.Expm1(perStep)
	}
	var v float64
	switch {
	case k.falls && p == 1:
		v = distance * math.Sqrt(n/room)
	case k.falls:
		v = distance / math.Sqrt(math.Log1p(room/(n*p*p)))
	case k.whole:
		v = math.Floor(room / (p * p * perStep))
	default:
		v = math.Sqrt(room / (n * perStep))
	}
	if !(v >= k.least && v <= k.most) {
		return k.startValue()
	}
	return v
}

// startValue is the event's own value, or one in the range.
func (k knob) startValue() float64 {
	if k.start == 0 {
		return math.Min(k.most, 1)
	}
	return math.Min(k.most, k.start)
}
