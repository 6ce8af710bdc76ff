// SPDX-License-Identifier: Apache-2.0

package noise

import (
	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/loss/pairs"
	"github.com/dpaccountant/accountant/internal/loss/poisson"
	"github.com/dpaccountant/accountant/internal/loss/quadrature"
	"github.com/dpaccountant/accountant/internal/num"
)

// InBatch: a replaced record's pair is not known.
func (truncatedLaplace) InBatch(replace bool) (poisson.Batch, bool) { return poisson.Without, !replace }

// SampledOutcomes: nothing is known of the atoms where the bound is very near the distance.
func (l truncatedLaplace) SampledOutcomes(s poisson.Sample, size float64) *quadrature.Outcomes {
	if !(l.bound-l.e0 > 1e-9) {
		return nil
	}
	return pairs.SampledSloped(s, l.Pair(loss.Remove, loss.Dominating, nil), l.e0, l.atom, size)
}

// SampledDecay: none is proven.
func (truncatedLaplace) SampledDecay(poisson.Sample, loss.Direction, float64, loss.Value) loss.Decay {
	return loss.Undecayed
}

func (l truncatedLaplace) SampledPair(s poisson.Sample, d loss.Direction, side loss.Side, in *num.Interrupt) loss.Pair {
	return s.Pair(l, d, side, in)
}

func (l truncatedLaplace) SampledWork(s poisson.Sample, size float64) float64 {
	return s.PanelWork(l.e0, size)
}

// InBatch: a replaced record's pair is not known.
func (overlapping) InBatch(replace bool) (poisson.Batch, bool) { return poisson.Without, !replace }

func (l overlapping) SampledOutcomes(s poisson.Sample, size float64) *quadrature.Outcomes {
	return pairs.SampledSloped(s, l.Pair(loss.Remove, loss.Dominating, nil), l.R, l.atom, size)
}

// SampledDecay: none is proven.
func (overlapping) SampledDecay(poisson.Sample, loss.Direction, float64, loss.Value) loss.Decay {
	return loss.Undecayed
}

func (l overlapping) SampledPair(s poisson.Sample, d loss.Direction, side loss.Side, in *num.Interrupt) loss.Pair {
	return s.Pair(l, d, side, in)
}

func (l overlapping) SampledWork(s poisson.Sample, size float64) float64 {
	return s.PanelWork(l.R, size)
}
