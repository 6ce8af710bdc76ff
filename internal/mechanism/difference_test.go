package mechanism

import (
	"reflect"
	"testing"
)

func sampled(q, sigma float64) Mechanism {
	return PoissonSampled{SamplingProbability: q, Mechanism: Gaussian{NoiseMultiplier: sigma}}
}

func TestDifferences(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b Mechanism
		want []string
	}{
		{sampled(0.01, 1), sampled(0.01, 1), nil},
		{sampled(0.01, 1), sampled(0.01, 1.1), []string{"noise_multiplier: 1 instead of 1.1"}},
		{sampled(0.02, 1), sampled(0.01, 1.1),
			[]string{"sampling_probability: 0.02 instead of 0.01", "noise_multiplier: 1 instead of 1.1"}},
		{PoissonSampled{BatchSize: 256, DatasetSize: 60000, Mechanism: Gaussian{NoiseMultiplier: 1}}, sampled(0.01, 1),
			[]string{"sampling_probability: not given instead of 0.01", "batch_size: 256 instead of not given",
				"dataset_size: 60000 instead of not given"}},
		{Gaussian{NoiseMultiplier: 1}, sampled(0.01, 1), []string{"mechanism: gaussian instead of poisson_sampled"}},
		{PoissonSampled{SamplingProbability: 0.01, Mechanism: Laplace{Scale: 1, Sensitivity: 1}}, sampled(0.01, 1),
			[]string{"mechanism: laplace instead of gaussian"}},
		{Composed{ListOf(Event{sampled(0.01, 1), 2})},
			Composed{ListOf(Event{sampled(0.01, 1), 3})}, []string{"events"}},
		{MixtureOfGaussians{StandardDeviation: 1, Sensitivities: NumbersOf(1, 2), Probabilities: NumbersOf(0.5, 0.5)},
			MixtureOfGaussians{StandardDeviation: 2, Sensitivities: NumbersOf(1, 3),
				Probabilities: NumbersOf(0.5, 0.5)},
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
	plan := []Part{{Gaussian{NoiseMultiplier: 1}, 1}, {sampled(0.01, 4), 1}, {sampled(0.01, 1.1), 1},
		{sampled(0.02, 1), 1}, {PureDP{Epsilon: 1}, 1}}
	for _, c := range []struct {
		m    Mechanism
		want int
	}{
		{sampled(0.01, 1), 2},
		{sampled(0.01, 100), 1},
		{sampled(0.019, 1), 3},
		{Gaussian{NoiseMultiplier: 1.1}, 0},
		{PureDP{Epsilon: 2}, 4},
		{Laplace{Scale: 1, Sensitivity: 1}, 0}, // of none the kind: the first
	} {
		if at, _ := Nearest(c.m, plan); at != c.want {
			t.Errorf("%v: %d; want %d", c.m, at, c.want)
		}
	}
	if at, d := Nearest(PureDP{Epsilon: 1}, nil); at != -1 || d != nil {
		t.Errorf("of nothing: %d, %v", at, d)
	}
}
