package loss

import (
	"math"

	"github.com/dpaccountant/accountant/internal/num"
)

type pairKind uint8

const (
	removePair  pairKind = iota // p = r, q = 1
	addPair                     // p = 1, q = r
	replacePair                 // p(z) = r(z), q(z) = r(−z)
)

// sampledPair is one direction's pair as densities p and q relative to the
// standard normal's φ, with r(z) = 1 − q + q·e^{μz−μ²/2}.
type sampledPair struct {
	mu, rate float64
	logRate  float64 // ln q
	odds     float64 // (1−q)/q
	kind     pairKind

	// parts, where it is not nil, is r in the place of the above: then μ is the largest
	// shift, q the chance of one, and everything said here of r holds (docs/math/groups.md §1.7.4).
	parts *Mixture

	in *num.Interrupt // of what is computed with it
}

// What one value of ln r takes, of sampled noise and for each part of a mixture.
const ratioWork, partWork = 20, 30

// logRatio returns ln r(z), its slope over μ, w = q·e^u/r in (0,1), and a bound
// on the error of ln r in units of Ulp, rounding of μ and q included.
func (p *sampledPair) logRatio(z float64) (l, w, err float64) {
	if p.parts != nil {
		p.in.Spend(partWork * len(p.parts.shift))
		return p.parts.LogRatio(z)
	}
	p.in.Spend(ratioWork)
	return mix{p.rate, p.logRate, p.odds}.logRatio(p.mu*(z-p.mu/2), 4*(math.Abs(p.mu*z)+p.mu*p.mu))
}

// bend is (ln r)″/μ² at z, where the slope is w: w(1−w), or less.
func (p *sampledPair) bend(z, w float64) float64 {
	if p.parts != nil {
		_, _, bend, _ := p.parts.at(z)
		return bend
	}
	return w * (1 - w)
}

// mix is 1 − q + q·e^u, the ratio of a sampled to an unsampled probability.
type mix struct {
	rate    float64
	logRate float64 // ln q
	odds    float64 // (1−q)/q
}

func newMix(rate float64) mix { return mix{rate, num.Log(rate), (1 - rate) / rate} }

// logRatio returns ln(1 − q + q·e^u), its slope w in (0, 1) and a bound on its error
// in units of Ulp, for a u that is within du Ulp and a q rounded up by 2.
func (p mix) logRatio(u, du float64) (l, w, err float64) {
	if u > 700 {
		rest := p.odds * math.Exp(-u)
		return u + p.logRate + math.Log1p(rest), 1 / (1 + rest), du + 2*u + 4 - 4*p.logRate
	}
	e := math.Exp(u)
	var y, r float64 // r = 1 + y
	if u < -0.5 || u > 0.5 {
		y = p.rate * (e - 1)
	} else {
		y = p.rate * math.Expm1(u)
	}
	if y < -0.5 {
		r = 1 - p.rate + p.rate*e
		l = math.Log(r)
	} else {
		r = 1 + y
		l = math.Log1p(y)
	}
	w = p.rate * e / r
	return l, w, w*du + 8*math.Abs(y)/r + 2*math.Abs(l)
}

// node is a point of the rule: z²/2, ln p, ln q and bounds on the errors of
// both in units of Ulp.
type node struct {
	half, lp, lq, errP, errQ float64
}

func (p *sampledPair) node(z float64) node {
	l, _, err := p.logRatio(z)
	switch p.kind {
	case removePair:
		return node{z * z / 2, l, 0, err, 0}
	case addPair:
		return node{z * z / 2, 0, l, 0, err}
	}
	m, _, errM := p.logRatio(-z)
	return node{z * z / 2, l, m, err, errM}
}

// component is φ·r(z)^up·r(−z)^down, one of the integrand's terms.
type component struct {
	up, down float64
}

