package loss

import (
	"math"

	"github.com/dpaccountant/accountant/internal/num"
)

// point is an outcome of the inner pair: Q's mass e^{−half} and the loss u, which
// is within du Ulp.
type point struct {
	half, u, du float64
}

// outcomes are the sampled pair's in the remove direction, fine enough for |s| =
// size; nil where that takes too many.
func (l sampledLoss) outcomes(size float64) *outcomes {
	switch inner := l.inner.(type) {
	case laplace:
		return l.sampledLaplace(inner.e0, size)
	case response:
		if l.batch == revealed {
			return l.revealedResponse(inner)
		}
		return l.sampledResponse(inner)
	case discrete:
		return l.sampledDiscrete(inner)
	case discreteNormal:
		return l.sampledNormal(inner, size)
	case lossTable:
		return l.sampledTable(inner)
	case truncated:
		return l.sampledSloped(inner, size)
	case sloped:
		return l.sampledSloped(inner, size)
	}
	return nil
}

// sampledDiscrete has the losses of discrete Laplace noise one by one, with their masses
// as its pair has them; nil where they are too many, or out of range.
func (l sampledLoss) sampledDiscrete(inner discrete) *outcomes {
	p, ok := inner.Pair(Remove, Dominating).(discreteLaplacePair)
	if !ok || !(inner.d <= mostDiscreteNodes) {
		return nil
	}
	edges := make([]float64, 0, int(inner.d))
	for j := 1.0; j <= inner.d; j++ { // between two losses, the first and the last left out
		edges = append(edges, p.kappa*(2*j-1-p.d))
	}
	masses := make([]Mass, len(edges)-1)
	p.Cells(edges, masses)
	m := newMix(l.rate)
	o := &outcomes{reach: math.Inf(1)}
	for _, mass := range append(p.Atoms(), masses...) {
		lp, _, err := m.logRatio(mass.Loss, mass.LossErr/num.Ulp)
		o.nodes = append(o.nodes, node{half: mass.Loss - mass.LogP, lp: lp, errP: err})
		o.weightErr = math.Max(o.weightErr, (mass.LogErr+mass.LossErr)/num.Ulp+2*math.Abs(mass.LogP))
	}
	return o
}

const mostDiscreteNodes = 1 << 12

// sampledResponse has the binary pair's two outcomes, each of Q's masses times
// 1 − δ0, and what only Q has, which becomes ln(1−q).
func (l sampledLoss) sampledResponse(r response) *outcomes {
	m := newMix(l.rate)
	small := math.Exp(-r.epsilon)
	half := math.Log1p(small) - math.Log1p(-r.atom) // −ln of Q's mass at −ε0
	o := &outcomes{weightErr: 32 + 8*r.epsilon, lostP: l.Facts().Atom, reach: math.Inf(1)}
	for _, p := range []point{{half + r.epsilon, r.epsilon, 8 * r.epsilon}, {half, -r.epsilon, 8 * r.epsilon}} {
		lp, _, err := m.logRatio(p.u, p.du)
		o.nodes = append(o.nodes, node{half: p.half, lp: lp, errP: err})
	}
	if r.atom > 0 {
		miss := math.Log1p(-l.rate)
		o.nodes = append(o.nodes, node{half: -num.Log(r.atom), lp: miss, errP: -2*miss + 4*l.rate/(1-l.rate)})
	}
	return o
}

// revealedResponse has k-ary response's outcomes with probability q and the loss 0
// otherwise, in P's masses.
func (l sampledLoss) revealedResponse(r response) *outcomes {
	small := math.Exp(-r.epsilon)
	rest := math.Log1p((r.buckets-1)*small) - num.Log(l.rate)
	zero := 1 - l.rate + l.rate*(r.buckets-2)*small/(1+(r.buckets-1)*small)
	o := &outcomes{weightErr: 64 + 16*r.epsilon, reach: math.Inf(1), nodes: []node{
		{half: rest, lq: -r.epsilon, errQ: 8 * r.epsilon},
		{half: rest + r.epsilon, lq: r.epsilon, errQ: 8 * r.epsilon},
	}}
	if zero > 0 {
		o.nodes = append(o.nodes, node{half: -num.Log(zero)})
	}
	return o
}

