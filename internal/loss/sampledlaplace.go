package loss

import (
	"math"

	"github.com/dpaccountant/accountant/internal/num"
)

// inBatch: a replaced record's pair is known.
func (laplace) inBatch(replace bool) (batch, bool) {
	if replace {
		return replaced, true
	}
	return without, true
}

// sampledOutcomes are the atoms of Q, ½ at −e0 and ½·e^{−e0} at e0, and its density
// ¼·e^{−(u+e0)/2} between them by panels of Gauss–Legendre. For replaced the half
// of Q that has the first atom is the mirror image of the other.
func (l laplace) sampledOutcomes(s sample, size float64) *outcomes {
	e0 := l.e0
	if !(e0 <= mostInner) {
		return nil
	}
	m := newMix(s.rate)
	count, h, reach := s.panels(e0, size)
	if !(count <= maxNodes/32) {
		return nil
	}
	points := make([]point, 0, 16*count+2)
	points = append(points, point{math.Ln2 + e0, e0, 4 * e0})
	for i := range count {
		middle := float64(2*i+1) * h // of u + e0
		for j, x := range legendrePoints {
			log := num.Log(h * legendreWeights[j] / 4)
			for _, d := range [2]float64{middle - h*x, middle + h*x} {
				points = append(points, point{d/2 - log, d - e0, 10 * e0})
			}
		}
	}
	o := &outcomes{weightErr: 32 + 10*e0, cut: s.laplaceCut(e0, count, h), reach: reach}
	if s.batch != replaced {
		points = append(points, point{math.Ln2, -e0, 4 * e0})
		for _, p := range points {
			lp, _, err := m.logRatio(p.u, p.du)
			o.nodes = append(o.nodes, node{half: p.half, lp: lp, errP: err})
		}
		return o
	}
	lq, _, errQ := m.logRatio(-e0, 4*e0)
	for _, p := range points {
		lp, _, err := m.logRatio(p.u, p.du)
		o.nodes = append(o.nodes, node{p.half, lp, lq, err, errQ}, node{p.half, lq, lp, errQ, err})
	}
	return o
}

func (l laplace) sampledPair(s sample, d Direction, side Side) Pair {
	inner := l.Pair(d, side)
	switch {
	case inner == nil:
		return nil
	case s.batch == without:
		return SampledPair(inner, s.rate, d)
	}
	return newReplacedLaplace(inner.(laplacePair), s.rate)
}

func (l laplace) sampledWork(s sample, size float64) float64 { return s.panelWork(l.e0, size) }

// sampledDecay: (ln g)' = −3/2 + (2+θ)w, or −3/2 + (1−θ)w where u is against the loss: w
// increases, so that g has no maximum inside and TV(g) ≤ g(ends) (docs/math/sampling.md §1.3.7).
func (l laplace) sampledDecay(s sample, d Direction, theta float64, k Value) Decay {
	parts := s.tilted(l.e0, 0, d, theta, k)
	if parts == nil {
		return Undecayed
	}
	var c tiltedCells
	for i := range parts {
		p := &parts[i]
		if p.first {
			c.point(p.atom(math.Ln2, -l.e0))
		}
		if p.last {
			c.point(p.atom(math.Ln2+l.e0, l.e0))
		}
		c.cells = p.between(c.cells)
		c.smooth += 2 * (p.density(-l.e0) + p.density(l.e0)) * upCells
	}
	return c.decay()
}
