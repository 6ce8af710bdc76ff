package loss

import (
	"math"

	"github.com/dpaccountant/accountant/internal/num"
)

// inBatch: an answer in a batch tells that the record is there. A guarantee between batches
// of one size says nothing of a replaced record.
func (r response) inBatch(replace bool) (batch, bool) {
	if r.kind == randomizedResponse {
		return revealed, true
	}
	return without, !replace
}

// sampledOutcomes are the binary pair's two outcomes, each of Q's masses times
// 1 − δ0, and what only Q has, which becomes ln(1−q).
func (r response) sampledOutcomes(s sample, _ float64) *outcomes {
	switch {
	case !(r.epsilon <= mostInner):
		return nil
	case s.batch == revealed:
		return r.revealedOutcomes(s)
	}
	m := newMix(s.rate)
	small := math.Exp(-r.epsilon)
	half := math.Log1p(small) - math.Log1p(-r.atom) // −ln of Q's mass at −ε0
	o := &outcomes{weightErr: 32 + 8*r.epsilon, lostP: s.infinite(r.atom), reach: math.Inf(1)}
	for _, p := range []point{{half + r.epsilon, r.epsilon, 8 * r.epsilon}, {half, -r.epsilon, 8 * r.epsilon}} {
		lp, _, err := m.logRatio(p.u, p.du)
		o.nodes = append(o.nodes, node{half: p.half, lp: lp, errP: err})
	}
	if r.atom > 0 {
		o.nodes = append(o.nodes, s.missed(r.atom))
	}
	return o
}

// revealedOutcomes are k-ary response's outcomes with probability q and the loss 0
// otherwise, in P's masses.
func (r response) revealedOutcomes(s sample) *outcomes {
	small := math.Exp(-r.epsilon)
	rest := math.Log1p((r.buckets-1)*small) - num.Log(s.rate)
	zero := 1 - s.rate + s.rate*(r.buckets-2)*small/(1+(r.buckets-1)*small)
	o := &outcomes{weightErr: 64 + 16*r.epsilon, reach: math.Inf(1), nodes: []node{
		{half: rest, lq: -r.epsilon, errQ: 8 * r.epsilon},
		{half: rest + r.epsilon, lq: r.epsilon, errQ: 8 * r.epsilon},
	}}
	if zero > 0 {
		o.nodes = append(o.nodes, node{half: -num.Log(zero)})
	}
	return o
}

func (r response) sampledPair(s sample, d Direction, side Side) Pair {
	inner := r.Pair(d, side)
	switch {
	case inner == nil:
		return nil
	case s.batch == without:
		return SampledPair(inner, s.rate, d)
	}
	return revealedPair(inner.(atomicPair), s.rate)
}

// revealedPair is the inner pair with probability q, and the loss 0 otherwise.
func revealedPair(inner atomicPair, rate float64) Pair {
	zero := Mass{LogP: math.Log1p(-rate), LogErr: 4 * num.Ulp * rate / (1 - rate)}
	var atoms []Mass
	log := num.Log(rate)
	for _, a := range inner.atoms {
		a.LogP += log
		a.LogErr += num.Ulp * (4 + 2*math.Abs(log) + 2*math.Abs(a.LogP))
		if a.Loss == 0 {
			zero.LogP, zero.LogErr = num.LogAddExp(zero.LogP, a.LogP), math.Max(zero.LogErr, a.LogErr)+8*num.Ulp
			continue
		}
		if a.Loss > 0 {
			atoms = append(atoms, zero)
		}
		atoms = append(atoms, a)
	}
	return atomicPair{atoms, rate * inner.infinite, rate * inner.null}
}

func (response) sampledWork(sample, float64) float64 { return 3 * nodeWork }

func (r response) sampledDecay(s sample, d Direction, theta float64, k Value) Decay {
	parts := s.tilted(r.epsilon, s.infinite(r.atom), d, theta, k)
	if parts == nil {
		return Undecayed
	}
	var c tiltedCells
	half := math.Log1p(math.Exp(-r.epsilon)) - math.Log1p(-r.atom)
	for i := range parts {
		c.point(parts[i].atom(half, -r.epsilon))
		c.point(parts[i].atom(half+r.epsilon, r.epsilon))
	}
	if r.atom > 0 {
		c.atoms = 1 // what became finite has no cell
	}
	return c.decay()
}
