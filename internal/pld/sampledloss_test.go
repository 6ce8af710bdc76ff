// SPDX-License-Identifier: Apache-2.0

package pld

import (
	"math"
	"testing"

	"github.com/dpaccountant/accountant/internal/loss/losstest"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/pld/pldtest"
)

// 1 to 50 steps of what can be sampled and has few outcomes, against the oracle's sums.
func TestSampledStepsAgainstOracle(t *testing.T) {
	var data struct{ Rows []losstest.Workload }
	losstest.Read(t, "testdata/sampled_steps.json", &data)
	for _, w := range data.Rows {
		c := pldtest.Workload(t, w)
		for _, r := range w.Truth {
			if r.AskedByEpsilon {
				b, reason := LogDelta(c, r.Epsilon.Value, Wanted{})
				if want := r.LogDelta.Value; reason != "" ||
					r.LogDelta.Given && !(b.Lower <= want+1e-13*(1-want) && want-1e-13*(1-want) <= b.Upper) {
					t.Errorf("%s: ln δ(%v) in %+v, want %v (%s)", w.Name, r.Epsilon.Value, b, want, reason)
				}
				continue
			}
			b, reason := Epsilon(c, r.Delta.Value, Wanted{})
			if want := r.Epsilon.Value; reason != "" || !(b.Lower <= want*(1+1e-15) && want*(1-1e-15) <= b.Upper) {
				t.Errorf("%s: ε(%v) in %+v, want %v (%s)", w.Name, r.Delta.Value, b, want, reason)
			}
		}
	}
}

// One step of a sampled (ε0, δ0) guarantee is (ln(1 + q(e^{ε0}−1)), qδ0)-DP: ε' at qδ0
// and no ε below it.
func TestSampledApproximateOneStep(t *testing.T) {
	for _, q := range []float64{1e-4, 0.1, 0.7} {
		m := mechanism.PoissonSampled{SamplingProbability: q,
			Mechanism: mechanism.ApproximateDP{Epsilon: 1, Delta: 1e-5}}
		c := pldtest.Compose(t, mechanism.AddOrRemoveOne, mechanism.Event{Mechanism: m, Count: 1})
		want := math.Log1p(q * math.Expm1(1))
		above, _ := Epsilon(c, q*1e-5*(1+1e-12), Wanted{})
		if above.Upper > want*(1+1e-12) || above.Upper < want*(1-1e-3) || above.Lower > want {
			t.Errorf("q=%v: ε in %+v, want %v", q, above, want)
		}
		if below, _ := Epsilon(c, q*1e-5*(1-1e-12), Wanted{}); !math.IsInf(below.Lower, 1) {
			t.Errorf("q=%v: ε in %+v below δ_∞", q, below)
		}
	}
}

// Lower ≤ upper ≤ Rényi, and a larger sample never costs less.
func TestSampledBelowRenyi(t *testing.T) {
	for _, m := range []mechanism.Mechanism{
		mechanism.Laplace{Scale: 2, Sensitivity: 1}, mechanism.PureDP{Epsilon: 1}, mechanism.GaussianDP{Mu: 0.7},
		mechanism.ApproximateDP{Epsilon: 0.2, Delta: 1e-14}, mechanism.RandomizedResponse{Epsilon: 1.5, Buckets: 4},
	} {
		for _, adj := range []mechanism.Adjacency{mechanism.AddOrRemoveOne, mechanism.ReplaceOne} {
			last := 0.0
			for _, q := range []float64{1e-3, 0.05, 0.7} {
				p := mechanism.PoissonSampled{SamplingProbability: q, Mechanism: m}
				if p.Check(adj) != nil {
					continue
				}
				const delta = 1e-7
				c := pldtest.Compose(t, adj, mechanism.Event{Mechanism: p, Count: 100})
				b, reason := Epsilon(c, delta, Wanted{})
				if reason != "" {
					t.Fatal(reason)
				}
				// 2e−4: what the lattice may take.
				if most := renyi(c, delta); b.Lower > b.Upper || b.Upper > most+2e-4*math.Max(1, most) {
					t.Errorf("%v under %v: ε in %+v, Rényi %v", p, adj, b, most)
				}
				if b.Upper < last {
					t.Errorf("%v under %v: ε in %+v, at a smaller rate above %v", p, adj, b, last)
				}
				last = b.Lower
			}
		}
	}
}
