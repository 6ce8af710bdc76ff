// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"math"
	"testing"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/num"
	"pgregory.net/rapid"
)

// A group of k is the same noise, selection or count at k times the distance: the same
// loss in every number, under every adjacency.
func TestGroupsAreFurtherApart(t *testing.T) {
	p := mechanism.Participation{Steps: 20, Participations: 3, MinimumSeparation: 4}
	for _, c := range []struct {
		size      uint64
		one, same mechanism.Mechanism
	}{
		{3, mechanism.Gaussian{StandardDeviation: 2, Sensitivity: 1}, mechanism.Gaussian{NoiseMultiplier: 2. / 3}},
		{5, mechanism.Laplace{Scale: 2, Distance: 0.5}, mechanism.Laplace{Scale: 0.8, Distance: 1}},
		{3, mechanism.DiscreteGaussian{StandardDeviation: 4, Sensitivity: 2},
			mechanism.DiscreteGaussian{StandardDeviation: 4, Sensitivity: 6}},
		{3, mechanism.DiscreteGaussian{StandardDeviation: 4, Distance: 1.5, Coordinates: 7},
			mechanism.ZeroConcentratedDP{Rho: 4.5 * 4.5 / 32}},
		{6, mechanism.DiscreteLaplace{Scale: 9, Sensitivity: 1}, mechanism.DiscreteLaplace{Scale: 9, Sensitivity: 6}},
		{6, mechanism.DiscreteLaplace{Scale: 9, Sensitivity: 4}, mechanism.DiscreteLaplace{Scale: 9, Sensitivity: 24}},
		{4, mechanism.TruncatedLaplace{Scale: 1, Bound: 30, Sensitivity: 0.25},
			mechanism.TruncatedLaplace{Scale: 1, Bound: 30, Sensitivity: 1}},
		{4, mechanism.TruncatedLaplace{Scale: 1, Bound: 5, Sensitivity: 1},
			mechanism.TruncatedLaplace{Scale: 1, Bound: 5, Sensitivity: 4}},
		{7, mechanism.Exponential{Epsilon: 0.25}, mechanism.Exponential{Epsilon: 1.75}},
		{7, mechanism.Exponential{Scale: 8, Sensitivity: 1, Monotone: true},
			mechanism.Exponential{Scale: 8, Sensitivity: 7, Monotone: true}},
		{2, mechanism.InverseSensitivity{Epsilon: 0.5}, mechanism.Exponential{Epsilon: 1}},
		{4, mechanism.ReportNoisyMax{Distribution: mechanism.GumbelMax, Scale: 8, Sensitivity: 1},
			mechanism.Exponential{Scale: 2, Sensitivity: 1}},
		{4, mechanism.ReportNoisyMax{Distribution: mechanism.LaplaceMax, Epsilon: 0.125},
			mechanism.ReportNoisyMax{Distribution: mechanism.LaplaceMax, Epsilon: 0.5}},
		{4, mechanism.ReportNoisyMax{Distribution: mechanism.ExponentialMax, Scale: 8, Sensitivity: 1},
			mechanism.ReportNoisyMax{Distribution: mechanism.ExponentialMax, Scale: 2, Sensitivity: 1}},
		{2, mechanism.AboveThreshold{ThresholdScale: 4, QueryScale: 16, Sensitivity: 1, Positives: 2},
			mechanism.AboveThreshold{ThresholdScale: 4, QueryScale: 16, Sensitivity: 2, Positives: 2}},
		{3, mechanism.Histogram{LaplaceScale: 6}, mechanism.Histogram{LaplaceScale: 2}},
		{3, mechanism.Histogram{StandardDeviation: 6}, mechanism.Histogram{StandardDeviation: 2}},
		{4, mechanism.CountingQueries{Queries: 9, Rho: 0.125}, mechanism.CountingQueries{Queries: 9, Rho: 2}},
		{2, mechanism.TreeAggregation{NoiseMultiplier: 16, Participation: p},
			mechanism.TreeAggregation{NoiseMultiplier: 8, Participation: p}},
		{2, mechanism.BandedMatrix{NoiseMultiplier: 16, Participation: p, Coefficients: mechanism.NumbersOf(1, 0.5)},
			mechanism.BandedMatrix{NoiseMultiplier: 8, Participation: p, Coefficients: mechanism.NumbersOf(1, 0.5)}},
		{2, mechanism.Shuffled{BatchSize: 5, DatasetSize: 30, Mechanism: mechanism.Gaussian{NoiseMultiplier: 16}},
			mechanism.Shuffled{BatchSize: 5, DatasetSize: 30, Mechanism: mechanism.Gaussian{NoiseMultiplier: 8}}},
	} {
		for _, adj := range []mechanism.Adjacency{mechanism.AddOrRemoveOne, mechanism.ReplaceOne, mechanism.ZeroOut} {
			group := mechanism.Group{Size: c.size, Mechanism: c.one}
			if err := group.Check(adj); err != nil {
				if _, ok := c.one.(mechanism.TruncatedLaplace); ok && c.same.Check(adj) != nil {
					continue
				}
				t.Fatalf("%v: %v", group, err)
			}
			got, err := TermsWithin(group, adj, nil)
			if err != nil {
				t.Fatal(err)
			}
			want, err := TermsWithin(c.same, adj, nil)
			if err != nil {
				t.Fatal(err)
			}
			if len(got) != 1 || len(want) != 1 || got[0].Count != want[0].Count {
				t.Fatalf("%v: %v, want %v", group, got, want)
			}
			near := func(what string, a, b float64) {
				if a != b && !(math.Abs(a-b) <= 1e-12*math.Abs(b)) {
					t.Errorf("%v %v: %s %v, want %v", group, adj, what, a, b)
				}
			}
			a, b := got[0].Loss.Facts(), want[0].Loss.Facts()
			near("ε", a.Epsilon, b.Epsilon)
			near("atom", a.Failing().InfinityMass, b.Failing().InfinityMass)
			muA, _ := loss.MuOf(got[0].Loss)
			muB, _ := loss.MuOf(want[0].Loss)
			near("μ", muA, muB)
			near("ρ", a.Rho, b.Rho)
			for _, s := range []float64{0.1, 1, 7.5, 40} {
				near("K", loss.Renyi(got[0].Loss, loss.Remove, s, nil).K,
					loss.Renyi(want[0].Loss, loss.Remove, s, nil).K)
			}
		}
	}
}

