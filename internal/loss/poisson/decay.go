// SPDX-License-Identifier: Apache-2.0

package poisson

import (
	"cmp"
	"math"
	"slices"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/loss/quadrature"
)

// tiltedPart is a part of a sampledLoss's pair whose outcomes are the inner losses u,
// with masses and densities under the tilted law P·e^{θL − K(θ)}.
type tiltedPart struct {
	mix         quadrature.Mix
	theta       float64
	k           float64 // K(θ) with ln P(L < ∞) added: Σ e^{lp + θΛ}·Q equals e^k
	rising      bool    // p = r(u), q = 1; otherwise p = 1, q = r(u)
	base        float64 // ln r(−e0) in place of the 1
	e0          float64
	First, Last bool // whether the atoms at −e0 and e0 belong to it
}

// log is ln p + θΛ − k and Λ at an inner loss.
func (p *tiltedPart) log(u float64) (log, lossAt float64) {
	l, _, _ := p.mix.LogRatio(u, 0)
	if p.rising {
		return l + p.theta*(l-p.base) - p.k, l - p.base
	}
	return p.base + p.theta*(p.base-l) - p.k, p.base - l
}

// Atom is the tilted mass and the loss of an atom of Q's mass e^{−half}.
func (p *tiltedPart) Atom(half, u float64) (mass, lossAt float64) {
	log, lossAt := p.log(u)
	return math.Exp(log - half), lossAt
}

// Density is the tilted density of Λ at an inner loss, whose own density under Q is
// ¼·e^{−(u+e0)/2} and dΛ/du = ±w.
func (p *tiltedPart) Density(u float64) float64 {
	log, _ := p.log(u)
	_, w, _ := p.mix.LogRatio(u, 0)
	return math.Exp(log-(u+p.e0)/2) / (4 * w)
}

// Tilted are the parts of the tilted pair with an inner ε0; none where nothing is proven.
// m is P(L = ∞) of the sampled pair where the record is in P.
func (x Sample) Tilted(e0, m float64, d loss.Direction, theta float64, k loss.Value) []tiltedPart {
	if !(k.Err < quadrature.CellSlop && e0 <= MostInner && math.Abs(theta)*e0 < 300) || x.Batch == Revealed {
		return nil
	}
	finite := 0.0
	if d == loss.Remove {
		finite = math.Log1p(-m)
	}
	r := quadrature.NewMix(x.Rate)
	if x.Batch == Replaced {
		base, _, _ := r.LogRatio(-e0, 0)
		right := tiltedPart{mix: r, theta: theta, k: k.K, rising: true, base: base, e0: e0, Last: true}
		left := right
		left.rising = false
		return []tiltedPart{left, right}
	}
	return []tiltedPart{{mix: r, theta: theta, k: k.K + finite, rising: d == loss.Remove, e0: e0,
		First: true, Last: true}}
}

// Cells are the outcomes of all parts: by the spread over cells, and for large t by
//
//	|φ(t)| ≤ P(atoms) + [g(ends) + TV(g)]/t
//
// with g the density of the loss between the atoms (docs/math/sampling.md §1.3.7).
type Cells struct {
	Cells         []loss.MassCell
	Atoms, Smooth float64
}

// UpCells and downCells are the factors by which a mass is off at most.
const UpCells, downCells = 1 + 8*quadrature.CellSlop, 1 - 8*quadrature.CellSlop

// AddPoint adds an atom.
func (c *Cells) AddPoint(mass, lossAt float64) {
	wide := 1e-12 * math.Abs(lossAt)
	c.Cells = append(c.Cells,
		loss.MassCell{Mass: mass * downCells, Left: lossAt - wide, Right: lossAt + wide,
			Least: lossAt - wide, Most: lossAt + wide})
	c.Atoms += mass * UpCells
}

// Decay is what the cells prove.
func (c *Cells) Decay() loss.Decay {
	slices.SortFunc(c.Cells, func(a, b loss.MassCell) int { return cmp.Compare(a.Left, b.Left) })
	heavy := loss.WorthPairs(c.Cells)
	return func(t0, t1 float64, _ bool) (log, spent float64) {
		return math.Min(loss.Spread(heavy, t0, t1), loss.LogModulus(math.Log(c.Atoms+c.Smooth/t0)+1e-9)), 0
	}
}

// Between appends cells of what is between the atoms. Each factor of the density is
// monotone: its least is at an end.
func (p *tiltedPart) Between(cells []loss.MassCell) []loss.MassCell {
	const n = 32
	h := 2 * p.e0 / n
	logA, lossA := p.log(-p.e0)
	for i := range n {
		b := -p.e0 + float64(i+1)*h
		logB, lossB := p.log(b)
		mass := h / 4 * math.Exp(-(b+p.e0)/2+math.Min(logA, logB)) * downCells
		least, most := math.Min(lossA, lossB), math.Max(lossA, lossB)
		wide := 1e-12 * math.Max(math.Abs(least), math.Abs(most))
		cells = append(cells,
			loss.MassCell{Mass: mass, Left: least - wide, Right: most + wide, Least: least - wide, Most: most + wide})
		logA, lossA = logB, lossB
	}
	return cells
}
