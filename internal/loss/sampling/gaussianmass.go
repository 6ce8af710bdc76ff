// SPDX-License-Identifier: Apache-2.0

package sampling

import (
	"math"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/loss/pairs"
	"github.com/dpaccountant/accountant/internal/loss/poisson"
	"github.com/dpaccountant/accountant/internal/loss/quadrature"
	"github.com/dpaccountant/accountant/internal/num"
)

func (g sampledGaussian) Pair(d loss.Direction, side loss.Side, _ *num.Interrupt) loss.Pair {
	mu, rate := loss.Sided(g.mu, side), loss.Sided(g.rate, side)
	if g.replace {
		return newReplacedPair(mu, rate)
	}
	inner := pairs.GaussianPair(mu)
	if inner == nil {
		return nil
	}
	return poisson.SampledPair(inner, rate, d)
}

// replacedPair is the Poisson-sampled Gaussian's pair under REPLACE_ONE: P is
// (1−q)N(0) + qN(μ) and Q its mirror, so L(z) = ln r(z) − ln r(−z) increases.
type replacedPair struct {
	mu, rate, logRate float64
	logOdds           float64 // ln((1−q)/q)
}

func newReplacedPair(mu, rate float64) loss.Pair {
	if !(rate >= 1e-15 && rate < 1) || pairs.GaussianPair(mu) == nil {
		return nil
	}
	return replacedPair{mu: mu, rate: rate, logRate: num.Log(rate), logOdds: math.Log1p(-rate) - num.Log(rate)}
}

func (p replacedPair) mix(x float64) float64 { return quadrature.LogMix(p.rate, p.logRate, x) }

// loss is L(z).
func (p replacedPair) loss(z float64) float64 {
	h := p.mu * p.mu / 2
	return p.mix(p.mu*z-h) - p.mix(-p.mu*z-h)
}

// inverse is L's inverse: μz = l/2 + asinh[(1−q)/q·sinh(l/2)·e^{μ²/2}].
func (p replacedPair) inverse(l float64) float64 {
	if l < 0 {
		return -p.inverse(-l)
	}
	if l == 0 || math.IsInf(l, 1) {
		return l
	}
	log := p.logOdds + p.mu*p.mu/2 + l/2 + num.Log1mExp(l) - math.Ln2 // of asinh's argument
	v := log + math.Ln2
	if log < 30 {
		v = math.Asinh(math.Exp(log))
	}
	return (l/2 + v) / p.mu
}

func (p replacedPair) Ends(_, logAbove float64) (lo, hi float64) {
	// Both parts of P are below N(μ) above μ, and Q's mirror below.
	z := p.mu + pairs.Reach(logAbove)
	return p.loss(-z), p.loss(z)
}

// Cells: z's own error counts with L' = μ·(w(z) + w(−z)), w the share of the
// second part; the argument of asinh moves L by at most its relative error
// times tanh(l/2)·2.
func (p replacedPair) Cells(edges []float64, cells []loss.Mass) (slack float64) {
	h := p.mu * p.mu / 2
	a := p.inverse(edges[0])
	for i := range cells {
		b := math.Max(a, p.inverse(edges[i+1]))
		cells[i] = p.cell(pairs.Interval{A: a, B: b})
		if !math.IsInf(b, 0) {
			u := math.Abs(p.mu * b)
			w := quadrature.MixShare(p.rate, u-h) + quadrature.MixShare(p.rate, -u-h)
			relative := 16 + 8*h + 4*math.Abs(p.logOdds) + 4*math.Abs(edges[i+1])
			slack = math.Max(slack, num.Ulp*(w*(8*u+relative*math.Min(1, u))+4*math.Abs(edges[i+1])))
		}
		a = b
	}
	return slack
}

// cell is the set of outcomes with z in v. With ρ± = N(±μ)/N(0) of the set both
// masses are N(0)·(1 − q + qρ).
func (p replacedPair) cell(v pairs.Interval) loss.Mass {
	if !(v.A < v.B) {
		return loss.Nothing()
	}
	up, down := pairs.Interval{A: v.A - p.mu, B: v.B - p.mu}, pairs.Interval{A: v.A + p.mu, B: v.B + p.mu}
	c, w := (v.A+v.B)/2, (v.B-v.A)/2
	base, baseErr := v.LogMass()
	var x, y, err float64 // ln ρ±
	if v.Narrow() && (math.Abs(c)+p.mu)*w <= 1 {
		i, s0 := pairs.Series(c, w)
		j, s1 := pairs.Series(c-p.mu, w)
		k, s2 := pairs.Series(c+p.mu, w)
		mid := math.Log1p(i)
		x = p.mu*(c-p.mu/2) + math.Log1p(j) - mid
		y = -p.mu*(c+p.mu/2) + math.Log1p(k) - mid
		err = num.Ulp * (4*(math.Abs(p.mu*c)+p.mu*p.mu) + 24*(s0+s1+s2))
	} else {
		a, ea := up.LogMass()
		b, eb := down.LogMass()
		z := math.Max(math.Abs(num.Finite(v.A)), math.Abs(num.Finite(v.B))) + p.mu
		x, y, err = a-base, b-base, baseErr+ea+eb+num.Ulp*5*z*(2+z)
	}
	f, g := p.mix(x), p.mix(y)
	wx, wy := quadrature.MixShare(p.rate, x), quadrature.MixShare(p.rate, y)
	own := num.Ulp * (8*(math.Abs(f)+math.Abs(g)) + 2*(wx*math.Abs(x)+wy*math.Abs(y)))
	return loss.Mass{
		LogP: base + f, Loss: f - g,
		LogErr: baseErr + wx*err + own + 2*num.Ulp*math.Abs(base), LossErr: (wx+wy)*err + own,
	}
}

func (replacedPair) Atoms() []loss.Mass { return nil }
func (replacedPair) Infinite() float64  { return 0 }
func (replacedPair) Null() float64      { return 0 }
func (replacedPair) Anchor() float64    { return 0 }
