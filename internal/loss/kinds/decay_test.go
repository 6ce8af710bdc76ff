// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"math"
	"testing"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"pgregory.net/rapid"
)

// No bound on |φ| is below |φ| itself, computed on the line.
func TestDecayBoundsTheCharacteristicFunction(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sigma := math.Exp(rapid.Float64Range(math.Log(0.2), math.Log(50)).Draw(t, "ln σ"))
		q := math.Exp(rapid.Float64Range(math.Log(1e-6), math.Log(0.9)).Draw(t, "ln q"))
		adj := rapid.SampledFrom([]mechanism.Adjacency{mechanism.AddOrRemoveOne, mechanism.ReplaceOne}).Draw(t,
			"adjacency")
		d := rapid.SampledFrom([]loss.Direction{loss.Remove, loss.Add}).Draw(t, "direction")
		theta := rapid.SampledFrom([]float64{-0.9, -0.3, 0.01, 0.7, 3, 20}).Draw(t, "θ")
		var m mechanism.Mechanism = mechanism.PoissonSampled{SamplingProbability: q,
			Mechanism: mechanism.Gaussian{NoiseMultiplier: sigma}}
		switch rapid.IntRange(0, 5).Draw(t, "kind") {
		case 0:
			m = mechanism.Laplace{Scale: sigma, Sensitivity: 1}
		case 1:
			m = mechanism.Gaussian{NoiseMultiplier: sigma}
		case 2:
			m = mechanism.DiscreteGaussian{StandardDeviation: sigma,
				Sensitivity: float64(rapid.IntRange(1, 9).Draw(t, "Δ"))}
		}
		l, err := Of(m, adj)
		if err != nil {
			t.Fatal(err)
		}
		decay, line := loss.Tilt(l, d, theta, nil).Decay, l.Line(d, theta, nil)
		k := l.Cumulant(d, theta, nil)
		t0 := math.Exp(rapid.Float64Range(math.Log(0.01), math.Log(2000)).Draw(t, "ln t"))
		t1 := t0 * rapid.Float64Range(1, 2.5).Draw(t, "ratio")
		near, far, close := decay(t0, t1, false), decay(t0, math.Inf(1), false), decay(t0, t1, true)
		if !(near <= 0 && far <= 0 && close <= near) {
			t.Fatalf("bounds %v, %v, %v", near, far, close)
		}
		for i := range 6 {
			at := t0 + (t1-t0)*float64(i)/5
			v := line(at)
			truth := real(v.K) - k.K
			slack := v.Err + k.Err + 1e-15
			if math.IsInf(v.Err, 1) {
				continue
			}
			if truth-slack > near || truth-slack > far || truth-slack > close {
				t.Fatalf("%v %v θ=%v: ln|φ(%v)| = %v ± %v, bounds %v, %v, %v", l, d, theta, at, truth,
					slack, near, far, close)
			}
		}
	})
}
