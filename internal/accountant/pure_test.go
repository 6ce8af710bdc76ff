// SPDX-License-Identifier: Apache-2.0

package accountant

import (
	"math"
	"testing"

	"github.com/dpaccountant/accountant/internal/mechanism"
)

// At δ = 0 a composition costs the sum of its largest losses, by closed forms of each kind; what has
// no largest loss costs ε = ∞.
func TestPure(t *testing.T) {
	once := func(m mechanism.Mechanism) []mechanism.Event { return []mechanism.Event{{Mechanism: m, Count: 1}} }
	type asking func(mechanism.Composition, Question) (Answer, error)
	laplace := func(scale float64) mechanism.Mechanism { return mechanism.Laplace{Scale: scale, Sensitivity: 1} }
	sampled := func(q float64, m mechanism.Mechanism) mechanism.Mechanism {
		return mechanism.PoissonSampled{SamplingProbability: q, Mechanism: m}
	}
	for _, test := range []struct {
		name    string
		adj     mechanism.Adjacency
		events  []mechanism.Event
		want    float64
		exactly bool // the lower bound meets it but for the usual gap
	}{
		{"nothing", mechanism.AddOrRemoveOne, nil, 0, true},
		{"pure", mechanism.AddOrRemoveOne, []mechanism.Event{{Mechanism: mechanism.PureDP{Epsilon: 0.3},
			Count: 7}}, 2.1, true},
		{"Laplace", mechanism.AddOrRemoveOne, []mechanism.Event{{Mechanism: laplace(2), Count: 4}}, 2, true},
		{"Laplace, replaced", mechanism.ReplaceOne, []mechanism.Event{{Mechanism: laplace(2), Count: 4}}, 4, true},
		{"two kinds", mechanism.AddOrRemoveOne, []mechanism.Event{{Mechanism: laplace(4), Count: 1000},
			{Mechanism: mechanism.PureDP{Epsilon: 1}, Count: 1}}, 251, false},
		// ln(1 − q + q·e^ε), Li, Qardaji and Su 2012, Thm 1
		{"sampled Laplace", mechanism.AddOrRemoveOne, []mechanism.Event{{Mechanism: sampled(0.25, laplace(1)),
			Count: 3}},
			3 * math.Log1p(0.25*math.Expm1(1)), true},
		{"Gaussian", mechanism.AddOrRemoveOne, once(mechanism.Gaussian{NoiseMultiplier: 9}),
			math.Inf(1), false},
		{"sampled Gaussian", mechanism.AddOrRemoveOne, once(sampledGaussian(0.1, 9)),
			math.Inf(1), false},
		{"Laplace and Gaussian", mechanism.AddOrRemoveOne, []mechanism.Event{{Mechanism: laplace(2), Count: 4},
			{Mechanism: mechanism.Gaussian{NoiseMultiplier: 9}, Count: 1}}, math.Inf(1), false},
		{"approximate", mechanism.AddOrRemoveOne, []mechanism.Event{{Mechanism: mechanism.ApproximateDP{Epsilon: 1,
			Delta: 1e-12}, Count: 1}}, math.Inf(1), false},
		{"zCDP", mechanism.AddOrRemoveOne, once(mechanism.ZeroConcentratedDP{Rho: 0.1}),
			math.Inf(1), false},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := compose(t, test.adj, test.events...)
			var s Session
			for name, ask := range map[string]asking{"Ask": Ask, "Session": s.Ask,
				"Tightest": s.Tightest} {
				a, err := ask(c, AtDelta(0))
				if err != nil {
					t.Fatal(err)
				}
				if !(a.Epsilon >= test.want) || !(a.Epsilon <= test.want*(1+1e-12)) {
					t.Errorf("%s: ε = %v, want %v", name, a.Epsilon, test.want)
				}
				switch {
				case test.exactly && (a.EpsilonLower == nil || *a.EpsilonLower < test.want*(1-1e-6)):
					t.Errorf("%s: lower bound %v, want %v", name, number(*a.EpsilonLower), test.want)
				case a.EpsilonLower != nil && *a.EpsilonLower > test.want:
					t.Errorf("%s: lower bound %v is above %v", name, *a.EpsilonLower, test.want)
				}
				for _, r := range a.Analyses {
					if r.Unsupported == "" && !(r.Epsilon >= test.want) {
						t.Errorf("%s: %s says ε = %v, want at least %v", name, r.Analysis, r.Epsilon, test.want)
					}
				}
			}
			if after, err := Ask(c, AtEpsilon(math.Min(test.want*(1+1e-12), 1e6))); err != nil || after.Delta > 0 &&
				!math.IsInf(test.want, 1) {
				t.Errorf("at that ε δ = %v, %v", after.Delta, err)
			}
		})
	}
}

// Calibrated for δ = 0, n Laplace releases have the scale n·Δ/ε; for what has no largest loss no noise
// is enough, and the error says so.
func TestCalibratePure(t *testing.T) {
	q := Calibration{Fixed: mechanism.Composition{Adjacency: mechanism.AddOrRemoveOne},
		Event: mechanism.Event{Mechanism: mechanism.Laplace{Scale: 1, Sensitivity: 3}, Count: 10},
		Solve: SolveStandardDeviation, Epsilon: 0.5}
	found, err := Calibrate(q)
	if err != nil || math.Abs(found.Value-60) > 60*Tolerance || found.Answer.Epsilon > 0.5 || found.Answer.Delta != 0 {
		t.Errorf("%+v, %v", found, err)
	}
	q.Event.Mechanism = mechanism.Gaussian{NoiseMultiplier: 1}
	if found, err := Calibrate(q); err == nil {
		t.Errorf("a Gaussian was calibrated to %v", found.Value)
	}
}
