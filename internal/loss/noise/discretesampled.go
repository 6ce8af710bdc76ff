// SPDX-License-Identifier: Apache-2.0

package noise

import (
	"math"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/loss/poisson"
	"github.com/dpaccountant/accountant/internal/loss/quadrature"
	"github.com/dpaccountant/accountant/internal/num"
)

// InBatch: a replaced record's pair is not known.
func (discreteLaplace) InBatch(replace bool) (poisson.Batch, bool) { return poisson.Without, !replace }

// SampledOutcomes are the losses one by one, with their masses
// as its pair has them; nil where they are too many, or out of range.
func (l discreteLaplace) SampledOutcomes(s poisson.Sample, _ float64) *quadrature.Outcomes {
	p, ok := l.Pair(loss.Remove, loss.Dominating, nil).(discreteLaplacePair)
	if !ok || !(l.e0() <= poisson.MostInner && l.d <= mostDiscreteNodes) {
		return nil
	}
	edges := make([]float64, 0, int(l.d))
	for j := 1.0; j <= l.d; j++ { // between two losses, the first and the last left out
		edges = append(edges, p.kappa*(2*j-1-p.d))
	}
	masses := make([]loss.Mass, len(edges)-1)
	p.Cells(edges, masses)
	m := quadrature.NewMix(s.Rate)
	o := &quadrature.Outcomes{Reach: math.Inf(1)}
	for _, mass := range append(p.Atoms(), masses...) {
		lp, _, err := m.LogRatio(mass.Loss, mass.LossErr/num.Ulp)
		o.Nodes = append(o.Nodes, quadrature.Node{Half: mass.Loss - mass.LogP, LogP: lp, ErrP: err})
		o.WeightErr = math.Max(o.WeightErr, (mass.LogErr+mass.LossErr)/num.Ulp+2*math.Abs(mass.LogP))
	}
	return o
}

const mostDiscreteNodes = 1 << 12

// SampledDecay: atoms alone have none.
func (discreteLaplace) SampledDecay(poisson.Sample, loss.Direction, float64, loss.Value) loss.Decay {
	return loss.Undecayed
}

func (l discreteLaplace) SampledPair(s poisson.Sample, d loss.Direction, side loss.Side, in *num.Interrupt) loss.Pair {
	return s.Pair(l, d, side, in)
}

func (l discreteLaplace) SampledWork(poisson.Sample, float64) float64 {
	return poisson.NodeWork * math.Min(l.d, mostDiscreteNodes)
}

// InBatch: a replaced record's pair is not known.
func (discreteGaussian) InBatch(replace bool) (poisson.Batch, bool) { return poisson.Without, !replace }

// Sampled discrete Gaussians are added up from where Q is below e^{−84}.
const normalReach = 13

// SampledOutcomes are the whole numbers around 0 and d, as far as they matter to s with
// −½ ≤ Re s ≤ size, or −1−s; nil where they are too many, or out of range.
func (g discreteGaussian) SampledOutcomes(s poisson.Sample, size float64) *quadrature.Outcomes {
	p, ok := g.Pair(loss.Remove, loss.Dominating, nil).(discreteGaussianPair)
	if !ok {
		return nil
	}
	first, last := g.sampledEnds(s, size)
	if !(last-first < mostDiscreteNodes) {
		return nil
	}
	m := quadrature.NewMix(s.Rate)
	o := &quadrature.Outcomes{WeightErr: 32 + p.allErr/num.Ulp + 2*math.Abs(p.all),
		CutError: normalCut(s, p, first, last), Reach: math.Inf(1)}
	for x := first; x <= last; x++ {
		u, far := p.kappa*(2*x-p.d), x/p.sigma
		lp, _, err := m.LogRatio(u, 4*math.Abs(u))
		o.Nodes = append(o.Nodes, quadrature.Node{Half: far*far/2 + p.all, LogP: lp, ErrP: err})
	}
	return o
}

// sampledEnds: r^{1+s} gathers around (1+s)d at most; mirrored it is at most
// (1−q)^{−s}, and gathers around −sd at least.
func (g discreteGaussian) sampledEnds(s poisson.Sample, size float64) (first, last float64) {
	wide := normalReach * g.sigma
	low := math.Min(g.sigma*math.Sqrt(normalReach*normalReach-2*size*math.Log1p(-s.Rate)), size*g.d+wide)
	return -math.Ceil(low), math.Ceil((1+size)*g.d + wide)
}

// normalCut bounds what is left out. With r ≤ e^L where r ≥ 1, r ≥ e^L where r ≤ 1, and
// Q·e^{mL} = e^{m(m−1)μ²/2}·N(md), N(c) the unnormalised Gaussian around c over Z, for Re s
// = θ ≥ −½
//
//	Σ_{x>last} Q·r^{1+θ} ≤ e^{θ(θ+1)μ²/2}·N((1+θ)d)(x > last),  Σ_{x<first} Q·r^{1+θ} ≤ Q(x < first),
//
// and mirrored, θ = −1−m, Σ_{x>last} Q·r^{−m} ≤ P(x > last) + Q(x > last) and Σ_{x<first}
// Q·r^{−m} ≤ min{(1−q)^{−m}·Q(x < first), e^{m(m+1)μ²/2}·N(−md)(x < first)}.
//
// See docs/math/sampling.md §1.3.3.
func normalCut(x poisson.Sample, p discreteGaussianPair, first, last float64) quadrature.CutError {
	// ln N(x ≥ c + y): a geometric sum bounds it.
	tail := func(y float64) float64 {
		if !(y > 0) {
			return math.Inf(1)
		}
		far := y / p.sigma
		return -far*far/2 + math.Log1p(p.sigma/far) - p.all
	}
	mu := p.d / p.sigma
	below, above := tail(1-first), tail(last+1-p.d) // above bounds Q's too
	return func(s complex128, large bool, shift float64) float64 {
		theta, size := real(s), math.Hypot(real(s), imag(s))
		low, high := below, above+math.Ln2
		if theta >= -0.5 {
			high = math.Max(high, theta*(theta+1)*mu*mu/2+tail(last+1-(1+theta)*p.d))
		} else if m := -1 - theta; m > 0 {
			low = math.Min(below-m*math.Log1p(-x.Rate), m*(m+1)*mu*mu/2+tail(1-first-m*p.d))
		}
		if large {
			return (math.Exp(low-shift) + math.Exp(high-shift)) * (1 + 1e-9)
		}
		linear := 2 * (1 + size) * (math.Exp(below) + math.Exp(above)) // of Q and P
		return (math.Exp(low) + math.Exp(high) + linear) * (1 + 1e-9)
	}
}

// SampledDecay: atoms alone have none.
func (discreteGaussian) SampledDecay(poisson.Sample, loss.Direction, float64, loss.Value) loss.Decay {
	return loss.Undecayed
}

func (g discreteGaussian) SampledPair(s poisson.Sample, d loss.Direction, side loss.Side, in *num.Interrupt) loss.Pair {
	return s.Pair(g, d, side, in)
}

func (g discreteGaussian) SampledWork(s poisson.Sample, size float64) float64 {
	first, last := g.sampledEnds(s, size)
	return poisson.NodeWork * math.Min(last-first+1, mostDiscreteNodes)
}
