// SPDX-License-Identifier: Apache-2.0

package accountant

import (
	"testing"

	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/testaid"
)

// A question that could be stopped, and is not, has the same answer as one that cannot be:
// what looks at the time must not change how anything is computed.
func TestAnswerDoesNotDependOnStop(t *testing.T) {
	t.Parallel()
	events := func(m ...mechanism.Mechanism) (list []mechanism.Event) {
		for _, one := range m {
			list = append(list, mechanism.Event{Mechanism: one, Count: 1})
		}
		return list
	}
	var discrete []mechanism.Mechanism // on lattices of their own, whose spans the grid has to fit
	for i := 0; i < 40; i += testaid.Every(4) {
		discrete = append(discrete, mechanism.DiscreteGaussian{StandardDeviation: 5 + float64(i)/2, Sensitivity: 1})
	}
	laplace := mechanism.Laplace{Scale: 1.3, Sensitivity: 1}
	for name, list := range map[string][]mechanism.Event{
		"discrete Gaussians": events(discrete...),
		"discrete Laplace": events(mechanism.DiscreteLaplace{Scale: 3, Sensitivity: 2},
			mechanism.DiscreteLaplace{Scale: 4.5, Sensitivity: 1}),
		"sampled Laplace": events(mechanism.PoissonSampled{SamplingProbability: 0.1, Mechanism: laplace}, laplace),
		"partition": events(mechanism.Gaussian{NoiseMultiplier: 2}, mechanism.Parallel{
			Parts: mechanism.ListOf[mechanism.Mechanism](mechanism.Gaussian{NoiseMultiplier: 2}, laplace)}),
	} {
		c := compose(t, mechanism.AddOrRemoveOne, list...)
		for _, q := range []Question{AtDelta(1e-6), AtEpsilon(0.5)} {
			want := ask(t, c, q)
			q.Stop = func() bool { return false }
			if got := ask(t, c, q); shown(got) != shown(want) {
				t.Errorf("%s: %s; without Stop %s", name, shown(got), shown(want))
			}
		}
	}
}
