package accountant

import (
	"math/big"

	"github.com/dpaccountant/accountant/internal/mechanism"
)

// exactEpsilon is the ε that GuardBasic adds up for noise and selections where it is
// rational in what was reported; nil where it is not or too large.
func exactEpsilon(m mechanism.Mechanism, adj mechanism.Adjacency) *big.Rat {
	switch m := m.(type) {
	case mechanism.DiscreteLaplace:
		scale, distance := m.Ratio(adj)
		return quotient(distance, scale)
	case mechanism.TruncatedLaplace:
		if scale, distance := m.Ratio(adj); distance <= m.Bound {
			return quotient(distance, scale)
		}
	case mechanism.Exponential:
		return quotient(m.Range(adj))
	case mechanism.ReportNoisyMax:
		return quotient(m.Range(adj))
	case mechanism.InverseSensitivity:
		return decimal(m.Epsilon)
	case mechanism.AboveThreshold:
		first, second := m.Parts(adj)
		a, b := quotient(first.Over, first.Under), quotient(second.Over, second.Under)
		if a != nil && b != nil {
			return a.Add(a, b.Mul(b, decimal(second.Times)))
		}
	case mechanism.Histogram:
		if m.LaplaceScale != 0 {
			return quotient(float64(m.Bins(adj)), m.LaplaceScale)
		}
	case mechanism.Group: // size times it
		if t, ok := m.Mechanism.(mechanism.TruncatedLaplace); ok {
			if _, distance := t.Ratio(adj); float64(m.Size)*distance > t.Bound {
				return nil
			}
		}
		if e := exactEpsilon(m.Mechanism, adj); e != nil {
			return e.Mul(e, new(big.Rat).SetInt(new(big.Int).SetUint64(m.Size)))
		}
	}
	return nil
}

// exactRho is the ρ that GuardZCDP adds up, likewise: d²/2σ² of discrete Gaussian noise,
// and ε²/8 of a selection with losses in a range of width ε, either with a group's size
// squared.
func exactRho(m mechanism.Mechanism, adj mechanism.Adjacency) *big.Rat {
	var root *big.Rat
	part, size := big.NewRat(1, 8), new(big.Rat).SetInt64(1)
	if g, ok := m.(mechanism.Group); ok {
		m = g.Mechanism
		size.SetInt(new(big.Int).SetUint64(g.Size))
	}
	switch m := m.(type) {
	case mechanism.DiscreteGaussian:
		sigma, distance := m.Ratio(adj)
		root, part = quotient(distance, sigma), big.NewRat(1, 2)
	case mechanism.Exponential, mechanism.InverseSensitivity:
		root = exactEpsilon(m, adj)
	case mechanism.ReportNoisyMax:
		if m.Distribution == mechanism.GumbelMax {
			root = exactEpsilon(m, adj)
		}
	}
	if root == nil {
		return nil
	}
	if root.Mul(root, size); root.Cmp(big.NewRat(8, 1)) > 0 && part.Cmp(big.NewRat(1, 8)) == 0 { // ε·tanh(ε/2) is less there
		return nil
	}
	return root.Mul(root, root).Mul(root, part)
}
