// SPDX-License-Identifier: Apache-2.0

package sampling

import (
	"math"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/loss/declared"
	"github.com/dpaccountant/accountant/internal/num"
)

// sampledDivergences is a loss of which only Rényi divergences are bounded, such as ρ-zCDP, on a Poisson
// sample of rate q, where the neighbour's batch is the same without the record. It is a table of
// bounds that hold in both directions. The unsampled ρ bounds the sampled one (quasi-convexity).
type sampledDivergences struct {
	declared.RenyiTable
	rho float64
}

func newSampledDivergences(inner loss.Loss, q float64, in *num.Interrupt) sampledDivergences {
	f := inner.Facts()
	return sampledDivergences{declared.NewRenyiTable(loss.Hull(withRecord(inner, q, in)), "Poisson-sampled "+f.Name),
		f.Rho}
}

func (l sampledDivergences) Facts() loss.Facts {
	f := l.RenyiTable.Facts()
	f.Rho = l.rho
	return f
}

// withRecord bounds K(s) in both directions at whole s, rounded up: all of them at first, then in
// growing steps. With κ(j) = K(j−1) of the inner loss, the binomial theorem gives in the direction remove
//
//	K(s) ≤ ln Σ_j C(s+1, j)·(1−q)^{s+1−j}·q^j·e^{κ(j)},
//
// and in the direction add what addBound says. The unsampled K bounds both. See docs/math/sampling.md
// §1.3.8.
func withRecord(inner loss.Loss, q float64, in *num.Interrupt) []loss.Knot {
	logRate, rest := num.Log(q), math.Log1p(-q)
	kappa := []float64{0, 0}
	var knots []loss.Knot
	for s := 1.0; s < mostOrder; s = math.Max(s+1, math.Floor(s*1.2)) {
		var sum num.LogSum
		in.Spend(80 * int(s))
		binomial := 0.0 // ln C(s+1, j)
		for j := 0; j <= int(s)+1; j++ {
			n := float64(j)
			if j > 0 {
				binomial += math.Log((s + 2 - n) / n)
			}
			if j == len(kappa) {
				kappa = append(kappa, math.Max(0, inner.Cumulant(loss.Remove, n-1, in).Upper()))
			}
			if j > 1 { // without these the binomial sum is 1: little is left of a sum near 1
				sum.Add(binomial + n*logRate + (s+1-n)*rest + num.LogExpm1(kappa[j]))
			}
		}
		remove := atMost(sum.Log())
		if k := math.Min(math.Max(remove, addBound(s, q, kappa[2])), kappa[int(s)+1]); !math.IsInf(k, 1) {
			knots = append(knots, loss.Knot{S: s, K: k})
		}
	}
	return knots
}

// addBound bounds K(s) in the direction add, rounded up, by the worst distribution of X ≥ 0 with mean 1
// and variance χ = e^κ − 1: with w = χ/(1+χ)
//
//	K(s) ≤ ln[w·(1−q)^{−s} + (1−w)·(1+qχ)^{−s}] ≤ ln(1 + s(s+1)/2·q²·(1−q)^{−s−2}·χ),
//
// of which the second loses no digits where q is tiny.
func addBound(s, q, kappa float64) float64 {
	rest, chi := math.Log1p(-q), math.Expm1(kappa)
	most := atMost(math.Log(s*(s+1)/2) + 2*num.Log(q) - (s+2)*rest + num.LogExpm1(kappa))
	up, down := math.Expm1(-s*rest), math.Expm1(-s*math.Log1p(q*chi))
	w := 1 / (1 + 1/chi)
	v := w*up + down/(1+chi)
	v += 32 * num.Ulp * (1 + s*math.Abs(rest)) * (w*up - down/(1+chi))
	if !(v >= 0) { // overflow
		return most
	}
	return math.Min(most, math.Log1p(v)*(1+1e-12))
}

// atMost is ln(1 + e^v), rounded up by more than v can err: 1,024 steps of the binomial, j·ln q and κ.
func atMost(v float64) float64 {
	if math.IsInf(v, -1) {
		return 0
	}
	return num.Log1pExp(v+1e-9*(1+1e-3*math.Abs(v))) * (1 + 1e-12)
}
