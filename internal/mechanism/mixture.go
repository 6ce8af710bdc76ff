// SPDX-License-Identifier: Apache-2.0

package mechanism

import (
	"fmt"
	"math"
	"math/big"
	"slices"
)

// MaxComponents bounds the parts of a mixture of Gaussians, and with it the work of
// one answer.
const MaxComponents = 256

// MixtureOfGaussians adds N(0, StandardDeviation²) noise to a query that one record
// moves by Sensitivities[i] with probability Probabilities[i] over their sum.
type MixtureOfGaussians struct {
	// σ, in units of the query; > 0
	StandardDeviation float64 `field:"1" role:"scale" range:">0" need:"required"`
	// 1 … MaxComponents, in units of the query; ≥ 0, one > 0
	Sensitivities Numbers `field:"2" role:"norm" most:"256"`
	// as many; in (0, 1], adding up to 1 within 1e-9
	Probabilities Numbers `field:"3" role:"probability" most:"256"`
}

// Kind is "mixture_of_gaussians".
func (MixtureOfGaussians) Kind() string { return "mixture_of_gaussians" }

func (MixtureOfGaussians) number() int { return 29 }

func (MixtureOfGaussians) aliases() []string { return []string{"mixture"} }

// Check implements Mechanism: defined for every adjacency.
func (m MixtureOfGaussians) Check(adj Adjacency) error {
	if err := checkPositive("mixture_of_gaussians.standard_deviation", m.StandardDeviation); err != nil {
		return err
	}
	n := m.Sensitivities.Len()
	switch {
	case n == 0 || n > MaxComponents:
		return &ParameterError{"mixture_of_gaussians.sensitivities", fmt.Sprintf("%d numbers", n),
			fmt.Sprintf("1 to %d numbers ≥ 0", MaxComponents)}
	case m.Probabilities.Len() != n:
		return &ParameterError{"mixture_of_gaussians.probabilities", fmt.Sprintf("%d numbers", m.Probabilities.Len()),
			fmt.Sprintf("%d, one for each sensitivity", n)}
	}
	var sum, most float64
	for i := range n {
		c, p := m.Sensitivities.At(i), m.Probabilities.At(i)
		if c != 0 || math.Signbit(c) { // a record may contribute nothing
			if err := checkPositive(fmt.Sprintf("mixture_of_gaussians.sensitivities[%d]", i), c); err != nil {
				err.(*ParameterError).Allowed = "0, or " + positive
				return err
			}
		}
		if err := checkProbability(fmt.Sprintf("mixture_of_gaussians.probabilities[%d]", i), p, false); err != nil {
			return err
		}
		sum, most = sum+p, math.Max(most, c)
	}
	switch {
	case most == 0:
		return &ParameterError{"mixture_of_gaussians.sensitivities", "nothing but 0", "at least one number > 0"}
	case math.Abs(sum-1) > 1e-9:
		return &ParameterError{"mixture_of_gaussians.probabilities", "a sum of " + number(sum),
			"numbers that add up to 1 within 1e-9"}
	}
	return checkAdjacency(adj)
}

func (m MixtureOfGaussians) String() string {
	return fmt.Sprintf("mixture_of_gaussians(σ=%s, %d sensitivities)", atLeast(m.StandardDeviation),
		m.Sensitivities.Len())
}

// exactMuSquared is that of the largest sensitivity.
func (m MixtureOfGaussians) exactMuSquared(adj Adjacency) *big.Rat {
	most := slices.Max(m.Sensitivities.Values())
	return Gaussian{StandardDeviation: m.StandardDeviation, Sensitivity: most}.exactMuSquared(adj)
}

func (MixtureOfGaussians) places() place { return nowhere }
