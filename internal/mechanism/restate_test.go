package mechanism

import (
	"reflect"
	"testing"
)

func TestIfShuffled(t *testing.T) {
	noise := Gaussian{NoiseMultiplier: 1.1}
	steps := PoissonSampled{BatchSize: 256, DatasetSize: 60000, Mechanism: noise} // a pass is 235 of them
	pass := Shuffled{BatchSize: 256, DatasetSize: 60000, Mechanism: noise}
	of := func(parts ...Part) Composition { return Composition{Adjacency: AddOrRemoveOne, Parts: parts} }
	for _, c := range []struct {
		given Composition
		want  []Part // nil: refused
	}{
		{of(Part{steps, 235}), []Part{{pass, 1}}},
		{of(Part{steps, 236}), []Part{{pass, 2}}}, // a pass that was begun counts
		{of(Part{noise, 7}, Part{steps, 1}), []Part{{noise, 7}, {pass, 1}}},
		{of(Part{DPSGD{NoiseMultiplier: 1.1, BatchSize: 256, DatasetSize: 60000, Epochs: 60}, 2}, Part{steps, 1}),
			[]Part{{pass, 121}}},
		{of(Part{PoissonSampled{SamplingProbability: 0.1, Mechanism: noise}, 1}), nil},
		{of(Part{PoissonSampled{BatchSize: 1, DatasetSize: 9, Mechanism: Laplace{Scale: 1, Sensitivity: 1}}, 1}), nil},
		{of(Part{noise, 1}), nil},
	} {
		got, err := c.given.IfShuffled()
		if (err != nil) != (c.want == nil) || err == nil && !reflect.DeepEqual(got.Parts, c.want) {
			t.Errorf("%v: %v, %v; want %v", c.given, got.Parts, err, c.want)
		}
	}
}

func TestForGroup(t *testing.T) {
	run := DPSGD{NoiseMultiplier: 1, BatchSize: 10, DatasetSize: 1000, Steps: 1 << 20}
	step := Expand(run)[0].Mechanism
	for _, c := range []struct {
		parts []Part
		want  []Part // nil: refused
	}{
		{[]Part{{run, 3}}, []Part{{Group{2, step}, 3 << 20}}},
		{[]Part{{run, 1 << 43}}, nil}, // more steps than can be counted
		{[]Part{{Gaussian{NoiseMultiplier: 1}, 5}, {step, 1}, {run, 1}},
			[]Part{{Group{2, Gaussian{NoiseMultiplier: 1}}, 5}, {Group{2, step}, 1 + 1<<20}}},
		{[]Part{{Group{Size: 3, Mechanism: Gaussian{NoiseMultiplier: 1}}, 1}}, nil},
	} {
		got, err := Composition{Adjacency: ZeroOut, Parts: c.parts}.ForGroup(2)
		if (err != nil) != (c.want == nil) || err == nil && !reflect.DeepEqual(got.Parts, c.want) {
			t.Errorf("%v: %v, %v; want %v", c.parts, got.Parts, err, c.want)
		}
	}
}

func TestTell(t *testing.T) {
	for _, c := range []struct {
		p    Part
		want string
	}{
		{Part{Gaussian{NoiseMultiplier: 2}, 1}, "gaussian(noise multiplier 2)"},
		{Part{Gaussian{NoiseMultiplier: 2}, 1200}, "1,200 × gaussian(noise multiplier 2)"},
		{Part{DPSGD{NoiseMultiplier: 1.1, BatchSize: 10, Accumulation: 2, DatasetSize: 1000, Steps: 1}, 2},
			"2 runs of DP-SGD on 1,000 examples: batches of 20 on average, 1 step, noise multiplier 1.1"},
		{Part{PoissonSampled{BatchSize: 256, DatasetSize: 1234567,
			Mechanism: Gaussian{StandardDeviation: 3, Sensitivity: 2}}, 100},
			"100 steps on batches of 256 on average, out of 1,234,567 records (about 0.0207 epochs), noise of " +
				"standard deviation 3, each contribution clipped to an ℓ2 norm of 2"},
		{Part{PoissonSampled{SamplingProbability: 0.25, Mechanism: Gaussian{NoiseMultiplier: 1}}, 2},
			"2 steps on Poisson samples that hold each record with probability 0.25, each step with gaussian(noise " +
				"multiplier 1)"},
	} {
		if got := Tell(c.p); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}