// components are φ·p^{1+s}q^{−s}, φ·p and φ·q.
func (p *sampledPair) components(s float64) (tilted, first, second component) {
	switch p.kind {
	case removePair:
		return component{1 + s, 0}, component{1, 0}, component{0, 0}
	case addPair:
		return component{-s, 0}, component{0, 0}, component{1, 0}
	}
	return component{1 + s, -s}, component{1, 0}, component{0, 1}
}

// log is ln of the component at z, without the normal's constant.
func (p *sampledPair) log(c component, z float64) float64 {
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
func (p *sampledPair) logTail(c component, z float64) float64 {
	rate := z
	if c.up > 0 {
		rate -= c.up * p.mu
	} else if c.up < 0 {
		_, w, _ := p.logRatio(z)
		rate -= c.up * p.mu * w
	}
	if c.down < 0 {
		_, w, _ := p.logRatio(-z)
		rate += c.down * p.mu * w
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
func (p *sampledPair) cut(target, reach, limit float64, cs []component) (z, logBound float64, ok bool) {
	for _, c := range cs {
		z = math.Max(z, c.up*p.mu)
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
func (p *sampledPair) peak(c component) float64 {
	a, b := p.summits(c)
	return math.Max(p.log(c, a), p.log(c, b))
}

// summits are about where ln of the tilted component has its lowest and its
// highest maximum: stationary points z = up·μ·w(z) − down·μ·w(−z).
func (p *sampledPair) summits(c component) (lowest, highest float64) {
	pull := func(z float64) float64 {
		_, up, _ := p.logRatio(z)
		_, down, _ := p.logRatio(-z)
		return p.mu * (c.up*up - c.down*down)
	}
	if c.up < 0 { // the logarithm is concave: one maximum, left of 0
		lo, hi := c.up*p.mu, 0.0
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
	return from(0), from(c.up*p.mu + math.Max(-c.down, 0)*p.mu)
}

// logExcessBound returns ln of an upper bound on M(s) − 1 for s > 0: M is at
// most 1 − q + q·M of the unsampled Gaussian, because (P, Q) ↦ P^{1+s}·Q^{−s} is
// jointly convex.
func (p *sampledPair) logExcessBound(s float64) float64 {
	k := (s * p.turn()) * ((s + 1) * p.turn()) / 2 * (1 + 16*num.Ulp)
	v := p.logRate + num.LogExpm1(math.Max(k, math.SmallestNonzeroFloat64))
	return v + 8*num.Ulp*(math.Abs(v)+k-p.logRate)
}

// aliasing returns the logarithm of the factor
//
//	e^{y²/2 + |t|·turn·y}·sec(μy/2)^power·e^{−2πy/h}/(1 − e^{−2πy/h})
//
// that bounds the aliasing error of the trapezoid rule with step h relative to
// the integral of the modulus (docs/math/sampled-gaussian.md §1.2.3). Any y below the distance π/μ
// of r's zeros from the axis is valid; one near the best is taken.
func (p *sampledPair) aliasing(h, t, power float64) float64 {
	top := math.Min((2*math.Pi/h-math.Abs(t)*p.turn())/(1+power*p.mu*p.mu/4), 0.999*math.Pi/p.mu)
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
func (p *sampledPair) step(decay, t, power float64) float64 {
	top := math.Min(math.Sqrt(2*decay/(1+power*p.mu*p.mu/4)), 0.999*math.Pi/p.mu)
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
func (p *sampledPair) growth(y, t, power float64) float64 {
	v := y*y/2 + math.Abs(t)*p.turn()*y
	if power > 0 {
		v -= power * math.Log(math.Cos(p.mu*y/2))
	}
	return v * (1 + 1e-12)
}

// turn bounds how fast arg(p/q) turns off the axis.
func (p *sampledPair) turn() float64 {
	if p.kind == replacePair {
		return 2 * p.mu
	}
	return p.mu
}

// power is how much of a reciprocal of r the integrand has at θ.
func (p *sampledPair) power(theta float64) float64 {
	if p.kind == removePair {
		return 0
	}
	return math.Max(theta, 1) // 1 serves the bound at small |s|
}
