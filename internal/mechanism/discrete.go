// SPDX-License-Identifier: Apache-2.0

package mechanism

import (
	"fmt"
	"math"
	"math/big"
)

// DiscreteGaussian adds noise with P(x) ∝ exp(−x²/2σ²) on the whole numbers to
// each coordinate of a query with whole numbers (Canonne–Kamath–Steinke 2020, arXiv
// 2004.00010v3). Exactly one of Sensitivity and Distance is given.
type DiscreteGaussian struct {
	// σ, the parameter; > 0
	StandardDeviation float64 `field:"1" role:"scale" range:">0" need:"required"`
	// Δ: ℓ2 norm of one record's contribution; > 0, whole with one coordinate
	Sensitivity float64 `field:"2" role:"norm" range:">0"`
	// largest ℓ2 distance between neighbours' outputs; > 0, whole with one coordinate
	Distance float64 `field:"3" role:"norm" range:">0"`
	// 1 … 2^53; 0 stands for 1
	Coordinates uint64 `field:"4" role:"shape" range:"1..2^53"`
}

// MaxWhole bounds distances between whole numbers: up to it float64 has them all.
// A contribution is at most half of it, as REPLACE_ONE doubles it.
const MaxWhole = 1 << 53

// Kind is "discrete_gaussian".
func (DiscreteGaussian) Kind() string { return "discrete_gaussian" }

func (DiscreteGaussian) number() int { return 9 }

// Check implements Mechanism: defined for every adjacency. A Δ that is not whole is
// refused for one coordinate: no two outputs are that far apart, so that it belongs to
// other units than the noise.
func (g DiscreteGaussian) Check(adj Adjacency) error {
	if g.Coordinates > MaxWhole {
		return &ParameterError{"discrete_gaussian.coordinates", fmt.Sprint(g.Coordinates),
			"a whole number from 1 to 2^53"}
	}
	err := checkNoise("discrete_gaussian", "standard_deviation", g.StandardDeviation, g.Sensitivity, g.Distance, adj)
	if err == nil && g.Coordinates <= 1 {
		err = checkWhole("discrete_gaussian", g.Sensitivity, g.Distance)
	}
	return err
}

// Ratio returns σ and the ℓ2 distance d between neighbours' outputs under adj, in
// the same units. It must have passed Check.
func (g DiscreteGaussian) Ratio(adj Adjacency) (sigma, distance float64) {
	return g.StandardDeviation, distanceOf(g.Sensitivity, g.Distance, adj)
}

func (g DiscreteGaussian) String() string {
	s := describe("discrete_gaussian", "σ", g.StandardDeviation, g.Sensitivity, g.Distance)
	if g.Coordinates > 1 {
		s = fmt.Sprintf("%s, %d coordinates)", s[:len(s)-1], g.Coordinates)
	}
	return s
}

// exactGroupRho is d²/2σ².
func (g DiscreteGaussian) exactGroupRho(size uint64, adj Adjacency) *big.Rat {
	return quotient(square(times(size, ratio(g.Ratio(adj)))), 2)
}

func (DiscreteGaussian) places() place { return inGroup | onPoissonSample }

func (g DiscreteGaussian) byDistance() (distance float64, instead string) {
	return g.Distance, "sensitivity"
}

func (g DiscreteGaussian) checkSampledUnder(adj Adjacency) error { return checkWithOrWithout(g, adj) }

// groupReach: of several coordinates a distance is any number.
func (g DiscreteGaussian) groupReach(adj Adjacency) (one, end float64) {
	if g.Coordinates > 1 {
		return 0, math.Inf(1)
	}
	_, one = g.Ratio(adj)
	return one, MaxWhole
}

// DiscreteLaplace adds noise with P(x) ∝ exp(−|x|/Scale) on the whole numbers to
// each coordinate of a query with whole numbers and ℓ1 sensitivity Sensitivity.
type DiscreteLaplace struct {
	// b, in units of the query; > 0
	Scale float64 `field:"1" role:"scale" range:">0" need:"required"`
	// Δ: ℓ1 norm of one record's contribution; whole, 1 … 2^52
	Sensitivity float64 `field:"2" role:"norm" range:"1..2^53"`
	// largest ℓ1 distance between neighbours' outputs; whole, 1 … 2^53
	Distance float64 `field:"3" role:"norm" range:"1..2^53"`
}

// Kind is "discrete_laplace".
func (DiscreteLaplace) Kind() string { return "discrete_laplace" }

func (DiscreteLaplace) number() int { return 10 }

func (DiscreteLaplace) aliases() []string { return []string{"geometric", "twosidedgeometric"} }

// Check implements Mechanism: defined for every adjacency.
func (l DiscreteLaplace) Check(adj Adjacency) error {
	return firstError(checkNoise("discrete_laplace", "scale", l.Scale, l.Sensitivity, l.Distance, adj),
		checkWhole("discrete_laplace", l.Sensitivity, l.Distance))
}

// Ratio returns b and the distance d between neighbours' outputs under adj: the
// mechanism is (d/b)-DP. It must have passed Check.
func (l DiscreteLaplace) Ratio(adj Adjacency) (scale, distance float64) {
	return l.Scale, distanceOf(l.Sensitivity, l.Distance, adj)
}

func (l DiscreteLaplace) String() string {
	return describe("discrete_laplace", "b", l.Scale, l.Sensitivity, l.Distance)
}

func (l DiscreteLaplace) exactGroupEpsilon(size uint64, adj Adjacency) *big.Rat {
	return times(size, ratio(l.Ratio(adj)))
}

func (DiscreteLaplace) places() place { return inGroup | onPoissonSample }

func (l DiscreteLaplace) byDistance() (distance float64, instead string) {
	return l.Distance, "sensitivity"
}

func (l DiscreteLaplace) checkSampledUnder(adj Adjacency) error { return checkWithOrWithout(l, adj) }

func (l DiscreteLaplace) groupReach(adj Adjacency) (one, end float64) {
	_, one = l.Ratio(adj)
	return one, MaxWhole
}

// checkWhole checks the one of both that is given.
func checkWhole(kind string, sensitivity, distance float64) error {
	name, v, most, text := "sensitivity", sensitivity, MaxWhole/2.0, "2^52"
	if distance != 0 {
		name, v, most, text = "distance", distance, MaxWhole, "2^53"
	}
	if v != math.Trunc(v) || v > most {
		return &ParameterError{kind + "." + name, number(v),
			"a whole number from 1 to " + text + ", the noise being on whole numbers"}
	}
	return nil
}
