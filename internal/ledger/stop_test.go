// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"errors"
	"testing"

	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// Bounds of analyses that were stopped are looser: a search that is stopped fails,
// whenever that is, and never ends with a smaller plan, nor says that a plan that
// keeps within a budget costs more.
func TestStoppedResolutions(t *testing.T) {
	step := mechanism.PoissonSampled{SamplingProbability: 0.003, Mechanism: mechanism.Gaussian{NoiseMultiplier: 0.7}}
	for _, c := range []struct {
		name  string
		count uint32
		stops []float64 // of all times that stop is asked
	}{{"as many as fit", 0, []float64{0.8}}, {"a plan", 5000, []float64{0, 0.5}}} {
		s := plan(mechanism.Event{Mechanism: step, Count: c.count})
		s.Adjacency = mechanism.AddOrRemoveOne
		s.Budgets = []accountant.Budget{{Epsilon: 4, Delta: 1e-7}}
		asked := 0
		full, err := Resolve(s, func() bool { asked++; return false })
		if err != nil || asked == 0 {
			t.Fatalf("%s: %v, stop was asked %d times", c.name, err, asked)
		}
		for _, stop := range c.stops {
			left := int(stop * float64(asked))
			got, err := Resolve(s, func() bool { left--; return left < 0 })
			if !errors.Is(err, ErrUnavailable) || !got.Equal(Resolution{}) {
				t.Errorf("%s, stopped at %g: %+v, %v; want an error (otherwise %+v)", c.name, stop, got, err, full)
			}
		}
	}
}
