// SPDX-License-Identifier: Apache-2.0

// Package quadrature computes cumulants as sums over nodes: those of pairs with densities
// relative to the normal's by the trapezoid rule, and those of pairs with finitely many
// outcomes, or as many as a rule by panels has, as they are.
//
// The files, from the bottom: mix and mixture (what sampling makes of a ratio), legendre (the
// rule of a panel), pair (densities relative to the normal's), quadrature and line (K at θ and
// on the line through it), along (equal steps along the line), rough and coarse (estimates),
// cells and scan (how the characteristic function decays), directed (all of that in either
// direction), outcomes (finite sums).
package quadrature

import (
	"math"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/num"
)

const (
	// MaxNodes bounds the work of one value. Where the rule would be longer, the
	// convexity bound answers instead.
	MaxNodes = 1 << 15
	// precision is ln of the relative error aimed at, below Ulp.
	precision = -39
	SqrtTwoPi = 2.5066282746310005024
	// What a node of a rule, one of a grid and a sine cost, in turns of a grid's node
	// (Steps.Spent).
	nodeCost, gridCost, sineCost = 40, 50, 5
)

// sampledLine is K of a Pair on the line s = θ + it, θ ≥ −½, by the
// trapezoid rule (docs/math/sampled-gaussian.md §1.2).
//
// Near M = 1 it integrates the excess H = p^{1+s}q^{−s} − p − s(p − q), whose
// last terms integrate to 0: at t = 0, H = p·E(sΛ) + s·q·D(Λ) with Λ = ln(p/q),
// E(x) = e^x − 1 − x ≥ 0 and D(x) = x·e^x − e^x + 1 ≥ 0, so that for θ > 0
// nothing cancels however small q is. Far from it (large) it integrates
// p^{1+s}q^{−s}·e^{−shift} as it stands.
type sampledLine struct {
	pair  Pair
	theta float64
	large bool
	shift float64 // 0 unless large

	base rule
	// M(θ) − 1, or with large M(θ)·e^{−shift}, its error and its derivatives.
	moment, err, slope, curvature float64

	gaveUp bool    // the rule would be too long: only the convexity bound is known
	grids  []*grid // with halved steps, made as t needs them
	spent  float64 // as Steps.Spent
}

// rule is the nodes first·h … last·h.
type rule struct {
	h           float64
	first, last int
	logTails    float64 // ln of a bound on any component's integral beyond either end
}

func newLine(p Pair, theta float64) *sampledLine {
	l := &sampledLine{pair: p, theta: theta}
	if !(p.Mu > 0x1p-400 && p.Mu < 0x1p20 && math.Abs(theta) < 0x1p60) { // where products would leave float64
		l.gaveUp = true
		return l
	}
	if theta > 0 && p.logExcessBound(theta) > 5 {
		tilted, _, _ := p.components(theta)
		if peak := p.peak(tilted); peak > 5 {
			l.large, l.shift = true, peak
		}
	}
	size := l.guess(math.Abs(theta))
	for range 3 {
		if !l.makeRule(size) {
			l.gaveUp = true
			return l
		}
		l.integrate()
		if l.large || theta == 0 || l.err <= 256*num.Ulp*math.Abs(l.moment) || math.Abs(l.moment) >= size {
			return l
		}
		size = math.Max(math.Abs(l.moment)/4, 1e-300) // guessed too high: cut later, step finer
	}
	return l
}

// guess is a size of M(s) − 1, |s| = size, that is rarely too large.
func (l *sampledLine) guess(size float64) float64 {
	q, mu := l.pair.Rate, math.Min(l.pair.Mu, 1)
	g := size * (1 + size) * q * q * mu * mu / 20
	return math.Min(math.Max(g, 1e-300), 1)
}

// makeRule chooses step and ends for an error below size·e^{precision}, and
// reports whether the rule is short enough.
func (l *sampledLine) makeRule(size float64) bool {
	target := num.Log(size) + precision
	if l.large || l.theta == 0 {
		target = precision
	}
	h := l.pair.step(l.logAmplitude(0, 4)-target, 0, l.pair.power(l.theta))
	r, ok := l.ruleOf(h, target-3+l.shift)
	l.base = r
	return ok
}

