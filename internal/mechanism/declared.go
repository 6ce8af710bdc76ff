// SPDX-License-Identifier: Apache-2.0

package mechanism

import (
	"fmt"
	"math/big"

	"github.com/dpaccountant/accountant/internal/num"
)

// The declared guarantees: what was proven about a mechanism whose noise is not
// described further. They hold under the adjacency of the ledger they are
// reported to.

// PureDP is any ε-differentially private mechanism.
type PureDP struct {
	// ε0 > 0
	Epsilon float64 `field:"1" role:"loss" range:">0" need:"required"`
}

// Kind is "pure_dp".
func (PureDP) Kind() string { return "pure_dp" }

func (PureDP) number() int { return 5 }

func (PureDP) aliases() []string { return []string{"pure", "epsilondp"} }

// Check implements Mechanism.
func (p PureDP) Check(adj Adjacency) error {
	return firstError(checkPositive("pure_dp.epsilon", p.Epsilon), checkAdjacency(adj))
}

func (p PureDP) String() string { return fmt.Sprintf("pure_dp(ε=%s)", atMost(p.Epsilon)) }

func (p PureDP) exactEpsilon(Adjacency) (*big.Rat, bool) { return num.Decimal(p.Epsilon), true }

func (PureDP) places() place {
	return inGroup | inSampledGroup | onPoissonSample | onFixedSizeSample | onReport
}

func (p PureDP) checkSampledUnder(adj Adjacency) error { return checkAddOrRemove(p, adj) }

// ApproximateDP is any (ε, δ)-differentially private mechanism.
type ApproximateDP struct {
	// ε0 > 0
	Epsilon float64 `field:"1" role:"loss" range:">0" need:"required"`
	// δ0 in (0, 1)
	Delta float64 `field:"2" role:"probability" range:"(0,1)" need:"required"`
}

// Kind is "approximate_dp".
func (ApproximateDP) Kind() string { return "approximate_dp" }

func (ApproximateDP) number() int { return 6 }

func (ApproximateDP) aliases() []string { return []string{"approximate", "approxdp"} }

// Check implements Mechanism.
func (a ApproximateDP) Check(adj Adjacency) error {
	return firstError(checkPositive("approximate_dp.epsilon", a.Epsilon),
		checkProbability("approximate_dp.delta", a.Delta, true), checkAdjacency(adj))
}

func (a ApproximateDP) String() string {
	return fmt.Sprintf("approximate_dp(ε=%s, δ=%s)", atMost(a.Epsilon), atMost(a.Delta))
}

func (a ApproximateDP) exactEpsilon(Adjacency) (*big.Rat, bool) {
	return num.Decimal(a.Epsilon), true
}

func (ApproximateDP) places() place { return inGroup | onPoissonSample | onFixedSizeSample }

func (a ApproximateDP) checkSampledUnder(adj Adjacency) error { return checkAddOrRemove(a, adj) }

func (ApproximateDP) failsUnevenlyOnSample() {}

func (a ApproximateDP) checkGroupSize(size uint64) error {
	if d := GroupDelta(a.Epsilon, a.Delta, size); size > 1 && !(d < 1) {
		return &ParameterError{"size", fmt.Sprint(size),
			"fewer records: δ·(e^(size·ε) − 1)/(e^ε − 1) is 1 or more, which guarantees nothing"}
	}
	return nil
}

// ZeroConcentratedDP is any ρ-zCDP mechanism (Bun–Steinke 2016, Def. 1.1), or with
// Delta any δ-approximately ρ-zCDP one (Def. 8.1): ρ-zCDP apart from events of
// probability δ.
type ZeroConcentratedDP struct {
	// ρ > 0
	Rho float64 `field:"1" role:"loss" range:">0" need:"required"`
	// δ in (0, 1), or 0
	Delta float64 `field:"2" role:"probability" range:"(0,1)"`
}

// Kind is "zero_concentrated_dp".
func (ZeroConcentratedDP) Kind() string { return "zero_concentrated_dp" }

func (ZeroConcentratedDP) number() int { return 7 }

