// SPDX-License-Identifier: Apache-2.0

package quadrature

import (
	"math"
	"math/cmplx"

	"github.com/dpaccountant/accountant/internal/loss"
)

// Directed is a pair of densities relative to the normal's in one direction, or with flip
// in the other.
type Directed func(flip bool) Pair

// Cumulant is K(s) by the quadrature, of the direction's pair or, with flip, the
// other's: what newLine takes has s ≥ −½.
func (pair Directed) Cumulant(s float64) loss.Value {
	s, flip := loss.Mirrored(s)
	v := newLine(pair(flip), s).value()
	if flip {
		v.Slope = -v.Slope
	}
	return v
}

// Line is cumulant along the line at θ.
func (pair Directed) Line(theta float64) loss.Line {
	m, flip := loss.Mirrored(theta)
	line := newLine(pair(flip), m)
	at := line.complexCumulant
	if flip {
		at = func(t float64) loss.ComplexValue { return line.complexCumulant(-t) }
	}
	return loss.Guarded(at, line.value())
}

// Steps is cumulant in equal steps along the line at θ.
func (pair Directed) Steps(theta float64) loss.Steps {
	m, flip := loss.Mirrored(theta)
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
	k    loss.Value
}

func (p pairSteps) K() loss.Value { return p.k }

func (p pairSteps) Along(step float64, n int, stop func() bool) []loss.ComplexValue {
	out := make([]loss.ComplexValue, n)
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
	nodes := float64(MaxNodes)
	if level, ok := p.line.levelFor(float64(n) * step); ok {
		nodes = math.Ldexp(float64(p.line.base.last-p.line.base.first), level)
	}
	return nodes * (float64(n) + gridCost)
}

// Decay cuts the direction's line into cells.
func (pair Directed) Decay(theta float64, k loss.Value) loss.Decay {
	c := newCells(pair(false), theta, k, cellWidth)
	if c == nil {
		return loss.Undecayed
	}
	c.low = nil // only a scan needs them all
	var scan *phiScan
	return func(t0, t1 float64, closely bool) (log, spent float64) {
		log = math.Min(loss.Spread(c.heavy, t0, t1), c.smooth(t0))
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
