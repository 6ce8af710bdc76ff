// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"testing"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// Matrix mechanisms that are something simpler have its losses.
func TestMatricesThatAreSimpler(t *testing.T) {
	const add, replace = mechanism.AddOrRemoveOne, mechanism.ReplaceOne
	numbers := mechanism.NumbersOf
	noise := mechanism.StepNoise{NoiseMultiplier: 2}
	g := mechanism.Gaussian{NoiseMultiplier: 2}
	all := mechanism.Participation{Steps: 16, Participations: 16}
	every := mechanism.Participation{Steps: 16}
	for _, c := range []struct {
		name    string
		adj     mechanism.Adjacency
		m, like mechanism.Mechanism
		count   uint64
	}{
		// The root of 16 is exact, so that nothing but rounding up differs.
		{"the identity, every step", replace, mechanism.GeneralMatrix{StepNoise: noise, Coefficients: numbers(1),
			Participation: all}, mechanism.Gaussian{NoiseMultiplier: 0.5}, 1},
		{"the identity, fixed epochs", add, mechanism.GeneralMatrix{StepNoise: noise, Period: 4,
			Coefficients: numbers(1), Participation: every}, mechanism.Gaussian{NoiseMultiplier: 1}, 1},
		{"a banded matrix", add, mechanism.GeneralMatrix{StepNoise: noise, Coefficients: numbers(1, .5),
			Participation: all}, mechanism.BandedMatrix{NoiseMultiplier: 2, Coefficients: numbers(1, .5),
			Participation: all}, 1},
		{"independent noise on samples", add, mechanism.SampledMatrix{StepNoise: noise, Coefficients: numbers(1),
			Steps: 16, SamplingProbability: .25}, mechanism.PoissonSampled{SamplingProbability: .25, Mechanism: g}, 16},
		{"replaced records on samples", replace, mechanism.SampledMatrix{StepNoise: noise, Coefficients: numbers(1),
			Steps: 7, Groups: 2, SamplingProbability: .25},
			mechanism.PoissonSampled{SamplingProbability: .25, Mechanism: g}, 4},
		{"samples of everything", replace, mechanism.SampledMatrix{StepNoise: noise, Coefficients: numbers(1),
			Steps: 7, Groups: 2, SamplingProbability: 1}, g, 4},
		{"independent noise, dealt", add, mechanism.AllocatedMatrix{StepNoise: noise, Coefficients: numbers(1),
			Steps: 16, Period: 4}, mechanism.RandomAllocation{Steps: 4, Passes: 4, Mechanism: g}, 1},
		{"nothing hidden", add, mechanism.AllocatedMatrix{StepNoise: noise, Coefficients: numbers(1), Steps: 4,
			Period: 1}, mechanism.Gaussian{NoiseMultiplier: 1}, 1},
	} {
		for _, m := range []mechanism.Mechanism{c.m, c.like} {
			if err := m.Check(c.adj); err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
		}
		list, err := TermsWithin(c.m, c.adj, nil)
		if err != nil {
			t.Fatal(err)
		}
		like, terms := lossOf(t, c.like, c.adj), list.Merged()
		if len(terms) != 1 || terms[0].Count != c.count {
			t.Errorf("%s: %v", c.name, terms)
			continue
		}
		l := terms[0].Loss
		if l.Facts().Dominating != like.Facts().Dominating {
			t.Errorf("%s: %+v, and %+v", c.name, l.Facts(), like.Facts())
		}
		for _, s := range []float64{0.5, 3} {
			for d := range loss.Direction(2) {
				v, want := l.Cumulant(d, s, nil), like.Cumulant(d, s, nil)
				if !(v.K >= want.K*(1-1e-12)-v.Err-want.Err && v.K <= want.K*(1+1e-10)+v.Err+want.Err) {
					t.Errorf("%s: K(%v) = %+v, and %+v", c.name, s, v, want)
				}
			}
		}
	}
}
