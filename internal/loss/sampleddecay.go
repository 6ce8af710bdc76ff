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

// decay bounds |φ| of a sampled Laplace release or response: by the spread over
// cells, and for large t by
//
//	|φ(t)| ≤ P(atoms) + [g(ends) + TV(g)]/t
//
// with g the density of the loss between the atoms. (ln g)' = −3/2 + (2+θ)w, or −3/2
// + (1−θ)w where u is against the loss: w increases, so that g has no maximum inside
// and TV(g) ≤ g(ends) (docs/math/sampling.md §1.3.7).
func (l sampledLoss) decay(d Direction, theta float64, k Value) decay {
	switch l.inner.(type) {
	case laplace, response:
	default:
		return undecayed
	}
	if !(k.Err < slopCells && l.epsilon() <= mostInner && math.Abs(theta)*l.epsilon() < 300) || l.batch == revealed {
		return undecayed
	}
	finite := 0.0
	if d == Remove {
		finite = math.Log1p(-l.Facts().Atom)
	}
	m, e0 := newMix(l.rate), l.epsilon()
	parts := []tiltedPart{{mix: m, theta: theta, k: k.K + finite, rising: d == Remove, e0: e0, first: true, last: true}}
	if l.batch == replaced {
		base, _, _ := m.logRatio(-e0, 0)
		right := tiltedPart{mix: m, theta: theta, k: k.K, rising: true, base: base, e0: e0, last: true}
		left := right
		left.rising = false
		parts = []tiltedPart{left, right}
	}
	const up, down = 1 + 8*slopCells, 1 - 8*slopCells
	var cells []massCell
	var atoms, smooth float64
	point := func(mass, loss float64) {
		wide := 1e-12 * math.Abs(loss)
		cells = append(cells, massCell{mass * down, loss - wide, loss + wide, loss - wide, loss + wide})
		atoms += mass * up
	}
	for i := range parts {
		p := &parts[i]
		if r, ok := l.inner.(response); ok {
			half := math.Log1p(math.Exp(-e0)) - math.Log1p(-r.atom)
			point(p.atom(half, -e0))
			point(p.atom(half+e0, e0))
			continue
		}
		if p.first {
			point(p.atom(math.Ln2, -e0))
		}
		if p.last {
			point(p.atom(math.Ln2+e0, e0))
		}
		cells = p.between(cells, down)
		smooth += 2 * (p.density(-e0) + p.density(e0)) * up
	}
	if r, ok := l.inner.(response); ok && r.atom > 0 {
		atoms = 1 // what became finite has no cell
	}
	slices.SortFunc(cells, func(a, b massCell) int { return cmp.Compare(a.left, b.left) })
	heavy := worthPairs(cells)
	return func(t0, t1 float64, _ bool) float64 {
		return math.Min(spread(heavy, t0, t1), bounded(math.Log(atoms+smooth/t0)+1e-9))
	}
}

// between appends cells of what is between the atoms. Each factor of the density is
// monotone: its least is at an end.
func (p *tiltedPart) between(cells []massCell, down float64) []massCell {
	const n = 32
	h := 2 * p.e0 / n
	logA, lossA := p.log(-p.e0)
	for i := range n {
		b := -p.e0 + float64(i+1)*h
		logB, lossB := p.log(b)
		mass := h / 4 * math.Exp(-(b+p.e0)/2+math.Min(logA, logB)) * down
		least, most := math.Min(lossA, lossB), math.Max(lossA, lossB)
		wide := 1e-12 * math.Max(math.Abs(least), math.Abs(most))
		cells = append(cells, massCell{mass, least - wide, most + wide, least - wide, most + wide})
		logA, lossA = logB, lossB
	}
	return cells
}
