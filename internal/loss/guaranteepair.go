// SPDX-License-Identifier: Apache-2.0

package loss

import (
	"math"

	"github.com/dpaccountant/accountant/internal/num"
)

// What is known by guarantees alone, K(s) ≤ bound(s) for 0 < s ≤ s_max with a convex
// bound and bound(0) = 0, has by its conversion at the best order the curve
//
//	δ(ε) = min over s of e^{K(s) − sε}·s^s/(1+s)^{1+s}   (Canonne–Kamath–Steinke 2020, Prop. 12).
//
// It is the curve of a pair: with y between the left and the right slope of K at s, in
// either order along the curve, the best s at ε = ℓ = y − ln(1+1/s) has
//
//	P(L > ℓ) = e^{K(s) − sy},  Q(L > ℓ) = e^{K(s) − (s+1)y}.
//
// It holds in both directions, so that left of 0 the mirror image of the right is a
// better curve, and every curve lies below the chord (in e^ε) between both where it
// touches them, at ±ℓ*, where P(L > ℓ*) + Q(L > ℓ*) = 1. That is declaredPair: it
// dominates whatever has the guarantees (docs/math/declared.md §4.9). Where ℓ* would be negative,
// as where only orders near 1 are known, it is the curve alone, down to −∞.
//
// For ρ-zCDP alone y = (2s+1)ρ, P(L > ℓ) = e^{−ρs²} and Q(L > ℓ) = e^{−ρ(s+1)²}.
type declaredPair struct {
	rho   float64
	knots []Knot    // of the tables
	slope []float64 // of the tables' sum on the pieces: left of each knot; one piece more without knots
	cut   []float64 // T(s) − s·slope on the pieces, T the tables' sum; ≤ 0

	start  place   // of ℓ*, or where the curve begins
	starts float64 // ℓ* ≥ 0, or −Inf: nothing is mirrored
	atom   float64
}

// place is a point of the graph of K's slope: on the even elements, the pieces, s
// moves; on the odd ones, the knots, the tables' slope t does.
type place struct {
	element int
	s, t    float64
}

// Masses of declared guarantees are computed for Σρ and y* in this range.
const leastRho, mostRho, mostSlope = 1e-20, 600, 700

// Pair is the pair above, the same in both directions; nil where it is out of range.
// It only dominates: a mechanism with the guarantees may lose nothing.
func (g Guarantee) Pair() Pair {
	if p := g.pair(); p != nil {
		return *p
	}
	return nil
}

func (g Guarantee) pair() *declaredPair {
	if g.none() || g.unlimited || !(g.rho == 0 || g.rho >= leastRho && g.rho <= mostRho) || !(g.atom < 1) {
		return nil
	}
	p := &declaredPair{rho: g.rho, knots: g.knots, atom: g.atom}
	at := Knot{}
	for _, k := range g.knots {
		slope := (k.K - at.K) / (k.S - at.S)
		if n := len(p.slope); n > 0 { // K is convex: only by rounding it is not
			slope = math.Max(slope, p.slope[n-1])
		}
		p.slope = append(p.slope, slope)
		p.cut = append(p.cut, math.Min(0, at.K-slope*at.S))
		at = k
	}
	if len(g.knots) == 0 {
		p.slope, p.cut = []float64{0}, []float64{0}
	}
	// P + Q falls along the curve; where it is 1 or a little more the pair starts.
	missing := func(a place) float64 {
		logP, y := p.logP(a), p.y(a)
		return num.Log1mExp(-logP) - logP + y
	}
	for e := 0; e < p.elements(); e++ {
		lo, hi := p.span(e)
		if !math.IsInf(hi, 1) && missing(p.placeOn(e, hi)) < 0 {
			continue
		}
		if math.IsInf(hi, 1) {
			for hi = lo + math.Max(1, lo); missing(p.placeOn(e, hi)) < 0; hi = lo + 2*(hi-lo) {
				if hi > 1e200 {
					return nil
				}
			}
		}
		v, _ := num.Crossing(func(v float64) (float64, float64) { return missing(p.placeOn(e, v)), 0 }, lo, hi,
			lo+(hi-lo)/2, 1e-15, 400)
		p.start = p.placeOn(e, v)
		p.starts = p.loss(p.start)
		if y := p.y(p.start); !(y <= mostSlope) || !(p.start.s > 0) {
			return nil
		}
		if p.starts < 0 {
			p.start = p.placeOn(0, 0)
			p.starts = math.Inf(-1)
		}
		return p
	}
	return nil
}

// elements is how many there are: pieces and knots by turns, the last one endless.
func (p *declaredPair) elements() int { return max(1, 2*len(p.knots)) }

// span is between which s, or slopes t, an element runs.
func (p *declaredPair) span(e int) (lo, hi float64) {
	i := e / 2
	if e%2 == 0 {
		hi = math.Inf(1)
		if i < len(p.knots) {
			hi = p.knots[i].S
		}
		if i > 0 {
			lo = p.knots[i-1].S
		}
		return lo, hi
	}
	if hi = math.Inf(1); i+1 < len(p.knots) {
		hi = p.slope[i+1]
	}
	return p.slope[i], hi
}

