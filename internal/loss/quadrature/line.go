// SPDX-License-Identifier: Apache-2.0

package quadrature

import (
	"math"
	"math/cmplx"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/num"
)

// grid is a rule's nodes weighted with φ·p^{1+θ}q^{−θ}·e^{−shift}·h/√(2π).
type grid struct {
	rule
	nodes []tiltedNode
	slope float64 // of M − 1 on this very rule, or 0 with large
	noise float64 // bound on the error of slope

	slopes, noises float64 // Σ of the terms of both

	turns *turns // made when needed
}

type tiltedNode struct {
	weight, loss       float64 // loss = Λ
	weightErr, lossErr float64 // relative error of weight, absolute one of Λ
}

// complexCumulant returns K(θ+it) = K(θ) + ln(1 + [M(θ+it) − M(θ)]/M(θ)) with, on one rule,
//
//	M(θ+it) − M(θ) = Σ weight·[−2·sin²(tΛ/2) + i·(sin tΛ − tΛ)] + it·M'(θ),
//
// where nothing cancels for small t and M'(θ) has the care of excess.
// See docs/math/sampled-gaussian.md §1.2.2.
func (l *sampledLine) complexCumulant(t float64) loss.ComplexValue {
	k := l.value()
	if t == 0 {
		return loss.Around(complex(k.K, 0), k.Err)
	}
	g := l.gridFor(t)
	if g == nil || l.theta > 0 && l.moment < 1e-280 {
		return loss.ComplexValue{K: complex(k.K, 0), Err: math.Inf(1), Upper: k.Upper()}
	}
	var re, im num.Sum
	var acc float64
	for i := range g.nodes {
		n := &g.nodes[i]
		x := t * n.loss
		half := math.Sin(x / 2)
		square := 2 * half * half
		var odd, turned float64 // the imaginary part and what it moves by with x
		if l.large {
			odd = math.Sin(x)
			turned = 1
		} else {
			odd = sineRemainder(x)
			turned = math.Min(2, x*x/2)
		}
		re.Add(-n.weight * square)
		im.Add(n.weight * odd)
		dx := math.Abs(t)*n.lossErr + 2*num.Ulp*math.Abs(x)
		acc += n.weight * (n.weightErr*(square+math.Abs(odd)) + (math.Min(1, math.Abs(x))+turned)*dx)
	}
	moved := complex(re.Value(), im.Value()+t*g.slope)
	err := acc + math.Abs(t)*g.noise + l.cutError(g.rule, t) + 8*num.Ulp*cmplx.Abs(moved)
	mass := l.moment
	if !l.large {
		mass = 1 + l.moment
	}
	if !(mass > 2*l.err) {
		return loss.ComplexValue{K: complex(k.K, 0), Err: math.Inf(1), Upper: k.Upper()}
	}
	quotient := moved / complex(mass, 0)
	v := loss.FromComplexExcess(quotient, (err+2*l.err*cmplx.Abs(quotient))/mass)
	baseErr := k.Err + 2*num.Ulp*math.Abs(k.K)
	upper := math.Min(k.Upper(), num.UpBy(v.Upper+k.K, baseErr+num.Ulp*math.Abs(v.Upper)))
	return loss.ComplexValue{K: v.K + complex(k.K, 0), Err: v.Err + baseErr, Upper: upper}
}

// gridFor returns the coarsest grid that is fine enough for t, nil if none is.
func (l *sampledLine) gridFor(t float64) *grid {
	level, ok := l.levelFor(t)
	if !ok {
		return nil
	}
	for len(l.grids) <= level {
		l.grids = append(l.grids, nil)
	}
	if l.grids[level] == nil {
		l.grids[level] = l.makeGrid(level)
	}
	return l.grids[level]
}

// levelFor is how often the base rule's step must be halved for t.
func (l *sampledLine) levelFor(t float64) (level int, ok bool) {
	if l.gaveUp {
		return 0, false
	}
	target := precision + num.Log(l.guess(math.Hypot(l.theta, t)))
	if l.large {
		target = precision
	}
	h := l.pair.step(l.logAmplitude(t, 4)-target, t, l.pair.power(l.theta))
	if !(h > 0x1p-40) {
		return 0, false
	}
	for r := l.base; r.h > h; r.h /= 2 {
		if (r.last-r.first)<<level >= MaxNodes {
			return 0, false
		}
		level++
	}
	return level, true
}

func (l *sampledLine) makeGrid(level int) *grid {
	g := &grid{rule: l.base}
	g.h = math.Ldexp(g.h, -level)
	g.first <<= level
	g.last <<= level
	g.nodes = make([]tiltedNode, g.last-g.first+1)
	w := g.h / SqrtTwoPi
	var slope num.Sum
	s := l.theta
	every := 1
	if level > 0 && l.grids[level-1] != nil { // it has every other node
		coarse := l.grids[level-1]
		for i, n := range coarse.nodes {
			n.weight /= 2
			g.nodes[2*i] = n
		}
		slope.Add(coarse.slopes)
		g.noises = coarse.noises
		every = 2
	}
	l.spent += gridCost * float64(len(g.nodes)/every)
	for k := every - 1; k < len(g.nodes); k += every {
		i := g.first + k
		n := l.pair.node(float64(i) * g.h)
		v := l.terms(n, s)
		rounding := 16 + 2*n.Half + 3*math.Abs(n.LogP) + 3*math.Abs(n.LogQ) + 3*math.Abs(s*v.loss) + 2*l.shift
		lossErr := n.ErrP + n.ErrQ + math.Abs(v.loss)
		weightErr := rounding + math.Abs(1+s)*n.ErrP + math.Abs(s)*n.ErrQ
		g.nodes[k] = tiltedNode{w * v.tilted, v.loss, num.Ulp * weightErr, num.Ulp * lossErr}
		slope.Add(v.slope)
		g.noises += v.noise
	}
	g.slopes = slope.Value()
	if !l.large {
		g.slope = w * g.slopes
		g.noise = num.Ulp * (w*g.noises + 16*math.Abs(g.slope))
	}
	return g
}

// sineRemainder returns sin x − x, relative precision included.
func sineRemainder(x float64) float64 {
	if math.Abs(x) > 1 {
		return math.Sin(x) - x
	}
	w := x * x
	sum := 1.0
	for k := 18.0; k >= 4; k -= 2 {
		sum = 1 - sum*w/(k*(k+1))
	}
	return -x * w / 6 * sum
}
