// SPDX-License-Identifier: Apache-2.0

package pld

import (
	"math"
	"testing"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/loss/losstest"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/num"
	"github.com/dpaccountant/accountant/internal/pld/pldtest"
)

// shuffledPass is one pass over shuffled data.
func shuffledPass(batch, dataset uint64, sigma float64) mechanism.Mechanism {
	return mechanism.Shuffled{BatchSize: batch, DatasetSize: dataset,
		Mechanism: mechanism.Gaussian{NoiseMultiplier: sigma}}
}

func alone(t *testing.T, m mechanism.Mechanism, adj mechanism.Adjacency) loss.Composition {
	return loss.Composition{{Loss: pldtest.Loss(t, m, adj), Count: 1}}
}

// From below a shuffled pass is worth the best test of the largest answer, found here by trying
// thresholds (Chua et al. 2024, arXiv 2403.17673), under ZERO_OUT: cells lose next to nothing of it.
func TestShuffledAgainstSingleTests(t *testing.T) {
	for _, sigma := range []float64{0.3, 0.5, 0.8, 1.2} {
		for _, batches := range []uint64{2, 10, 1000} {
			c := alone(t, shuffledPass(10, 10*batches, sigma), mechanism.ZeroOut)
			for _, epsilon := range []float64{0.5, 2, 6, 12} {
				best := math.Inf(-1)
				for x := -5.0; x < 2/sigma+12; x += 0.01 {
					over := func(shift float64) float64 { // P(largest > x)
						return -math.Expm1(num.LogNormalCDF(x-shift) + float64(batches-1)*num.LogNormalCDF(x))
					}
					best = math.Max(best, over(2/sigma)-math.Exp(epsilon)*over(1/sigma))
				}
				b, reason := LogDelta(c, epsilon, Wanted{})
				if reason != "" || !(b.Lower <= b.Upper) {
					t.Fatalf("%v batches, σ = %v: ln δ(%v) in %v %s", batches, sigma, epsilon, b, reason)
				}
				if sigma < 1 && best > 1e-30 && !(math.Exp(b.Lower) >= best*0.98) {
					t.Errorf("%v batches, σ = %v: δ(%v) ≥ %v, a single test reaches %v", batches, sigma, epsilon,
						math.Exp(b.Lower), best)
				}
				one := alone(t, mechanism.Gaussian{NoiseMultiplier: sigma}, mechanism.ZeroOut)
				if most, _ := LogDelta(one, epsilon, Wanted{}); !(b.Lower <= most.Upper) {
					t.Errorf("%v batches, σ = %v: ln δ(%v) ≥ %v, a single batch has %v", batches, sigma, epsilon,
						b.Lower, most)
				}
			}
		}
	}
}

// Where the pair that is attained is known otherwise: of several batches under REPLACE_ONE the record is
// dealt into one of them. The bound from below keeps below it.
func TestShuffledIsBelowWhatIsAttained(t *testing.T) {
	for _, sigma := range []float64{0.5, 1, 3} {
		replaced := alone(t, shuffledPass(10, 70, sigma), mechanism.ReplaceOne)
		dealt := alone(t, mechanism.RandomAllocation{Steps: 7,
			Mechanism: mechanism.Gaussian{NoiseMultiplier: sigma / 2}}, mechanism.ZeroOut)
		for _, epsilon := range []float64{0.1, 1, 3, 8} {
			low, reason := LogDelta(replaced, epsilon, Wanted{})
			truth, none := LogDelta(dealt, epsilon, Wanted{})
			if reason+none != "" || !(low.Lower <= truth.Upper && low.Lower >= truth.Lower-0.1) {
				t.Errorf("σ = %v: ln δ(%v) ≥ %v of shuffled data, %v of what they attain", sigma, epsilon,
					low.Lower, truth)
			}
		}
	}
}

