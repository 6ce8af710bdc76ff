// SPDX-License-Identifier: Apache-2.0

package mechanism

import (
	"errors"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestCheckAccepts(t *testing.T) {
	sampled := Gaussian{NoiseMultiplier: 1.1}
	noise := StepNoise{NoiseMultiplier: 1}
	everywhere := []Adjacency{AddOrRemoveOne, ReplaceOne, ZeroOut}
	cases := []struct {
		m          Mechanism
		adjacency  []Adjacency
		undefended []Adjacency
	}{
		{Gaussian{StandardDeviation: 1, Sensitivity: 2}, []Adjacency{AddOrRemoveOne, ReplaceOne, ZeroOut}, nil},
		{Gaussian{StandardDeviation: 1, Distance: 2}, []Adjacency{AddOrRemoveOne, ReplaceOne, ZeroOut}, nil},
		{sampled, []Adjacency{AddOrRemoveOne, ReplaceOne, ZeroOut}, nil},
		{Laplace{Scale: 1, Sensitivity: 2}, []Adjacency{AddOrRemoveOne, ReplaceOne, ZeroOut}, nil},
		{RandomizedResponse{Epsilon: 0.1}, []Adjacency{ReplaceOne, ZeroOut}, []Adjacency{AddOrRemoveOne}},
		{RandomizedResponse{Epsilon: 0.1, Buckets: 5}, []Adjacency{ReplaceOne}, []Adjacency{AddOrRemoveOne}},
		{RandomizedResponse{Noise: 0.5, Buckets: 2}, []Adjacency{ReplaceOne}, []Adjacency{AddOrRemoveOne}},
		{PureDP{Epsilon: 700}, []Adjacency{AddOrRemoveOne, ReplaceOne, ZeroOut}, nil},
		{ApproximateDP{Epsilon: 1, Delta: 1e-300}, []Adjacency{AddOrRemoveOne}, nil},
		{ZeroConcentratedDP{Rho: 1e-9}, []Adjacency{AddOrRemoveOne}, nil},
		{ZeroConcentratedDP{Rho: 1e-9, Delta: 1e-300}, everywhere, nil},
		{RenyiDP{NumbersOf(1.5, 2, 64), NumbersOf(.1, .2, 3)}, everywhere, nil},
		{NameAndShame{1e-9}, everywhere, nil},
		{PrivacyLossTable{NumbersOf(-1, 0, 1), NumbersOf(.1, .5, .3), .1}, everywhere, nil},
		{PrivacyLossTable{NumbersOf(0, 1), NumbersOf(.5, .5-1e-10), 0}, everywhere, nil},
		{PrivacyLossTable{NumbersOf(-1e-10, 1e-10), NumbersOf(.5, .5), 0}, everywhere, nil},
		{parallel(sampled, PureDP{1}), []Adjacency{AddOrRemoveOne}, []Adjacency{ReplaceOne, ZeroOut}},
		{composed(parallel(sampled, composed(PureDP{1}))), []Adjacency{AddOrRemoveOne},
			[]Adjacency{ReplaceOne, ZeroOut}},
		{RepeatAndSelect{Mechanism: sampled, Gamma: .1}, everywhere, nil},
		{RepeatAndSelect{Mechanism: DPSGD{NoiseMultiplier: 1, BatchSize: 1, DatasetSize: 9, Steps: 1}, Gamma: .1,
			Eta: -.9}, everywhere, nil},
		{RepeatAndSelect{Mechanism: composed(PureDP{1}), Mean: 1e9}, everywhere, nil},
		{RepeatAndSelect{Mechanism: RandomizedResponse{Epsilon: 1}, Mean: 3}, []Adjacency{ReplaceOne, ZeroOut},
			[]Adjacency{AddOrRemoveOne}},
		{composed(sampled, PureDP{1}), everywhere, nil},
		{composed(sampled, RandomizedResponse{Epsilon: 1}), []Adjacency{ReplaceOne, ZeroOut},
			[]Adjacency{AddOrRemoveOne}},
		{composed(composed(composed(sampled))), everywhere, nil},
		{PoissonSampled{SamplingProbability: .1, Mechanism: composed(sampled, composed(sampled))}, everywhere, nil},
		{PoissonSampled{SamplingProbability: .1, Mechanism: ZeroConcentratedDP{Rho: 1}}, []Adjacency{AddOrRemoveOne},
			[]Adjacency{ReplaceOne, ZeroOut}},
		{PoissonSampled{SamplingProbability: .1, Mechanism: RenyiDP{NumbersOf(2, 64), NumbersOf(.2, 3)}},
			[]Adjacency{AddOrRemoveOne}, []Adjacency{ReplaceOne, ZeroOut}},
		{PoissonSampled{SamplingProbability: .1,
			Mechanism: DiscreteGaussian{StandardDeviation: 1, Sensitivity: 1.5, Coordinates: 2}},
			[]Adjacency{AddOrRemoveOne, ZeroOut}, []Adjacency{ReplaceOne}},
		{DPSGD{NoiseMultiplier: 1, BatchSize: 256, DatasetSize: 60000, Epochs: 2.5}, everywhere, nil},
		{DPSGD{NoiseMultiplier: 1, MaxGradNorm: .1, BatchSize: 256, DatasetSize: 60000, Steps: 7, Accumulation: 234},
			everywhere, nil},
		{GaussianDP{Mu: 1}, []Adjacency{AddOrRemoveOne}, nil},
		{DiscreteGaussian{StandardDeviation: 0.1, Sensitivity: MaxWhole / 2},
			[]Adjacency{AddOrRemoveOne, ReplaceOne, ZeroOut}, nil},
		{DiscreteGaussian{StandardDeviation: 1, Distance: MaxWhole},
			[]Adjacency{AddOrRemoveOne, ReplaceOne, ZeroOut}, nil},
		{DiscreteGaussian{StandardDeviation: 1, Sensitivity: 1.5, Coordinates: 2},
			[]Adjacency{AddOrRemoveOne, ReplaceOne, ZeroOut}, nil},
		{DiscreteLaplace{Scale: 1, Sensitivity: 2}, []Adjacency{AddOrRemoveOne, ReplaceOne, ZeroOut}, nil},
		{TruncatedLaplace{Scale: 1, Bound: 2, Sensitivity: 1.5}, []Adjacency{AddOrRemoveOne, ReplaceOne, ZeroOut}, nil},
		{TruncatedLaplace{Scale: 1, Bound: 2, Distance: 3.9}, []Adjacency{AddOrRemoveOne, ReplaceOne, ZeroOut}, nil},
		{Exponential{Epsilon: 1}, []Adjacency{AddOrRemoveOne, ReplaceOne, ZeroOut}, nil},
		{Exponential{Scale: 1, Sensitivity: 2, Monotone: true}, []Adjacency{AddOrRemoveOne, ReplaceOne, ZeroOut}, nil},
		{ReportNoisyMax{Distribution: GumbelMax, Epsilon: 1}, []Adjacency{AddOrRemoveOne, ReplaceOne, ZeroOut}, nil},
		{AboveThreshold{ThresholdEpsilon: 1, QueryEpsilon: 2}, []Adjacency{AddOrRemoveOne, ReplaceOne, ZeroOut}, nil},
		{AboveThreshold{ThresholdScale: 1, QueryScale: 2, Sensitivity: 1, Positives: 1},
			[]Adjacency{AddOrRemoveOne, ReplaceOne, ZeroOut}, nil},
		{InverseSensitivity{Epsilon: 1}, []Adjacency{AddOrRemoveOne, ReplaceOne, ZeroOut}, nil},
		{Histogram{LaplaceScale: 1}, []Adjacency{AddOrRemoveOne, ReplaceOne, ZeroOut}, nil},
		{CountingQueries{Queries: MaxWhole, Rho: 1}, []Adjacency{AddOrRemoveOne, ReplaceOne, ZeroOut}, nil},
		{PoissonSampled{SamplingProbability: 1, Mechanism: sampled},
			[]Adjacency{AddOrRemoveOne, ReplaceOne, ZeroOut}, nil},
		{PoissonSampled{BatchSize: 256, DatasetSize: 60000, Mechanism: sampled}, []Adjacency{AddOrRemoveOne}, nil},
		{PoissonSampled{SamplingProbability: .1, Mechanism: Laplace{Scale: 1, Sensitivity: 1}},
			[]Adjacency{AddOrRemoveOne, ReplaceOne, ZeroOut}, nil},
		{PoissonSampled{SamplingProbability: .1, Mechanism: RandomizedResponse{Epsilon: 1}},
			[]Adjacency{ReplaceOne, ZeroOut}, []Adjacency{AddOrRemoveOne}},
		{PoissonSampled{SamplingProbability: .1, Mechanism: PureDP{1}}, []Adjacency{AddOrRemoveOne},
			[]Adjacency{ReplaceOne, ZeroOut}},
		{PoissonSampled{SamplingProbability: .1, Mechanism: ApproximateDP{1, 1e-6}}, []Adjacency{AddOrRemoveOne},
			[]Adjacency{ReplaceOne, ZeroOut}},
		{PoissonSampled{SamplingProbability: .1, Mechanism: DiscreteLaplace{Scale: 1, Sensitivity: 3}},
			[]Adjacency{AddOrRemoveOne, ZeroOut}, []Adjacency{ReplaceOne}},
		{PoissonSampled{SamplingProbability: .1,
			Mechanism: DiscreteGaussian{StandardDeviation: 1, Sensitivity: 3, Coordinates: 1}},
			[]Adjacency{AddOrRemoveOne, ZeroOut}, []Adjacency{ReplaceOne}},
		{PoissonSampled{SamplingProbability: .1, Mechanism: TruncatedLaplace{Scale: 1, Bound: 3, Sensitivity: 1}},
			[]Adjacency{AddOrRemoveOne, ZeroOut}, []Adjacency{ReplaceOne}},
		{PoissonSampled{SamplingProbability: .1,
			Mechanism: PrivacyLossTable{Losses: NumbersOf(-1, 1), Masses: NumbersOf(.2, .8)}},
			[]Adjacency{AddOrRemoveOne}, []Adjacency{ReplaceOne, ZeroOut}},
		{Group{Size: 3, Mechanism: Laplace{Scale: 1, Sensitivity: 1}},
			[]Adjacency{AddOrRemoveOne, ReplaceOne, ZeroOut}, nil},
		{Group{Size: 3, Mechanism: TruncatedLaplace{Scale: 1, Bound: 1, Distance: 0.66}},
			[]Adjacency{AddOrRemoveOne, ReplaceOne, ZeroOut}, nil},
		{Group{Size: 3, Mechanism: RandomizedResponse{Epsilon: 1}}, []Adjacency{ReplaceOne, ZeroOut},
			[]Adjacency{AddOrRemoveOne}},
		{FixedSizeSampled{BatchSize: 3, DatasetSize: 9, Mechanism: sampled}, []Adjacency{ReplaceOne},
			[]Adjacency{AddOrRemoveOne, ZeroOut}},
		{TruncatedPoissonSampled{BatchSize: 3, DatasetSize: 9, MaximumBatchSize: 5, Mechanism: sampled},
			[]Adjacency{AddOrRemoveOne, ReplaceOne, ZeroOut}, nil},
		{Shuffled{BatchSize: 3, DatasetSize: 9, Mechanism: sampled},
			[]Adjacency{AddOrRemoveOne, ReplaceOne, ZeroOut}, nil},
		{MixtureOfGaussians{StandardDeviation: 1, Sensitivities: NumbersOf(0, 2), Probabilities: NumbersOf(.5, .5)},
			[]Adjacency{AddOrRemoveOne, ReplaceOne, ZeroOut}, nil},
		{TreeAggregation{NoiseMultiplier: 1, Participation: Participation{Steps: 8}},
			[]Adjacency{AddOrRemoveOne, ReplaceOne, ZeroOut}, nil},
		{BandedMatrix{NoiseMultiplier: 1, Coefficients: NumbersOf(1, .5), Participation: Participation{Steps: 8}},
			[]Adjacency{AddOrRemoveOne, ReplaceOne, ZeroOut}, nil},
		{GeneralMatrix{StepNoise: noise, Coefficients: NumbersOf(1), Participation: Participation{Steps: 8}},
			[]Adjacency{AddOrRemoveOne, ReplaceOne, ZeroOut}, nil},
		{SampledMatrix{StepNoise: noise, Coefficients: NumbersOf(1), Steps: 8, SamplingProbability: 1},
			[]Adjacency{AddOrRemoveOne, ReplaceOne, ZeroOut}, nil},
		{AllocatedMatrix{StepNoise: noise, Coefficients: NumbersOf(1), Steps: 8, Period: 4},
			[]Adjacency{AddOrRemoveOne, ZeroOut}, []Adjacency{ReplaceOne}},
		{PoissonSampled{SamplingProbability: .1, Mechanism: GaussianDP{1}}, []Adjacency{AddOrRemoveOne},
			[]Adjacency{ReplaceOne, ZeroOut}},
	}
	for _, c := range cases {
		for _, adj := range c.adjacency {
			if err := c.m.Check(adj); err != nil {
				t.Errorf("%v under %v: %v", c.m, adj, err)
			}
		}
		for _, adj := range c.undefended {
			var ae *AdjacencyError
			if err := c.m.Check(adj); !errors.As(err, &ae) || ae.Hint == "" {
				t.Errorf("%v under %v: %v, want an AdjacencyError with a hint", c.m, adj, err)
			}
		}
		if err := c.m.Check(AdjacencyUnspecified); err == nil {
			t.Errorf("%v: accepted without an adjacency", c.m)
		}
	}
}

func composed(ms ...Mechanism) Composed {
	events := make([]Event, len(ms))
	for i, m := range ms {
		events[i] = Event{m, 1}
	}
	return Composed{ListOf(events...)}
}

func parallel(ms ...Mechanism) Parallel { return Parallel{Parts: ListOf(ms...)} }

func repeated(m Mechanism, n int) (ms []Mechanism) {
	for range n {
		ms = append(ms, m)
	}
	return ms
}

func TestCheckRefusesNamingTheField(t *testing.T) {
	g := Gaussian{NoiseMultiplier: 1}
	noise := StepNoise{NoiseMultiplier: 1}
	cases := []struct {
		m     Mechanism
		field string
	}{
		{Gaussian{}, "gaussian.standard_deviation"},
		{Gaussian{StandardDeviation: 1}, "gaussian.sensitivity"},
		{Gaussian{StandardDeviation: 1, Sensitivity: 1, Distance: 1}, "gaussian.distance"},
		{Gaussian{NoiseMultiplier: 1, Sensitivity: 1}, "gaussian.noise_multiplier"},
		{Laplace{Scale: 1}, "laplace.sensitivity"},
		{RandomizedResponse{}, "randomized_response.epsilon"},
		{RandomizedResponse{Epsilon: 1, Noise: .5}, "randomized_response.noise"},
		{RandomizedResponse{Noise: .5}, "randomized_response.buckets"},
		{RandomizedResponse{Noise: 1, Buckets: 2}, "randomized_response.noise"},
		{RandomizedResponse{Epsilon: 1, Buckets: 1}, "randomized_response.buckets"},
		{RandomizedResponse{Epsilon: 1, Buckets: MaxBuckets + 1}, "randomized_response.buckets"},
		{DiscreteGaussian{Sensitivity: 1}, "discrete_gaussian.standard_deviation"},
		{DiscreteGaussian{StandardDeviation: 1}, "discrete_gaussian.sensitivity"},
		{DiscreteGaussian{StandardDeviation: 1, Sensitivity: 1.5}, "discrete_gaussian.sensitivity"},
		{DiscreteGaussian{StandardDeviation: 1, Sensitivity: MaxWhole/2 + 1}, "discrete_gaussian.sensitivity"},
		{DiscreteGaussian{StandardDeviation: 1, Distance: 0.5}, "discrete_gaussian.distance"},
		{DiscreteGaussian{StandardDeviation: 1, Sensitivity: 0.5, Coordinates: 1}, "discrete_gaussian.sensitivity"},
		{DiscreteGaussian{StandardDeviation: 1, Sensitivity: 1, Coordinates: MaxWhole + 1},
			"discrete_gaussian.coordinates"},
		{DiscreteLaplace{Scale: 1, Sensitivity: 2.5}, "discrete_laplace.sensitivity"},
		{DiscreteLaplace{Scale: 1, Distance: 2 * MaxWhole}, "discrete_laplace.distance"},
		{TruncatedLaplace{Scale: 1, Sensitivity: 1}, "truncated_laplace.bound"},
		{TruncatedLaplace{Scale: 1, Bound: 1, Sensitivity: 1}, "truncated_laplace.bound"}, // 2Δ = 2τ
		{TruncatedLaplace{Scale: 1, Bound: 1, Distance: 2}, "truncated_laplace.bound"},
		{Exponential{}, "exponential.epsilon"},
		{Exponential{Epsilon: 1, Monotone: true}, "exponential.epsilon"},
		{Exponential{Epsilon: 1, Scale: 1}, "exponential.epsilon"},
		{Exponential{Scale: 1}, "exponential.sensitivity"},
		{ReportNoisyMax{Epsilon: 1}, "report_noisy_max.distribution"},
		{ReportNoisyMax{Distribution: 4, Epsilon: 1}, "report_noisy_max.distribution"},
		{ReportNoisyMax{Distribution: LaplaceMax, Sensitivity: 1}, "report_noisy_max.epsilon"},
		{AboveThreshold{}, "above_threshold.threshold_epsilon"},
		{AboveThreshold{QueryEpsilon: 1}, "above_threshold.threshold_epsilon"},
		{AboveThreshold{ThresholdEpsilon: 1}, "above_threshold.query_epsilon"},
		{AboveThreshold{ThresholdEpsilon: 1, QueryEpsilon: 1, Positives: 1}, "above_threshold.threshold_epsilon"},
		{AboveThreshold{ThresholdScale: 1, QueryScale: 2, Sensitivity: 1}, "above_threshold.positives"},
		{AboveThreshold{ThresholdScale: 1, QueryScale: 2, Sensitivity: 1, Positives: MaxPositives + 1},
			"above_threshold.positives"},
		{AboveThreshold{ThresholdScale: 1, Sensitivity: 1, Positives: 1}, "above_threshold.query_scale"},
		{InverseSensitivity{}, "inverse_sensitivity.epsilon"},
		{Histogram{}, "histogram.laplace_scale"},
		{Histogram{LaplaceScale: 1, StandardDeviation: 1}, "histogram.standard_deviation"},
		{CountingQueries{Rho: 1}, "counting_queries.queries"},
		{CountingQueries{Queries: 1}, "counting_queries.rho"},
		{ApproximateDP{Epsilon: 1}, "approximate_dp.delta"},
		{ZeroConcentratedDP{Rho: 1, Delta: 1}, "zero_concentrated_dp.delta"},
		{NameAndShame{}, "name_and_shame.delta"},
		{RenyiDP{}, "renyi_dp.orders"},
		{RenyiDP{NumbersOf(2, 3), NumbersOf(1)}, "renyi_dp.epsilons"},
		{RenyiDP{NumbersOf(2, 2), NumbersOf(1, 1)}, "renyi_dp.orders[1]"},
		{RenyiDP{NumbersOf(1, 2), NumbersOf(1, 1)}, "renyi_dp.orders[0]"},
		{RenyiDP{NumbersOf(2, math.Inf(1)), NumbersOf(1, 1)}, "renyi_dp.orders[1]"},
		{RenyiDP{NumbersOf(2, 3), NumbersOf(1, math.NaN())}, "renyi_dp.epsilons[1]"},
		{RenyiDP{NumbersOf(make([]float64, maxOrders+1)...), ""}, "renyi_dp.orders"},
		{PrivacyLossTable{}, "privacy_loss_table.losses"},
		{PrivacyLossTable{Losses: NumbersOf(1), Masses: NumbersOf(1)}, "privacy_loss_table.losses"},
		{PrivacyLossTable{Losses: NumbersOf(1, 1), Masses: NumbersOf(.5, .5)}, "privacy_loss_table.losses[1]"},
		{PrivacyLossTable{Losses: NumbersOf(1, 701), Masses: NumbersOf(.5, .5)}, "privacy_loss_table.losses[1]"},
		{PrivacyLossTable{Losses: NumbersOf(0, 1), Masses: NumbersOf(.5)}, "privacy_loss_table.masses"},
		{PrivacyLossTable{Losses: NumbersOf(0, 1), Masses: NumbersOf(1, 0)}, "privacy_loss_table.masses[1]"},
		{PrivacyLossTable{Losses: NumbersOf(0, 1), Masses: NumbersOf(.5, .5), InfiniteMass: 1},
			"privacy_loss_table.infinite_mass"},
		{PrivacyLossTable{Losses: NumbersOf(0, 1), Masses: NumbersOf(.5, .5), InfiniteMass: .1},
			"privacy_loss_table.masses"},
		{PrivacyLossTable{Losses: NumbersOf(0, 1), Masses: NumbersOf(.5, .4)}, "privacy_loss_table.masses"},
		// Σ p·e^{−l} = 1.54
		{PrivacyLossTable{Losses: NumbersOf(-1, 1), Masses: NumbersOf(.5, .5)}, "privacy_loss_table.masses"},
		{Parallel{}, "parallel.parts"},
		{parallel(make([]Mechanism, maxParts+1)...), "parallel.parts"},
		{parallel(g, nil), "parallel.parts[1]"},
		{parallel(g, PureDP{-1}), "parallel.parts[1].pure_dp.epsilon"},
		{parallel(parallel(parallel(parallel(g)))), "parallel.parts"},
		{parallel(repeated(composed(repeated(g, 60)...), 5)...), "parallel.parts"},
		{RepeatAndSelect{Mechanism: g}, "repeat_and_select.gamma"},
		{RepeatAndSelect{Mechanism: g, Gamma: 1}, "repeat_and_select.gamma"},
		{RepeatAndSelect{Mechanism: g, Gamma: .5, Mean: 1}, "repeat_and_select.mean"},
		{RepeatAndSelect{Mechanism: g, Mean: 1e10}, "repeat_and_select.mean"},
		{RepeatAndSelect{Mechanism: g, Eta: 1, Mean: 1}, "repeat_and_select.eta"},
		{RepeatAndSelect{Mechanism: g, Gamma: .5, Eta: -1}, "repeat_and_select.eta"},
		{RepeatAndSelect{Mechanism: g, Gamma: .5, Eta: math.NaN()}, "repeat_and_select.eta"},
		{RepeatAndSelect{Mechanism: g, Gamma: .5, Eta: 1, FirstAboveThreshold: true},
			"repeat_and_select.first_above_threshold"},
		{RepeatAndSelect{Mechanism: g, Mean: 2, FirstAboveThreshold: true}, "repeat_and_select.first_above_threshold"},
		{RepeatAndSelect{Mechanism: g, FirstAboveThreshold: true}, "repeat_and_select.gamma"},
		{RepeatAndSelect{Gamma: .5}, "repeat_and_select.mechanism"},
		{RepeatAndSelect{Gamma: .5, Mechanism: PureDP{-1}}, "repeat_and_select.mechanism.pure_dp.epsilon"},
		{RepeatAndSelect{Gamma: .5, Mechanism: PrivacyLossTable{NumbersOf(0, 1), NumbersOf(.5, .5), 0}},
			"repeat_and_select.mechanism"},
		{RepeatAndSelect{Gamma: .5,
			Mechanism: composed(RepeatAndSelect{Gamma: .5,
				Mechanism: PrivacyLossTable{NumbersOf(0, 1), NumbersOf(.5, .5), 0}})},
			"repeat_and_select.mechanism.composed.events[0].mechanism.repeat_and_select.mechanism"},
		{Composed{}, "composed.events"},
		{composed(make([]Mechanism, maxComposedEvents+1)...), "composed.events"},
		{composed(g, nil), "composed.events[1].mechanism"},
		{Composed{ListOf(Event{g, 1}, Event{g, 0})}, "composed.events[1].count"},
		{composed(g, composed(Laplace{Scale: 1})),
			"composed.events[1].mechanism.composed.events[0].mechanism.laplace.sensitivity"},
		{composed(composed(composed(composed(g)))), "composed.events"},
		{Composed{ListOf(Event{g, math.MaxUint32}, Event{PureDP{1}, 1})}, "composed.events"},
		{Composed{ListOf(Event{Composed{ListOf(Event{g, math.MaxUint32})}, math.MaxUint32})}, "composed.events"},
		{composed(repeated(composed(repeated(g, 60)...), 5)...), "composed.events"},
		{DPSGD{}, "dp_sgd.noise_multiplier"},
		{DPSGD{NoiseMultiplier: 1, MaxGradNorm: -1}, "dp_sgd.max_grad_norm"},
		{DPSGD{NoiseMultiplier: 1, BatchSize: 1, Steps: 1}, "dp_sgd.dataset_size"},
		{DPSGD{NoiseMultiplier: 1, BatchSize: 3, DatasetSize: 2, Steps: 1}, "dp_sgd.batch_size"},
		{DPSGD{NoiseMultiplier: 1, BatchSize: 3, DatasetSize: 11, Steps: 1, Accumulation: 4}, "dp_sgd.accumulation"},
		{DPSGD{NoiseMultiplier: 1, BatchSize: 3, DatasetSize: 11, Steps: 1, Accumulation: math.MaxUint64},
			"dp_sgd.accumulation"},
		{DPSGD{NoiseMultiplier: 1, BatchSize: 3, DatasetSize: 11}, "dp_sgd.epochs"},
		{DPSGD{NoiseMultiplier: 1, BatchSize: 3, DatasetSize: 11, Steps: 1, Epochs: 1}, "dp_sgd.steps"},
		{DPSGD{NoiseMultiplier: 1, BatchSize: 3, DatasetSize: 11, Steps: 1 << 32}, "dp_sgd.steps"},
		{DPSGD{NoiseMultiplier: 1, BatchSize: 3, DatasetSize: 11, Epochs: math.NaN()}, "dp_sgd.epochs"},
		{DPSGD{NoiseMultiplier: 1, BatchSize: 3, DatasetSize: 11, Epochs: 1e300}, "dp_sgd.epochs"},
		{PoissonSampled{SamplingProbability: .5, Mechanism: composed(g, PureDP{1})},
			"poisson_sampled.mechanism.composed.events"},
		{PoissonSampled{SamplingProbability: .5, Mechanism: composed(Gaussian{StandardDeviation: 1, Distance: 1})},
			"poisson_sampled.mechanism.composed.events"},
		{ApproximateDP{Epsilon: 1, Delta: 1}, "approximate_dp.delta"},
		{PoissonSampled{Mechanism: g}, "poisson_sampled.sampling_probability"},
		{PoissonSampled{SamplingProbability: 1.5, Mechanism: g}, "poisson_sampled.sampling_probability"},
		{PoissonSampled{SamplingProbability: .5, BatchSize: 1, Mechanism: g}, "poisson_sampled.sampling_probability"},
		{PoissonSampled{BatchSize: 3, DatasetSize: 2, Mechanism: g}, "poisson_sampled.batch_size"},
		{PoissonSampled{DatasetSize: 2, Mechanism: g}, "poisson_sampled.batch_size"},
		{PoissonSampled{BatchSize: 3, Mechanism: g}, "poisson_sampled.dataset_size"},
		{PoissonSampled{BatchSize: 3, DatasetSize: MaxDatasetSize + 1, Mechanism: g}, "poisson_sampled.dataset_size"},
		{PoissonSampled{SamplingProbability: .5}, "poisson_sampled.mechanism"},
		{Group{Mechanism: g}, "group.size"},
		{Group{Size: MaxGroup + 1, Mechanism: g}, "group.size"},
		{Group{Size: 2}, "group.mechanism"},
		{Group{Size: 2, Mechanism: Group{Size: 2, Mechanism: g}}, "group.mechanism"},
		{Group{Size: 2, Mechanism: Gaussian{NoiseMultiplier: -1}}, "group.mechanism.gaussian.noise_multiplier"},
		{Group{Size: 256, Mechanism: PoissonSampled{SamplingProbability: .5, Mechanism: g}}, "group.size"},
		{Group{Size: 100, Mechanism: ApproximateDP{Epsilon: 1, Delta: 1e-9}}, "group.size"},
		{Group{Size: 3, Mechanism: TruncatedLaplace{Scale: 1, Bound: 3, Distance: 2}}, "group.size"},
		{Group{Size: 3, Mechanism: TruncatedLaplace{Scale: 1, Bound: 3, Distance: 7}},
			"group.mechanism.truncated_laplace.bound"},
		{Group{Size: 2, Mechanism: DiscreteLaplace{Scale: 1, Distance: 1 << 52}}, "group.size"},
		{Group{Size: 2, Mechanism: DiscreteGaussian{StandardDeviation: 1, Sensitivity: 1 << 51}}, "group.size"},
		{Group{Size: 2, Mechanism: DiscreteGaussian{StandardDeviation: 1, Sensitivity: 1.5}},
			"group.mechanism.discrete_gaussian.sensitivity"},
		{Group{Size: 2, Mechanism: composed(g)}, "group.mechanism"},
		{Group{Size: 2, Mechanism: RenyiDP{NumbersOf(2), NumbersOf(1)}}, "group.mechanism"},
		{Group{Size: 2, Mechanism: DPSGD{NoiseMultiplier: 1, BatchSize: 1, DatasetSize: 9, Steps: 1}},
			"group.mechanism"},
		{FixedSizeSampled{BatchSize: 2, DatasetSize: 1, Mechanism: g}, "fixed_size_sampled.batch_size"},
		{FixedSizeSampled{BatchSize: 1, DatasetSize: 2, Mechanism: GaussianDP{1}}, "fixed_size_sampled.mechanism"},
		{FixedSizeSampled{BatchSize: 1, DatasetSize: 2, Mechanism: Gaussian{StandardDeviation: 1, Distance: 1}},
			"fixed_size_sampled.mechanism.gaussian.distance"},
		{TruncatedPoissonSampled{SamplingProbability: .5, DatasetSize: 9, Mechanism: g},
			"truncated_poisson_sampled.maximum_batch_size"},
		{TruncatedPoissonSampled{SamplingProbability: .5, MaximumBatchSize: 9, Mechanism: g},
			"truncated_poisson_sampled.dataset_size"},
		{TruncatedPoissonSampled{SamplingProbability: .5, BatchSize: 3, DatasetSize: 9, MaximumBatchSize: 9,
			Mechanism: g}, "truncated_poisson_sampled.batch_size"},
		{TruncatedPoissonSampled{SamplingProbability: 1, DatasetSize: 9, MaximumBatchSize: 9, Mechanism: g},
			"truncated_poisson_sampled.sampling_probability"},
		{Shuffled{BatchSize: 1, DatasetSize: 2, Mechanism: Laplace{Scale: 1, Sensitivity: 1}}, "shuffled.mechanism"},
		{TreeAggregation{NoiseMultiplier: 1}, "tree_aggregation.steps"},
		{TreeAggregation{NoiseMultiplier: 1, Participation: Participation{Steps: 2, Participations: 3}},
			"tree_aggregation.participations"},
		{TreeAggregation{NoiseMultiplier: 1, Sensitivity: 1, Participation: Participation{Steps: 2}},
			"tree_aggregation.noise_multiplier"},
		{BandedMatrix{NoiseMultiplier: 1, Participation: Participation{Steps: 2}}, "banded_matrix.coefficients"},
		{GeneralMatrix{Coefficients: NumbersOf(1), Participation: Participation{Steps: 2}},
			"general_matrix.standard_deviation"},
		{GeneralMatrix{StepNoise: noise, Coefficients: NumbersOf(1)}, "general_matrix.steps"},
		{GeneralMatrix{StepNoise: noise, Coefficients: NumbersOf(1), Participation: Participation{Steps: 1 << 18}},
			"general_matrix.steps"},
		{GeneralMatrix{StepNoise: noise, Participation: Participation{Steps: 2}}, "general_matrix.entries"},
		{GeneralMatrix{StepNoise: noise, Entries: NumbersOf(1, 2), Participation: Participation{Steps: 2}},
			"general_matrix.entries"},
		{GeneralMatrix{StepNoise: noise, Entries: NumbersOf(1, 2, 0), Participation: Participation{Steps: 2}},
			"general_matrix.entries[2]"},
		{GeneralMatrix{StepNoise: noise, Entries: NumbersOf(1), Coefficients: NumbersOf(1),
			Participation: Participation{Steps: 1}}, "general_matrix.entries"},
		{GeneralMatrix{StepNoise: noise, Entries: NumbersOf(1), Denominator: NumbersOf(1, -1),
			Participation: Participation{Steps: 1}}, "general_matrix.denominator"},
		{GeneralMatrix{StepNoise: noise, Coefficients: NumbersOf(0, 1), Participation: Participation{Steps: 2}},
			"general_matrix.coefficients[0]"},
		{GeneralMatrix{StepNoise: noise, Coefficients: NumbersOf(1), Denominator: NumbersOf(1, math.NaN()),
			Participation: Participation{Steps: 2}}, "general_matrix.denominator[1]"},
		{GeneralMatrix{StepNoise: noise, Coefficients: NumbersOf(1), Denominator: NumbersOf(1, -1, .5), Exponent: .5,
			Participation: Participation{Steps: 2}}, "general_matrix.exponent"},
		{GeneralMatrix{StepNoise: noise, Coefficients: NumbersOf(1), Period: 2,
			Participation: Participation{Steps: 2, Participations: 2}}, "general_matrix.period"},
		{SampledMatrix{StepNoise: noise, Steps: 8, SamplingProbability: .5}, "sampled_matrix.coefficients"},
		{SampledMatrix{StepNoise: noise, Coefficients: NumbersOf(1), SamplingProbability: .5}, "sampled_matrix.steps"},
		{SampledMatrix{StepNoise: noise, Coefficients: NumbersOf(1), Steps: 8}, "sampled_matrix.sampling_probability"},
		{SampledMatrix{StepNoise: noise, Coefficients: NumbersOf(1, 1), Steps: 8, Groups: 1, SamplingProbability: .5},
			"sampled_matrix.groups"},
		{AllocatedMatrix{StepNoise: noise, Coefficients: NumbersOf(1, 1), Steps: 8, Period: 1},
			"allocated_matrix.period"},
		{AllocatedMatrix{StepNoise: noise, Coefficients: NumbersOf(1, 1), Steps: 8}, "allocated_matrix.period"},
		{PoissonSampled{SamplingProbability: .5, Mechanism: ZeroConcentratedDP{Rho: 1, Delta: .1}},
			"poisson_sampled.mechanism.zero_concentrated_dp.delta"},
		{PoissonSampled{SamplingProbability: .5, Mechanism: PoissonSampled{SamplingProbability: .5, Mechanism: g}},
			"poisson_sampled.mechanism"},
		{PoissonSampled{SamplingProbability: .5, Mechanism: PureDP{Epsilon: -1}},
			"poisson_sampled.mechanism.pure_dp.epsilon"},
		{PoissonSampled{SamplingProbability: .5, Mechanism: DiscreteGaussian{StandardDeviation: 1, Sensitivity: 1.5}},
			"poisson_sampled.mechanism.discrete_gaussian.sensitivity"},
		{PoissonSampled{SamplingProbability: .5, Mechanism: TruncatedLaplace{Scale: 1, Bound: 3, Distance: 1}},
			"poisson_sampled.mechanism.truncated_laplace.distance"},
		{PoissonSampled{SamplingProbability: .5, Mechanism: Laplace{Scale: 1, Distance: 1}},
			"poisson_sampled.mechanism.laplace.distance"},
		{PoissonSampled{SamplingProbability: .5, Mechanism: Gaussian{StandardDeviation: 1, Distance: 1}},
			"poisson_sampled.mechanism.gaussian.distance"},
		{PoissonSampled{SamplingProbability: .5, Mechanism: Gaussian{StandardDeviation: 1, Sensitivity: -1}},
			"poisson_sampled.mechanism.gaussian.sensitivity"},
	}
	for _, c := range cases {
		var pe *ParameterError
		if err := c.m.Check(ReplaceOne); !errors.As(err, &pe) || pe.Field != c.field || pe.Allowed == "" {
			t.Errorf("%#v: %v, want an error about %s", c.m, err, c.field)
		}
	}
}

// Every float field of every mechanism refuses what is not a positive, finite,
// normal number.
func TestCheckRefusesBadNumbers(t *testing.T) {
	with := func(v float64) []Mechanism {
		return []Mechanism{
			Gaussian{StandardDeviation: v, Sensitivity: 1}, Gaussian{StandardDeviation: 1, Sensitivity: v},
			Gaussian{StandardDeviation: 1, Distance: v}, Gaussian{NoiseMultiplier: v},
			Laplace{Scale: v, Sensitivity: 1}, Laplace{Scale: 1, Sensitivity: v}, Laplace{Scale: 1, Distance: v},
			RandomizedResponse{Epsilon: v}, RandomizedResponse{Noise: v, Buckets: 3},
			PureDP{v}, ApproximateDP{v, .1}, ApproximateDP{1, v}, ZeroConcentratedDP{Rho: v},
			GaussianDP{v}, NameAndShame{v},
			RenyiDP{NumbersOf(2), NumbersOf(v)}, RenyiDP{NumbersOf(v + 1), NumbersOf(1)}, composed(PureDP{v}),
			DPSGD{NoiseMultiplier: v, BatchSize: 1, DatasetSize: 9, Steps: 1},
			DPSGD{NoiseMultiplier: 1, BatchSize: 1, DatasetSize: 9, Epochs: v},
			DiscreteGaussian{StandardDeviation: v, Sensitivity: 1},
			DiscreteGaussian{StandardDeviation: 1, Distance: v, Coordinates: 2},
			DiscreteLaplace{Scale: v, Sensitivity: 1}, TruncatedLaplace{Scale: v, Bound: 1, Distance: 1},
			TruncatedLaplace{Scale: 1, Bound: v, Distance: .01}, TruncatedLaplace{Scale: 1, Bound: 1, Sensitivity: v},
			Exponential{Epsilon: v}, Exponential{Scale: v, Sensitivity: 1}, Exponential{Scale: 1, Sensitivity: v},
			ReportNoisyMax{Distribution: LaplaceMax, Epsilon: v},
			ReportNoisyMax{Distribution: LaplaceMax, Scale: 1, Sensitivity: v},
			AboveThreshold{ThresholdEpsilon: v, QueryEpsilon: 1}, AboveThreshold{ThresholdEpsilon: 1, QueryEpsilon: v},
			AboveThreshold{ThresholdScale: v, QueryScale: 1, Sensitivity: 1, Positives: 1},
			AboveThreshold{ThresholdScale: 1, QueryScale: v, Sensitivity: 1, Positives: 1},
			AboveThreshold{ThresholdScale: 1, QueryScale: 1, Sensitivity: v, Positives: 1},
			InverseSensitivity{v}, Histogram{LaplaceScale: v}, Histogram{StandardDeviation: v}, CountingQueries{1, v},
			PoissonSampled{SamplingProbability: v, Mechanism: Gaussian{NoiseMultiplier: 1}},
			PoissonSampled{SamplingProbability: .1, Mechanism: Gaussian{NoiseMultiplier: v}},
			PoissonSampled{SamplingProbability: .1, Mechanism: Laplace{Scale: v, Sensitivity: 1}},
			PoissonSampled{SamplingProbability: .1, Mechanism: RandomizedResponse{Epsilon: v}},
		}
	}
	for _, v := range []float64{0, math.Copysign(0, -1), -1, math.NaN(), math.Inf(1), math.Inf(-1), 5e-324, 0x1p-1023} {
		for _, m := range with(v) {
			if m.Check(ReplaceOne) == nil {
				t.Errorf("accepted %#v", m)
			}
		}
	}
	for _, m := range with(0.25) {
		if err := m.Check(ReplaceOne); err != nil {
			t.Errorf("refused %#v: %v", m, err)
		}
	}
}

func TestRatioDoublesUnderReplaceOneOnly(t *testing.T) {
	for _, adj := range []Adjacency{AddOrRemoveOne, ReplaceOne, ZeroOut} {
		want := 3.0
		if adj == ReplaceOne {
			want = 6
		}
		if s, d := (Gaussian{StandardDeviation: 2, Sensitivity: 3}).Ratio(adj); s != 2 || d != want {
			t.Errorf("gaussian sensitivity under %v: %g, %g", adj, s, d)
		}
		if b, d := (Laplace{Scale: 2, Sensitivity: 3}).Ratio(adj); b != 2 || d != want {
			t.Errorf("laplace sensitivity under %v: %g, %g", adj, b, d)
		}
		if s, d := (Gaussian{NoiseMultiplier: 2}).Ratio(adj); s != 2 || d != want/3 {
			t.Errorf("noise multiplier under %v: %g, %g", adj, s, d)
		}
		if _, d := (Gaussian{StandardDeviation: 2, Distance: 3}).Ratio(adj); d != 3 {
			t.Errorf("distance under %v: %g", adj, d)
		}
	}
}

// The quotient of two sizes never lies below the exact one, and at most one
// unit in the last place above it.
func TestProbabilityRoundsUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := rapid.Uint64Range(1, MaxDatasetSize).Draw(t, "dataset")
		b := rapid.Uint64Range(1, d).Draw(t, "batch")
		q := PoissonSampled{BatchSize: b, DatasetSize: d}.Probability()
		below := math.Nextafter(q, 0)
		if math.FMA(q, float64(d), -float64(b)) < 0 || q > 1 {
			t.Fatalf("%d/%d: %g is too small or above 1", b, d, q)
		}
		if math.FMA(below, float64(d), -float64(b)) >= 0 {
			t.Fatalf("%d/%d: %g is not the least upper neighbour", b, d, q)
		}
	})
}

