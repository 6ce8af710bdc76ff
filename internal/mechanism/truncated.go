// SPDX-License-Identifier: Apache-2.0

package mechanism

import (
	"fmt"
	"math"
	"math/big"
)

// TruncatedLaplace adds to one number noise of density ∝ exp(−|x|/Scale) on [−Bound,
// Bound]: at a distance d ≤ Bound it is (d/Scale, δ)-DP with δ = (e^{d/Scale} −
// 1)/(2(e^{Bound/Scale} − 1)) (Geng–Ding–Guo–Kumar 2020, arXiv 1810.00877). Exactly
// one of Sensitivity and Distance is given.
type TruncatedLaplace struct {
	// λ, in units of the query; > 0
	Scale float64 `field:"1" role:"scale" range:">0" need:"required"`
	// τ, the largest noise, in units of the query; > 0
	Bound float64 `field:"2" role:"shape" range:">0" need:"required"`
	// Δ: size of one record's contribution; > 0
	Sensitivity float64 `field:"3" role:"norm" range:">0"`
	// largest distance between neighbours' outputs; > 0
	Distance float64 `field:"4" role:"norm" range:">0"`
}

// Kind is "truncated_laplace".
func (TruncatedLaplace) Kind() string { return "truncated_laplace" }

func (TruncatedLaplace) number() int { return 11 }

// Check implements Mechanism: defined for every adjacency under which neighbours'
// outputs overlap.
func (l TruncatedLaplace) Check(adj Adjacency) error {
	if err := firstError(checkNoise("truncated_laplace", "scale", l.Scale, l.Sensitivity, l.Distance, adj),
		checkPositive("truncated_laplace.bound", l.Bound)); err != nil {
		return err
	}
	if d := distanceOf(l.Sensitivity, l.Distance, adj); !(d < 2*l.Bound) {
		return &ParameterError{"truncated_laplace.bound", number(l.Bound),
			fmt.Sprintf("more than half of the distance %s under %s: otherwise each output tells from which "+
				"neighbour it is", number(d), adj)}
	}
	return nil
}

// Ratio returns λ and the distance d between neighbours' outputs under adj, in the
// same units. It must have passed Check.
func (l TruncatedLaplace) Ratio(adj Adjacency) (scale, distance float64) {
	return l.Scale, distanceOf(l.Sensitivity, l.Distance, adj)
}

func (l TruncatedLaplace) String() string {
	s := describe("truncated_laplace", "λ", l.Scale, l.Sensitivity, l.Distance)
	return fmt.Sprintf("%s, τ=%s)", s[:len(s)-1], atLeast(l.Bound))
}

// exactGroupEpsilon is d/λ as long as the outputs' ranges are no farther apart than the bound.
func (l TruncatedLaplace) exactGroupEpsilon(size uint64, adj Adjacency) *big.Rat {
	scale, distance := l.Ratio(adj)
	if float64(size)*distance > l.Bound {
		return nil
	}
	return times(size, ratio(scale, distance))
}

func (TruncatedLaplace) places() place { return inGroup | onPoissonSample }

func (TruncatedLaplace) HasNoOneNoise() string {
	return "fails more often with more noise within the same bound"
}

func (l TruncatedLaplace) byDistance() (distance float64, instead string) {
	return l.Distance, "sensitivity"
}

func (l TruncatedLaplace) checkSampledUnder(adj Adjacency) error { return checkWithOrWithout(l, adj) }

func (l TruncatedLaplace) groupReach(adj Adjacency) (one, end float64) {
	_, one = l.Ratio(adj)
	return one, math.Nextafter(2*l.Bound, 0) // room for a product that is rounded up
}