// placeOn is the place on an element at the s, or t, of its span.
func (p *declaredPair) placeOn(e int, v float64) place {
	if e%2 == 0 {
		return place{e, v, p.slope[e/2]}
	}
	return place{e, p.knots[e/2].S, v}
}

// y is the slope of K.
func (p *declaredPair) y(a place) float64 { return (2*a.s+1)*p.rho + a.t }

// logP is ln P(L > ℓ).
func (p *declaredPair) logP(a place) float64 {
	if a.element%2 == 0 {
		return p.cut[a.element/2] - p.rho*a.s*a.s
	}
	return math.Min(0, p.knots[a.element/2].K-a.s*a.t-p.rho*a.s*a.s)
}

// logErr bounds the error of logP.
func (p *declaredPair) logErr(a place) float64 {
	size := p.rho * a.s * a.s
	if n := len(p.knots); n > 0 {
		i := min(a.element/2, n-1)
		size += 4 * (p.knots[i].K + p.knots[i].S*math.Min(a.t, p.slope[i]))
		if a.element%2 == 1 {
			size += a.s * a.t
		}
	}
	return 4 * num.Ulp * size
}

// loss is ℓ.
func (p *declaredPair) loss(a place) float64 { return p.y(a) - math.Log1p(1/a.s) }

// lossErr bounds the error of loss.
func (p *declaredPair) lossErr(a place) float64 {
	return num.Ulp * (8*p.y(a) + 4*math.Log1p(1/a.s))
}

// inverse is ℓ's inverse from a place below it, and |ℓ − l|.
func (p *declaredPair) inverse(l float64, from place) (to place, off float64) {
	for e := from.element; ; e++ {
		lo, hi := p.span(e)
		if e == from.element {
			if lo = from.s; e%2 == 1 {
				lo = from.t
			}
		}
		last := e == p.elements()-1
		if !last && p.loss(p.placeOn(e, hi)) < l {
			continue
		}
		switch {
		case math.IsInf(l, 1):
			return p.placeOn(e, l), 0
		case e%2 == 1:
			to = p.placeOn(e, math.Min(hi, math.Max(lo, l+math.Log1p(1/p.knots[e/2].S)-(2*p.knots[e/2].S+1)*p.rho)))
		case p.rho == 0: // nothing lies within
			to = p.placeOn(e, math.Min(hi, math.Max(lo, 1/math.Expm1(p.slope[e/2]-l))))
			return to, 0
		default:
			to = p.placeOn(e, math.Min(hi, p.rise(l-p.slope[e/2], lo)))
		}
		return to, math.Abs(l - p.loss(to))
	}
}

// rise is the inverse of (2s+1)ρ − ln(1+1/s), which is concave, so that Newton's steps
// rise to it; it is at most ln s + (2s+1)ρ, which gives a better start.
func (p *declaredPair) rise(l, from float64) float64 {
	value := func(s float64) float64 { return (2*s+1)*p.rho - math.Log1p(1/s) }
	s := math.Max(math.Max(from, (l-p.rho)/(2*p.rho)), math.Min(math.Exp(l-p.rho-1), 1/(2*p.rho)))
	for range 60 {
		next := s + (l-value(s))/(2*p.rho+1/(s*(s+1)))
		if !(next > s*(1+num.Ulp)) {
			break
		}
		s = next
	}
	return s
}

// Ends: beyond them P has at most about e^{logAbove} above, and as Q above the mirror
// image e^{logBelow} below.
func (p declaredPair) Ends(logBelow, logAbove float64) (lo, hi float64) {
	end := func(log func(a place) float64, least float64) float64 {
		a := p.start
		for e := a.element; ; e++ {
			from, to := p.span(e)
			if math.IsInf(to, 1) {
				for to = 1 + 2*math.Max(0, from); log(p.placeOn(e, to)) > least && to < 1e200; to *= 2 {
				}
			} else if log(p.placeOn(e, to)) > least {
				continue
			}
			_, v := num.Crossing(func(v float64) (float64, float64) { return least - log(p.placeOn(e, v)), 0 }, from,
				to, from+(to-from)/2, 1e-6, 100)
			return math.Max(p.starts, p.loss(p.placeOn(e, v)))
		}
	}
	if math.IsInf(p.starts, -1) {
		return end(func(a place) float64 { return -num.Log1mExp(-p.logP(a)) }, -logBelow), end(p.logP, logAbove)
	}
	logQ := func(a place) float64 { return p.logP(a) - p.y(a) }
	return -end(logQ, logBelow), end(p.logP, logAbove)
}

