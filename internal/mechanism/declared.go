package mechanism

import "fmt"

// The declared guarantees: what was proven about a mechanism whose noise is not
// described further. They hold under the adjacency of the ledger they are
// reported to.

// PureDP is any ε-differentially private mechanism.
type PureDP struct {
	Epsilon float64 // ε0 > 0
}

// Kind is "pure_dp".
func (PureDP) Kind() string { return "pure_dp" }

// Check implements Mechanism.
func (p PureDP) Check(adj Adjacency) error {
	return firstError(checkPositive("pure_dp.epsilon", p.Epsilon), checkAdjacency(adj))
}

func (p PureDP) String() string { return fmt.Sprintf("pure_dp(ε=%g)", p.Epsilon) }

func (PureDP) sealed() {}

// ApproximateDP is any (ε, δ)-differentially private mechanism.
type ApproximateDP struct {
	Epsilon float64 // ε0 > 0
	Delta   float64 // δ0 in (0, 1)
}

// Kind is "approximate_dp".
func (ApproximateDP) Kind() string { return "approximate_dp" }

// Check implements Mechanism.
func (a ApproximateDP) Check(adj Adjacency) error {
	return firstError(checkPositive("approximate_dp.epsilon", a.Epsilon),
		checkProbability("approximate_dp.delta", a.Delta, true), checkAdjacency(adj))
}

func (a ApproximateDP) String() string {
	return fmt.Sprintf("approximate_dp(ε=%g, δ=%g)", a.Epsilon, a.Delta)
}

func (ApproximateDP) sealed() {}

// ZeroConcentratedDP is any ρ-zCDP mechanism (Bun–Steinke 2016, Def. 1.1).
type ZeroConcentratedDP struct {
	Rho float64 // ρ > 0
}

// Kind is "zero_concentrated_dp".
func (ZeroConcentratedDP) Kind() string { return "zero_concentrated_dp" }

// Check implements Mechanism.
func (z ZeroConcentratedDP) Check(adj Adjacency) error {
	return firstError(checkPositive("zero_concentrated_dp.rho", z.Rho), checkAdjacency(adj))
}

func (z ZeroConcentratedDP) String() string {
	return fmt.Sprintf("zero_concentrated_dp(ρ=%g)", z.Rho)
}

func (ZeroConcentratedDP) sealed() {}

// GaussianDP is any μ-GDP mechanism (Dong–Roth–Su 2022, Def. 4).
type GaussianDP struct {
	Mu float64 // μ > 0
}

// Kind is "gaussian_dp".
func (GaussianDP) Kind() string { return "gaussian_dp" }

// Check implements Mechanism.
func (g GaussianDP) Check(adj Adjacency) error {
	return firstError(checkPositive("gaussian_dp.mu", g.Mu), checkAdjacency(adj))
}

func (g GaussianDP) String() string { return fmt.Sprintf("gaussian_dp(μ=%g)", g.Mu) }

func (GaussianDP) sealed() {}
