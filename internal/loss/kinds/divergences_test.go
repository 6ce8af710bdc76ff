// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"math"
	"testing"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/loss/losstest"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// zCDP on samples, and the first run above a threshold: never below what a mechanism has, and not above
// what docs/math/sampling.md §1.3.8 and best-of.md §1.6.7 say, both from the oracle.
func TestDivergencesAgainstOracle(t *testing.T) {
	var data struct {
		Sampled []struct {
			Rho, Rate   float64
			S           float64
			Least, Most losstest.Number
		}
		Threshold []struct {
			Epsilon, Gamma, S float64
			Largest, K        losstest.Number
		}
	}
	losstest.Read(t, "../testdata/divergences.json", &data)
	if len(data.Sampled) < 60 || len(data.Threshold) < 30 {
		t.Fatalf("%d and %d rows", len(data.Sampled), len(data.Threshold))
	}
	for _, r := range data.Sampled {
		l, err := Of(mechanism.PoissonSampled{SamplingProbability: r.Rate,
			Mechanism: mechanism.ZeroConcentratedDP{Rho: r.Rho}}, mechanism.AddOrRemoveOne)
		if err != nil {
			t.Fatal(err)
		}
		if got := l.Cumulant(loss.Add, r.S, nil).Upper(); !(got >= r.Least.Value && got <= r.Most.Value*(1+1e-6)) {
			t.Errorf("ρ = %v, q = %v: K(%v) = %v, want from %v to %v", r.Rho, r.Rate, r.S, got, r.Least.Value,
				r.Most.Value)
		}
	}
	for _, r := range data.Threshold {
		l, err := Of(mechanism.RepeatAndSelect{Gamma: r.Gamma, FirstAboveThreshold: true,
			Mechanism: mechanism.PureDP{Epsilon: r.Epsilon}}, mechanism.ReplaceOne)
		if err != nil {
			t.Fatal(err)
		}
		got, k := l.MaxLoss(loss.Remove), l.Cumulant(loss.Remove, r.S, nil).Upper()
		if !(got >= r.Largest.Value && got <= r.Largest.Value*(1+1e-12)) || !(k >= r.K.Value) || math.IsInf(k, 1) {
			t.Errorf("ε = %v, γ = %v: the largest loss is %v, want %v; K(%v) = %v, at least %v", r.Epsilon, r.Gamma, got,
				r.Largest.Value, r.S, k, r.K.Value)
		}
	}
}
