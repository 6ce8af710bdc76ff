// SPDX-License-Identifier: Apache-2.0

package participation

import (
	"math"

	"github.com/dpaccountant/accountant/internal/num"
)

// mostSearched bounds the steps of a matrix that is searched: its products of columns are all
// in memory.
const mostSearched = 512

// mostWork bounds the products that one search adds up in the patterns that it tries.
const mostWork = 1 << 22

// canSearch says whether Search takes the pattern: it then takes a fifth of a second at most.
func canSearch(p Pattern) bool {
	return p.Steps <= mostSearched && p.Steps*p.Steps*p.Most <= 1<<25
}

// Search bounds the sensitivity of any matrix with p.Steps columns whose inner products are
// product(s, t) = product(t, s). It calls product once for each s ≤ t. If the matrix has negative
// entries it is signed; the products then may have an error of p.Steps·Ulp of the product of both columns'
// norms, and otherwise of themselves.
//
// Patterns are tried one by one, and those that cannot become the largest are left out. If
// there are too many, the bound is what none of them can exceed (docs/math/matrices.md §1.8.6).
func Search(p Pattern, signed bool, product func(s, t int) float64) Bound {
	s := newSearch(p, product)
	squares, roundings := 0.0, 8*p.Steps
	if p.Periodic {
		s.tryPeriods()
		squares = s.best
	} else {
		s.hopes()
		s.visit(0, 0)
		squares = s.best
		if s.work > mostWork {
			squares = math.Max(s.best, s.hope[1][0])
		}
	}
	if signed { // Σ ‖C_s‖·‖C_t‖ is at most Most·Σ X_tt
		roundings += p.Most * p.Steps
	}
	return Bound{rounded(squares, roundings), reaches(s.best, squares) && roundings < 1<<15 && s.balanced()}
}

type search struct {
	Pattern
	n, most int
	x       [][]float64 // |X|, all n × n
	minus   [][]bool    // X < 0

	// hope[i][t] bounds what participations i, i + 1, … add if none is before t.
	hope [][]float64

	chosen  []int // the pattern that is being made
	best    float64
	pattern []int // with the sum best
	work    int
}

func newSearch(p Pattern, product func(s, t int) float64) *search {
	n := int(p.Steps)
	s := &search{Pattern: p, n: n, most: int(p.Most), x: make([][]float64, n), minus: make([][]bool, n)}
	for t := range n {
		s.x[t], s.minus[t] = make([]float64, n), make([]bool, n)
	}
	for t := range n {
		for u := range t + 1 {
			v := product(u, t)
			s.x[u][t], s.x[t][u] = math.Abs(v), math.Abs(v)
			s.minus[u][t], s.minus[t][u] = v < 0, v < 0
		}
	}
	return s
}

// apart is the separation, or n if it is more.
func (s *search) apart() int { return int(min(s.Separation, uint64(s.n))) }

// hopes fills hope. The i-th participation of a pattern, at t, adds X_tt and twice its products
// with the i − 1 before it. Those are at most the largest sum of i − 1 products with t of steps
// before it that are far enough apart.
func (s *search) hopes() {
	adds := make([][]float64, s.most+1) // adds[i][t]: of the i-th participation at t
	for i := range adds {
		adds[i] = make([]float64, s.n)
	}
	for t := range s.n {
		for i, w := range s.largest(t) {
			adds[i+1][t] = s.x[t][t] + 2*w
		}
	}
	s.hope = make([][]float64, s.most+2)
	s.hope[s.most+1] = make([]float64, s.n+1)
	for i := s.most; i >= 1; i-- {
		s.hope[i] = make([]float64, s.n+1)
		for t := s.n - 1; t >= 0; t-- {
			s.hope[i][t] = max(s.hope[i][t+1], adds[i][t]+s.hope[i+1][min(t+s.apart(), s.n)])
		}
	}
}

// largest returns for i = 0, …, Most − 1 the largest sum of i of the products of t with earlier
// steps that are far enough apart, also from t.
func (s *search) largest(t int) []float64 {
	sums := make([]float64, s.most)
	apart, row := s.apart(), s.x[t]
	end := t - apart + 1 // of the steps before t
	if end <= 0 {
		return sums
	}
	before, with := make([]float64, end+1), make([]float64, end+1) // of one product less, by the end
	for i := 1; i < s.most; i++ {
		for u := range end {
			with[u+1] = max(with[u], row[u]+before[max(0, u+1-apart)])
		}
		sums[i] = with[end]
		if i > 1 && sums[i] == sums[i-1] { // no more of them fit
			for j := i + 1; j < s.most; j++ {
				sums[j] = sums[i]
			}
			break
		}
		before, with = with, before
	}
	return sums
}

// visit extends the chosen pattern, whose sum is given, by a participation at from or later.
func (s *search) visit(from int, sum float64) {
	if sum > s.best {
		s.best, s.pattern = sum, append(s.pattern[:0], s.chosen...)
	}
	i := len(s.chosen) + 1
	if i > s.most {
		return
	}
	for t := from; t < s.n; t++ {
		if sum+s.hope[i][t] <= s.best*(1+64*num.Ulp) {
			return // the hope does not rise with t
		}
		if s.work += 1 + len(s.chosen); s.work > mostWork {
			return
		}
		add := 0.0
		for _, u := range s.chosen {
			add += s.x[t][u]
		}
		next := min(t+s.apart(), s.n)
		s.chosen = append(s.chosen, t)
		s.visit(next, sum+s.x[t][t]+2*add)
		s.chosen = s.chosen[:len(s.chosen)-1]
	}
}

// tryPeriods looks at the patterns of all first steps.
func (s *search) tryPeriods() {
	for first := range s.apart() {
		var pattern []int
		sum := 0.0
		for t := first; t < s.n && len(pattern) < s.most; t += s.apart() {
			sum += s.x[t][t]
			for _, u := range pattern {
				sum += 2 * s.x[t][u]
			}
			pattern = append(pattern, t)
		}
		if sum > s.best {
			s.best, s.pattern = sum, pattern
		}
	}
}

// balanced says whether each step of the best pattern can be given a sign such that the product
// of two steps' signs is that of their columns' product wherever it is not 0. Then |X| is the
// sum for contributions along one direction with these signs.
func (s *search) balanced() bool {
	sign := make([]int, len(s.pattern))
	var spread func(i int) bool
	spread = func(i int) bool {
		for j, t := range s.pattern {
			if i == j || s.x[s.pattern[i]][t] == 0 {
				continue
			}
			want := sign[i]
			if s.minus[s.pattern[i]][t] {
				want = -want
			}
			if sign[j] == 0 {
				sign[j] = want
				if !spread(j) {
					return false
				}
			} else if sign[j] != want {
				return false
			}
		}
		return true
	}
	for i := range sign {
		if sign[i] == 0 {
			sign[i] = 1
			if !spread(i) {
				return false
			}
		}
	}
	return true
}
