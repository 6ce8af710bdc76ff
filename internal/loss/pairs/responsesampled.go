// SPDX-License-Identifier: Apache-2.0

package pairs

import (
	"math"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/loss/poisson"
	"github.com/dpaccountant/accountant/internal/loss/quadrature"
	"github.com/dpaccountant/accountant/internal/num"
)

// InBatch: a guarantee between batches of one size says nothing of a replaced record.
func (Response) InBatch(replace bool) (poisson.Batch, bool) { return poisson.Without, !replace }

// SampledOutcomes are the binary pair's two outcomes, each of Q's masses times
// 1 − δ0, and what only Q has, which becomes ln(1−q).
func (r Response) SampledOutcomes(s poisson.Sample, _ float64) *quadrature.Outcomes {
	switch {
	case !(r.Epsilon <= poisson.MostInner):
		return nil
	case s.Batch == poisson.Revealed:
		return r.revealedOutcomes(s)
	}
	m := quadrature.NewMix(s.Rate)
	small := math.Exp(-r.Epsilon)
	half := math.Log1p(small) - math.Log1p(-r.InfinityMass) // −ln of Q's mass at −ε0
	o := &quadrature.Outcomes{WeightErr: 32 + 8*r.Epsilon, LostP: s.InfiniteMass(r.InfinityMass), Reach: math.Inf(1)}
	for _, p := range []poisson.Point{{Half: half + r.Epsilon, U: r.Epsilon, Du: 8 * r.Epsilon},
		{Half: half, U: -r.Epsilon, Du: 8 * r.Epsilon}} {
		lp, _, err := m.LogRatio(p.U, p.Du)
		o.Nodes = append(o.Nodes, quadrature.Node{Half: p.Half, LogP: lp, ErrP: err})
	}
	if r.InfinityMass > 0 {
		o.Nodes = append(o.Nodes, s.Missed(r.InfinityMass))
	}
	return o
}

// revealedOutcomes are k-ary response's outcomes with probability q and the loss 0
// otherwise, in P's masses.
func (r Response) revealedOutcomes(s poisson.Sample) *quadrature.Outcomes {
	small := math.Exp(-r.Epsilon)
	rest := math.Log1p((r.K-1)*small) - num.Log(s.Rate)
	zero := 1 - s.Rate + s.Rate*(r.K-2)*small/(1+(r.K-1)*small)
	o := &quadrature.Outcomes{WeightErr: 64 + 16*r.Epsilon, Reach: math.Inf(1), Nodes: []quadrature.Node{
		{Half: rest, LogQ: -r.Epsilon, ErrQ: 8 * r.Epsilon},
		{Half: rest + r.Epsilon, LogQ: r.Epsilon, ErrQ: 8 * r.Epsilon},
	}}
	if zero > 0 {
		o.Nodes = append(o.Nodes, quadrature.Node{Half: -num.Log(zero)})
	}
	return o
}

func (r Response) SampledPair(s poisson.Sample, d loss.Direction, side loss.Side, in *num.Interrupt) loss.Pair {
	inner := r.Pair(d, side, in)
	switch {
	case inner == nil:
		return nil
	case s.Batch == poisson.Without:
		return poisson.SampledPair(inner, s.Rate, d)
	}
	return revealedPair(inner, s.Rate)
}

// revealedPair is the inner pair with probability q, and the loss 0 otherwise.
func revealedPair(inner loss.Pair, rate float64) loss.Pair {
	zero := loss.Mass{LogP: math.Log1p(-rate), LogErr: 4 * num.Ulp * rate / (1 - rate)}
	var atoms []loss.Mass
	log := num.Log(rate)
	for _, a := range inner.Atoms() {
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
	return loss.NewAtomicPair(atoms, rate*inner.Infinite(), rate*inner.Null())
}

func (Response) SampledWork(poisson.Sample, float64) float64 { return 3 * poisson.NodeWork }

func (r Response) SampledDecay(s poisson.Sample, d loss.Direction, theta float64, k loss.Value) loss.Decay {
	parts := s.Tilted(r.Epsilon, s.InfiniteMass(r.InfinityMass), d, theta, k)
	if parts == nil {
		return loss.Undecayed
	}
	var c poisson.Cells
	half := math.Log1p(math.Exp(-r.Epsilon)) - math.Log1p(-r.InfinityMass)
	for i := range parts {
		c.AddPoint(parts[i].Atom(half, -r.Epsilon))
		c.AddPoint(parts[i].Atom(half+r.Epsilon, r.Epsilon))
	}
	if r.InfinityMass > 0 {
		c.Atoms = 1 // what became finite has no cell
	}
	return c.Decay()
}
