// SPDX-License-Identifier: Apache-2.0

package accountant

import (
	"testing"

	"github.com/dpaccountant/accountant/internal/mechanism"
)

// The reference runs: q = 0.01, 10,000 steps, δ = 1e−5, from no guess at all.
func reference(t testing.TB, epsilon float64) Calibration {
	return Calibration{
		Fixed: compose(t, mechanism.AddOrRemoveOne), Solve: SolveStandardDeviation, Epsilon: epsilon, Delta: 1e-5,
		Event: mechanism.Event{Mechanism: mechanism.PoissonSampled{SamplingProbability: 0.01,
			Mechanism: mechanism.Gaussian{}}, Count: 10000},
	}
}

func benchmarkCalibrate(b *testing.B, q Calibration) {
	probes := 0
	q.Stop = func() bool { return false }
	b.ReportAllocs()
	for b.Loop() {
		s, err := newSearch(q)
		if err == nil {
			_, err = s.run()
		}
		if err != nil {
			b.Fatal(err)
		}
		probes += s.probes
	}
	b.ReportMetric(float64(probes)/float64(b.N), "probes/op")
}

func BenchmarkCalibrateNoiseToEpsilon1(b *testing.B) { benchmarkCalibrate(b, reference(b, 1)) }
func BenchmarkCalibrateNoise(b *testing.B)           { benchmarkCalibrate(b, reference(b, 3)) }
func BenchmarkCalibrateNoiseToEpsilon8(b *testing.B) { benchmarkCalibrate(b, reference(b, 8)) }

func BenchmarkCalibrateCount(b *testing.B) {
	q := reference(b, 3)
	q.Solve, q.Event = SolveCount, mechanism.Event{Mechanism: sampledGaussian(0.01, 1.5649655)}
	benchmarkCalibrate(b, q)
}

func BenchmarkCalibrateSamplingProbability(b *testing.B) {
	q := reference(b, 3)
	q.Solve, q.Event.Mechanism = SolveSamplingProbability,
		mechanism.PoissonSampled{Mechanism: mechanism.Gaussian{NoiseMultiplier: 1.5649655}}
	benchmarkCalibrate(b, q)
}

func BenchmarkCalibrateOnTop(b *testing.B) {
	q := reference(b, 3)
	q.Fixed = compose(b, mechanism.AddOrRemoveOne, mechanism.Event{Mechanism: sampledGaussian(0.02, 1.2), Count: 500})
	benchmarkCalibrate(b, q)
}

func BenchmarkCurve(b *testing.B) {
	c := compose(b, mechanism.AddOrRemoveOne, mechanism.Event{Mechanism: sampledGaussian(0.01, 1), Count: 1000})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := AskCurve(c, CurveQuestion{}); err != nil {
			b.Fatal(err)
		}
	}
}

// The largest trade-off there is, without its curve.
func BenchmarkTradeOff(b *testing.B) {
	c := compose(b, mechanism.AddOrRemoveOne,
		mechanism.Event{Mechanism: mechanism.Gaussian{NoiseMultiplier: 1}, Count: 1})
	curve, err := AskCurve(c, CurveQuestion{Points: MaxCurvePoints})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		var out Curve
		out.test(curve.Points, nil, nil)
	}
}
