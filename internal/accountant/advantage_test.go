// SPDX-License-Identifier: Apache-2.0

package accountant

import (
	"testing"

	"github.com/dpaccountant/accountant/internal/mechanism"
)

// The advantage is that of the mechanisms, whichever ε somebody asks for, also where δ(0) is not known well.
func TestAdvantageDoesNotDependOnWhatIsAsked(t *testing.T) {
	t.Parallel()
	for name, m := range map[string]mechanism.Mechanism{
		"zcdp":     mechanism.ZeroConcentratedDP{Rho: 0.5},
		"gaussian": mechanism.Gaussian{NoiseMultiplier: 1},
		"sampled": mechanism.PoissonSampled{SamplingProbability: 0.01,
			Mechanism: mechanism.ZeroConcentratedDP{Rho: 0.5}},
		"approximate": mechanism.ApproximateDP{Epsilon: 1, Delta: 1e-6},
	} {
		c, err := mechanism.Compose(mechanism.AddOrRemoveOne, []mechanism.Event{{Mechanism: m, Count: 3}})
		if err != nil {
			t.Fatal(err)
		}
		var first float64
		for i, q := range []CurveQuestion{{}, {Epsilons: []float64{0, 1, 2, 4}}, {Points: 160},
			{Epsilons: []float64{7}}} {
			curve, err := AskCurve(c, q)
			if err != nil {
				t.Fatal(err)
			}
			if i == 0 {
				first = curve.Advantage
			}
			if curve.Advantage != first {
				t.Errorf("%s: advantage ≤ %v with question %d, and ≤ %v with the first", name, curve.Advantage, i,
					first)
			}
			for _, p := range curve.Points {
				if bound := equalAdvantage(p); p.Epsilon >= 0 && curve.Advantage > bound+1e-6 {
					t.Errorf("%s: advantage ≤ %v; δ(%v) proves %v", name, curve.Advantage, p.Epsilon, bound)
				}
			}
		}
	}
}
