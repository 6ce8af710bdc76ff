// SPDX-License-Identifier: Apache-2.0

package variant

import (
	"reflect"
	"testing"

	"github.com/dpaccountant/accountant/internal/mechanism"
)

func sampled(q, sigma float64) mechanism.Mechanism {
	return mechanism.PoissonSampled{SamplingProbability: q, Mechanism: mechanism.Gaussian{NoiseMultiplier: sigma}}
}

func composed(m mechanism.Mechanism, count uint32) mechanism.Mechanism {
	return mechanism.Composed{Events: mechanism.ListOf(mechanism.Event{Mechanism: m, Count: count})}
}

func TestDifferences(t *testing.T) {
	t.Parallel()
	one, laplace := mechanism.Gaussian{NoiseMultiplier: 1}, mechanism.Laplace{Scale: 1, Sensitivity: 1}
	halves := mechanism.NumbersOf(0.5, 0.5)
	for _, c := range []struct {
		a, b mechanism.Mechanism
		want []string
	}{
		{sampled(0.01, 1), sampled(0.01, 1), nil},
		{sampled(0.01, 1), sampled(0.01, 1.1), []string{"noise_multiplier: 1 instead of 1.1"}},
		{sampled(0.02, 1), sampled(0.01, 1.1),
			[]string{"sampling_probability: 0.02 instead of 0.01", "noise_multiplier: 1 instead of 1.1"}},
		{mechanism.PoissonSampled{BatchSize: 256, DatasetSize: 60000, Mechanism: one}, sampled(0.01, 1),
			[]string{"sampling_probability: not given instead of 0.01", "batch_size: 256 instead of not given",
				"dataset_size: 60000 instead of not given"}},
		{one, sampled(0.01, 1), []string{"mechanism: gaussian instead of poisson_sampled"}},
		{mechanism.PoissonSampled{SamplingProbability: 0.01, Mechanism: laplace}, sampled(0.01, 1),
			[]string{"mechanism: laplace instead of gaussian"}},
		{composed(sampled(0.01, 1), 2), composed(sampled(0.01, 1), 3), []string{"events"}},
		{mechanism.MixtureOfGaussians{StandardDeviation: 1, Sensitivities: mechanism.NumbersOf(1, 2),
			Probabilities: halves},
			mechanism.MixtureOfGaussians{StandardDeviation: 2, Sensitivities: mechanism.NumbersOf(1, 3),
				Probabilities: halves},
			[]string{"standard_deviation: 1 instead of 2", "sensitivities"}},
	} {
		var got []string
		for _, d := range Differences(c.a, c.b) {
			got = append(got, d.String())
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%v, %v: %q; want %q", c.a, c.b, got, c.want)
		}
	}
}

// What is nearest has the fewest differences, and of those with one the smallest factor.
func TestNearest(t *testing.T) {
	t.Parallel()
	plan := parts(part(mechanism.Gaussian{NoiseMultiplier: 1}, 1), part(sampled(0.01, 4), 1),
		part(sampled(0.01, 1.1), 1), part(sampled(0.02, 1), 1), part(mechanism.PureDP{Epsilon: 1}, 1))
	for _, c := range []struct {
		m    mechanism.Mechanism
		want int
	}{
		{sampled(0.01, 1), 2},
		{sampled(0.01, 100), 1},
		{sampled(0.019, 1), 3},
		{mechanism.Gaussian{NoiseMultiplier: 1.1}, 0},
		{mechanism.PureDP{Epsilon: 2}, 4},
		{mechanism.Laplace{Scale: 1, Sensitivity: 1}, 0}, // of none the kind: the first
	} {
		if at, _ := Nearest(c.m, plan); at != c.want {
			t.Errorf("%v: %d; want %d", c.m, at, c.want)
		}
	}
	if at, d := Nearest(mechanism.PureDP{Epsilon: 1}, nil); at != -1 || d != nil {
		t.Errorf("of nothing: %d, %v", at, d)
	}
}
