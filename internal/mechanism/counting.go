// SPDX-License-Identifier: Apache-2.0

package mechanism

import (
	"fmt"
	"math"
	"math/big"

	"github.com/dpaccountant/accountant/internal/num"
)

// Histogram releases noisy counts of disjoint bins, each record being in one at
// most: exactly one of LaplaceScale and StandardDeviation is given.
type Histogram struct {
	// b of Laplace noise, in records; > 0
	LaplaceScale float64 `field:"1" role:"scale" range:">0"`
	// σ of Gaussian noise, in records; > 0
	StandardDeviation float64 `field:"2" role:"scale" range:">0"`
}

// Kind is "histogram".
func (Histogram) Kind() string { return "histogram" }

func (Histogram) number() int { return 16 }

// Check implements Mechanism: defined for every adjacency.
func (h Histogram) Check(adj Adjacency) error {
	one, err := exactlyOne("histogram", given{"laplace_scale", h.LaplaceScale},
		given{"standard_deviation", h.StandardDeviation})
	if err != nil {
		return err
	}
	return firstError(checkPositive("histogram."+one.name, one.value), checkAdjacency(adj))
}

// Bins is the number of bins in which neighbours' counts differ, by 1: a replaced
// record leaves one and enters another.
func (h Histogram) Bins(adj Adjacency) int {
	if adj == ReplaceOne {
		return 2
	}
	return 1
}

func (h Histogram) String() string {
	if h.LaplaceScale != 0 {
		return fmt.Sprintf("histogram(Laplace b=%s)", atLeast(h.LaplaceScale))
	}
	return fmt.Sprintf("histogram(σ=%s)", atLeast(h.StandardDeviation))
}

func (h Histogram) exactGroupEpsilon(size uint64, adj Adjacency) *big.Rat {
	if h.LaplaceScale == 0 {
		return nil
	}
	return times(size, num.DecimalQuotient(float64(h.Bins(adj)), h.LaplaceScale))
}

func (h Histogram) exactMuSquared(adj Adjacency) *big.Rat {
	if h.StandardDeviation == 0 {
		return nil
	}
	each := square(num.DecimalQuotient(1, h.StandardDeviation))
	return each.Mul(each, big.NewRat(int64(h.Bins(adj)), 1))
}

func (Histogram) places() place { return inGroup }

// CountingQueries answers Queries counts with independent Gaussian noise of one σ so
// that together they are Rho-zCDP. One record changes each by 1 at most, added,
// removed or replaced, and all of them at worst: σ = √(k/2ρ).
type CountingQueries struct {
	// k, 1 … MaxDatasetSize
	Queries uint64 `field:"1" role:"shape" range:"1..2^53"`
	// ρ > 0
	Rho float64 `field:"2" role:"loss" range:">0" need:"required"`
}

// Kind is "counting_queries".
func (CountingQueries) Kind() string { return "counting_queries" }

func (CountingQueries) number() int { return 17 }

// Check implements Mechanism: defined for every adjacency.
func (c CountingQueries) Check(adj Adjacency) error {
	if c.Queries == 0 || c.Queries > MaxWhole {
		return &ParameterError{"counting_queries.queries", fmt.Sprint(c.Queries), "a whole number from 1 to 2^53"}
	}
	return firstError(checkPositive("counting_queries.rho", c.Rho), checkAdjacency(adj))
}

// Errors returns σ = √(k/2ρ) and σ·√(2·ln 2k), which the expected largest of the k
// errors does not exceed: E max|x_i| ≤ (ln Σ E e^{±tx_i})/t at t = √(2·ln 2k)/σ.
func (c CountingQueries) Errors() (sigma, largest float64) {
	k := float64(c.Queries)
	sigma = math.Sqrt(k / 2 / c.Rho)
	return sigma, sigma * math.Sqrt(2*math.Log(2*k))
}

func (c CountingQueries) String() string {
	sigma, largest := c.Errors()
	return fmt.Sprintf("counting_queries(%d at ρ=%s: σ=%.4g, largest error about %.4g)",
		c.Queries, atMost(c.Rho), sigma, largest)
}

// exactMuSquared is 2ρ.
func (c CountingQueries) exactMuSquared(Adjacency) *big.Rat {
	rho := num.Decimal(c.Rho)
	return rho.Add(rho, rho)
}

func (CountingQueries) places() place { return inGroup }
