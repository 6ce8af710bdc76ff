// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"testing"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// apart are the kinds that mechanism.Expand takes apart: they have the losses of their parts.
var apart = map[string]bool{"composed": true, "dp_sgd": true}

// Every kind of mechanism is in the list, and no other.
func TestEveryKindHasALoss(t *testing.T) {
	known := map[string]bool{}
	for _, k := range mechanism.Kinds() {
		known[k.Name] = true
		if _, ok := kinds[k.Name]; ok == apart[k.Name] {
			if ok {
				t.Errorf("%s has a loss, and is one of apart, which have those of their parts: remove it there", k.Name)
				continue
			}
			t.Errorf("%s has no loss: add a line for it to Kinds of its family, a package below internal/loss", k.Name)
		}
	}
	for name := range kinds {
		if !known[name] {
			t.Errorf("%s is no kind of mechanism", name)
		}
	}
}

// The lists have no kind twice.
func TestNoKindTwice(t *testing.T) {
	n := 0
	for _, list := range lists {
		n += len(list)
	}
	if n != len(kinds) {
		t.Errorf("%d entries, %d kinds", n, len(kinds))
	}
}

// What a kind does not know of its loss costs: without a decay no contour integral is proven to
// end, without a cover a part that is dominated is carried along, and a group without a form of
// its own has what its ε and δ imply. Whatever lacks one is here with the reason.
const (
	atoms    = "finitely many losses, or losses on a grid, do not decay"
	boundly  = "nothing but a bound on K is known"
	unproven = "nothing is proven"
	refused  = "mechanism.Group.Check refuses it"
	generic  = "no more is known than its ε and δ"
	rare     = "parts of one kind rarely differ in its parameters"
)

var (
	withoutDecay = map[string]string{
		"randomized_response": atoms, "pure_dp": atoms, "approximate_dp": atoms, "privacy_loss_table": atoms,
		"name_and_shame":   atoms,
		"discrete_laplace": atoms, "above_threshold": atoms,
		"zero_concentrated_dp": boundly, "renyi_dp": boundly, "repeat_and_select": boundly,
		"fixed_size_sampled": boundly, "random_allocation": atoms, "allocated_matrix": atoms,
		"shuffled_reports":  atoms,
		"truncated_laplace": unproven,
	}
	withoutCover = map[string]string{
		"discrete_gaussian": rare, "discrete_laplace": rare, "truncated_laplace": rare, "exponential": rare,
		"inverse_sensitivity": rare,
		"renyi_dp":            rare, "privacy_loss_table": rare, "repeat_and_select": rare, "fixed_size_sampled": rare,
		"truncated_poisson_sampled": rare, "mixture_of_gaussians": rare,
		"shuffled": "its pair dominates, and need not be attained",
	}
	withoutGroup = map[string]string{
		"randomized_response": generic, "pure_dp": generic, "approximate_dp": generic,
		"above_threshold": generic,
		"name_and_shame":  refused, "renyi_dp": refused, "privacy_loss_table": refused, "repeat_and_select": refused,
		"fixed_size_sampled": refused, "truncated_poisson_sampled": refused, "mixture_of_gaussians": refused,
		"random_allocation": refused, "allocated_matrix": refused, "shuffled_reports": refused,
	}
)

