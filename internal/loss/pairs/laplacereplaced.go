// SPDX-License-Identifier: Apache-2.0

package pairs

import (
	"math"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/loss/poisson"
	"github.com/dpaccountant/accountant/internal/num"
)

// replacedLaplace is the Poisson-sampled Laplace pair under REPLACE_ONE: with x ~
// Lap(0) and the unit b, P is (1−q)Lap(0) + qLap(e0) and Q its mirror. For x ≥ 0,
// with the inner loss u = 2x − e0, capped at e0,
//
//	p = r(u), q = r(−e0), L = ln r(u) − ln r(−e0) ≥ 0,
//
// relative to Lap(0), and L(−x) = −L(x). See docs/math/sampling.md §1.3.2.
type replacedLaplace struct {
	right poisson.PairOnSample // (r·Lap(0), Lap(0)) on all of x
	e0    float64
	base  float64 // ln r(−e0) ≤ 0
}

func newReplacedLaplace(inner laplacePair, rate float64) loss.Pair {
	p := poisson.SampledPair(inner, rate, loss.Remove).(poisson.PairOnSample)
	return replacedLaplace{right: p, e0: inner.e0, base: p.Outer(-inner.e0)}
}

// baseErr bounds the error of base.
func (p replacedLaplace) baseErr() float64 {
	return num.Ulp * (8*math.Abs(p.base) + 4*p.right.Share(-p.e0)*p.e0)
}

func (p replacedLaplace) Ends(logBelow, _ float64) (lo, hi float64) {
	hi = p.right.Outer(p.e0) - p.base
	return -hi, hi
}

// Cells: those of the right half are the sampled pair's with Q times r(−e0); those
// of the left are mirrored, and a cell with 0 inside has both.
func (p replacedLaplace) Cells(edges []float64, cells []loss.Mass) (slack float64) {
	n := len(cells)
	zero := 0 // the first edge > 0
	for zero <= n && edges[zero] <= 0 {
		zero++
	}
	slack = p.half(edges, zero, cells)
	// The left half by −L: (a, b] is [−b, −a) there; it has no atoms inside.
	back, mirror := make([]float64, n+1), make([]loss.Mass, n)
	for i, e := range edges {
		back[n-i] = -e
	}
	first := 0
	for first <= n && back[first] <= 0 {
		first++
	}
	slack = math.Max(slack, p.half(back, first, mirror))
	for i := range cells {
		cells[i] = loss.Union(cells[i], loss.Exchanged(mirror[n-1-i]))
	}
	return slack
}

// half fills the cells with what lies at L > 0, given the first edge above 0.
func (p replacedLaplace) half(edges []float64, zero int, cells []loss.Mass) (slack float64) {
	for i := range cells {
		cells[i] = loss.Nothing()
	}
	if zero == len(edges) {
		return 0
	}
	shifted := make([]float64, 0, len(edges)-zero+1)
	start := zero
	if zero > 0 {
		start = zero - 1
		shifted = append(shifted, math.Inf(-1)) // all of x > 0
	}
	for _, e := range edges[zero:] {
		shifted = append(shifted, e+p.base)
	}
	if len(shifted) < 2 {
		return 0
	}
	slack = p.right.Cells(shifted, cells[start:]) + p.baseErr() + 2*num.Ulp*(largest(shifted)-p.base)
	for i := start; i < len(cells); i++ {
		cells[i] = p.moved(cells[i])
	}
	return slack
}

// moved gives a sampled outcome's Q its factor r(−e0).
func (p replacedLaplace) moved(m loss.Mass) loss.Mass {
	if math.IsInf(m.LogP, -1) {
		return m
	}
	m.Loss -= p.base
	m.LossErr += p.baseErr() + num.Ulp*(math.Abs(m.Loss)-p.base)
	return m
}

// Atoms are those beyond the two locations.
func (p replacedLaplace) Atoms() []loss.Mass {
	all := p.right.Atoms() // at −e0 and e0
	top := p.moved(all[len(all)-1])
	return []loss.Mass{loss.Exchanged(top), top}
}

func (replacedLaplace) Infinite() float64 { return 0 }
func (replacedLaplace) Null() float64     { return 0 }
func (replacedLaplace) Anchor() float64   { return 0 }
