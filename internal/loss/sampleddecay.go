package loss

import (
	"cmp"
	"math"
	"slices"
)

// tiltedPart is a part of a sampledLoss's pair whose outcomes are the inner losses u,
// with masses and densities under the tilted law P·e^{θL − K(θ)}.
type tiltedPart struct {
	mix         mix
	theta       float64
	k           float64 // K(θ) with ln P(L < ∞) added: Σ e^{lp + θΛ}·Q equals e^k
	rising      bool    // p = r(u), q = 1; otherwise p = 1, q = r(u)
	base        float64 // ln r(−e0) in place of the 1
	e0          float64
	first, last bool // whether the atoms at −e0 and e0 belong to it
}

// log is ln p + θΛ − k and Λ at an inner loss.
func (p *tiltedPart) log(u float64) (log, loss float64) {
	l, _, _ := p.mix.logRatio(u, 0)
	if p.rising {
		return l + p.theta*(l-p.base) - p.k, l - p.base
	}
	return p.base + p.theta*(p.base-l) - p.k, p.base - l
}

// atom is the tilted mass and the loss of an atom of Q's mass e^{−half}.
func (p *tiltedPart) atom(half, u float64) (mass, loss float64) {
	log, loss := p.log(u)
	return math.Exp(log - half), loss
}

// density is the tilted density of Λ at an inner loss, whose own density under Q is
// ¼·e^{−(u+e0)/2} and dΛ/du = ±w.
func (p *tiltedPart) density(u float64) float64 {
	log, _ := p.log(u)
	_, w, _ := p.mix.logRatio(u, 0)
	return math.Exp(log-(u+p.e0)/2) / (4 * w)
}

// tilted are the parts of the tilted pair with an inner ε0; none where nothing is proven.
// m is P(L = ∞) of the sampled pair where the record is in P.
func (x sample) tilted(e0, m float64, d Direction, theta float64, k Value) []tiltedPart {
	if !(k.Err < slopCells && e0 <= mostInner && math.Abs(theta)*e0 < 300) || x.batch == revealed {
		return nil
	}
	finite := 0.0
	if d == Remove {
		finite = math.Log1p(-m)
	}
	r := newMix(x.rate)
	if x.batch == replaced {
		base, _, _ := r.logRatio(-e0, 0)
		right := tiltedPart{mix: r, theta: theta, k: k.K, rising: true, base: base, e0: e0, last: true}
		left := right
		left.rising = false
		return []tiltedPart{left, right}
	}
	return []tiltedPart{{mix: r, theta: theta, k: k.K + finite, rising: d == Remove, e0: e0, first: true, last: true}}
}

// tiltedCells are the outcomes of all parts: by the spread over cells, and for large t by
//
//	|φ(t)| ≤ P(atoms) + [g(ends) + TV(g)]/t
//
// with g the density of the loss between the atoms (docs/math/sampling.md §1.3.7).
type tiltedCells struct {
	cells         []massCell
	atoms, smooth float64
}

const upCells, downCells = 1 + 8*slopCells, 1 - 8*slopCells

func (c *tiltedCells) point(mass, loss float64) {
	wide := 1e-12 * math.Abs(loss)
	c.cells = append(c.cells, massCell{mass * downCells, loss - wide, loss + wide, loss - wide, loss + wide})
	c.atoms += mass * upCells
}

func (c *tiltedCells) decay() Decay {
	slices.SortFunc(c.cells, func(a, b massCell) int { return cmp.Compare(a.left, b.left) })
	heavy := worthPairs(c.cells)
	return func(t0, t1 float64, _ bool) (log, spent float64) {
		return math.Min(spread(heavy, t0, t1), logModulus(math.Log(c.atoms+c.smooth/t0)+1e-9)), 0
	}
}

// between appends cells of what is between the atoms. Each factor of the density is
// monotone: its least is at an end.
func (p *tiltedPart) between(cells []massCell) []massCell {
	const n = 32
	h := 2 * p.e0 / n
	logA, lossA := p.log(-p.e0)
	for i := range n {
		b := -p.e0 + float64(i+1)*h
		logB, lossB := p.log(b)
		mass := h / 4 * math.Exp(-(b+p.e0)/2+math.Min(logA, logB)) * downCells
		least, most := math.Min(lossA, lossB), math.Max(lossA, lossB)
		wide := 1e-12 * math.Max(math.Abs(least), math.Abs(most))
		cells = append(cells, massCell{mass, least - wide, most + wide, least - wide, most + wide})
		logA, lossA = logB, lossB
	}
	return cells
}