func TestWhatAKindDoesNotKnowIsNamed(t *testing.T) {
	const add, replace = mechanism.AddOrRemoveOne, mechanism.ReplaceOne
	numbers := mechanism.NumbersOf
	inner := mechanism.Gaussian{NoiseMultiplier: 1}
	noise := func(multiplier float64) mechanism.StepNoise { return mechanism.StepNoise{NoiseMultiplier: multiplier} }
	seen := map[string]bool{"parallel": true, "group": true} // they have the losses of what they run
	for _, c := range []struct {
		adj        mechanism.Adjacency
		most, less mechanism.Mechanism
	}{
		{add, inner, mechanism.Gaussian{NoiseMultiplier: 2}},
		{add, mechanism.Laplace{Scale: 1, Sensitivity: 1}, mechanism.Laplace{Scale: 2, Sensitivity: 1}},
		{add, mechanism.PoissonSampled{SamplingProbability: 0.2, Mechanism: inner},
			mechanism.PoissonSampled{SamplingProbability: 0.1, Mechanism: inner}},
		{replace, mechanism.RandomizedResponse{Epsilon: 2}, mechanism.RandomizedResponse{Epsilon: 1}},
		{add, mechanism.PureDP{Epsilon: 2}, mechanism.PureDP{Epsilon: 1}},
		{replace, mechanism.ShuffledReports{Reports: 5, Mechanism: mechanism.PureDP{Epsilon: 2}},
			mechanism.ShuffledReports{Reports: 9, Mechanism: mechanism.PureDP{Epsilon: 1}}},
		{add, mechanism.ApproximateDP{Epsilon: 2, Delta: 1e-3}, mechanism.ApproximateDP{Epsilon: 1, Delta: 1e-4}},
		{add, mechanism.ZeroConcentratedDP{Rho: 2}, mechanism.ZeroConcentratedDP{Rho: 1}},
		{add, mechanism.GaussianDP{Mu: 2}, mechanism.GaussianDP{Mu: 1}},
		{add, mechanism.DiscreteGaussian{StandardDeviation: 1, Sensitivity: 1},
			mechanism.DiscreteGaussian{StandardDeviation: 2, Sensitivity: 1}},
		{add, mechanism.DiscreteLaplace{Scale: 1, Sensitivity: 3}, mechanism.DiscreteLaplace{Scale: 2, Sensitivity: 3}},
		{add, mechanism.TruncatedLaplace{Scale: 1, Bound: 9, Sensitivity: 1},
			mechanism.TruncatedLaplace{Scale: 1, Bound: 9, Sensitivity: 0.5}},
		{add, mechanism.Exponential{Epsilon: 2}, mechanism.Exponential{Epsilon: 1}},
		{add, mechanism.ReportNoisyMax{Distribution: mechanism.LaplaceMax, Epsilon: 2},
			mechanism.ReportNoisyMax{Distribution: mechanism.LaplaceMax, Epsilon: 1}},
		{add, mechanism.AboveThreshold{ThresholdEpsilon: 1, QueryEpsilon: 2},
			mechanism.AboveThreshold{ThresholdEpsilon: 1, QueryEpsilon: 1}},
		{add, mechanism.InverseSensitivity{Epsilon: 2}, mechanism.InverseSensitivity{Epsilon: 1}},
		{add, mechanism.Histogram{LaplaceScale: 1}, mechanism.Histogram{LaplaceScale: 2}},
		{add, mechanism.CountingQueries{Queries: 3, Rho: 2}, mechanism.CountingQueries{Queries: 3, Rho: 1}},
		{add, mechanism.RenyiDP{Orders: numbers(2, 9), Epsilons: numbers(1, 2)},
			mechanism.RenyiDP{Orders: numbers(2, 9), Epsilons: numbers(0.5, 1)}},
		{add, mechanism.PrivacyLossTable{Losses: numbers(-1, 1), Masses: numbers(0.2, 0.7), InfiniteMass: 0.1},
			mechanism.PrivacyLossTable{Losses: numbers(-1, 1), Masses: numbers(0.25, 0.75)}},
		{add, mechanism.NameAndShame{Delta: 1e-3}, mechanism.NameAndShame{Delta: 1e-4}},
		{add, mechanism.RepeatAndSelect{Mechanism: inner, Gamma: 0.1, Eta: 1},
			mechanism.RepeatAndSelect{Mechanism: inner, Gamma: 0.5, Eta: 1}},
		{replace, mechanism.FixedSizeSampled{BatchSize: 9, DatasetSize: 99, Mechanism: inner},
			mechanism.FixedSizeSampled{BatchSize: 3, DatasetSize: 99, Mechanism: inner}},
		{add, mechanism.TruncatedPoissonSampled{SamplingProbability: 0.2, DatasetSize: 99, MaximumBatchSize: 9,
			Mechanism: inner},
			mechanism.TruncatedPoissonSampled{SamplingProbability: 0.1, DatasetSize: 99,
				MaximumBatchSize: 9, Mechanism: inner}},
		{add, mechanism.RandomAllocation{Steps: 3, Mechanism: inner},
			mechanism.RandomAllocation{Steps: 4, Mechanism: inner}},
		{add, mechanism.Shuffled{BatchSize: 9, DatasetSize: 99, Mechanism: inner},
			mechanism.Shuffled{BatchSize: 9, DatasetSize: 99, Mechanism: mechanism.Gaussian{NoiseMultiplier: 2}}},
		{add, mechanism.MixtureOfGaussians{StandardDeviation: 1, Sensitivities: numbers(0, 1, 2),
			Probabilities: numbers(0.5, 0.25, 0.25)},
			mechanism.MixtureOfGaussians{StandardDeviation: 2, Sensitivities: numbers(0, 1, 2),
				Probabilities: numbers(0.5, 0.25, 0.25)}},
		{add, mechanism.TreeAggregation{NoiseMultiplier: 1, Participation: mechanism.Participation{Steps: 8}},
			mechanism.TreeAggregation{NoiseMultiplier: 2, Participation: mechanism.Participation{Steps: 8}}},
		{add, mechanism.BandedMatrix{NoiseMultiplier: 1, Coefficients: numbers(1, 0.5),
			Participation: mechanism.Participation{Steps: 8}},
			mechanism.BandedMatrix{NoiseMultiplier: 2, Coefficients: numbers(1, 0.5),
				Participation: mechanism.Participation{Steps: 8}}},
		{add, mechanism.GeneralMatrix{StepNoise: noise(1), Coefficients: numbers(1), Denominator: numbers(1, -1),
			Participation: mechanism.Participation{Steps: 8}},
			mechanism.GeneralMatrix{StepNoise: noise(2), Coefficients: numbers(1), Denominator: numbers(1, -1),
				Participation: mechanism.Participation{Steps: 8}}},
		{add, mechanism.SampledMatrix{StepNoise: noise(1), Coefficients: numbers(1, 0.5), Steps: 2,
			SamplingProbability: 0.5},
			mechanism.SampledMatrix{StepNoise: noise(1), Coefficients: numbers(1, 0.5), Steps: 2,
				SamplingProbability: 0.25}},
		{add, mechanism.AllocatedMatrix{StepNoise: noise(1), Coefficients: numbers(1), Steps: 4, Period: 4},
			mechanism.AllocatedMatrix{StepNoise: noise(2), Coefficients: numbers(1), Steps: 4, Period: 4}},
	} {
		kind := c.most.Kind()
		seen[kind] = true
		for _, m := range []mechanism.Mechanism{c.most, c.less} {
			if err := m.Check(c.adj); err != nil {
				t.Fatal(err)
			}
		}
		l, less := lossOf(t, c.most, c.adj), lossOf(t, c.less, c.adj)
		decay := loss.Tilt(l, loss.Remove, 0.5, nil).Decay(0.5, 1, true) < 0
		group, err := l.Grouped(2)
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range []struct {
			what  string
			known bool
			why   string
		}{{"decay", decay, withoutDecay[kind]}, {"cover", l.Covers(less), withoutCover[kind]},
			{"group", group != nil, withoutGroup[kind]}} {
			if k.known != (k.why == "") {
				if k.known {
					t.Errorf("%[1]s: its %[2]s is known: remove the row for %[1]s from the map of kinds without one",
						kind, k.what)
					continue
				}
				t.Errorf("%[1]s: no %[2]s is known: implement it, or add a row for %[1]s with the reason to the map "+
					"of kinds without one", kind, k.what)
			}
		}
		if less.Covers(l) {
			t.Errorf("%v covers %v, which loses more", c.less, c.most)
		}
	}
	for _, k := range mechanism.Kinds() {
		if !seen[k.Name] && !apart[k.Name] {
			t.Errorf("%s: add a row to this test, with one mechanism of the kind and another that loses less", k.Name)
		}
	}
}
