// SPDX-License-Identifier: Apache-2.0

// Package participation bounds how far one record can move the output of a matrix mechanism
// if it takes part in several steps.
//
// The mechanism releases C·x + z. A record contributes vectors x_t of norm at most 1 at the
// steps t of a pattern π, and moves the output by at most
//
//	√(Σ_{s,t ∈ π} |X_st|),  X = CᵀC,
//
// also where x_t depends on earlier outputs (docs/math/matrices.md §1.8.1). This package finds
// the largest such sum over all patterns, or bounds it from above. It never returns less.
//
// The files, from the bottom: search (any matrix, by its products of columns), lags (the
// products of a Toeplitz matrix, and sums over them), toeplitz (which way serves a Toeplitz matrix),
// tree (partial sums over the nodes of a binary tree).
package participation

import (
	"math"

	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/num"
)

// Pattern says in which steps one record may take part: in at most Most of them, which is at
// least 1, and Separation or more apart. If it is Periodic, two participations that follow each
// other are exactly Separation apart.
type Pattern struct {
	Steps, Most, Separation uint64
	Periodic                bool
}

// Of returns the pattern that a report means, with no more participations than fit.
func Of(p mechanism.Participation) Pattern {
	most, separation := p.Most()
	return Pattern{Steps: p.Steps, Most: most, Separation: separation}
}

// Bound is an upper bound on the square of a sensitivity.
type Bound struct {
	Squares float64
	// Exact says that a pattern and contributions have this sensitivity, apart from what
	// rounding up added: a relative 1e-11 at most.
	Exact bool
}

// least returns the smaller bound; of two that are equal the exact one.
func least(a, b Bound) Bound {
	if b.Squares < a.Squares || b.Squares == a.Squares && b.Exact {
		return b
	}
	return a
}

// rounded returns v, a sum of nonnegative terms that was computed with so many roundings in
// turn, rounded up.
func rounded(v float64, roundings uint64) float64 {
	return num.UpBy(v, num.Ulp*(64+2*num.Count(roundings))*v)
}

// reaches says whether a pattern with the sum v has the bound, apart from rounding.
func reaches(v, bound float64) bool { return v >= bound*(1-1e-12) }

func isFalling(c []float64) bool {
	for u, v := range c {
		if v < 0 || u > 0 && v > c[u-1] {
			return false
		}
	}
	return true
}

func isNonnegative(c []float64) bool {
	for _, v := range c {
		if v < 0 {
			return false
		}
	}
	return true
}

// above returns the least falling sequence that is nowhere below |c|.
func above(c []float64) []float64 {
	a := make([]float64, len(c))
	last := 0.0
	for u := len(c) - 1; u >= 0; u-- {
		last = math.Max(last, math.Abs(c[u]))
		a[u] = last
	}
	return a
}
