// SPDX-License-Identifier: Apache-2.0

package quadrature

import (
	"math"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/num"
)

// EstimateOf is the estimate of a loss with the pair p.
func EstimateOf(l loss.Loss, d loss.Direction, p Pair, in *num.Interrupt) loss.Estimate {
	rough := p.rough
	if p.Mixture != nil { // r turns in more places than rough looks at
		rough = loss.ExactEstimate(l, d, in)
	}
	if !(p.Mu > 1e-6 && p.Mu < 5) { // r turns within 1/μ: few of the nodes would see it
		return rough
	}
	e := &estimate{pair: p, h: math.Min(0.5, 1.6/p.Mu)}
	return func(s float64) (k, slope, curvature float64) {
		if reach := (2 + math.Abs(s)) * p.Mu; !(reach < 500*e.h) {
			return rough(s)
		}
		if k, slope, curvature = e.value(s); k-k != 0 { // overflow
			return rough(s)
		}
		return k, slope, curvature
	}
}

// estimate is the trapezoid rule of sampledLine at a fixed coarse step, its
// nodes kept.
type estimate struct {
	pair        Pair
	h           float64
	right, left []estimateNode // z = 0, h, 2h, …; −h, −2h, …
}

const mostEstimateNodes = 2048

// estimateNode has h·φ·p/√(2π), Λ and the part of the excess that is linear in s.
type estimateNode struct {
	weight, loss, linear float64
}

func (e *estimate) node(z float64) estimateNode {
	n := e.pair.node(z)
	lossAt := n.LogP - n.LogQ
	w := e.h / SqrtTwoPi
	v := estimateNode{weight: w * math.Exp(n.LogP-n.Half), loss: lossAt}
	if math.Abs(lossAt) < 30 {
		v.linear = w * math.Exp(n.LogQ-n.Half) * num.ExpDivergence(lossAt)
	} else {
		v.linear = v.weight*(lossAt-1) + w*math.Exp(n.LogQ-n.Half)
	}
	return v
}

func (e *estimate) value(s float64) (k, slope, curvature float64) {
	var sum estimateSum
	tilted, _, _ := e.pair.components(s)
	for i := range mostEstimateNodes {
		if i == len(e.right) {
			e.right = append(e.right, e.node(float64(i)*e.h))
		}
		if sum.add(&e.right[i], s) && float64(i)*e.h > 6+math.Max(1, tilted.up)*e.pair.Mu {
			break
		}
	}
	for i := range mostEstimateNodes {
		if i == len(e.left) {
			e.left = append(e.left, e.node(-float64(i+1)*e.h))
		}
		if sum.add(&e.left[i], s) && float64(i)*e.h > 6+math.Max(0, tilted.down)*e.pair.Mu {
			break
		}
	}
	m := 1 + sum.excess
	slope = sum.slope / m
	return math.Log1p(sum.excess), slope, math.Max(0, sum.curvature/m-slope*slope)
}

type estimateSum struct {
	excess, slope, curvature float64
}

// add reports whether the term hardly counted.
func (t *estimateSum) add(n *estimateNode, s float64) bool {
	a := s * n.loss
	var growth, remainder float64 // e^a − 1, e^a − 1 − a
	if math.Abs(a) > 0.5 {
		growth = math.Expm1(a)
		remainder = growth - a
	} else {
		remainder = a * a * (0.5 + a*(1./6+a*(1./24+a*(1./120+a*(1./720+a/5040)))))
		growth = a + remainder
	}
	excess := n.weight*remainder + s*n.linear
	curvature := n.weight * (1 + growth) * n.loss * n.loss
	t.excess += excess
	t.slope += n.weight*n.loss*growth + n.linear
	t.curvature += curvature
	return math.Abs(excess) <= 1e-9*math.Abs(t.excess) && curvature <= 1e-9*t.curvature ||
		!(curvature < math.Inf(1)) || !(excess < math.Inf(1))
}
