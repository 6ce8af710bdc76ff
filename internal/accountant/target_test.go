// SPDX-License-Identifier: Apache-2.0

package accountant

import (
	"errors"
	"math"
	"testing"

	"github.com/dpaccountant/accountant/internal/mechanism"
)

// 50 Gaussian releases with σ make one with μ = √50/σ. Its advantage is 2Φ(μ/2) − 1, and with a type I
// error α the type II error of the best test is Φ(Φ⁻¹(1 − α) − μ) (Dong, Roth and Su 2022, (6)).
func TestCalibrateToTargets(t *testing.T) {
	root := math.Sqrt(50)
	for name, test := range map[string]struct {
		target Target
		sigma  float64
	}{
		"μ":         {Target{Mu: new(0.25)}, root / 0.25},
		"advantage": {Target{Advantage: new(math.Erf(0.4 / math.Sqrt2))}, root / 0.8},
		"rare type I error": {Target{Alpha: new(0.01), Beta: new(0.95)},
			root / (2.3263478740408408 - 1.6448536269514722)},
		"equal errors": {Target{Alpha: new(0.3), Beta: new(0.3)}, root / (2 * 0.52440051270804067)},
		"power 3/4":    {Target{Alpha: new(0.5), Beta: new(0.25)}, root / 0.67448975019608171},
	} {
		q := Calibration{Fixed: mechanism.Composition{Adjacency: mechanism.AddOrRemoveOne},
			Event: mechanism.Event{Mechanism: mechanism.Gaussian{StandardDeviation: 1, Sensitivity: 1}, Count: 50},
			Solve: SolveStandardDeviation, Target: test.target}
		got, err := Calibrate(q)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got.Value < test.sigma*(1-1e-12) || got.Value > test.sigma*(1+1e-5) || got.Exceeding == nil ||
			*got.Exceeding > got.Value || got.Cost > q.objective().most {
			t.Errorf("%s: %+v, want σ = %v", name, got, test.sigma)
		}
		q.Event.Mechanism, q.Solve = mechanism.Gaussian{StandardDeviation: test.sigma * 2, Sensitivity: 1}, SolveCount
		if got, err = Calibrate(q); err != nil || math.Abs(got.Value-200) > 1 {
			t.Errorf("%s: count %v, %v; want 200", name, got.Value, err)
		}
	}
}

// With discrete noise and with everything that stays fixed, too.
func TestCalibrateDiscreteToTargets(t *testing.T) {
	fixed := compose(t, mechanism.AddOrRemoveOne, mechanism.Event{Mechanism: mechanism.PureDP{Epsilon: 0.01}, Count: 1})
	for _, target := range []Target{{Advantage: new(0.1)}, {Alpha: new(0.05), Beta: new(0.9)}, {Mu: new(0.5)}} {
		q := Calibration{Fixed: fixed, Solve: SolveStandardDeviation, Target: target,
			Event: mechanism.Event{Mechanism: mechanism.DiscreteLaplace{Scale: 1, Sensitivity: 1}, Count: 4}}
		got, err := Calibrate(q)
		if err != nil {
			t.Fatal(err)
		}
		o := q.objective()
		at, _, err := o.cost(with(fixed, got.Event), nil)
		if err != nil || at > o.most {
			t.Errorf("%+v costs %v, allowed %v, %v", got.Event, at, o.most, err)
		}
		beyond := mechanism.Event{Mechanism: mechanism.DiscreteLaplace{Scale: *got.Exceeding, Sensitivity: 1}, Count: 4}
		if at, _, err = o.cost(with(fixed, beyond), nil); err != nil || at <= o.most {
			t.Errorf("%+v costs %v, allowed %v, %v", beyond, at, o.most, err)
		}
	}
}

func TestTargetCheck(t *testing.T) {
	good := Calibration{Fixed: mechanism.Composition{Adjacency: mechanism.AddOrRemoveOne}, Solve: SolveCount,
		Event: mechanism.Event{Mechanism: mechanism.Gaussian{NoiseMultiplier: 1}, Count: 1}}
	for name, test := range map[string]struct {
		target Target
		field  string
	}{
		"μ 0":           {Target{Mu: new(0.0)}, "target_mu"},
		"μ ∞":           {Target{Mu: new(math.Inf(1))}, "target_mu"},
		"μ NaN":         {Target{Mu: new(math.NaN())}, "target_mu"},
		"advantage 1":   {Target{Advantage: new(1.0)}, "target_advantage"},
		"advantage < 0": {Target{Advantage: new(-0.1)}, "target_advantage"},
		"no β":          {Target{Alpha: new(0.1)}, "target_beta"},
		"no α":          {Target{Beta: new(0.1)}, "target_alpha"},
		"α + β = 1":     {Target{Alpha: new(0.5), Beta: new(0.5)}, "target_beta"},
		"two":           {Target{Mu: new(1.0), Advantage: new(0.5)}, "target"},
		"too little":    {Target{Mu: new(0.5)}, "target_mu"},
	} {
		q := good
		q.Target = test.target
		var bad *mechanism.ParameterError
		if _, err := Calibrate(q); !errors.As(err, &bad) || bad.Field != test.field || bad.Allowed == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
}