func (l *sampledLine) ruleOf(h, target float64) (rule, bool) {
	tilted, first, second := l.pair.components(l.theta)
	cs, mirrored := [3]component{tilted, first, second}, [3]component{tilted.mirror(), first.mirror(), second.mirror()}
	if !(h > 0x1p-40) {
		return rule{}, false
	}
	used := 3
	if l.large {
		used = 1
	}
	reach := math.Sqrt(2 * math.Max(1, l.shift-target))
	right, a, okRight := l.pair.cut(target, reach, MaxNodes*h, cs[:used])
	left, b, okLeft := l.pair.cut(target, reach, MaxNodes*h, mirrored[:used])
	r := rule{h: h, first: -int(math.Ceil(left / h)), last: int(math.Ceil(right / h)),
		logTails: math.Max(a, b) - l.shift}
	return r, okRight && okLeft && r.last-r.first < MaxNodes
}

// logAmplitude is ln of the integral of the moduli that the aliasing factor
// multiplies, at s = θ + it; mass is an upper bound on M(θ)·e^{−shift}.
func (l *sampledLine) logAmplitude(t, mass float64) float64 {
	if l.large {
		return num.Log(4 * mass)
	}
	size := math.Hypot(l.theta, t)
	if size <= 0.5 && size > 0 {
		// |p·e^{sΛ} − p| ≤ |s|·|p|·|Λ|·e^{|sΛ|} ≤ 2|s|·|p|·e^{|Λ|} with |arg| ≤ 2π, and
		// ∫φ·p²/q is bounded by convexity; twice, for s and for θ.
		reciprocal := num.Log1pExp(l.pair.logExcessBound(1))
		return num.Log(8*size) + num.LogAddExp(math.Ln2+2*math.Pi+num.LogAddExp(reciprocal, 0), math.Ln2)
	}
	return num.Log(4 * (mass + 1 + 2*size))
}

// integrate fills the moments at t = 0.
func (l *sampledLine) integrate() {
	var moment, slope, curvature num.Sum
	var acc float64 // Σ of the terms' error bounds, in Ulp
	s := l.theta
	l.spent += nodeCost * float64(l.base.last-l.base.first+1)
	for i := l.base.first; i <= l.base.last; i++ {
		n := l.pair.node(float64(i) * l.base.h)
		v := l.terms(n, s)
		moment.Add(v.excess)
		slope.Add(v.slope)
		curvature.Add(v.tilted * v.loss * v.loss)
		acc += v.err
	}
	w := l.base.h / SqrtTwoPi
	l.moment, l.slope, l.curvature = w*moment.Value(), w*slope.Value(), w*curvature.Value()
	if s == 0 { // M(0) = 1 exactly
		l.moment, l.err = 0, 0
		return
	}
	l.err = num.Ulp*(w*acc+8*math.Abs(l.moment)) + l.cutError(l.base, 0) + 1e-300
}

// cutError bounds the error of a rule at θ + it that is not rounding: aliasing
// and the tails.
func (l *sampledLine) cutError(r rule, t float64) float64 {
	mass := l.moment
	if !l.large {
		mass = 1 + l.moment
	}
	size := math.Hypot(l.theta, t)
	aliases := math.Exp(l.logAmplitude(t, 1.01*mass+0.01) + l.pair.aliasing(r.h, t, l.pair.power(l.theta)))
	return aliases + 4*(1+size)*math.Exp(r.logTails)
}

// terms are the integrand at one node, without its weight h/√(2π).
type terms struct {
	excess float64 // φ·H, or with large φ·p^{1+θ}q^{−θ}·e^{−shift}
	tilted float64 // φ·p^{1+θ}q^{−θ}·e^{−shift}
	slope  float64 // d/dθ of excess
	loss   float64 // Λ
	err    float64 // bound on the error of excess, in Ulp
	noise  float64 // bound on the error of slope, in Ulp; 0 with large
}

