package loss

import (
	"math"

	"github.com/dpaccountant/accountant/internal/num"
)

// Estimate approximates K(s), K'(s) and K”(s) in one direction at real s > −1, fast
// and without a bound: for choosing orders and contours, never for an answer.
// +Inf and NaN where it cannot. It is not for concurrent use.
type Estimate func(s float64) (k, slope, curvature float64)

// EstimateOf returns the estimate of one loss. See docs/math/inversion.md §2.
func EstimateOf(l Loss, d Direction) Estimate {
	if e, ok := l.(Estimated); ok {
		return e.Estimate(d)
	}
	return exactly(l, d)
}

func exactly(l Loss, d Direction) Estimate {
	return func(s float64) (float64, float64, float64) {
		v := l.Cumulant(d, s)
		return v.K, v.Slope, v.Curvature
	}
}

// Estimated is a loss that has an estimate which takes less than Cumulant.
type Estimated interface {
	Estimate(d Direction) Estimate
}

// estimateOf is the estimate of a loss with the pair p.
func estimateOf(l Loss, d Direction, p sampledPair) Estimate {
	rough := p.rough
	if p.parts != nil { // r turns in more places than rough looks at
		rough = exactly(l, d)
	}
	if !(p.mu > 1e-6 && p.mu < 5) { // r turns within 1/μ: few of the nodes would see it
		return rough
	}
	e := &estimate{pair: p, h: math.Min(0.5, 1.6/p.mu)}
	return func(s float64) (k, slope, curvature float64) {
		if reach := (2 + math.Abs(s)) * p.mu; !(reach < 500*e.h) {
			return rough(s)
		}
		if k, slope, curvature = e.at(s); k-k != 0 { // overflow
			return rough(s)
		}
		return k, slope, curvature
	}
}

// estimate is the trapezoid rule of sampledLine at a fixed coarse step, its
// nodes kept.
type estimate struct {
	pair        sampledPair
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
	loss := n.lp - n.lq
	w := e.h / sqrtTwoPi
	v := estimateNode{weight: w * math.Exp(n.lp-n.half), loss: loss}
	if math.Abs(loss) < 30 {
		v.linear = w * math.Exp(n.lq-n.half) * num.ExpDivergence(loss)
	} else {
		v.linear = v.weight*(loss-1) + w*math.Exp(n.lq-n.half)
	}
	return v
}

func (e *estimate) at(s float64) (k, slope, curvature float64) {
	var sum estimateSum
	tilted, _, _ := e.pair.components(s)
	for i := range mostEstimateNodes {
		if i == len(e.right) {
			e.right = append(e.right, e.node(float64(i)*e.h))
		}
		if sum.add(&e.right[i], s) && float64(i)*e.h > 6+math.Max(1, tilted.up)*e.pair.mu {
			break
		}
	}
	for i := range mostEstimateNodes {
		if i == len(e.left) {
			e.left = append(e.left, e.node(-float64(i+1)*e.h))
		}
		if sum.add(&e.left[i], s) && float64(i)*e.h > 6+math.Max(0, tilted.down)*e.pair.mu {
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
	return math.Abs(excess) <= 1e-9*math.Abs(t.excess) && curvature <= 1e-9*t.curvature || !(curvature < math.Inf(1)) || !(excess < math.Inf(1))
}
