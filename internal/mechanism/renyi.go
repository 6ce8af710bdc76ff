// SPDX-License-Identifier: Apache-2.0

package mechanism

import (
	"fmt"
	"math"
	"math/big"
	"slices"

	"github.com/dpaccountant/accountant/internal/num"
)

// maxOrders bounds the orders of a RenyiDP.
const maxOrders = 1024

// RenyiDP is any mechanism that is (α, ε)-Rényi differentially private (Mironov 2017,
// arXiv 1702.07476v3, Def. 4) at each of some orders, as other accountants print it.
type RenyiDP struct {
	// α > 1, at most 2⁵³, rising; 1 to maxOrders
	Orders Numbers `field:"1" role:"shape" most:"1024"`
	// ε > 0 at each order; as many
	Epsilons Numbers `field:"2" role:"loss" most:"1024"`
}

// Kind is "renyi_dp".
func (RenyiDP) Kind() string { return "renyi_dp" }

func (RenyiDP) number() int { return 18 }

func (RenyiDP) aliases() []string { return []string{"rdp", "renyi"} }

// Check implements Mechanism.
func (r RenyiDP) Check(adj Adjacency) error {
	n := r.Orders.Len()
	if n == 0 || n > maxOrders {
		return &ParameterError{"renyi_dp.orders", fmt.Sprintf("%d orders", n), fmt.Sprintf("1 to %d orders", maxOrders)}
	}
	last := 1.0
	for i, alpha := range r.Orders.Values() {
		if !(alpha > last && alpha <= 1<<53) {
			return &ParameterError{fmt.Sprintf("renyi_dp.orders[%d]", i), number(alpha),
				"rising numbers > 1, at most 2^53"}
		}
		last = alpha
	}
	if got := r.Epsilons.Len(); got != n {
		return &ParameterError{"renyi_dp.epsilons", fmt.Sprintf("%d numbers", got),
			fmt.Sprintf("as many as there are orders: %d", n)}
	}
	for i, epsilon := range r.Epsilons.Values() {
		if !(epsilon >= smallestNormal) || math.IsInf(epsilon, 1) {
			return &ParameterError{fmt.Sprintf("renyi_dp.epsilons[%d]", i), number(epsilon), positive}
		}
	}
	return checkAdjacency(adj)
}

func (r RenyiDP) String() string {
	n := r.Orders.Len()
	if n == 0 {
		return "renyi_dp()"
	}
	return fmt.Sprintf("renyi_dp(ε=%s at α=%s … ε=%s at α=%s, %d orders)",
		atMost(r.Epsilons.At(0)), atLeast(r.Orders.At(0)), atMost(r.Epsilons.At(r.Epsilons.Len()-1)),
		atLeast(r.Orders.At(n-1)), n)
}

func (r RenyiDP) exactRenyi(order float64) *big.Rat {
	i, found := slices.BinarySearch(r.Orders.Values(), order)
	if !found {
		return nil
	}
	return num.Decimal(r.Epsilons.At(i))
}

func (RenyiDP) places() place { return onPoissonSample | onFixedSizeSample }

func (r RenyiDP) checkSampledUnder(adj Adjacency) error { return checkAddOrRemove(r, adj) }