// sampledLaplace has the atoms of Q, ½ at −e0 and ½·e^{−e0} at e0, and its density
// ¼·e^{−(u+e0)/2} between them by panels of Gauss–Legendre. For replaced the half
// of Q that has the first atom is the mirror image of the other.
func (l sampledLoss) sampledLaplace(e0, size float64) *outcomes {
	m := newMix(l.rate)
	count, h, reach := l.panels(size)
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
	o := &outcomes{weightErr: 32 + 10*e0, cut: l.laplaceCut(e0, count, h), reach: reach}
	if l.batch != replaced {
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

// panels are as many as |s| = size needs, a power of 2 times as many as 0 does: their
// number and half width, and the |s| they serve.
func (l sampledLoss) panels(size float64) (count int, h, reach float64) {
	e0, steepest := l.epsilon(), mixShare(l.rate, l.epsilon()) // of Λ over u
	count = max(1, int(math.Ceil(e0/mostPanel)))
	for {
		h = e0 / float64(count)
		if reach = 2/(h*steepest) - 1; reach >= size || count > maxNodes {
			return count, h, reach
		}
		count *= 2
	}
}

// work is about what K(θ+it) at |s| = size costs, in units of a few nanoseconds.
func (l sampledLoss) work(size float64) float64 {
	const each = 20 // a node's
	switch inner := l.inner.(type) {
	case discrete:
		return each * math.Min(inner.d, mostDiscreteNodes)
	case discreteNormal:
		first, last := l.normalEnds(inner, size)
		return each * math.Min(last-first+1, mostDiscreteNodes)
	case lossTable:
		return each * float64(inner.losses.Len())
	case laplace, truncated, sloped:
		if l.epsilon() <= mostInner {
			count, _, _ := l.panels(size)
			return each * 16 * float64(count)
		}
	}
	return each * 3
}

// laplaceCut bounds what the panels lose. In the ellipse of a panel around c with
// reach a, |Im| < π/2, so that |r(z)| ≥ r(Re z)/√2, |Λ'| ≤ √2·w(c+a), w the share of q·e^u
// in r, and |r(z)| ≤ r(c+a). With |E(x)|, |D(x)| ≤ |x|²/2·e^{|x|} that bounds H, and
// p^{1+s}·q^{−s} directly.
func (l sampledLoss) laplaceCut(e0 float64, count int, h float64) lostBy {
	m := newMix(l.rate)
	base := 0.0
	if l.batch == replaced {
		base, _, _ = m.logRatio(-e0, 0)
	}
	return func(s complex128, large bool, shift float64) float64 {
		size := math.Hypot(real(s), imag(s))
		var sum float64
		for i := range count {
			d := float64(2*i+1) * h
			a := legendreReach * h
			top, w, _ := m.logRatio(d-e0+a, 0)
			top = math.Max(0, top)
			middle, _, _ := m.logRatio(d-e0, 0)
			middle -= base
			wide := math.Sqrt2 * w * a
			largest := math.Abs(middle) + wide
			tilted := top + math.Abs(real(s)*middle) + size*wide
			if real(s)*middle < 0 && l.batch != replaced { // its mirror image has the other sign
				tilted = top + real(s)*middle + size*wide
			}
			var bound float64
			if large {
				bound = math.Exp(tilted - shift)
			} else {
				square := largest * largest / 2
				bound = math.Min(
					math.Exp(top)*(size*size*square*math.Exp(size*largest)+size*square*math.Exp(largest)),
					math.Exp(tilted)+math.Exp(top)*(1+2*size))
			}
			sum += math.Exp(-(d-a)/2) * bound
		}
		if l.batch == replaced {
			sum *= 2
		}
		return sum * h / 4 * legendreError * (1 + 1e-9)
	}
}
