// SPDX-License-Identifier: Apache-2.0

package lattice

import (
	"math"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/num"
)

// grid is the axis of losses offset + i·step, i whole. The offsets of a
// composition add up, so every loss may have its own.
type grid struct {
	offset, step float64
}

// point is the grid's point i.
func (g grid) point(i int) float64 { return math.FMA(float64(i), g.step, g.offset) }

// below is the last point at or below l, give or take tolerance.
func (g grid) below(l float64) int {
	i := int(math.Floor((l - g.offset) / g.step))
	if l+g.tolerance(l) >= g.point(i+1) {
		return i + 1
	}
	return i
}

// tolerance covers the rounding of positions near l, and what loss.Dominated
// takes off a parameter. What is moved by it is paid for with
// measure.shift.
func (g grid) tolerance(l float64) float64 {
	return 48 * num.Ulp * (math.Abs(g.offset) + math.Abs(l) + g.step)
}

// measure is P on a grid for one release, tilted:
//
//	weights[i] = P(L = at(first+i))·e^{θ·at(first+i) − scale},  Σ weights = 1.
//
// With the counts n_j, the sum of true losses is at most, or at least, the
// lattice's plus, or minus, Σ n_j·shift_j; so rounding of positions is paid once.
type measure struct {
	grid
	theta   float64
	first   int
	weights []float64
	scale   float64 // ln E[e^{θL}; L < ∞] on the lattice

	shift float64

	// lost bounds ln of the mass at L = +∞: from above on the pessimistic side,
	// where the cut tail is in it, from below on the other.
	lost float64
	// dropped bounds the finite mass that an optimistic measure left out.
	dropped float64

	// moment is about ln E[e^{θL}; L < ∞] had the tail above been moved down to the last
	// point: both sides' tell what the step costs. Where it truly lies does not matter, as
	// it is so rare that it is cut, and its own moment may exceed all else or be infinite.
	moment float64
}

// task says what of a pair to put on the lattice and how.
type task struct {
	in     *num.Interrupt
	pair   loss.Pair
	theta  float64
	lo, hi float64 // the losses to resolve; beyond them tails are cut
	// roundUp: weights are rounded up, otherwise down.
	roundUp bool
	// discrete: the pair has atoms only.
	discrete bool
}

// rounded is an exponent with its error taken to the task's side. See docs/math/lattice.md §3.6.
func (t *task) rounded(m loss.Mass, l float64) float64 {
	err := m.LogErr + 4*num.Ulp*(2+math.Abs(m.LogP)+math.Abs(t.theta*l))
	if t.roundUp {
		return m.LogP + err + t.theta*l
	}
	return m.LogP - err + t.theta*l
}

// finish normalises the weights. See docs/math/lattice.md §3.6.
func (t *task) finish(m *measure, scale float64) {
	var total num.Sum
	for _, w := range m.weights {
		total.Add(w)
	}
	sum := total.Value()
	for i := range m.weights {
		m.weights[i] /= sum
	}
	// The weights' own roundings, a dozen each, those of e^{θd} for distances up to
	// two steps, and one for every atom that may have been added, in one place.
	slack := num.Ulp * (32 + 8*math.Abs(t.theta)*m.step + 2*float64(len(t.pair.Atoms())))
	if !t.roundUp {
		slack = -slack
	}
	m.scale = scale + num.Log(sum) + slack
}