// The same from the probabilities themselves: noise on whole numbers moved by all members.
func TestGroupsOfDiscreteNoise(t *testing.T) {
	for _, c := range []struct {
		one  mechanism.Mechanism
		cost func(x float64) float64
		move int // of a group of 3
	}{
		{mechanism.DiscreteLaplace{Scale: 2, Sensitivity: 1}, func(x float64) float64 { return math.Abs(x) / 2 }, 3},
		{mechanism.DiscreteLaplace{Scale: 2, Distance: 4}, func(x float64) float64 { return math.Abs(x) / 2 }, 12},
		{mechanism.DiscreteGaussian{StandardDeviation: 3, Sensitivity: 2},
			func(x float64) float64 { return x * x / 18 }, 6},
	} {
		l := lossFor(t, mechanism.Group{Size: 3, Mechanism: c.one}, mechanism.ZeroOut)
		p := masses(150, c.cost)
		for _, epsilon := range []float64{0, 0.5, 1.3} {
			low, high := deltaOf(t, l, epsilon)
			if want := divergence(p, c.move, epsilon); want < low-1e-12 || want > high+1e-12 {
				t.Errorf("group of 3 of %v: δ(%v) = %v, pair between %v and %v", c.one, epsilon, want, low, high)
			}
		}
	}
}

// An exponential mechanism whose scores k records have moved as they like is within the
// group's bound at every order.
func TestGroupsOfExponentialMechanisms(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := rapid.Uint64Range(1, 6).Draw(t, "size")
		monotone := rapid.Bool().Draw(t, "monotone")
		one := mechanism.Exponential{Scale: math.Exp(rapid.Float64Range(0, 3).Draw(t, "ln scale")),
			Sensitivity: 1, Monotone: monotone}
		l, err := Of(mechanism.Group{Size: k, Mechanism: one}, mechanism.AddOrRemoveOne)
		if err != nil {
			t.Fatal(err)
		}
		n, s := rapid.IntRange(2, 5).Draw(t, "candidates"), math.Exp(rapid.Float64Range(-3, 4).Draw(t, "ln s"))
		var p, q []float64
		var all, other num.LogSum
		for range n {
			score, moved := rapid.Float64Range(-5, 5).Draw(t, "score"), 0.0
			for range k {
				least := -1.0
				if monotone {
					least = 0
				}
				moved += rapid.Float64Range(least, 1).Draw(t, "contribution")
			}
			p, q = append(p, (score+moved)/one.Scale), append(q, score/one.Scale)
			all.Add(p[len(p)-1])
			other.Add(q[len(q)-1])
		}
		var sum num.LogSum
		for i := range p {
			sum.Add((1+s)*(p[i]-all.Log()) - s*(q[i]-other.Log()))
		}
		if bound := loss.Renyi(l, loss.Remove, s, nil).Upper(); sum.Log() > bound+1e-12*(1+s) {
			t.Fatalf("K(%v) = %v, bound %v", s, sum.Log(), bound)
		}
	})
}
