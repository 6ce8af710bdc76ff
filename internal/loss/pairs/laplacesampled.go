// SPDX-License-Identifier: Apache-2.0

package pairs

import (
	"math"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/loss/poisson"
	"github.com/dpaccountant/accountant/internal/loss/quadrature"
	"github.com/dpaccountant/accountant/internal/num"
)

// InBatch: a replaced record's pair is known.
func (laplace) InBatch(replace bool) (poisson.Batch, bool) {
	if replace {
		return poisson.Replaced, true
	}
	return poisson.Without, true
}

// SampledOutcomes are the atoms of Q, ½ at −e0 and ½·e^{−e0} at e0, and its density
// ¼·e^{−(u+e0)/2} between them by panels of Gauss–Legendre. For replaced the half
// of Q that has the first atom is the mirror image of the other.
func (l laplace) SampledOutcomes(s poisson.Sample, size float64) *quadrature.Outcomes {
	e0 := l.e0
	if !(e0 <= poisson.MostInner) {
		return nil
	}
	m := quadrature.NewMix(s.Rate)
	count, h, reach := s.Panels(e0, size)
	if !(count <= quadrature.MaxNodes/32) {
		return nil
	}
	points := make([]poisson.Point, 0, 16*count+2)
	points = append(points, poisson.Point{Half: math.Ln2 + e0, U: e0, Du: 4 * e0})
	for i := range count {
		middle := float64(2*i+1) * h // of u + e0
		for j, x := range quadrature.LegendrePoints {
			log := num.Log(h * quadrature.LegendreWeights[j] / 4)
			for _, d := range [2]float64{middle - h*x, middle + h*x} {
				points = append(points, poisson.Point{Half: d/2 - log, U: d - e0, Du: 10 * e0})
			}
		}
	}
	o := &quadrature.Outcomes{WeightErr: 32 + 10*e0, CutError: s.PanelError(e0, count, h), Reach: reach}
	if s.Batch != poisson.Replaced {
		points = append(points, poisson.Point{Half: math.Ln2, U: -e0, Du: 4 * e0})
		for _, p := range points {
			lp, _, err := m.LogRatio(p.U, p.Du)
			o.Nodes = append(o.Nodes, quadrature.Node{Half: p.Half, LogP: lp, ErrP: err})
		}
		return o
	}
	lq, _, errQ := m.LogRatio(-e0, 4*e0)
	for _, p := range points {
		lp, _, err := m.LogRatio(p.U, p.Du)
		o.Nodes = append(o.Nodes, quadrature.Node{Half: p.Half, LogP: lp, LogQ: lq, ErrP: err, ErrQ: errQ},
			quadrature.Node{Half: p.Half, LogP: lq, LogQ: lp, ErrP: errQ, ErrQ: err})
	}
	return o
}

func (l laplace) SampledPair(s poisson.Sample, d loss.Direction, side loss.Side, in *num.Interrupt) loss.Pair {
	inner := l.Pair(d, side, in)
	switch {
	case inner == nil:
		return nil
	case s.Batch == poisson.Without:
		return poisson.SampledPair(inner, s.Rate, d)
	}
	return newReplacedLaplace(inner.(laplacePair), s.Rate)
}

func (l laplace) SampledWork(s poisson.Sample, size float64) float64 { return s.PanelWork(l.e0, size) }

// SampledDecay: (ln g)' = −3/2 + (2+θ)w, or −3/2 + (1−θ)w where u is against the loss: w
// increases, so that g has no maximum inside and TV(g) ≤ g(ends) (docs/math/sampling.md §1.3.7).
func (l laplace) SampledDecay(s poisson.Sample, d loss.Direction, theta float64, k loss.Value) loss.Decay {
	parts := s.Tilted(l.e0, 0, d, theta, k)
	if parts == nil {
		return loss.Undecayed
	}
	var c poisson.Cells
	for i := range parts {
		p := &parts[i]
		if p.First {
			c.AddPoint(p.Atom(math.Ln2, -l.e0))
		}
		if p.Last {
			c.AddPoint(p.Atom(math.Ln2+l.e0, l.e0))
		}
		c.Cells = p.Between(c.Cells)
		c.Smooth += 2 * (p.Density(-l.e0) + p.Density(l.e0)) * poisson.UpCells
	}
	return c.Decay()
}
