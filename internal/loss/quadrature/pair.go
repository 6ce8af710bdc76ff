// SPDX-License-Identifier: Apache-2.0

package quadrature

import (
	"math"

	"github.com/dpaccountant/accountant/internal/num"
)

type pairKind uint8

const (
	RemovePair  pairKind = iota // p = r, q = 1
	AddPair                     // p = 1, q = r
	ReplacePair                 // p(z) = r(z), q(z) = r(−z)
)

// Pair is one direction's pair as densities p and q relative to the
// standard normal's φ, with r(z) = 1 − q + q·e^{μz−μ²/2}.
type Pair struct {
	Mu, Rate float64
	LogRate  float64 // ln q
	Odds     float64 // (1−q)/q
	Kind     pairKind

	// parts, where it is not nil, is r in the place of the above: then μ is the largest
	// shift, q the chance of one, and everything said here of r holds (docs/math/groups.md §1.7.4).
	Mixture *Mixture

	In *num.Interrupt // of what is computed with it
}

// ratioWork and PartWork are about what one value of ln r takes, in nanoseconds: of sampled noise,
// and of each part of a mixture. nodeWork is about what the integrand takes at a node besides.
// BenchmarkPriceWork of package ledger measures them.
const ratioWork, PartWork, nodeWork = 20, 40, 80

// logRatio returns ln r(z), its slope over μ, w = q·e^u/r in (0,1), and a bound
// on the error of ln r in units of Ulp, rounding of μ and q included.
func (p *Pair) logRatio(z float64) (l, w, err float64) {
	if p.Mixture != nil {
		p.In.Spend(PartWork * len(p.Mixture.Shift))
		return p.Mixture.LogRatio(z)
	}
	p.In.Spend(ratioWork)
	return Mix{p.Rate, p.LogRate, p.Odds}.LogRatio(p.Mu*(z-p.Mu/2), 4*(math.Abs(p.Mu*z)+p.Mu*p.Mu))
}

// bend is (ln r)″/μ² at z, where the slope is w: w(1−w), or less.
func (p *Pair) bend(z, w float64) float64 {
	if p.Mixture != nil {
		return p.Mixture.bend(z)
	}
	return w * (1 - w)
}

// Node is a point of the rule: z²/2, ln p, ln q and bounds on the errors of
// both in units of Ulp.
type Node struct {
	Half, LogP, LogQ, ErrP, ErrQ float64
}

func (p *Pair) node(z float64) Node {
	p.In.Spend(nodeWork)
	l, _, err := p.logRatio(z)
	switch p.Kind {
	case RemovePair:
		return Node{z * z / 2, l, 0, err, 0}
	case AddPair:
		return Node{z * z / 2, 0, l, 0, err}
	}
	m, _, errM := p.logRatio(-z)
	return Node{z * z / 2, l, m, err, errM}
}

// component is φ·r(z)^up·r(−z)^down, one of the integrand's terms.
type component struct {
	up, down float64
}

// components are φ·p^{1+s}q^{−s}, φ·p and φ·q.
func (p *Pair) components(s float64) (tilted, first, second component) {
	switch p.Kind {
	case RemovePair:
		return component{1 + s, 0}, component{1, 0}, component{0, 0}
	case AddPair:
		return component{-s, 0}, component{0, 0}, component{1, 0}
	}
	return component{1 + s, -s}, component{1, 0}, component{0, 1}
}

// log is ln of the component at z, without the normal's constant.
func (p *Pair) log(c component, z float64) float64 {
	v := -z * z / 2
	if c.up != 0 {
		l, _, _ := p.logRatio(z)
		v += c.up * l
	}
	if c.down != 0 {
		l, _, _ := p.logRatio(-z)
		v += c.down * l
	}
	return v
}

// logTail returns a bound on ln ∫_z^∞ of the component. Its logarithm g has
//
//	g'(t) = −t + up·μ·w(t) − down·μ·w(−t),  0 < w < 1 increasing,
//
// so for t ≥ z it falls at least at the rate below, and the integral is at most
// e^{g(z)}/(√(2π)·rate). +Inf where the rate is not positive.
func (p *Pair) logTail(c component, z float64) float64 {
	rate := z
	if c.up > 0 {
		rate -= c.up * p.Mu
	} else if c.up < 0 {
		_, w, _ := p.logRatio(z)
		rate -= c.up * p.Mu * w
	}
	if c.down < 0 {
		_, w, _ := p.logRatio(-z)
		rate += c.down * p.Mu * w
	}
	if !(rate > 0) {
		return math.Inf(1)
	}
	return p.log(c, z) - math.Log(rate) - logSqrtTwoPi + 0.01 // 0.01: rounding
}

const logSqrtTwoPi = 0.91893853320467274178

