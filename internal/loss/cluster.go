// SPDX-License-Identifier: Apache-2.0

package loss

import "github.com/dpaccountant/accountant/internal/num"

// Clustered is a loss of a family in which thousands of losses with parameters of their own may
// be alike. Between losses that are alike K is smooth in the parameters, and so the K of a few
// of them, the nodes of a cluster, are enough for that of all (docs/math/clusters.md §2.7).
type Clustered interface {
	Loss

	// Cluster is where the loss belongs; nil where nothing is known of its neighbours.
	Cluster() Cluster

	// Milder is a loss that many neighbours have in common, of which less of a decay is known.
	Milder() Milder
}

// Cluster is a set of losses that are alike. It is a comparable value.
type Cluster interface {
	// Nodes are losses between which K is interpolated.
	Nodes() []Loss

	// Weigh adds n·ℓ_i(l) to the sums, one for each node: K of l is about Σ ℓ_i(l)·K_i.
	Weigh(l Loss, n float64, sums []num.Sum)

	// Spread returns Σ|ℓ_i| at its largest.
	Spread() float64

	// Error bounds how far K(θ + it) of a loss in the cluster is from Σ ℓ_i·K_i, the rounding of
	// ℓ_i included; +Inf where that is not known. It needs θ > 0.
	Error(d Direction, theta float64, in *num.Interrupt) func(t float64) float64
}

// Milder is a loss that stands for others where only the decay of characteristic functions
// counts. It is a comparable value.
type Milder interface {
	// Loss is the loss itself.
	Loss() Loss

	// Share returns κ for θ > 0: |φ(t)|² ≤ 1 − κ·(1 − |φ₀(t)|²) for every loss that φ₀ stands for.
	Share(d Direction, theta float64, in *num.Interrupt) float64
}
