// SPDX-License-Identifier: Apache-2.0

package sampling

import (
	"math"
	"math/big"
	"testing"

	"github.com/dpaccountant/accountant/internal/mechanism"
)

// exactTail is P(Bin(n, q) ≥ b), term by term in rational numbers.
func exactTail(n, b int64, q float64) *big.Rat {
	p := new(big.Rat).SetFloat64(q)
	rest := new(big.Rat).Sub(big.NewRat(1, 1), p)
	sum := new(big.Rat)
	for k := max(b, 0); k <= n; k++ {
		term := new(big.Rat).SetInt(new(big.Int).Binomial(n, k))
		for range k {
			term.Mul(term, p)
		}
		for range n - k {
			term.Mul(term, rest)
		}
		sum.Add(sum, term)
	}
	return sum
}

func TestBinomialTailAgainstRationals(t *testing.T) {
	for _, n := range []int64{1, 2, 5, 25} {
		for _, q := range []float64{1e-100, 1e-12, 0.01, 0.25, 0.5, 0.875, 1 - 0x1p-30} {
			for _, b := range []int64{-1, 0, 1, n / 3, n / 2, n - 1, n, n + 1} {
				least, most := binomialTail(float64(n), q, float64(b))
				exact := exactTail(n, b, q)
				up, down := new(big.Rat).SetFloat64(most), new(big.Rat).SetFloat64(least)
				if up.Cmp(exact) < 0 || down.Cmp(exact) > 0 {
					t.Errorf("P(Bin(%d, %v) ≥ %d) is %v, not in [%v, %v]", n, q, b, exact.FloatString(25), least, most)
				}
				if v, _ := exact.Float64(); v > 1e-290 && !(most-least <= 1e-11*v) {
					t.Errorf("P(Bin(%d, %v) ≥ %d) in [%v, %v]: too wide", n, q, b, least, most)
				}
			}
		}
	}
}

// The probability that the record is kept, by going through all numbers of other records.
func TestChancesOfCutting(t *testing.T) {
	const q, size = 0.25, 12
	for _, adj := range []mechanism.Adjacency{mechanism.AddOrRemoveOne, mechanism.ReplaceOne, mechanism.ZeroOut} {
		for most := uint64(1); most <= size+1; most++ {
			c := chancesOfCutting(mechanism.TruncatedPoissonSampled{SamplingProbability: q, DatasetSize: size,
				MaximumBatchSize: most, Mechanism: mechanism.Gaussian{NoiseMultiplier: 1}}, adj)
			numbers := []int64{size - 1}
			if adj == mechanism.AddOrRemoveOne {
				numbers = append(numbers, size)
			}
			for _, others := range numbers {
				tau, together, kept := 0.0, 0.0, 0.0 // kept together with E, and at all
				for n := int64(0); n <= others; n++ {
					mass, _ := new(big.Rat).Sub(exactTail(others, n, q), exactTail(others, n+1, q)).Float64()
					kept += mass * q * math.Min(1, float64(most)/float64(n+1))
					if n >= int64(most) {
						tau += mass
						together += mass * q * float64(most) / float64(n+1)
					}
				}
				if !(c.least <= tau*(1+1e-12) && tau <= c.most*(1+1e-12)) {
					t.Errorf("%v, at most %d: τ = %v for %d others, not in [%v, %v]",
						adj, most, tau, others, c.least, c.most)
				}
				if tau > 0 && !(together/tau <= c.rate*(1+1e-12)) {
					t.Errorf("%v, at most %d: q′ = %v for %d others, above %v", adj, most, together/tau, others, c.rate)
				}
				if !(c.kept <= kept*(1+1e-12)) || adj != mechanism.AddOrRemoveOne && !(c.kept >= kept*(1-1e-11)) {
					t.Errorf("%v, at most %d: kept %v for %d others, not %v", adj, most, kept, others, c.kept)
				}
			}
		}
	}
}
