// SPDX-License-Identifier: Apache-2.0

package main

import (
	"math/rand/v2"

	"github.com/dpaccountant/accountant/client"
	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
)

// settings are the public parameters of a run. None is computed from the data:
// not the sampling probability (from the number of records) nor the divisor.
type settings struct {
	steps               int
	samplingProbability float64 // q: each example is in a batch with this chance, independently
	epochSteps          int     // if not 0, each example is in one of so many steps instead, at random
	noiseMultiplier     float64 // σ: the noise's standard deviation over the clipping norm
	clippingNorm        float64 // C: the ℓ2 norm of one example's largest contribution
	batchSize           float64 // what the noisy sum is divided by
	learningRate        float64
}

// publicSettings give a single-digit ε at δ = 1e−5.
func publicSettings() settings {
	return settings{
		steps:               500,
		samplingProbability: 0.08,
		noiseMultiplier:     2,
		clippingNorm:        1,
		batchSize:           120,
		learningRate:        2,
	}
}

// allocated returns the settings with random allocation: epochs of 12 steps, with 125 of 1,500 examples on average.
func (s settings) allocated() settings {
	s.samplingProbability, s.epochSteps = 0, 12
	return s
}

// events tells the accountant what one step is: a Gaussian on the sum of a
// Poisson sample. Under add-or-remove-one the sensitivity is the clipping norm,
// so the noise multiplier says it all. With random allocation it is what an epoch is.
func (s settings) events() []*pb.Event {
	if s.epochSteps != 0 {
		return []*pb.Event{client.Event(client.RandomAllocation(uint64(s.epochSteps),
			client.Gaussian(s.noiseMultiplier)), 1)}
	}
	return []*pb.Event{client.Event(client.PoissonSampled(s.samplingProbability, client.Gaussian(s.noiseMultiplier)),
		1)}
}

// charges is how many reports a run makes: one for each step, or for each epoch of random
// allocation. A part of an epoch is charged as the whole.
func (s settings) charges() int {
	if s.epochSteps != 0 {
		return (s.steps-1)/s.epochSteps + 1
	}
	return s.steps
}

// step makes one step of DP-SGD (Abadi et al. 2016, Algorithm 1) on a random batch, which may
// be empty: the clipped gradients of its examples are summed, noise is added to the sum, and the
// model moves against it.
func (s settings) step(m *model, train []example, batch []int, random *rand.Rand) {
	sum := s.clippedSum(m, train, batch)
	s.addNoise(&sum, random)
	for k := range m.w {
		for i := range m.w[k] {
			m.w[k][i] -= s.learningRate * sum[k][i] / s.batchSize
		}
	}
}

// sample draws a Poisson sample of 0 … n−1; it may be empty. The chance of each
// is q rounded down to a multiple of 2^−53, never more than what is reported.
func (s settings) sample(n int, random *rand.Rand) []int {
	below := uint64(s.samplingProbability * (1 << 53))
	var batch []int
	for i := range n {
		if random.Uint64()>>11 < below {
			batch = append(batch, i)
		}
	}
	return batch
}

// deal deals 0 … n−1 into the batches of an epoch: each into one of them, uniformly and
// independently of the others, so the batches have different sizes.
func (s settings) deal(n int, random *rand.Rand) [][]int {
	batches := make([][]int, s.epochSteps)
	for i := range n {
		k := random.IntN(s.epochSteps)
		batches[k] = append(batches[k], i)
	}
	return batches
}

func (s settings) clippedSum(m *model, train []example, batch []int) (sum gradient) {
	for _, i := range batch {
		g := m.gradientOf(&train[i])
		g.clip(s.clippingNorm)
		sum.add(&g)
	}
	return sum
}

// addNoise adds N(0, (σ·C)²) to every coordinate of the sum. It is ideal noise
// up to the rounding of float64, which the analysis does not cover.
func (s settings) addNoise(sum *gradient, random *rand.Rand) {
	sd := s.noiseMultiplier * s.clippingNorm
	for k := range sum {
		for i := range sum[k] {
			sum[k][i] += sd * random.NormFloat64()
		}
	}
}
