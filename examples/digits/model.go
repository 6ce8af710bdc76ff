// SPDX-License-Identifier: Apache-2.0

package main

import "math"

// model is a softmax classifier, also called multinomial logistic regression:
// P(class k | x) = e^{w_k·x} / Σ_j e^{w_j·x}.
type model struct {
	w [classes][features]float64
}

// gradient has the shape of the weights.
type gradient [classes][features]float64

// probabilities returns P(class | x). The largest score is subtracted first, so
// that nothing overflows.
func (m *model) probabilities(x *[features]float64) (p [classes]float64) {
	top := math.Inf(-1)
	for k := range m.w {
		for i, v := range x {
			p[k] += m.w[k][i] * v
		}
		top = max(top, p[k])
	}
	sum := 0.0
	for k := range p {
		p[k] = math.Exp(p[k] - top)
		sum += p[k]
	}
	for k := range p {
		p[k] /= sum
	}
	return p
}

// gradientOf is the gradient of −ln P(label | x), in nats: row k is (P(k|x) − [k = label])·x.
func (m *model) gradientOf(e *example) (g gradient) {
	p := m.probabilities(&e.x)
	p[e.label]--
	for k := range g {
		for i, v := range e.x {
			g[k][i] = p[k] * v
		}
	}
	return g
}

// accuracy is the share of examples whose most probable class is their label.
func (m *model) accuracy(set []example) float64 {
	right := 0
	for i := range set {
		p := m.probabilities(&set[i].x)
		best := 0
		for k := range p {
			if p[k] > p[best] {
				best = k
			}
		}
		if best == set[i].label {
			right++
		}
	}
	return float64(right) / float64(len(set))
}

// norm is the ℓ2 norm over all weights.
func (g *gradient) norm() float64 {
	sum := 0.0
	for k := range g {
		for _, v := range g[k] {
			sum += v * v
		}
	}
	return math.Sqrt(sum)
}

// clip scales g down to a norm of at most c. What rounding could add is taken
// off first (650 coordinates, each within a few 2^−53): the accountant is told
// that no example contributes more than c, so it must not, by any amount.
func (g *gradient) clip(c float64) {
	const slack = 1 - 1e-12
	if n := g.norm(); n > c*slack {
		g.scale(c * slack / n)
	}
}

func (g *gradient) scale(by float64) {
	for k := range g {
		for i := range g[k] {
			g[k][i] *= by
		}
	}
}

func (g *gradient) add(o *gradient) {
	for k := range g {
		for i := range g[k] {
			g[k][i] += o[k][i]
		}
	}
}
