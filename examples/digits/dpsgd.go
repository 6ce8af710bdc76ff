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

// events tells the accountant what one step is: a Gaussian on the sum of a
// Poisson sample. Under add-or-remove-one the sensitivity is the clipping norm,
// so the noise multiplier says it all.
func (s settings) events() []*pb.Event {
	return []*pb.Event{client.Event(client.PoissonSampled(s.samplingProbability, client.Gaussian(s.noiseMultiplier)),
		1)}
}

// step makes one step of DP-SGD (Abadi et al. 2016, Algorithm 1, with Poisson
// sampling): the clipped gradients of a random batch are summed, noise is added
// to the sum, and the model moves against it.
func (s settings) step(m *model, train []example, random *rand.Rand) {
	sum := s.clippedSum(m, train, s.sample(len(train), random))
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
