// SPDX-License-Identifier: Apache-2.0

package accountant_test

import (
	"math"
	"testing"

	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/mechanism/variant"
)

// What follows from the curve of one record alone is not below what the descriptors say of
// groups, which is exact for Gaussian noise, and is size·ε of what is ε-differentially private.
func TestGroupEpsilon(t *testing.T) {
	for _, c := range []struct {
		m     mechanism.Mechanism
		exact bool
	}{
		{mechanism.Gaussian{NoiseMultiplier: 4}, false},
		{mechanism.Gaussian{NoiseMultiplier: 1}, false},
		{mechanism.PoissonSampled{SamplingProbability: 0.01, Mechanism: mechanism.Gaussian{NoiseMultiplier: 1}}, false},
		{mechanism.PureDP{Epsilon: 0.25}, true},
	} {
		one := mechanism.Composition{Adjacency: mechanism.AddOrRemoveOne,
			Parts: []mechanism.Part{{Mechanism: c.m, Count: 1}}}
		ask := func(q accountant.Question) (accountant.Answer, error) { return accountant.Ask(one, q) }
		for _, size := range []uint64{1, 2, 5} {
			got, err := accountant.GroupEpsilon(ask, 1e-6, size, nil)
			if err != nil {
				t.Fatal(err)
			}
			together, err := variant.ForGroup(one, size)
			if err != nil {
				t.Fatal(err)
			}
			want, err := accountant.Ask(together, accountant.AtDelta(1e-6))
			if err != nil {
				t.Fatal(err)
			}
			if !(got >= *want.EpsilonLower) || math.IsInf(got, 1) {
				t.Errorf("%d of %v: %v; no less than %v holds", size, c.m, got, *want.EpsilonLower)
			}
			if c.exact && !(got <= 0.25*float64(size)*(1+1e-4)) {
				t.Errorf("%d of %v: %v", size, c.m, got)
			}
			// The bound's own certificate: at ε/size the δ of one, times Vadhan's factor.
			e := got / float64(size)
			a, err := accountant.Ask(one, accountant.AtEpsilon(e))
			if err != nil {
				t.Fatal(err)
			}
			if d := a.Delta * math.Expm1(float64(size)*e) / math.Expm1(e); !(d <= 1e-6*(1+1e-9)) {
				t.Errorf("%d of %v: δ = %v at ε = %v", size, c.m, d, got)
			}
		}
	}
}

// Where δ falls slower than the factor of a group grows, no ε is made up.
func TestGroupEpsilonUnknown(t *testing.T) {
	fails := mechanism.Composition{Adjacency: mechanism.AddOrRemoveOne,
		Parts: []mechanism.Part{{Mechanism: mechanism.ApproximateDP{Epsilon: 1, Delta: 1e-5}, Count: 1}}}
	got, err := accountant.GroupEpsilon(func(q accountant.Question) (accountant.Answer,
		error) {
		return accountant.Ask(fails, q)
	}, 1e-6, 2, nil)
	if err != nil || !math.IsInf(got, 1) {
		t.Errorf("%v, %v", got, err)
	}
}
