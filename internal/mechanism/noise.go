// SPDX-License-Identifier: Apache-2.0

package mechanism

import (
	"fmt"
	"math/big"
	"strings"
)

// Gaussian adds N(0, StandardDeviation²) noise to each coordinate of a query
// with ℓ2 sensitivity Sensitivity. Either StandardDeviation comes with one of
// Sensitivity and Distance, or NoiseMultiplier comes alone.
type Gaussian struct {
	// σ, in units of the query; > 0
	StandardDeviation float64 `field:"1" role:"scale" range:">0"`
	// Δ: ℓ2 norm of one record's contribution; > 0
	Sensitivity float64 `field:"2" role:"norm" range:">0"`
	// largest ℓ2 distance between neighbours' outputs; > 0
	Distance float64 `field:"3" role:"norm" range:">0"`
	// σ/Δ, without units; > 0
	NoiseMultiplier float64 `field:"4" role:"scale" range:">0"`
}

// Kind is "gaussian".
func (Gaussian) Kind() string { return "gaussian" }

func (Gaussian) number() int { return 1 }

func (Gaussian) aliases() []string { return []string{"normal"} }

// Check implements Mechanism: defined for every adjacency.
func (g Gaussian) Check(adj Adjacency) error {
	if g.NoiseMultiplier != 0 {
		if g.StandardDeviation != 0 || g.Sensitivity != 0 || g.Distance != 0 {
			return &ParameterError{"gaussian.noise_multiplier",
				number(g.NoiseMultiplier) + " together with other parameters",
				"noise_multiplier alone, or standard_deviation with one of sensitivity, distance"}
		}
		return firstError(checkPositive("gaussian.noise_multiplier", g.NoiseMultiplier), checkAdjacency(adj))
	}
	if g.StandardDeviation == 0 {
		return &ParameterError{"gaussian.standard_deviation", "missing or 0", positive + ", or noise_multiplier alone"}
	}
	return checkNoise("gaussian", "standard_deviation", g.StandardDeviation, g.Sensitivity, g.Distance, adj)
}

// Ratio returns the noise's scale σ and the distance d between neighbours'
// outputs under adj, in the same units: μ = d/σ. It must have passed Check.
// See docs/math/README.md §0.1.
func (g Gaussian) Ratio(adj Adjacency) (sigma, distance float64) {
	if g.NoiseMultiplier != 0 {
		return g.NoiseMultiplier, adj.distanceFactor()
	}
	return g.StandardDeviation, distanceOf(g.Sensitivity, g.Distance, adj)
}

func (g Gaussian) String() string {
	if g.NoiseMultiplier != 0 {
		return fmt.Sprintf("gaussian(noise multiplier %s)", atLeast(g.NoiseMultiplier))
	}
	return describe("gaussian", "σ", g.StandardDeviation, g.Sensitivity, g.Distance)
}

func (g Gaussian) exactMuSquared(adj Adjacency) *big.Rat { return square(ratio(g.Ratio(adj))) }

func (Gaussian) places() place {
	return inGroup | inSampledGroup | asMixture | onPoissonSample | inSampledList | onFixedSizeSample |
		onTruncatedSample | onShuffledBatch | onAllocatedBatch
}

func (g Gaussian) byDistance() (distance float64, instead string) {
	return g.Distance, "sensitivity or noise_multiplier"
}

// Laplace adds noise of density exp(−|x|/Scale)/(2·Scale) to each coordinate of
// a query with ℓ1 sensitivity Sensitivity.
type Laplace struct {
	// b, in units of the query; > 0
	Scale float64 `field:"1" role:"scale" range:">0" need:"required"`
	// Δ: ℓ1 norm of one record's contribution; > 0
	Sensitivity float64 `field:"2" role:"norm" range:">0"`
	// largest ℓ1 distance between neighbours' outputs; > 0
	Distance float64 `field:"3" role:"norm" range:">0"`
}

// Kind is "laplace".
func (Laplace) Kind() string { return "laplace" }

func (Laplace) number() int { return 2 }

// Check implements Mechanism: defined for every adjacency.
func (l Laplace) Check(adj Adjacency) error {
	return checkNoise("laplace", "scale", l.Scale, l.Sensitivity, l.Distance, adj)
}

// Ratio returns the noise's scale b and the distance d between neighbours'
// outputs under adj: the mechanism is (d/b)-DP. It must have passed Check.
// See docs/math/README.md §0.1.
func (l Laplace) Ratio(adj Adjacency) (scale, distance float64) {
	return l.Scale, distanceOf(l.Sensitivity, l.Distance, adj)
}

func (l Laplace) String() string {
	return describe("laplace", "b", l.Scale, l.Sensitivity, l.Distance)
}

func (l Laplace) exactEpsilon(adj Adjacency) (*big.Rat, bool) { return ratio(l.Ratio(adj)), true }

func (Laplace) places() place {
	return inGroup | inSampledGroup | onPoissonSample | onFixedSizeSample | onTruncatedSample | onAllocatedBatch
}

func (l Laplace) byDistance() (distance float64, instead string) { return l.Distance, "sensitivity" }

func checkNoise(kind, scaleName string, scale, sensitivity, distance float64, adj Adjacency) error {
	if err := checkPositive(kind+"."+scaleName, scale); err != nil {
		return err
	}
	one, err := exactlyOne(kind, given{"sensitivity", sensitivity}, given{"distance", distance})
	if err != nil {
		return err
	}
	return firstError(checkPositive(kind+"."+one.name, one.value), checkAdjacency(adj))
}

// distanceOf is exact: doubling a float64 is, short of overflow to +∞, which
// the analyses answer with ε = ∞.
func distanceOf(sensitivity, distance float64, adj Adjacency) float64 {
	if distance != 0 {
		return distance
	}
	return sensitivity * adj.distanceFactor()
}

func describe(kind, symbol string, scale, sensitivity, distance float64) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s(%s=%s", kind, symbol, atLeast(scale))
	if distance != 0 {
		fmt.Fprintf(&b, ", distance %s)", atMost(distance))
	} else {
		fmt.Fprintf(&b, ", Δ=%s)", atMost(sensitivity))
	}
	return b.String()
}
