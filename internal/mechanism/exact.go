// SPDX-License-Identifier: Apache-2.0

package mechanism

import (
	"math/big"

	"github.com/dpaccountant/accountant/internal/num"
)

// The guards of budgets add up costs that are rational in the decimals a person wrote, such as
// ε = d/b of Laplace noise, exactly. A kind that has such a cost says so by one of the methods
// below, beside its descriptor. Of every other kind package loss computes the cost, rounded up.
//
// A test goes over all kinds and lists which exact costs each of them has.

type (
	// hasEpsilon is a kind of which one record has an exact ε, nil where it is infinite. It reports
	// false where package loss knows better.
	hasEpsilon interface {
		exactEpsilon(adj Adjacency) (epsilon *big.Rat, ok bool)
	}

	// hasGroupEpsilon is a kind of which a group of size records has an exact ε. It is nil where
	// package loss knows better, or where it is infinite.
	hasGroupEpsilon interface {
		exactGroupEpsilon(size uint64, adj Adjacency) *big.Rat
	}

	// hasRho is a kind with an exact ρ of zero-concentrated differential privacy.
	hasRho interface{ exactRho() *big.Rat }

	// hasGroupRho is a kind of which a group of size records has an exact ρ. It is nil where
	// package loss knows better, or where it is infinite.
	hasGroupRho interface {
		exactGroupRho(size uint64, adj Adjacency) *big.Rat
	}

	// hasMuSquared is a kind with Gaussian noise of an exact μ². It is nil for other noise, and
	// where it is infinite.
	hasMuSquared interface{ exactMuSquared(adj Adjacency) *big.Rat }

	// hasOrder is a kind with an exact Rényi divergence at some orders; nil at others.
	hasOrder interface{ exactRenyi(order float64) *big.Rat }
)

// ExactEpsilon returns the ε of m under adj, which has passed Check. It reports false where ε is
// not rational in what was reported, or is less than the rational bound; it is nil where it is
// infinite.
func ExactEpsilon(m Mechanism, adj Adjacency) (epsilon *big.Rat, ok bool) {
	if k, ok := m.(hasEpsilon); ok {
		return k.exactEpsilon(adj)
	}
	one, size := OneRecord(m)
	if k, ok := one.(hasGroupEpsilon); ok {
		epsilon = k.exactGroupEpsilon(size, adj)
	}
	return epsilon, epsilon != nil
}

// ExactRho returns the ρ of m under adj, which has passed Check, or nil where ρ is not rational
// in what was reported, is less than the rational bound, or is infinite.
func ExactRho(m Mechanism, adj Adjacency) *big.Rat {
	if k, ok := m.(hasRho); ok {
		return k.exactRho()
	}
	if squared := ExactMuSquared(m, adj); squared != nil {
		return quotient(squared, 2)
	}
	one, size := OneRecord(m)
	if k, ok := one.(hasGroupRho); ok {
		return k.exactGroupRho(size, adj)
	}
	return nil
}

// ExactMuSquared returns μ² of Gaussian noise, which has passed Check under adj, or nil for other
// mechanisms and where it is not rational in what was reported.
//
// Sampling is given no amplification: at large orders it has none, and the (ε, δ) curves of the
// sampled pair lie below the unsampled one's.
func ExactMuSquared(m Mechanism, adj Adjacency) *big.Rat {
	one, size := OneRecord(m)
	if k, ok := one.(hasMuSquared); ok {
		return OfGroup(k.exactMuSquared(adj), size)
	}
	return nil
}

// ExactRenyi returns the Rényi divergence of this order that m says, or nil.
func ExactRenyi(m Mechanism, order float64) *big.Rat {
	if k, ok := m.(hasOrder); ok {
		return k.exactRenyi(order)
	}
	return nil
}

// OneRecord returns what a group runs and the number of its records, and for every other
// mechanism itself and 1.
func OneRecord(m Mechanism) (one Mechanism, size uint64) {
	if g, ok := m.(Group); ok {
		return g.Mechanism, g.Size
	}
	return m, 1
}

// OfGroup returns μ² of a group of size records: size² times that of one. It is nil for nil.
func OfGroup(muSquared *big.Rat, size uint64) *big.Rat {
	if muSquared == nil {
		return nil
	}
	n := whole(size)
	return n.Mul(n, n).Mul(n, muSquared)
}

func whole(n uint64) *big.Rat { return new(big.Rat).SetInt(new(big.Int).SetUint64(n)) }

// times returns size·epsilon, nil for nil.
func times(size uint64, epsilon *big.Rat) *big.Rat {
	if epsilon == nil {
		return nil
	}
	return epsilon.Mul(epsilon, whole(size))
}

// square returns x², nil for nil.
func square(x *big.Rat) *big.Rat {
	if x == nil {
		return nil
	}
	return x.Mul(x, x)
}

// quotient returns x/n, nil for nil.
func quotient(x *big.Rat, n int64) *big.Rat {
	if x == nil {
		return nil
	}
	return x.Quo(x, big.NewRat(n, 1))
}

// rangeRho returns ρ = ε²/8 of losses within a range of width ε, and nil for ε > 8, where
// ε·tanh(ε/2) is less.
func rangeRho(epsilon *big.Rat) *big.Rat {
	if epsilon == nil || epsilon.Cmp(big.NewRat(8, 1)) > 0 {
		return nil
	}
	return quotient(square(epsilon), 8)
}

// ratio returns distance/scale exactly, nil for a distance that overflowed.
func ratio(scale, distance float64) *big.Rat { return num.DecimalQuotient(distance, scale) }