func (l *sampledLine) terms(n Node, s float64) terms {
	lossAt := n.LogP - n.LogQ
	a := s * lossAt
	rounding := 16 + 2*n.Half + 3*math.Abs(n.LogP) + 3*math.Abs(n.LogQ)
	if l.large {
		v := math.Exp(n.LogP + a - n.Half - l.shift)
		err := v * (rounding + 3*math.Abs(a) + 2*math.Abs(l.shift) + math.Abs(1+s)*n.ErrP + math.Abs(s)*n.ErrQ)
		return terms{excess: v, tilted: v, slope: v * lossAt, loss: lossAt, err: err}
	}
	first, second := math.Exp(n.LogP-n.Half), math.Exp(n.LogQ-n.Half) // φ·p, φ·q
	if math.Abs(a) > 30 || math.Abs(lossAt) > 30 {
		tilted := math.Exp(n.LogP + a - n.Half)
		v := terms{
			excess: tilted - first - s*(first-second), tilted: tilted,
			slope: tilted*lossAt - first + second, loss: lossAt,
		}
		rounding += 3 * math.Abs(a)
		v.err = rounding*(tilted+math.Abs(1+s)*first+math.Abs(s)*second) +
			math.Abs(1+s)*math.Abs(tilted-first)*n.ErrP + math.Abs(s)*math.Abs(tilted-second)*n.ErrQ
		v.noise = rounding*(tilted*math.Abs(lossAt)+first+second) + n.slopeNoise(s, tilted, first, second)
		return v
	}
	remainder := num.Expm2(a)
	growth := remainder + a // e^{sΛ} − 1
	divergence := second * num.ExpDivergence(lossAt)
	tilted := first * (1 + growth)
	excess := first*remainder + s*divergence
	// H moves by (1+s)(p·e^{sΛ} − p) with ln p and by −s(p·e^{sΛ} − q) with ln q.
	moved := math.Abs(first * growth)
	slope := first*growth*lossAt + divergence
	return terms{
		excess: excess, tilted: tilted, slope: slope, loss: lossAt,
		err: math.Abs(1+s)*moved*(n.ErrP+4*math.Abs(a)) +
			math.Abs(s)*math.Abs(first*growth+(first-second))*n.ErrQ +
			rounding*(math.Abs(excess)+2*math.Abs(s)*divergence),
		noise: rounding*(math.Abs(slope)+2*divergence) + 4*tilted*math.Abs(lossAt*a) +
			n.slopeNoise(s, tilted, first, second),
	}
}

// slopeNoise is what the errors of ln p and ln q do to tilted·Λ − first + second.
func (n *Node) slopeNoise(s, tilted, first, second float64) float64 {
	lossAt := n.LogP - n.LogQ
	return math.Abs((1+s)*tilted*lossAt+(tilted-first))*n.ErrP + math.Abs(s*tilted*lossAt+(tilted-second))*n.ErrQ
}

// value is K(θ).
func (l *sampledLine) value() loss.Value {
	if l.gaveUp {
		return l.convexity()
	}
	if l.theta > 0 && l.moment < 1e-280 {
		v := l.convexity()
		v.Slope, v.Curvature = l.slope, l.curvature // M is 1 here
		return v
	}
	v := loss.Value{}
	mass := l.moment
	if l.large {
		v.K = l.shift + num.Log(l.moment)
		v.Err = math.Inf(1)
		if rest := l.moment - l.err; rest > 0 {
			v.Err = l.err/rest + 4*num.Ulp*(1+math.Abs(l.shift)+math.Abs(v.K))
		}
	} else {
		v.K, v.Err = loss.FromExcess(l.moment, l.err)
		mass = 1 + l.moment
	}
	if !(v.Err < math.Inf(1)) { // M is not kept apart from 0
		return l.convexity()
	}
	v.Slope = l.slope / mass
	v.Curvature = l.curvature/mass - v.Slope*v.Slope
	return v
}

// convexity is what bounds on M alone tell: 0 ≤ K ≤ ln(1 − q + q·M of the
// unsampled Gaussian) for θ > 0, and K ≥ θ·KL(P‖Q) ≥ θ·q·KL unsampled below 0.
func (l *sampledLine) convexity() loss.Value {
	s, reach := l.theta, l.pair.turn()
	divergence := l.pair.Rate * reach * reach / 2
	switch {
	case s == 0:
		return loss.Value{Slope: divergence}
	case s < 0 && math.IsInf(divergence, 1):
		return loss.Value{Err: divergence}
	case s < 0:
		k := s * divergence / 2
		return loss.Value{K: k, Err: -k * (1 + 8*num.Ulp), Slope: divergence}
	}
	bound := num.Log1pExp(l.pair.logExcessBound(s)) * (1 + 8*num.Ulp)
	if l.pair.Kind == AddPair {
		bound = math.Min(bound, -s*math.Log1p(-l.pair.Rate)*(1+8*num.Ulp)) // L ≤ −ln(1−q)
	}
	v := loss.Value{K: bound / 2, Err: num.Up(bound/2 + math.SmallestNonzeroFloat64)}
	if math.IsInf(bound, 1) {
		return loss.Value{K: bound, Err: bound}
	}
	v.Slope = (s + 0.5) * reach * reach * -math.Expm1(-bound)
	return v
}
