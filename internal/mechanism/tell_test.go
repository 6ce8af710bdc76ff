// SPDX-License-Identifier: Apache-2.0

package mechanism

import "testing"

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