// cut returns a point z beyond which each component's integral is at most
// e^{target}, and the logarithm of a bound on their sum; it gives up, with
// ok = false, where that is further than limit.
func (p *Pair) cut(target, reach, limit float64, cs []component) (z, logBound float64, ok bool) {
	for _, c := range cs {
		z = math.Max(z, c.up*p.Mu)
	}
	z += reach
	for step := 0.25; z <= limit; step *= 1.5 {
		worst := math.Inf(-1)
		for _, c := range cs {
			worst = math.Max(worst, p.logTail(c, z))
		}
		if worst <= target {
			return z, worst + math.Log(float64(len(cs))), true
		}
		z += step
	}
	return z, math.Inf(1), false
}

// mirror swaps the two ends of the axis.
func (c component) mirror() component { return component{c.down, c.up} }

// peak estimates the largest value of ln of the tilted component. It only sets a
// scale.
func (p *Pair) peak(c component) float64 {
	a, b := p.summits(c)
	return math.Max(p.log(c, a), p.log(c, b))
}

// summits are about where ln of the tilted component has its lowest and its
// highest maximum: stationary points z = up·μ·w(z) − down·μ·w(−z).
func (p *Pair) summits(c component) (lowest, highest float64) {
	pull := func(z float64) float64 {
		_, up, _ := p.logRatio(z)
		_, down, _ := p.logRatio(-z)
		return p.Mu * (c.up*up - c.down*down)
	}
	if c.up < 0 { // the logarithm is concave: one maximum, left of 0
		lo, hi := c.up*p.Mu, 0.0
		for range 50 {
			if z := (lo + hi) / 2; pull(z) > z {
				lo = z
			} else {
				hi = z
			}
		}
		return hi, hi
	}
	// Iteration climbs from 0 to the lowest maximum and descends to the highest.
	from := func(z float64) float64 {
		for range 12 {
			next := pull(z)
			if math.Abs(next-z) < 0.05 {
				break
			}
			z = next
		}
		return z
	}
	return from(0), from(c.up*p.Mu + math.Max(-c.down, 0)*p.Mu)
}

// logExcessBound returns ln of an upper bound on M(s) − 1 for s > 0: M is at
// most 1 − q + q·M of the unsampled Gaussian, because (P, Q) ↦ P^{1+s}·Q^{−s} is
// jointly convex.
func (p *Pair) logExcessBound(s float64) float64 {
	k := (s * p.turn()) * ((s + 1) * p.turn()) / 2 * (1 + 16*num.Ulp)
	v := p.LogRate + num.LogExpm1(math.Max(k, math.SmallestNonzeroFloat64))
	return v + 8*num.Ulp*(math.Abs(v)+k-p.LogRate)
}

// aliasing returns the logarithm of the factor
//
//	e^{y²/2 + |t|·turn·y}·sec(μy/2)^power·e^{−2πy/h}/(1 − e^{−2πy/h})
//
// that bounds the aliasing error of the trapezoid rule with step h relative to
// the integral of the modulus (docs/math/sampled-gaussian.md §1.2.3). Any y below the distance π/μ
// of r's zeros from the axis is valid; one near the best is taken.
func (p *Pair) aliasing(h, t, power float64) float64 {
	top := math.Min((2*math.Pi/h-math.Abs(t)*p.turn())/(1+power*p.Mu*p.Mu/4), 0.999*math.Pi/p.Mu)
	best := math.Inf(1)
	for _, f := range fractions {
		y := f * top
		period := 2 * math.Pi * y / h
		if v := p.growth(y, t, power) - period - num.Log1mExp(period); v < best {
			best = v
		}
	}
	return best + 0.01 // rounding
}

// step returns a step h for which aliasing is about −decay. It has few bits, so
// that every multiple of it is exact.
func (p *Pair) step(decay, t, power float64) float64 {
	top := math.Min(math.Sqrt(2*decay/(1+power*p.Mu*p.Mu/4)), 0.999*math.Pi/p.Mu)
	var h float64
	for _, f := range fractions {
		y := f * top
		h = math.Max(h, 2*math.Pi*y/(decay+p.growth(y, t, power)))
	}
	// 12 bits: i·h is exact for |i| < 2⁴¹.
	return math.Float64frombits(math.Float64bits(h) &^ (1<<41 - 1))
}

var fractions = [...]float64{1, 0.9, 0.8, 0.65, 0.5}

// growth is the logarithm of how much the integrand's modulus can grow at a
// distance y from the axis.
func (p *Pair) growth(y, t, power float64) float64 {
	v := y*y/2 + math.Abs(t)*p.turn()*y
	if power > 0 {
		v -= power * math.Log(math.Cos(p.Mu*y/2))
	}
	return v * (1 + 1e-12)
}

// turn bounds how fast arg(p/q) turns off the axis.
func (p *Pair) turn() float64 {
	if p.Kind == ReplacePair {
		return 2 * p.Mu
	}
	return p.Mu
}

// power is how much of a reciprocal of r the integrand has at θ.
func (p *Pair) power(theta float64) float64 {
	if p.Kind == RemovePair {
		return 0
	}
	return math.Max(theta, 1) // 1 serves the bound at small |s|
}
