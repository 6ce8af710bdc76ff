// SPDX-License-Identifier: Apache-2.0

package participation

import (
	"math"

	"github.com/dpaccountant/accountant/internal/num"
)

// Toeplitz bounds the sensitivity of the lower-triangular Toeplitz matrix C[i][i−u] = c[u],
// which is 0 from len(c) on. c[0] is not 0. See docs/math/matrices.md §1.8.2 and §1.8.6.
func Toeplitz(c []float64, p Pattern) Bound {
	if num.Count(p.Steps) < float64(len(c)) {
		c = c[:p.Steps]
	}
	for len(c) > 1 && c[len(c)-1] == 0 {
		c = c[:len(c)-1]
	}
	c = sameSigned(c)
	b := uint64(len(c))
	exactly := func(sum float64) Bound { return Bound{rounded(sum, 2*b+8), true} }
	switch {
	case p.Most == 1 || p.Separation >= b:
		return exactly(apart(c, p))
	case isFalling(c) || p.Periodic && isNonnegative(c):
		return exactly(rowSquares(c, p.Steps, p.Most, p.Separation))
	}
	bound := Bound{Squares: math.Inf(1)}
	if p.Periodic {
		size := make([]float64, b)
		for u, v := range c {
			size[u] = math.Abs(v)
		}
		bound.Squares = rounded(rowSquares(size, p.Steps, p.Most, p.Separation), 2*b+8)
	} else {
		bound.Squares = rounded(rowSquares(above(c), p.Steps, p.Most, p.Separation), 2*b+8)
	}
	if canSearch(p) {
		return least(bound, Search(p, !isNonnegative(c), productsOf(c, int(p.Steps))))
	}
	x := lags(c, p.Separation)
	if x == nil {
		return bound
	}
	if p.Periodic {
		return least(bound, Bound{Squares: rounded(periodic(x, p), 4*b)})
	}
	if r, ok := tried(x, p); ok {
		fits := r.length <= p.Steps-b // then the last row cuts no column
		all := Bound{rounded(r.sum, 8*b+2*p.Most), fits && isNonnegative(c)}
		if all.Exact {
			return all
		}
		bound = least(bound, all)
	}
	return least(bound, Bound{Squares: rounded(chained(x, p), 4*b)})
}

// sameSigned returns |c| if all signs are the same, or alternate: the signs of contributions
// can then undo them. Otherwise it returns c.
func sameSigned(c []float64) []float64 {
	size := make([]float64, len(c))
	same, alternate := true, true
	for u, v := range c {
		size[u] = math.Abs(v)
		same = same && v*c[0] >= 0
		alternate = alternate && v*c[0]*float64(1-2*(u%2)) >= 0
	}
	if same || alternate {
		return size
	}
	return c
}

// apart is the sum of participations whose columns do not meet: of the first ones that fit. The
// last column may be cut.
func apart(c []float64, p Pattern) (sum float64) {
	var column, last float64
	left := p.Steps - (p.Most-1)*p.Separation
	for u, v := range c {
		column += v * v
		if uint64(u) < left {
			last += v * v
		}
	}
	return num.Count(p.Most-1)*column + last
}

// productsOf are those of all columns of the matrix with n steps.
func productsOf(c []float64, n int) func(s, t int) float64 {
	return func(s, t int) float64 {
		sum := 0.0
		for u := 0; u < n-t && u+t-s < len(c); u++ {
			sum += c[u] * c[u+t-s]
		}
		return sum
	}
}

// rowSquares is Σ_t v_t², v_t = Σ_{a<m} c_{t−as} over the rows t < steps, for more
// bands than s.
func rowSquares(c []float64, steps, m, s uint64) (sum float64) {
	b := uint64(len(c))
	square := func(v float64) { sum += v * v }
	if m*s < b {
		for _, v := range windows(c, min(steps, (m-1)*s+b), m, s) {
			square(v)
		}
		return sum
	}
	before, after := make([]float64, b), make([]float64, b) // Σ over u−s, u−2s, … and u+s, u+2s, …
	for u := range b {
		before[u] = c[u]
		if u >= s {
			before[u] += before[u-s]
		}
		after[b-1-u] = c[b-1-u]
		if u >= s {
			after[b-1-u] += after[b-1-u+s]
		}
	}
	for t := range min(b, steps) {
		square(before[t])
	}
	// Rows b to m·s − 1 repeat with period s.
	if end := min(m*s, steps); end > b {
		for r := range s {
			first := b + (r+s-b%s)%s
			if first < end {
				sum += num.Count((end-1-first)/s+1) * after[r] * after[r]
			}
		}
	}
	for u := s; u < b; u++ { // row (m−1)s + u
		if (m-1)*s+u < steps {
			square(after[u])
		}
	}
	return sum
}

// windows returns Σ_{a<m} c_{t−as} for t < rows: of sums over 1, 2, 4, … terms those that m is
// made of.
func windows(c []float64, rows, m, s uint64) []float64 {
	terms, sums := make([]float64, rows), make([]float64, rows)
	copy(terms, c)
	taken := uint64(0)
	for have := uint64(1); ; have *= 2 {
		if m&have != 0 {
			for t := taken * s; t < rows; t++ {
				sums[t] += terms[t-taken*s]
			}
			taken += have
		}
		if taken == m {
			return sums
		}
		for t := rows; t > have*s; t-- {
			terms[t-1] += terms[t-1-have*s]
		}
	}
}

// ProductsOf are those of the columns of a lower-triangular matrix whose rows, each up to the
// diagonal, follow each other in entries.
func ProductsOf(entries []float64) func(s, t int) float64 {
	n := 0
	for n*(n+1)/2 < len(entries) {
		n++
	}
	return func(s, t int) float64 {
		sum := 0.0
		for i := t; i < n; i++ {
			row := entries[i*(i+1)/2:]
			sum += row[s] * row[t]
		}
		return sum
	}
}