// Cells: the right half along the curve; the left half mirrored.
func (p declaredPair) Cells(edges []float64, cells []Mass) (slack float64) {
	n := len(cells)
	slack = p.right(edges, cells)
	if !math.IsInf(p.starts, -1) {
		back, mirror := make([]float64, n+1), make([]Mass, n)
		for i, e := range edges {
			back[n-i] = -e
		}
		slack = math.Max(slack, p.right(back, mirror))
		for i := range cells {
			cells[i] = Union(cells[i], Exchanged(mirror[n-1-i]))
		}
	}
	whole := math.Log1p(-p.atom)
	for i := range cells {
		if p.atom > 0 {
			cells[i].LogP += whole
			cells[i].LogErr += num.Ulp * (2*math.Abs(whole) + math.Abs(cells[i].LogP))
		}
	}
	return slack
}

// right fills the cells with what lies above ℓ*.
func (p *declaredPair) right(edges []float64, cells []Mass) (slack float64) {
	if !math.IsInf(p.starts, -1) {
		slack = p.lossErr(p.start)
	}
	from := p.start
	rise := func(l float64) place {
		if !(l > p.loss(from)) {
			return from
		}
		to, off := p.inverse(l, from)
		if !math.IsInf(l, 1) {
			slack = math.Max(slack, off+p.lossErr(to))
		}
		return to
	}
	from = rise(edges[0])
	for i := range cells {
		to := rise(edges[i+1])
		cells[i] = p.cell(from, to)
		from = to
	}
	return slack
}

// cell is the set of outcomes from a to b: d ln P(L > ℓ) = −s·dy and d ln Q(L > ℓ) =
// −(s+1)·dy along the curve, dy = 2ρ·ds on a piece and dt on a knot.
func (p *declaredPair) cell(a, b place) Mass {
	log, l := p.logP(a), p.y(a) // y is ln of P(L > ℓ)/Q(L > ℓ)
	logErr, lossErr := p.logErr(a)+4*num.Ulp*-log, 8*num.Ulp*l
	if math.IsInf(b.s, 1) || math.IsInf(b.t, 1) {
		return Mass{LogP: log, Loss: l, LogErr: logErr, LossErr: lossErr}
	}
	var x, y float64
	for e := a.element; e <= b.element; e++ {
		lo, hi := p.span(e)
		if e%2 == 0 {
			if e == a.element {
				lo = a.s
			}
			if e == b.element {
				hi = b.s
			}
			if d := p.rho * (hi - lo); d > 0 {
				x += d * (lo + hi)
				y += d * (lo + hi + 2)
			}
			continue
		}
		if e == a.element {
			lo = a.t
		}
		if e == b.element {
			hi = b.t
		}
		if d, s := hi-lo, p.knots[e/2].S; d > 0 {
			x += d * s
			y += d * (s + 1)
		}
	}
	if !(y > 0) {
		return Nothing()
	}
	first, second := num.Log1mExp(x), num.Log1mExp(y)
	ratio := first - second // ≤ 0
	if y < 1 {              // nothing cancels
		ratio = num.Log(math.Expm1(-x) / math.Expm1(-y))
	}
	return Mass{
		LogP: log + first, Loss: l + ratio,
		LogErr:  logErr + num.Ulp*(32+8*math.Abs(first)),
		LossErr: lossErr + num.Ulp*(64+8*math.Abs(ratio)),
	}
}

// LogDelta returns an upper bound on ln δ(ε) of the guarantees by the chord, δ = P(L >
// ℓ*) − e^ε·Q(L > ℓ*), where that is below the conversion: for 0 ≤ ε < ℓ*. It is of what
// is left without the atom.
func (g Guarantee) LogDelta(epsilon float64) (logDelta float64, ok bool) {
	p := g.pair()
	if p == nil || !(epsilon >= 0 && epsilon < p.starts) {
		return 0, false
	}
	y, logP := p.y(p.start), p.logP(p.start)
	v := num.Log1mExp(y-epsilon) + logP
	slack := p.logErr(p.start) + 16*num.Ulp*(1+math.Abs(v)+math.Abs(logP)+(1+p.start.s)*(y+epsilon))
	return math.Min(0, num.UpBy(v, slack)), true
}

// Epsilon is its inverse: an upper bound on ε at ln δ, where the chord gives it.
func (g Guarantee) Epsilon(logDelta float64) (epsilon float64, ok bool) {
	p := g.pair()
	if p == nil {
		return 0, false
	}
	y, logP := p.y(p.start), p.logP(p.start)
	z := logP - logDelta
	if !(z > 0) {
		return 0, logDelta < 0 // above δ(0)
	}
	v := y + num.Log1mExp(z)
	e := num.UpBy(v, 16*num.Ulp*(1+y+math.Abs(v)+(math.Abs(logP)+p.logErr(p.start)/num.Ulp-logDelta)/math.Expm1(z)))
	return math.Max(0, e), e < p.starts
}

func (declaredPair) Atoms() []Mass       { return nil }
func (p declaredPair) Infinite() float64 { return p.atom }

// Null: the curve alone begins with P and less of Q.
func (p declaredPair) Null() float64 {
	if math.IsInf(p.starts, -1) {
		return p.atom - (1-p.atom)*math.Expm1(-p.y(p.start))
	}
	return p.atom
}

func (declaredPair) Anchor() float64 { return 0 }
