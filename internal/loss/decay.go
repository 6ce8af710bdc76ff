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
	case sampledGaussian:
		return t.sampledDecay(l)
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
// ¼·e^{−(e0−l)/2} between, all times e^{θl − K}.
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

func (t *Tilted) sampledDecay(g sampledGaussian) decay {
	c := newCells(g.pair(t.d, false), t.theta, t.k)
	if c == nil {
		return undecayed
	}
	scan := &phiScan{cells: c, line: t.sampled}
	return func(t0, t1 float64, closely bool) float64 {
		v := math.Min(spread(c.heavy, t0, t1), c.smooth(t0))
		if closely && t1 < math.Inf(1) {
			v = math.Min(v, scan.over(t0, t1))
		}
		return v
	}
}

// phiScan bounds |φ| over an interval from its values at some points and
//
//	|φ(t)| ≤ |φ(m)| + E[min(2, |t−m|·|L−c|)]
//
// for any constant c, the expectation from the cells.
type phiScan struct {
	cells     *cells
	line      *sampledLine
	lipschitz float64 // E|L−c| of what is in the cells
	width     float64 // the last interval that was good
}

const (
	scanRuns  = 12   // over one interval, at most
	scanShare = 0.25 // of 1 − |φ| that the distance may cost
)

// over takes values at whole multiples of some h, each for h/2 to either side.
func (s *phiScan) over(t0, t1 float64) float64 {
	if s.lipschitz == 0 {
		s.lipschitz = s.cells.deviation()
	}
	worst := math.Inf(-1)
	h := math.Max(s.width, 0.01*t0)
	for range scanRuns {
		h = float64(float32(math.Min(h, t0))) // of few bits: its multiples are exact
		if !(h > 1e-6*t0) {
			return 0
		}
		first := int(math.Round(t0 / h))
		n := min(longestTurn, first, 1+int(math.Ceil((t1-t0)/h)))
		var run [longestTurn]ComplexValue
		s.line.run(h, first, run[:n])
		cost := (h/2*s.lipschitz + 2*s.cells.outside) * (1 + 1e-9)
		high, shrink := worst, 1.0
		for _, v := range run[:n] {
			if math.IsInf(v.Err, 1) {
				return 0
			}
			phi := math.Exp(v.Upper) * (1 + 4*num.Ulp)
			high = math.Max(high, phi+cost)
			if may := scanShare*(1-phi) + 1e-3*phi; cost > may {
				shrink = math.Min(shrink, math.Max(0.1, may/cost))
			}
		}
		if shrink < 1 && h > 1e-4*t0 {
			h *= 0.9 * shrink
			continue
		}
		worst = high
		if t0 = (float64(first+n) - 0.5) * h * (1 - 1e-12); t0 >= t1 {
			s.width = h
			return bounded(math.Log(worst) + 2*num.Ulp)
		}
		h *= 1.5
	}
	return 0
}

// deviation bounds E|L − c| inside the cells, c their mean.
func (c *cells) deviation() float64 {
	var mean, mass, sum float64
	for _, m := range c.low {
		mass += m.mass
		mean += m.mass * m.least
	}
	mean /= mass
	for i, m := range c.high {
		far := math.Max(math.Abs(c.loss[i]-mean)+c.off[i], math.Abs(c.loss[i+1]-mean)+c.off[i+1])
		sum += m * far
	}
	return sum * (1 + 1e-9)
}

// bounded keeps a bound on a logarithm of a modulus ≤ 1 at most 0; what could
// not be computed is no bound.
func bounded(v float64) float64 {
	if v <= 0 {
		return v
	}
	return 0
}