// lastOfTwo is δ(ε) of the pair that two batches attain under ADD_OR_REMOVE_ONE, in both directions, by the
// midpoint rule over the last answer z. With the record the answers are at (0, μ) with probability share,
// and else at (2μ, −μ); given z the ratio of both is here(z) + elsewhere(z)·e^{2μy − 2μ²}, so that what is
// left to integrate is the Black–Scholes formula.
func lastOfTwo(mu, share, epsilon float64) (remove, add float64) {
	call := func(weight, k float64) float64 { // E[(weight·X − k)⁺]
		if k <= 0 {
			return weight - k
		}
		d := -math.Log(k/weight)/(2*mu) + mu
		return weight*num.NormalTail(-d) - k*num.NormalTail(2*mu-d)
	}
	const width = 0.001
	for z := -12 + width/2; z < 12; z += width {
		here := share * math.Exp(mu*z-mu*mu/2)
		elsewhere := (1 - share) * math.Exp(-mu*z-mu*mu/2)
		mass := width * math.Exp(num.LogNormalDensity(z))
		remove += mass * call(elsewhere, math.Exp(epsilon)-here)
		k := math.Exp(-epsilon) - here // (1 − e^ε·S)⁺ = e^ε·((S − e^{−ε})⁺ + e^{−ε} − S)
		add += mass * math.Exp(epsilon) * (call(elsewhere, k) + k - elsewhere)
	}
	return remove, add
}

// Of two batches under ADD_OR_REMOVE_ONE the record is in the last with the probability of its positions.
func TestShuffledLastBatch(t *testing.T) {
	type member interface{ Attained() loss.Loss }
	for _, sigma := range []float64{0.4, 1, 3, 30} {
		for _, batch := range []uint64{5_000, 9_000, 9_999} {
			m := shuffledPass(batch, 10_000, sigma)
			below := pldtest.Loss(t, m, mechanism.AddOrRemoveOne).(member).Attained()
			for _, epsilon := range []float64{0, 0.02 / sigma, 0.5 / sigma, 3 / sigma} {
				remove, add := lastOfTwo(1/sigma, 1-float64(batch)/10_000, epsilon)
				for d, truth := range map[loss.Direction]float64{loss.Remove: remove, loss.Add: add} {
					low := losstest.Hockey(below.Pair(d, loss.Dominated, nil), epsilon, 10)
					if !(low <= truth*(1+1e-6)+1e-12 && low >= 0.99*truth-1e-6) {
						t.Errorf("σ = %v, batches of %d, %v: δ(%v) ≥ %v of shuffled data, %v of what they attain",
							sigma, batch, d, epsilon, low, truth)
					}
				}
			}
		}
	}
}

// However many batches there are, under ADD_OR_REMOVE_ONE the last one alone shows that it has one record
// less, unless the record itself is in it.
func TestShuffledLastBatchAlone(t *testing.T) {
	for _, sigma := range []float64{0.7, 2, 10} {
		c := alone(t, shuffledPass(10, 50_000, sigma), mechanism.AddOrRemoveOne)
		one := alone(t, mechanism.Gaussian{NoiseMultiplier: sigma}, mechanism.AddOrRemoveOne)
		for _, epsilon := range []float64{0, 0.3 / sigma, 2 / sigma} {
			b, _ := LogDelta(c, epsilon, Wanted{})
			least, _ := LogDelta(one, epsilon, Wanted{})
			// The record is in the last batch with probability 1/5000.
			if !(b.Lower >= least.Lower-0.02 && b.Lower <= b.Upper) {
				t.Errorf("σ = %v: ln δ(%v) in %v, of the last batch alone %v", sigma, epsilon, b, least)
			}
		}
	}
}

// Each direction of the pair that is attained is below that of the largest one.
func TestShuffledPairsFromBelow(t *testing.T) {
	type member interface{ Attained() loss.Loss }
	for _, adj := range []mechanism.Adjacency{mechanism.AddOrRemoveOne, mechanism.ReplaceOne, mechanism.ZeroOut} {
		for _, m := range []mechanism.Mechanism{
			shuffledPass(7, 100, 0.7), shuffledPass(99, 100, 2), shuffledPass(1, 5000, 1),
		} {
			above := pldtest.Loss(t, m, adj)
			below := above.(member).Attained()
			for _, d := range []loss.Direction{loss.Remove, loss.Add} {
				for _, epsilon := range []float64{0, 0.5, 2, 6} {
					high := losstest.Hockey(above.Pair(d, loss.Dominating, nil), epsilon, 10)
					low := losstest.Hockey(below.Pair(d, loss.Dominated, nil), epsilon, 10)
					if !(0 <= low && low <= high*(1+1e-9)) {
						t.Errorf("%v %v %v: δ(%v) in [%v, %v]", m, adj, d, epsilon, low, high)
					}
				}
			}
		}
	}
}