func TestComposeMergesAndRefuses(t *testing.T) {
	a, b := PureDP{1}, Gaussian{NoiseMultiplier: 1}
	c, err := Compose(AddOrRemoveOne, []Event{{a, 2}, {b, 1}, {a, math.MaxUint32}})
	if err != nil || len(c.Parts) != 2 || c.Parts[0] != (Part{a, math.MaxUint32 + 2}) || c.Parts[1] != (Part{b, 1}) {
		t.Fatalf("%v, %v", c, err)
	}
	for want, events := range map[string][]Event{
		"events[1].count":            {{a, 1}, {a, 0}},
		"events[0].mechanism":        {{nil, 1}},
		"events[1].pure_dp.epsilon":  {{a, 1}, {PureDP{-1}, 1}},
		"events[0]: randomized_resp": {{RandomizedResponse{Epsilon: 1}, 1}},
	} {
		if _, err := Compose(AddOrRemoveOne, events); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want an error about %s", err, want)
		}
	}
	if _, err := Compose(AdjacencyUnspecified, nil); err == nil {
		t.Error("composed without an adjacency")
	}
}

func TestAddCountStopsBeforeOverflow(t *testing.T) {
	const limit = uint64(math.MaxInt64)
	if got, err := addCount(limit-5, 5); err != nil || got != limit {
		t.Errorf("%d, %v", got, err)
	}
	if _, err := addCount(limit-5, 6); err == nil {
		t.Error("accepted a total of 2^63")
	}
}

// What is allowed is an alternative, not a reason.
func TestMessagesNameTheAlternative(t *testing.T) {
	for want, m := range map[string]Mechanism{
		"gaussian.standard_deviation: missing or 0; allowed: a finite number > 0 (at least 2.3e-308), or " +
			"noise_multiplier alone": Gaussian{},
		"poisson_sampled.sampling_probability: 5e-324; allowed: a number in (0, 1], at least 2.3e-308": PoissonSampled{
			SamplingProbability: 5e-324},
		"the record is; allowed: pure_dp with its epsilon, if that is what was proven": RandomizedResponse{Epsilon: 1},
	} {
		if err := m.Check(AddOrRemoveOne); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q", err, want)
		}
	}
}
