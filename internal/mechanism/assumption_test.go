// SPDX-License-Identifier: Apache-2.0

package mechanism

import (
	"slices"
	"strings"
	"testing"
)

// Randomized response assumes something under ZERO_OUT, wherever it is inside others, and
// says it once.
func TestAssumptions(t *testing.T) {
	rr := RandomizedResponse{Epsilon: 1}
	inside := []Mechanism{
		rr, RandomizedResponse{Noise: 0.5, Buckets: 3},
		PoissonSampled{SamplingProbability: 0.1, Mechanism: rr},
		Group{Size: 2, Mechanism: rr},
		Group{Size: 2, Mechanism: PoissonSampled{SamplingProbability: 0.1, Mechanism: rr}},
		RepeatAndSelect{Mechanism: rr, Gamma: 0.5, Eta: 1},
		Composed{Events: ListOf(Event{PureDP{Epsilon: 1}, 1}, Event{Composed{Events: ListOf(Event{rr, 2})}, 1})},
	}
	all := Composition{Adjacency: ZeroOut}
	for _, m := range inside {
		c := Composition{Adjacency: ZeroOut, Parts: []Part{{Gaussian{NoiseMultiplier: 1}, 1}, {m, 1}}}
		if err := m.Check(ZeroOut); err != nil {
			t.Fatal(err)
		}
		if got := c.Assumptions(); len(got) != 1 || !strings.Contains(got[0], "null record") {
			t.Errorf("%v: %q", m, got)
		}
		all.Parts = append(all.Parts, c.Parts...)
		if c.Adjacency = ReplaceOne; len(c.Assumptions()) != 0 {
			t.Errorf("%v under REPLACE_ONE: %q", m, c.Assumptions())
		}
	}
	if got := all.Assumptions(); len(got) != 1 || !slices.IsSorted(got) {
		t.Errorf("of all: %q", got)
	}
	if got := (Composition{Adjacency: ZeroOut,
		Parts: []Part{{Laplace{Scale: 1, Sensitivity: 1}, 1}}}).Assumptions(); len(got) != 0 {
		t.Errorf("of Laplace noise: %q", got)
	}
}

// The first run above a threshold assumes that nothing else ends the runs, under every adjacency.
func TestFirstAboveThresholdAssumes(t *testing.T) {
	m := RepeatAndSelect{Mechanism: PureDP{Epsilon: 1}, Gamma: 0.5}
	for _, adj := range []Adjacency{AddOrRemoveOne, ReplaceOne, ZeroOut} {
		m.FirstAboveThreshold = true
		got := (Composition{Adjacency: adj, Parts: []Part{{m, 1}}}).Assumptions()
		if len(got) != 1 || !strings.Contains(got[0], "(1 - gamma)^n") {
			t.Errorf("%v: %q", adj, got)
		}
		m.FirstAboveThreshold = false
		if got = (Composition{Adjacency: adj, Parts: []Part{{m, 1}}}).Assumptions(); len(got) != 0 {
			t.Errorf("the best of all runs under %v: %q", adj, got)
		}
	}
}
