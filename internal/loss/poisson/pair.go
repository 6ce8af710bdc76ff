// SPDX-License-Identifier: Apache-2.0

package poisson

import (
	"math"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/loss/quadrature"
	"github.com/dpaccountant/accountant/internal/num"
)

// SampledPair is the pair of a mechanism on a Poisson sample of rate q in (0, 1),
// from the pair (P, Q) that dominates it for the same direction:
//
//	remove: ((1−q)Q + qP, Q),  L' = ln(1 − q + q·e^L)
//	add:    (P, (1−q)P + qQ),  L' = −ln(1 − q + q·e^{−L})
//
// (Zhu–Dong–Wang 2022, Thm 11). The inner infinite losses stay so with
// probability q in the remove direction; in the other they become finite, and
// what only Q has becomes so in the first. It grows with q: a smaller q is
// post-processing. Nil where q is out of range. See docs/math/sampling.md §1.3.
func SampledPair(inner loss.Pair, rate float64, d loss.Direction) loss.Pair {
	if !(rate >= 1e-15 && rate < 1) {
		return nil
	}
	return PairOnSample{
		inner: inner, rate: rate, logRate: num.Log(rate), miss: math.Log1p(-rate), add: d == loss.Add,
	}
}

// PairOnSample is what SampledPair makes.
type PairOnSample struct {
	inner               loss.Pair
	rate, logRate, miss float64 // q, ln q, ln(1−q)
	add                 bool
}

// Outer maps a loss of the inner pair, inner one of this back: −Inf and +Inf
// outside the range.
func (p PairOnSample) Outer(l float64) float64 {
	if p.add {
		l = -l
	}
	v := p.miss
	if !math.IsInf(l, -1) {
		v = quadrature.LogMix(p.rate, p.logRate, l)
	}
	if p.add {
		return -v
	}
	return v
}

func (p PairOnSample) back(l float64) float64 {
	if p.add {
		l = -l
	}
	v := math.Inf(-1)
	switch {
	case l <= p.miss:
	case l > 30:
		v = l - p.logRate + math.Log1p(-(1-p.rate)*math.Exp(-l))
	case l < -1:
		if r := math.Exp(l) - (1 - p.rate); r > 0 {
			v = num.Log(r / p.rate)
		}
	default:
		if x := math.Expm1(l) / p.rate; x > -1 {
			v = math.Log1p(x)
		}
	}
	if p.add {
		return -v
	}
	return v
}

func (p PairOnSample) Ends(logBelow, logAbove float64) (lo, hi float64) {
	lo, hi = p.inner.Ends(logBelow, logAbove)
	hi = math.Max(0, hi) // where L > 0, Q is rarer than P
	if !p.add {
		// P's part below may come from Q, of which little is known there.
		return p.miss, p.Outer(hi)
	}
	if p.inner.Infinite() > 0 {
		return p.Outer(lo), -p.miss
	}
	return p.Outer(lo), p.Outer(hi)
}

func (p PairOnSample) Cells(edges []float64, cells []loss.Mass) (slack float64) {
	inner := make([]float64, len(edges))
	for i, e := range edges {
		inner[i] = p.back(e)
		if i > 0 { // rounding must not make cells overlap
			inner[i] = math.Max(inner[i], inner[i-1])
		}
		// ln(1 + (e^l − 1)/q) is within 4 Ulp of both l and itself.
		if !math.IsInf(inner[i], 0) {
			slack = math.Max(slack, num.Ulp*(8*math.Abs(e)+4*p.Share(inner[i])*math.Abs(inner[i])))
		}
	}
	if p.miss < -1 {
		slack += 8 * num.Ulp
	}
	slack += p.inner.Cells(inner, cells)
	for i := range cells {
		cells[i] = p.sample(cells[i])
	}
	return slack
}

// Share is the derivative of outer.
func (p PairOnSample) Share(l float64) float64 {
	if p.add {
		l = -l
	}
	return quadrature.MixShare(p.rate, l)
}

// sample is what a set of the inner pair's outcomes becomes.
func (p PairOnSample) sample(m loss.Mass) loss.Mass {
	if math.IsInf(m.LogP, -1) {
		return m
	}
	l := p.Outer(m.Loss)
	w := p.Share(m.Loss)
	lossErr := w*m.LossErr + num.Ulp*(8*math.Abs(l)+2*w*math.Abs(m.Loss))
	if p.add {
		return loss.Mass{LogP: m.LogP, Loss: l, LogErr: m.LogErr, LossErr: lossErr}
	}
	// P' = Q·e^{L'}
	q := m.LogP - m.Loss
	return loss.Mass{
		LogP: q + l, Loss: l, LossErr: lossErr,
		LogErr: m.LogErr + (1-w)*m.LossErr + num.Ulp*(8*math.Abs(l)+2*math.Abs(q)+2*w*math.Abs(m.Loss)),
	}
}

// Atoms are the inner ones and what becomes finite: in the remove direction what
// only Q has, at ln(1−q); in the other what only P has, at −ln(1−q).
func (p PairOnSample) Atoms() []loss.Mass {
	var atoms []loss.Mass
	if n := p.inner.Null(); n > 0 && !p.add {
		atoms = append(atoms,
			loss.Mass{LogP: num.Log(n) + p.miss, Loss: p.miss, LogErr: num.Ulp * 4 * (1 - num.Log(n) - p.miss),
				LossErr: num.Ulp * 2 * -p.miss})
	}
	for _, a := range p.inner.Atoms() {
		atoms = append(atoms, p.sample(a))
	}
	if m := p.inner.Infinite(); m > 0 && p.add {
		atoms = append(atoms,
			loss.Mass{LogP: num.Log(m), Loss: -p.miss, LogErr: num.Ulp * 2 * -num.Log(m),
				LossErr: num.Ulp * 2 * -p.miss})
	}
	return atoms
}

func (p PairOnSample) Infinite() float64 {
	if p.add {
		return 0
	}
	return p.rate * p.inner.Infinite()
}

func (p PairOnSample) Null() float64 {
	if p.add {
		return p.rate * p.inner.Null()
	}
	return 0
}

// Anchor is where the inner P and Q overlap most: for a small q the losses
// gather there.
func (p PairOnSample) Anchor() float64 {
	if a := p.Atoms(); len(a) > 0 {
		return loss.NewAtomicPair(a, 0, 0).Anchor()
	}
	if p.add {
		return p.Outer(p.inner.Anchor())
	}
	return p.Outer(-p.inner.Anchor())
}
