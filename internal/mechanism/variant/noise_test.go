// SPDX-License-Identifier: Apache-2.0

package variant

import (
	"testing"

	"github.com/dpaccountant/accountant/internal/mechanism"
)

// The parameter that scales the noise of each kind, as descriptors are given.
func TestNoiseOf(t *testing.T) {
	missing := map[string]bool{}
	for _, k := range mechanism.Kinds() {
		missing[k.Name] = true
	}
	g := mechanism.Gaussian{NoiseMultiplier: 2}
	one := mechanism.NumbersOf(1)
	run := mechanism.Participation{Steps: 3}
	noise := mechanism.StepNoise{NoiseMultiplier: 12}
	for _, c := range []struct {
		m     mechanism.Mechanism
		field string
		value float64
	}{
		{g, "noise_multiplier", 2},
		{mechanism.Gaussian{}, "noise_multiplier", 0},
		{mechanism.Gaussian{Sensitivity: 1}, "standard_deviation", 0},
		{mechanism.Gaussian{Distance: 1}, "standard_deviation", 0},
		{mechanism.Gaussian{StandardDeviation: 3}, "standard_deviation", 3},
		{mechanism.Laplace{Sensitivity: 1}, "scale", 0},
		{mechanism.DiscreteGaussian{StandardDeviation: 4, Sensitivity: 1}, "standard_deviation", 4},
		{mechanism.DiscreteLaplace{Scale: 5, Sensitivity: 1}, "scale", 5},
		{mechanism.TruncatedLaplace{Scale: 5, Bound: 9, Sensitivity: 1}, "", 0},
		{mechanism.Exponential{Sensitivity: 1}, "scale", 0},
		{mechanism.Exponential{Epsilon: 1}, "", 0},
		{mechanism.ReportNoisyMax{Distribution: mechanism.GumbelMax, Scale: 6, Sensitivity: 1}, "scale", 6},
		{mechanism.AboveThreshold{ThresholdScale: 1, QueryScale: 2, Sensitivity: 1, Positives: 1}, "", 0},
		{mechanism.InverseSensitivity{Epsilon: 1}, "", 0},
		{mechanism.Histogram{LaplaceScale: 7}, "laplace_scale", 7},
		{mechanism.Histogram{StandardDeviation: 8}, "standard_deviation", 8},
		{mechanism.Histogram{}, "", 0},
		{mechanism.CountingQueries{Queries: 3, Rho: 1}, "", 0},
		{mechanism.MixtureOfGaussians{StandardDeviation: 9, Sensitivities: one, Probabilities: one},
			"standard_deviation", 9},
		{mechanism.TreeAggregation{Participation: run}, "noise_multiplier", 0},
		{mechanism.TreeAggregation{Sensitivity: 1, Participation: run}, "standard_deviation", 0},
		{mechanism.BandedMatrix{NoiseMultiplier: 10, Coefficients: one, Participation: run}, "noise_multiplier", 10},
		{mechanism.GeneralMatrix{StepNoise: noise, Coefficients: one, Participation: run}, "noise_multiplier", 12},
		{mechanism.SampledMatrix{StepNoise: noise, Coefficients: one, Steps: 9, SamplingProbability: 0.5},
			"noise_multiplier", 12},
		{mechanism.AllocatedMatrix{StepNoise: noise, Coefficients: one, Steps: 9, Period: 3}, "noise_multiplier", 12},
		{mechanism.DPSGD{NoiseMultiplier: 11, MaxGradNorm: 1, BatchSize: 1, DatasetSize: 9, Steps: 1},
			"noise_multiplier", 11},
		{mechanism.PoissonSampled{SamplingProbability: 0.5, Mechanism: g}, "noise_multiplier", 2},
		{mechanism.PoissonSampled{SamplingProbability: 0.5}, "", 0},
		{mechanism.FixedSizeSampled{BatchSize: 1, DatasetSize: 2, Mechanism: mechanism.Laplace{Scale: 3}}, "scale", 3},
		{mechanism.TruncatedPoissonSampled{SamplingProbability: 0.5, DatasetSize: 9, MaximumBatchSize: 3, Mechanism: g},
			"noise_multiplier", 2},
		{mechanism.Shuffled{BatchSize: 1, DatasetSize: 2, Mechanism: g}, "noise_multiplier", 2},
		{mechanism.RandomAllocation{Steps: 2, Mechanism: g}, "noise_multiplier", 2},
		{mechanism.ShuffledReports{Reports: 2, Mechanism: mechanism.PureDP{Epsilon: 1}}, "", 0},
		{mechanism.Group{Size: 2, Mechanism: sampled(0.5, 2)}, "noise_multiplier", 2},
		{mechanism.RepeatAndSelect{Gamma: 0.5, Mechanism: g}, "noise_multiplier", 2},
		{composed(g, 1), "", 0},
		{mechanism.Parallel{Parts: mechanism.ListOf[mechanism.Mechanism](g)}, "", 0},
		{mechanism.PureDP{Epsilon: 1}, "", 0}, {mechanism.ApproximateDP{Epsilon: 1, Delta: 1e-5}, "", 0},
		{mechanism.ZeroConcentratedDP{Rho: 1}, "", 0},
		{mechanism.GaussianDP{Mu: 1}, "", 0}, {mechanism.NameAndShame{Delta: 1e-9}, "", 0},
		{mechanism.RandomizedResponse{Noise: 0.5, Buckets: 2}, "", 0},
		{mechanism.RenyiDP{Orders: mechanism.NumbersOf(2), Epsilons: one}, "", 0},
		{mechanism.PrivacyLossTable{Losses: mechanism.NumbersOf(-1, 1), Masses: mechanism.NumbersOf(.5, .5)}, "", 0},
		{nil, "", 0},
	} {
		if c.m != nil {
			delete(missing, c.m.Kind())
		}
		noise, none := NoiseOf(c.m)
		if (none == "") != (c.field != "") || none == "" && (noise.Field != c.field || noise.Value != c.value) {
			t.Errorf("%#v: %q of value %v", c.m, noise.Field, noise.Value)
			continue
		}
		if none != "" {
			continue
		}
		changed := noise.With(0.125)
		if again, _ := NoiseOf(changed); again.Value != 0.125 || again.Field != c.field || again.With(c.value) != c.m {
			t.Errorf("%#v with %s 0.125: %#v", c.m, c.field, changed)
		}
	}
	if len(missing) > 0 {
		t.Errorf("add to the list in this test a row for each of %v, with the parameter that sets the noise, or \"\" "+
			"if there is none to solve for", missing)
	}
}
