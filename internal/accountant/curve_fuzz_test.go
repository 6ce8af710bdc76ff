// SPDX-License-Identifier: Apache-2.0

package accountant

import (
	"errors"
	"math"
	"testing"

	"github.com/dpaccountant/accountant/internal/mechanism"
)

// fuzzed makes a mechanism of numbers that may be anything.
func fuzzed(kind uint8, a, b, q float64) mechanism.Mechanism {
	g := mechanism.Gaussian{StandardDeviation: a, Sensitivity: b}
	all := []mechanism.Mechanism{
		g, mechanism.PoissonSampled{SamplingProbability: q, Mechanism: g}, mechanism.Gaussian{NoiseMultiplier: a},
		mechanism.Laplace{Scale: a, Sensitivity: b}, mechanism.PureDP{Epsilon: a},
		mechanism.ApproximateDP{Epsilon: a, Delta: q},
		mechanism.ZeroConcentratedDP{Rho: b}, mechanism.RandomizedResponse{Epsilon: a},
	}
	return all[int(kind)%len(all)]
}

// soon stops after so many questions.
func soon(n int) func() bool { return func() bool { n--; return n < 0 } }

// patience bounds an input's time. A few sampled steps can take many nodes, which
// count for nothing here: the properties have ordinary ones.
func patience(m mechanism.Mechanism) func() bool {
	if _, sampled := m.(mechanism.PoissonSampled); sampled {
		return soon(1)
	}
	return soon(40)
}

// FuzzCalibrate: whatever is asked gets a value in its range that fits when it
// is asked about, or a reason.
func FuzzCalibrate(f *testing.F) {
	for i, v := range []float64{0x1p-1022, 1e-150, 1e-3, 0.3, 1, 40, 1e150, math.MaxFloat64} {
		f.Add(uint8(i|16), uint8(0), v, 1.0, 0.01, uint32(100), 1.0, 1e-5)
		f.Add(uint8(1), uint8(i|16), 1.0, v, 1.0, uint32(math.MaxUint32), 0.0, 0.5)
		f.Add(uint8(i+1), uint8(2), 1.0, 1.0, v, uint32(1), v, 1e-300)
	}
	f.Fuzz(func(t *testing.T, kind, solve uint8, a, b, q float64, count uint32, epsilon, delta float64) {
		fixed := mechanism.Composition{Adjacency: mechanism.AddOrRemoveOne}
		if solve&16 > 0 {
			fixed.Adjacency = mechanism.ReplaceOne
		}
		if kind&16 > 0 {
			fixed.Parts = []mechanism.Part{{Mechanism: mechanism.Gaussian{NoiseMultiplier: 20}, Count: 3}}
		}
		c := Calibration{Fixed: fixed, Event: mechanism.Event{Mechanism: fuzzed(kind, a, b, q), Count: count},
			Solve: Solve(solve%4 + 1), Epsilon: epsilon, Delta: delta}
		c.Stop = patience(c.Event.Mechanism)
		got, err := Calibrate(c)
		var bad *mechanism.ParameterError
		var elsewhere *mechanism.AdjacencyError
		switch {
		case errors.As(err, &bad), errors.As(err, &elsewhere), errors.Is(err, ErrStopped):
			return
		case err != nil:
			t.Fatal(err)
		}
		if err := got.Event.Check(fixed.Adjacency); err != nil || !(got.Answer.Epsilon <= epsilon) {
			t.Fatalf("%+v: %+v, %v", c, got, err)
		}
		if got.Exceeding != nil { // there was time
			again, err := Ask(with(fixed, got.Event), AtDelta(delta))
			if err != nil || again.Epsilon > epsilon {
				t.Fatalf("%+v: %+v; asked again ε = %v, %v", c, got, again.Epsilon, err)
			}
		}
	})
}

// FuzzCurve: every number is in its range and every bound on its side of the
// other.
func FuzzCurve(f *testing.F) {
	for i, v := range []float64{0, 0x1p-1074, 1e-150, 1e-16, 0.3, 1, 709, 1e150, math.MaxFloat64} {
		f.Add(uint8(i), 1.0, 1.0, 0.01, uint32(100), v, 1.0, 0.5)
		f.Add(uint8(i|16), v, 1.0, 1.0, uint32(1), 0.0, v, v)
	}
	f.Fuzz(func(t *testing.T, kind uint8, a, b, q float64, count uint32, low, high, alpha float64) {
		e := mechanism.Event{Mechanism: fuzzed(kind, a, b, q), Count: count}
		c, err := mechanism.Compose(mechanism.ZeroOut, []mechanism.Event{e})
		if err != nil {
			return
		}
		question := CurveQuestion{Epsilons: []float64{high, low, high * (1 - 1e-15)}, Stop: patience(e.Mechanism)}
		if kind&16 > 0 {
			question = CurveQuestion{Min: low, Max: &high, Points: 4, Alphas: []float64{alpha, alpha / 2, 1},
				Stop: patience(e.Mechanism)}
		}
		curve, err := AskCurve(c, question)
		if err != nil {
			return // not allowed
		}
		for _, p := range curve.Points {
			if !(p.Delta >= 0 && p.Delta <= 1 && p.LogDelta <= 0) ||
				p.DeltaLower != nil &&
					!(*p.DeltaLower >= 0 && *p.DeltaLower <= p.Delta && *p.LogDeltaLower <= p.LogDelta) {
				t.Fatalf("%+v: %+v", e, p)
			}
		}
		for _, p := range curve.TradeOff {
			if !(p.Alpha >= 0 && p.Alpha <= 1 && p.Beta >= 0 && p.Beta <= p.BetaUpper && p.BetaUpper <= 1) {
				t.Fatalf("%+v: %+v", e, p)
			}
		}
		if !(curve.AdvantageLower >= 0 && curve.AdvantageLower <= curve.Advantage && curve.Advantage <= 1 &&
			curve.EqualError >= 0 && curve.EqualError <= curve.EqualErrorUpper && curve.EqualErrorUpper <= 0.5) {
			t.Fatalf("%+v: %+v", e, curve)
		}
	})
}
