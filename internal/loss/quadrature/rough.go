// SPDX-License-Identifier: Apache-2.0

package quadrature

import (
	"math"
	"slices"
)

// rough estimates K(s), K'(s) and K”(s) to a few digits in bounded work, whatever
// s, μ and q are: by Gauss's rule on panels around all that the integrand has.
// sampledLine's rule has one step for everything, and can be long.
func (p *Pair) rough(s float64) (k, slope, curvature float64) {
	l := sampledLine{pair: *p, theta: s}
	tilted, first, second := p.components(s)
	low, high := p.summits(tilted)
	peak, best := p.log(tilted, low), low
	if at := p.log(tilted, high); at > peak {
		peak, best = at, high
	}
	switch {
	case peak > 1e12: // its rounding leaves nothing of the integrand's shape
		n := p.node(best)
		return peak, n.LogP - n.LogQ, p.turn() * p.turn()
	case peak > 5:
		l.large, l.shift = true, peak
	}
	panels := make([]float64, 0, 128)
	around := func(z, width float64) {
		for i := -panelsAside; i <= panelsAside; i++ {
			panels = append(panels, z+float64(i)*width)
		}
	}
	around(low, p.width(tilted, low))
	if high != low {
		around(high, p.width(tilted, high))
	}
	if !l.large { // φ·p and φ·q count too: they have mass at 0 and where they are φ moved by μ
		around(0, 1)
		for _, c := range [...]component{first, second} {
			if z := (c.up - c.down) * p.Mu; math.Abs(z) > 0.1 {
				around(z, 1)
			}
		}
	}
	if p.Mu > 1 { // r turns from 1 − q to q·e^u within about 1/μ
		turn := math.Log(p.Odds)/p.Mu + p.Mu/2
		for i := -2; i <= 5; i++ {
			off := math.Ldexp(1, i) / p.Mu
			panels = append(panels, turn-off, turn+off)
			if p.Kind == ReplacePair {
				panels = append(panels, -turn-off, -turn+off)
			}
		}
	}
	slices.Sort(panels)
	return l.gauss(panels)
}

const panelsAside = 7 // on either side of a summit

// width is about that of a summit at z, from the second derivative of the logarithm.
func (p *Pair) width(c component, z float64) float64 {
	bend := func(z float64) float64 {
		_, w, _ := p.logRatio(z)
		return p.Mu * w * p.Mu * (1 - w)
	}
	return 1 / math.Sqrt(math.Max(0.1, 1-c.up*bend(z)-c.down*bend(-z)))
}

// gauss integrates the moments with three points on each panel, given their ends.
func (l *sampledLine) gauss(ends []float64) (k, slope, curvature float64) {
	var m, first, second float64
	for i := 1; i < len(ends); i++ {
		half := (ends[i] - ends[i-1]) / 2
		middle := ends[i-1] + half
		for j, weight := range [...]float64{5. / 9, 8. / 9, 5. / 9} {
			v := l.terms(l.pair.node(middle+half*float64(j-1)*0.7745966692414834), l.theta) // √(3/5)
			w := half * weight / SqrtTwoPi
			m += w * v.excess
			first += w * v.slope
			second += w * v.tilted * v.loss * v.loss
		}
	}
	if l.large {
		k = l.shift + math.Log(m)
	} else {
		k = math.Log1p(m)
		m++
	}
	slope = first / m
	return k, slope, math.Max(0, second/m-slope*slope)
}
