package loss

import (
	"math"

	"github.com/dpaccountant/accountant/internal/num"
)

// decay is Tilted.Decay of one loss.
type decay func(t0, t1 float64, closely bool) float64

// newDecay makes what is proven of the loss. One with atoms only has no decay.
func (t *Tilted) newDecay() decay {
	switch l := t.loss.(type) {
	case gaussian:
		return l.decay()
	case laplace:
		return l.decay(t.theta, t.k)
	case sloped:
		return l.decay(t.theta, t.k)
	case normalPair:
		return t.sampledDecay(l)
	case sampledLoss:
		return l.decay(t.d, t.theta, t.k)
	}
	return undecayed
}

func undecayed(float64, float64, bool) float64 { return 0 }

// decay of a Gaussian is −t²μ²/2 exactly.
func (g gaussian) decay() decay {
	half := g.mu * g.mu / 2 * (1 - 8*num.Ulp)
	return func(t0, _ float64, _ bool) float64 { return bounded(-t0 * t0 * half * (1 - 8*num.Ulp)) }
}

// decay of a Laplace loss is spread over cells of the loss, or takes the terms of M apart: for
// θ ≥ −½, |s+1|/|2s+1| falls with t and |s|/|2s+1| is at most its value at t0 or ½,
//
//	|M(θ+it)| ≤ |s+1|/|2s+1|·e^{θe0} + |s|/|2s+1|·e^{−(θ+1)e0}.
//
// The atoms at ±e0 leave half of it however large t.
func (l laplace) decay(theta float64, k Value) decay {
	theta, _ = mirrored(theta)
	if !(k.Err < slopCells) || math.Abs(theta)*l.e0 > 1e9 {
		return undecayed
	}
	cells := worthPairs(l.cells(theta, k.Upper()))
	return func(t0, t1 float64, _ bool) float64 {
		scale := math.Hypot(2*theta+1, 2*t0)
		first, second := math.Hypot(theta+1, t0)/scale, math.Max(0.5, math.Hypot(theta, t0)/scale)
		a := theta*l.e0 - k.K
		slack := k.Err + num.Ulp*(32+8*math.Abs(theta*l.e0)+8*math.Abs(k.K)+8*l.e0)
		apart := bounded(num.UpBy(a+math.Log(first+second*math.Exp(-(2*theta+1)*l.e0)), slack))
		return math.Min(apart, spread(cells, t0, t1))
	}
}

// cells cut the loss: P has mass ½ at e0, ½·e^{−e0} at −e0 and density
// ¼·e^{−(e0−l)/2} between, all times e^{θl − K}. See docs/math/inversion.md §2.3.1.
func (l laplace) cells(theta, k float64) []massCell {
	const n = 32
	slop := 1 - 4*slopCells
	h := 2 * l.e0 / n
	point := func(mass, at float64) massCell {
		return massCell{mass: mass * slop, left: at, right: at, least: at, most: at}
	}
	cells := []massCell{point(0.5*math.Exp(-l.e0-theta*l.e0-k), -l.e0)}
	for i := range n {
		left := -l.e0 + float64(i)*h
		mid := left + h/2
		// The density is convex: at least its value in the middle. Its logarithm has
		// slope θ+½, so that the mean is within (θ+½)h²/12 of the middle.
		mass := h / 4 * math.Exp(-(l.e0-mid)/2+theta*mid-k)
		off := math.Min(h/2, (theta+0.5)*h*h/12) * (1 + 1e-9)
		const wide = 1e-12 // of e0, for the rounding of the ends
		cells = append(cells, massCell{mass * slop, left - wide*l.e0, left + h + wide*l.e0, mid - off - wide*l.e0, mid + off + wide*l.e0})
	}
	return append(cells, point(0.5*math.Exp(theta*l.e0-k), l.e0))
}

func (t *Tilted) sampledDecay(g normalPair) decay {
	c := newCells(g.pair(t.d, false), t.theta, t.k, cellWidth)
	if c == nil {
		return undecayed
	}
	c.low = nil // only a scan needs them all
	var scan *phiScan
	return func(t0, t1 float64, closely bool) float64 {
		v := math.Min(spread(c.heavy, t0, t1), c.smooth(t0))
		if closely && t1 < math.Inf(1) {
			if scan == nil {
				scan = newPhiScan(newCells(g.pair(t.d, false), t.theta, t.k, cellWidth/4))
			}
			v = math.Min(v, scan.over(t0, t1))
			t.spent, scan.spent = t.spent+scan.spent, 0
		}
		return v
	}
}

// bounded keeps a bound on a logarithm of a modulus ≤ 1 at most 0; what could
// not be computed is no bound.
func bounded(v float64) float64 {
	if v <= 0 {
		return v
	}
	return 0
}
