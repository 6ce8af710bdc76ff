// SPDX-License-Identifier: Apache-2.0

package declared

import (
	"math"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/loss/poisson"
	"github.com/dpaccountant/accountant/internal/loss/quadrature"
	"github.com/dpaccountant/accountant/internal/num"
)

// InBatch: a replaced record's pair is not known.
func (lossTable) InBatch(replace bool) (poisson.Batch, bool) { return poisson.Without, !replace }

// SampledOutcomes are the losses of the table, and what is missing of Q, which becomes
// ln(1−q). What P's masses are from adding up to what is left moves each of them, and
// its loss, by no more than off Ulp; what is missing is known within an absolute bound,
// which cut multiplies with what such a mass adds: H, or large, relative to Q.
func (l lossTable) SampledOutcomes(x poisson.Sample, _ float64) *quadrature.Outcomes {
	if !(l.Facts().Epsilon <= poisson.MostInner) {
		return nil
	}
	m := quadrature.NewMix(x.Rate)
	off := 16 + 16/(1-l.infinite) + (l.massErr+l.lossErr)/num.Ulp
	lost := x.InfiniteMass(l.infinite)
	o := &quadrature.Outcomes{WeightErr: off, LostP: lost, LostErr: 16 * num.Ulp * lost, Reach: math.Inf(1)}
	for i, p := range l.masses.Values() {
		u, log := l.losses.At(i), num.Log(p)
		lp, _, err := m.LogRatio(u, off)
		o.Nodes = append(o.Nodes, quadrature.Node{Half: u - log, LogP: lp, ErrP: err})
		o.WeightErr = math.Max(o.WeightErr, off+8+2*math.Abs(log)+2*math.Abs(u))
	}
	missing := l.missing
	if !(missing.Upper > 0) {
		return o
	}
	miss := x.Missed((missing.Lower + missing.Upper) / 2)
	o.Nodes = append(o.Nodes, miss)
	half, lp := (missing.Upper-missing.Lower)/2*(1+1e-9), miss.LogP
	o.CutError = func(s complex128, large bool, shift float64) float64 {
		theta, size := real(s), math.Hypot(real(s), imag(s))
		direct := (1 + theta) * lp
		if large {
			return half * math.Exp(direct-shift)
		}
		// |E(z)| ≤ |z|²/2·e^{max(0, Re z)}, and D(x) ≤ x²/2 for x ≤ 0.
		bound := math.Exp(lp+math.Max(0, theta*lp))*size*size*lp*lp/2 + size*lp*lp/2
		return half * math.Min(bound, math.Exp(direct)+1+size)
	}
	return o
}

// SampledDecay: atoms alone have none.
func (lossTable) SampledDecay(poisson.Sample, loss.Direction, float64, loss.Value) loss.Decay {
	return loss.Undecayed
}

func (l lossTable) SampledPair(s poisson.Sample, d loss.Direction, side loss.Side, in *num.Interrupt) loss.Pair {
	return s.Pair(l, d, side, in)
}

func (l lossTable) SampledWork(poisson.Sample, float64) float64 {
	return poisson.NodeWork * float64(l.losses.Len())
}