// pessimistic puts the pair on the grid by connect-the-dots (Doroshenko et al.
// 2022, arXiv 2207.04380v3, §4): the mass of a cell (a, b] goes to its two ends
// so that P's and Q's masses are both kept,
//
//	p_b = p·(1 − e^{−(m−a)})/(1 − e^{−(b−a)}),  p_a = p − p_b,  m = ln(p/q).
//
// The original pair is a post-processing of the result. What is above hi goes to
// +∞, what is below lo up to the lowest point; every rounding moves mass up.
// See docs/math/lattice.md §3.1.
func (t *task) pessimistic(g grid) measure {
	m := measure{grid: g, theta: t.theta}
	m.first = int(math.Floor((t.lo - g.offset) / g.step))
	last := max(g.below(t.hi), m.first)
	if g.point(last) < t.hi-g.tolerance(t.hi) {
		last++
	}
	n := last - m.first
	edges := make([]float64, n+3)
	edges[0], edges[n+2] = math.Inf(-1), math.Inf(1)
	for i := range n + 1 {
		edges[i+1] = g.point(m.first + i)
	}
	var cells []loss.Mass
	var slack float64
	beyond := loss.Mass{LogP: math.Inf(-1)}
	if !t.discrete {
		cells = make([]loss.Mass, n+2)
		slack = fillCells(t.pair, edges, cells, t.in)
		cells, beyond = cells[:n+1], cells[n+1]
	}
	atoms := t.pair.Atoms()

	reach := math.Max(math.Abs(edges[1]), math.Abs(edges[n+1]))
	m.shift = slack + g.tolerance(reach)
	up := func(a loss.Mass) float64 { return a.Loss + a.LossErr + m.shift }

	m.weights = make([]float64, n+1)
	scale := math.Inf(-1)
	for i, c := range cells {
		scale = math.Max(scale, c.LogP+t.theta*edges[i+1])
	}
	for _, a := range atoms {
		scale = math.Max(scale, a.LogP+t.theta*math.Min(a.Loss, edges[n+1]))
	}
	fall, width := math.Exp(-t.theta*g.step), -math.Expm1(-g.step)
	// place puts a mass into the cell below point i.
	place := func(a loss.Mass, i int) {
		if math.IsInf(a.LogP, -1) {
			return
		}
		w := math.Exp(t.rounded(a, edges[i+1]) - scale)
		share := -math.Expm1(edges[i]-up(a)) / width
		if i == 0 || share >= 1 {
			m.weights[i] += w
			return
		}
		share = math.Max(0, share)
		m.weights[i] += w * share
		m.weights[i-1] += w * (1 - share) * fall
	}
	for i, c := range cells {
		place(c, i)
	}
	var lost num.LogSum
	var cut float64
	lose := func(a loss.Mass) {
		if !math.IsInf(a.LogP, -1) {
			lost.Add(a.LogP + a.LogErr)
			cut += math.Exp(a.LogP + t.theta*edges[n+1] - scale)
		}
	}
	if infinite := t.pair.Infinite(); infinite > 0 {
		lost.Add(num.LogUp(infinite))
	}
	lose(beyond)
	for _, a := range atoms {
		i := g.below(a.Loss) - m.first
		if g.point(m.first+i) < a.Loss-g.tolerance(a.Loss) {
			i++
		}
		if i > n {
			lose(a)
			continue
		}
		m.shift = math.Max(m.shift, slack+g.tolerance(reach)+a.LossErr+g.tolerance(a.Loss))
		place(a, max(i, 0))
	}
	m.lost = lost.Log()
	m.lost += 16 * num.Ulp * (1 + math.Abs(num.Finite(m.lost)))
	t.finish(&m, scale)
	m.moment = num.Log(math.Exp(m.scale-scale)+cut) + scale
	return m
}

// tiltedTo bounds ln E[e^{(θ+d)L}; L < ∞] on the lattice from above. See docs/math/lattice.md §3.4.
func (m *measure) tiltedTo(d float64) float64 {
	first, last := d*m.point(m.first), d*m.point(m.first+len(m.weights)-1)
	shift, reach := math.Max(first, last), math.Max(math.Abs(first), math.Abs(last))
	var sum num.Sum
	for i, w := range m.weights {
		if w != 0 {
			sum.Add(w * math.Exp(d*m.point(m.first+i)-shift))
		}
	}
	log := num.Log(sum.Value() + vanished)
	err := num.Ulp * (16 + 4*math.Abs(m.scale) + 8*reach + 4*math.Abs(log))
	return m.scale + shift + log + err
}
