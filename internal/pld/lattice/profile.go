// SPDX-License-Identifier: Apache-2.0

package lattice

import (
	"math"

	"github.com/dpaccountant/accountant/internal/num"
)

// part is a measure and how many releases have it.
type part struct {
	measure measure
	count   float64 // ≤ 2⁵³
}

// profile is the curve of a composition on the lattice, in one direction and
// from one side, for every ε at once. For a tilt θ > 0 it holds the finite part
// of δ(ε), for −1 < θ < 0 of 1 − δ(ε) = E[min(1, e^{ε−L})].
//
// With y_i the tilted masses of the sum of losses, folded with the period N·step,
// the sums
//
//	tail_i  = Σ_{j≥0} y_{i+j}·e^{−(1+θ)jh}
//	gap_i   = Σ_{j≥0} y_{i+j}·e^{−θjh}·(1 − e^{−jh})     θ > 0
//	below_i = Σ_{j≥1} y_{i−j}·e^{θjh}                    θ < 0
//
// run around the period for ever. Together with the last factors of log they are
// the trapezoid sum of the contour integral with step 2π/(Nh), its kernel folded
// (docs/math/lattice.md §3.3): Σ_m e^{mθW}·δ(ε + mW), W = Nh, or the same of 1 − δ. Every
// term is positive: nothing cancels, and what is folded in only adds.
type profile struct {
	grid        // of the sum of losses
	theta       float64
	tail, other []float64
	scale       float64 // ln E[e^{θL}; L < ∞]
	tailErr     float64 // absolute errors of the sums
	otherErr    float64
	relative    float64 // relative error of the sums' recurrences
	slack       float64 // error of scale
	shift       float64 // Σ n_j·shift_j and rounding of positions
	period      float64 // W
	lost        float64 // ln(1 − Π(1 − lost_j)^{n_j})
	dropped     float64 // Σ n_j·dropped_j
	proofs      []chernoff
}

// chernoff is a tilt θ' farther from 0 than θ, with a bound on ln E[e^{θ'L}; L < ∞].
type chernoff struct {
	theta, k float64
}

// newProfile composes the parts with n nodes.
func newProfile(parts []part, n int, in *num.Interrupt) *profile {
	first := parts[0].measure
	c := &profile{grid: grid{step: first.step}, theta: first.theta, period: float64(n) * first.step}
	f := newFFT(n, in)
	spectrum := newSpectrum(n, in)
	folded := make([]float64, n)
	coefficients := make([]complex128, n/2+1)
	var offset, scale, kept num.Sum
	var lost num.LogSum
	for _, p := range parts {
		in.Spend(stageWork * len(p.measure.weights))
		m := p.measure
		clear(folded)
		for i, w := range m.weights {
			folded[(m.first+i)&(n-1)] += w
		}
		f.forward(folded, coefficients)
		laps := float64(len(m.weights)/n + 1) // additions into one element
		spectrum.multiply(coefficients, p.count, f.error()+laps*num.Ulp)
		offset.Add(p.count * m.offset)
		scale.Add(p.count * m.scale)
		kept.Add(p.count * math.Log1p(-math.Exp(m.lost)))
		lost.Add(num.Log(p.count) + m.lost)
		c.slack += p.count * math.Abs(m.scale) * 4 * num.Ulp
		c.shift += p.count * (m.shift + 4*num.Ulp*math.Abs(m.offset))
		c.dropped += p.count * m.dropped
	}
	c.offset, c.scale = offset.Value(), scale.Value()
	// Where a power of what is kept has no digits, the union bound has.
	if c.lost = lost.Log(); c.lost > -40 {
		c.lost = num.Log(-math.Expm1(kept.Value()))
	}
	y := folded
	noise := spectrum.invert(f, y)
	c.sums(y, noise, in)
	return c
}

// vanished is more than all that underflows in the sums.
const vanished = 0x1p-900

// sums fills tail and other by their recurrences, twice around the period.
func (c *profile) sums(y []float64, noise float64, in *num.Interrupt) {
	n := len(y)
	in.Spend(2 * stageWork * n)
	h := c.step
	c.tail, c.other = make([]float64, n), make([]float64, n)
	fall := math.Exp(-(1 + c.theta) * h)
	once := -math.Expm1(-(1 + c.theta) * c.period)
	step := -math.Expm1(-(1 + c.theta) * h)
	c.tailErr = noise / step
	b := 0.0
	for i := n - 1; i >= 0; i-- {
		b = y[i] + fall*b
	}
	b /= once
	for i := n - 1; i >= 0; i-- {
		b = y[i] + fall*b
		c.tail[i] = b
	}
	c.relative = num.Ulp * (64 + 16*float64(n))
	in.Spend(2 * stageWork * n)
	if c.theta > 0 {
		fall, rise := math.Exp(-c.theta*h), -math.Expm1(-h)
		d := 0.0
		for i := n - 1; i >= 0; i-- {
			d = fall * (d + rise*c.tail[(i+1)%n])
		}
		d /= -math.Expm1(-c.theta * c.period)
		for i := n - 1; i >= 0; i-- {
			d = fall * (d + rise*c.tail[(i+1)%n])
			c.other[i] = d
		}
		// 1/(1−e^{−θh}) − 1/(1−e^{−(1+θ)h})
		c.otherErr = noise*fall*rise/(-math.Expm1(-c.theta*h)*step) + vanished
		return
	}
	grow := math.Exp(c.theta * h)
	a := 0.0
	for i := range n {
		a = grow * (a + y[i])
	}
	a /= -math.Expm1(c.theta * c.period)
	for i := range n {
		c.other[i] = a
		a = grow * (a + y[i])
	}
	c.otherErr = noise*grow/-math.Expm1(c.theta*h) + vanished
}

// around returns the ends of what ε may be on the lattice.
func (c *profile) around(epsilon float64) (before, after float64) {
	off := c.shift + 8*num.Ulp*(math.Abs(epsilon)+math.Abs(c.offset))
	return epsilon - off, epsilon + off
}

// logSum returns ln of the sum at ε with its error added or taken off: −Inf where
// nothing is left, NaN where ε is beyond counting points.
func (c *profile) logSum(epsilon float64, up bool) float64 {
	i := math.Ceil((epsilon - c.offset) / c.step)
	if !(math.Abs(i) < 1<<52) {
		return math.NaN()
	}
	l := math.FMA(i, c.step, c.offset)
	o := math.Max(0, l-epsilon)
	n := float64(len(c.tail))
	k := int(i - n*math.Floor(i/n))
	tail, other := c.tail[k], c.other[k]
	share := -math.Expm1(-o) // of the tail: 1 − e^{ε−l}
	if c.theta < 0 {
		share = math.Exp(-o)
	}
	v := other + share*tail
	err := c.otherErr + share*c.tailErr + c.relative*v
	if up {
		v += err
	} else {
		v = math.Max(0, v-err)
	}
	log := num.Log(v)
	slack := c.slack + 16*num.Ulp*(1+math.Abs(c.scale)+math.Abs(c.theta*l)+math.Abs(num.Finite(log)))
	if !up {
		slack = -slack
	}
	return c.scale - c.theta*l + log + slack
}
