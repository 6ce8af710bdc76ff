package loss

import (
	"math"
	"math/cmplx"
)

// directedPair is a pair of densities relative to the normal's in one direction, or with flip
// in the other.
type directedPair func(flip bool) sampledPair

// cumulant is K(s) by the quadrature, of the direction's pair or, with flip, the
// other's: what newLine takes has s ≥ −½.
func (pair directedPair) cumulant(s float64) Value {
	s, flip := mirrored(s)
	v := newLine(pair(flip), s).value()
	if flip {
		v.Slope = -v.Slope
	}
	return v
}

// line is cumulant along the line at θ.
func (pair directedPair) line(theta float64) Line {
	m, flip := mirrored(theta)
	line := newLine(pair(flip), m)
	at := line.at
	if flip {
		at = func(t float64) ComplexValue { return line.at(-t) }
	}
	return guarded(at, line.value())
}

// steps is cumulant in equal steps along the line at θ.
func (pair directedPair) steps(theta float64) Steps {
	m, flip := mirrored(theta)
	s := pairSteps{line: newLine(pair(flip), m), flip: flip}
	if s.k = s.line.value(); flip {
		s.k.Slope = -s.k.Slope
	}
	return s
}

// pairSteps takes steps along a line; with flip it is that at −1−θ of the other direction.
type pairSteps struct {
	line *sampledLine
	flip bool
	k    Value
}

func (p pairSteps) K() Value { return p.k }

func (p pairSteps) Along(step float64, n int, stop func() bool) []ComplexValue {
	out := make([]ComplexValue, n)
	p.line.along(step, out, stop)
	if p.flip {
		for k := range out {
			out[k].K = cmplx.Conj(out[k].K)
		}
	}
	return out
}

func (p pairSteps) Spent() float64 { return p.line.spent }

func (p pairSteps) Work(step float64, n int) float64 {
	if p.line.gaveUp {
		return float64(n)
	}
	nodes := float64(maxNodes)
	if level, ok := p.line.levelFor(float64(n) * step); ok {
		nodes = math.Ldexp(float64(p.line.base.last-p.line.base.first), level)
	}
	return nodes * (float64(n) + gridCost)
}

// decay cuts the direction's line into cells.
func (pair directedPair) decay(theta float64, k Value) Decay {
	c := newCells(pair(false), theta, k, cellWidth)
	if c == nil {
		return Undecayed
	}
	c.low = nil // only a scan needs them all
	var scan *phiScan
	return func(t0, t1 float64, closely bool) (log, spent float64) {
		log = math.Min(spread(c.heavy, t0, t1), c.smooth(t0))
		if closely && t1 < math.Inf(1) {
			if scan == nil {
				scan = newPhiScan(newCells(pair(false), theta, k, cellWidth/4))
			}
			log = math.Min(log, scan.over(t0, t1))
			spent, scan.spent = scan.spent, 0
		}
		return log, spent
	}
}