func (ZeroConcentratedDP) aliases() []string { return []string{"zcdp", "concentrateddp"} }

// Check implements Mechanism.
func (z ZeroConcentratedDP) Check(adj Adjacency) error {
	if err := checkPositive("zero_concentrated_dp.rho", z.Rho); err != nil {
		return err
	}
	if z.Delta != 0 {
		if err := checkProbability("zero_concentrated_dp.delta", z.Delta, true); err != nil {
			return err
		}
	}
	return checkAdjacency(adj)
}

func (z ZeroConcentratedDP) String() string {
	if z.Delta != 0 {
		return fmt.Sprintf("zero_concentrated_dp(ρ=%s, δ=%s)", atMost(z.Rho), atMost(z.Delta))
	}
	return fmt.Sprintf("zero_concentrated_dp(ρ=%s)", atMost(z.Rho))
}

func (z ZeroConcentratedDP) exactRho() *big.Rat { return num.Decimal(z.Rho) }

func (z ZeroConcentratedDP) places() place {
	if z.Delta != 0 {
		return nowhere
	}
	return inGroup | onPoissonSample | onFixedSizeSample
}

func (z ZeroConcentratedDP) checkSampledUnder(adj Adjacency) error { return checkAddOrRemove(z, adj) }

func (z ZeroConcentratedDP) refusal(where place) *ParameterError {
	const delta = "zero_concentrated_dp.delta"
	switch where {
	case inGroup:
		return &ParameterError{delta, number(z.Delta),
			"absent: of approximate zCDP no guarantee of groups is known here"}
	case onFixedSizeSample, onPoissonSample:
		return &ParameterError{delta, number(z.Delta), "absent: only ρ-zCDP without δ is bounded on such a batch"}
	}
	return nil
}

// GaussianDP is any μ-GDP mechanism (Dong–Roth–Su 2022, Def. 4).
type GaussianDP struct {
	// μ > 0
	Mu float64 `field:"1" role:"loss" range:">0" need:"required"`
}

// Kind is "gaussian_dp".
func (GaussianDP) Kind() string { return "gaussian_dp" }

func (GaussianDP) number() int { return 8 }

func (GaussianDP) aliases() []string { return []string{"gdp"} }

// Check implements Mechanism.
func (g GaussianDP) Check(adj Adjacency) error {
	return firstError(checkPositive("gaussian_dp.mu", g.Mu), checkAdjacency(adj))
}

func (g GaussianDP) String() string { return fmt.Sprintf("gaussian_dp(μ=%s)", atMost(g.Mu)) }

func (g GaussianDP) exactMuSquared(Adjacency) *big.Rat { return square(num.Decimal(g.Mu)) }

func (GaussianDP) places() place { return inGroup | inSampledGroup | asMixture | onPoissonSample }

func (g GaussianDP) checkSampledUnder(adj Adjacency) error { return checkAddOrRemove(g, adj) }

// NameAndShame publishes the whole record of one person with probability Delta and
// nothing otherwise: (0, δ)-DP, and so is every mechanism that fails as rarely. It
// harms somebody in a dataset of 1/δ records: δ must be far below that.
type NameAndShame struct {
	// δ in (0, 1)
	Delta float64 `field:"1" role:"probability" range:"(0,1)" need:"required"`
}

// Kind is "name_and_shame".
func (NameAndShame) Kind() string { return "name_and_shame" }

func (NameAndShame) number() int { return 20 }

// Check implements Mechanism.
func (n NameAndShame) Check(adj Adjacency) error {
	return firstError(checkProbability("name_and_shame.delta", n.Delta, true), checkAdjacency(adj))
}

func (n NameAndShame) String() string { return fmt.Sprintf("name_and_shame(δ=%s)", atMost(n.Delta)) }

func (NameAndShame) exactEpsilon(Adjacency) (*big.Rat, bool) { return new(big.Rat), true }

func (NameAndShame) exactRho() *big.Rat { return new(big.Rat) }

func (NameAndShame) places() place { return nowhere }
