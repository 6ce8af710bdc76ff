// SPDX-License-Identifier: Apache-2.0

package pairs

import (
	"math"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/loss/poisson"
	"github.com/dpaccountant/accountant/internal/loss/quadrature"
	"github.com/dpaccountant/accountant/internal/num"
)

// SampledSloped has the atoms of cut-off Laplace noise, its density by panels as
// sampledOutcomes of Laplace have the whole one, and what only Q has, which becomes ln(1−q); nil
// out of range.
func SampledSloped(x poisson.Sample, pair loss.Pair, e0, atom, size float64) *quadrature.Outcomes {
	p, ok := pair.(SlopedPair)
	if !ok || !(e0 <= poisson.MostInner) {
		return nil
	}
	count, h, reach := x.Panels(e0, size)
	if !(count <= quadrature.MaxNodes/32) {
		return nil
	}
	m := quadrature.NewMix(x.Rate)
	whole := x.PanelError(p.Extent, count, h)
	more := 2 * math.Exp(p.LogScale) * (1 + 1e-9) // the density over the Laplace one
	// The atom is within 200 Ulp, the rest as much as that leaves.
	rest := 256 / (1 - p.Lost)
	lost := x.InfiniteMass(atom)
	o := &quadrature.Outcomes{
		WeightErr: 64 + 10*p.Extent + p.LogScaleErr/num.Ulp + 2*math.Abs(p.LogScale) + rest, Reach: reach,
		LostP: lost, LostErr: 256 * num.Ulp * lost,
		CutError: func(s complex128, large bool, shift float64) float64 { return more * whole(s, large, shift) },
	}
	add := func(half, u, du float64) {
		lp, _, err := m.LogRatio(u, du)
		o.Nodes = append(o.Nodes, quadrature.Node{Half: half, LogP: lp, ErrP: err})
	}
	for _, end := range p.AtEnds {
		add(end.Loss-end.LogP, end.Loss, 8*p.Extent)
		o.WeightErr = math.Max(o.WeightErr, 16+end.LogErr/num.Ulp+10*p.Extent+2*math.Abs(end.LogP)+rest)
	}
	for i := range count {
		middle := float64(2*i+1) * h // of u + reach
		for j, x := range quadrature.LegendrePoints {
			log := num.Log(h*quadrature.LegendreWeights[j]/2) + p.LogScale
			for _, d := range [2]float64{middle - h*x, middle + h*x} {
				add(d/2-log, d-p.Extent, 10*p.Extent)
			}
		}
	}
	o.Nodes = append(o.Nodes, x.Missed(p.Lost))
	return o
}
