// SPDX-License-Identifier: Apache-2.0

package quadrature

import (
	"math"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/num"
)

// phiScan bounds |φ| over an interval from values at some points, with cells of the
// loss in place of the quadrature: (d) of docs/math/inversion.md §2.3.3. With lower
// bounds p_i on the cells' masses, M = Σ p_i over all cells and the line cut into I and the
// rest,
//
//	1 − |φ(t)|² ≥ M² − [|Σ_rest p_i·e^{imλ_i}| + m·Σ p_i·e_i + m²·Σ p_i·r_i²/2 +
//	               |t−m|·Σ p_i·|λ−a| + variation/t]²,
//
// λ_i being within e_i of the cell's mean and r_i of all of it.
type phiScan struct {
	cells *cells
	total float64 // M
	mean  []float64
	cuts  []scanCut
	width float64 // of the last step, over t
	spent float64 // as Steps.Spent
}

// scanCut is a cut with the sums over its rest.
type scanCut struct {
	cut
	first, second float64 // Σ p·e and Σ p·r²/2
	deviation     float64 // Σ p·|λ−a|, from above
}

const (
	scanPoints = 48   // of one interval, at most
	scanShare  = 0.15 // of 1 − |φ| that the distance between points may cost
)

// newPhiScan takes the cells that newCells made, or nil: then nothing is known.
func newPhiScan(c *cells) *phiScan {
	s := &phiScan{cells: c, width: 0.03}
	if c == nil {
		return s
	}
	n := len(c.low)
	// Prefix sums over the cells; the rest of every cut is a range of them.
	first, second, deviation := make([]float64, n+1), make([]float64, n+1), make([]float64, n+1)
	a := c.low[0].Left
	if c.middle {
		a = 0
	}
	for i, m := range c.low {
		mean := m.Least + (m.Most-m.Least)/2
		off := (m.Most-m.Least)/2 + 16*num.Ulp*math.Abs(mean)
		reach := math.Max(m.Right-mean, mean-m.Left)
		s.mean = append(s.mean, mean)
		s.total += m.Mass
		first[i+1] = first[i] + m.Mass*off
		second[i+1] = second[i] + m.Mass*reach*reach/2
		deviation[i+1] = deviation[i] + m.Mass*math.Max(math.Abs(m.Left-a), math.Abs(m.Right-a))
	}
	between := func(sums []float64, x cut) float64 { return math.Max(0, sums[x.to]-sums[x.from]) + 1e-12*sums[x.to] }
	for _, x := range c.cuts {
		s.cuts = append(s.cuts, scanCut{x, between(first, x), between(second, x), between(deviation, x)})
	}
	return s
}

// bound bounds √(|φ|² − 1 + M²) for |t−m| ≤ far, t and m ≥ least. cost is the part of
// it that far costs.
func (s *phiScan) bound(m, far, least float64) (bound, cost float64) {
	var x *scanCut
	extra := math.Inf(1)
	for i := range s.cuts {
		y := &s.cuts[i]
		if v := m*(y.first+m*y.second) + far*y.deviation + y.variation/least; v < extra {
			x, extra = y, v
		}
	}
	if x == nil {
		return math.Inf(1), 0
	}
	var re, im float64
	for i := x.from; i < x.to; i++ {
		sin, cos := math.Sincos(m * s.mean[i])
		re += s.cells.low[i].Mass * cos
		im += s.cells.low[i].Mass * sin
	}
	s.spent += 2 * sineCost * float64(x.to-x.from)
	return math.Hypot(re, im) + extra*(1+1e-9) + 1e-12, far * x.deviation
}

func (s *phiScan) over(t0, t1 float64) float64 {
	worst := 0.0
	t, h := t0, s.width*t0
	for range scanPoints {
		last := h >= t1-t
		if last {
			h = t1 - t
		}
		bound, cost := s.bound(t+h/2, h/2, t)
		if !(bound < s.total) {
			return 0
		}
		share := scanShare*(s.total-bound+cost) + 1e-4
		if cost > share && h > 1e-4*t {
			h *= math.Max(0.1, 0.9*share/cost)
			continue
		}
		s.width = h / t
		worst = math.Max(worst, bound)
		if last {
			return loss.LogModulus(math.Log1p(-(s.total-worst)*(s.total+worst)*(1-1e-9)) / 2)
		}
		t += h
		h *= math.Max(1, math.Min(2, 0.9*share/cost))
	}
	return 0
}
