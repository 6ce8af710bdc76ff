// SPDX-License-Identifier: Apache-2.0

package loss

import (
	"math"

	"github.com/dpaccountant/accountant/internal/num"
)

// Side says which way a pair's parameters are rounded where they are not known
// exactly: Facts are rounded up from what was reported by less than 2⁻⁵¹.
type Side uint8

const (
	// Dominating: the pair is at least as bad as the loss.
	Dominating Side = iota
	// Dominated: the loss is at least as bad as the pair.
	Dominated
)

// Pair is a loss's pair (P, Q) in one direction as masses on the axis of the
// loss L = ln(P/Q)(x), x ~ P: what a lattice needs, for any mechanism
// (docs/math/lattice.md §3). P is not normalised to the finite losses.
type Pair interface {
	// Ends returns finite losses lo ≤ hi outside of which P has little mass:
	// ln P(L < lo) is about logBelow at most and ln P(hi < L < ∞) about logAbove,
	// or less. They steer; Cells proves.
	Ends(logBelow, logAbove float64) (lo, hi float64)

	// Cells fills cells[i] with what lies in (edges[i], edges[i+1]], atoms apart.
	// edges increase and may end with ±Inf; there is one cell less. A cell holds
	// outcomes with losses in (edges[i] − slack, edges[i+1] + slack] only.
	Cells(edges []float64, cells []Mass) (slack float64)

	// Atoms are the finite losses with a mass of their own, increasing.
	Atoms() []Mass

	// Infinite is P(L = ∞).
	Infinite() float64

	// Null is the mass of Q where P has none.
	Null() float64

	// Anchor is the loss around which most of P gathers: there a grid point
	// serves best.
	Anchor() float64
}

// Mass is a set of outcomes: P's mass and the loss ln(P/Q) of the whole set.
type Mass struct {
	LogP, Loss      float64 // LogP = −Inf: nothing
	LogErr, LossErr float64 // bounds on their errors
}

// joint is a pair of which a cell depends on the other cells' edges too.
type joint interface{ Joint() }

// Separable reports whether Cells may be asked for some cells at a time: whether each cell
// depends on its own edges only.
func Separable(p Pair) bool {
	_, ok := p.(joint)
	return !ok
}

// Sided returns a parameter v > 0 as it is, or rounded down by what it may have
// been rounded up.
func Sided(v float64, side Side) float64 {
	if side == Dominated {
		return v * (1 - 16*num.Ulp)
	}
	return v
}

// Nothing is the mass of an empty set.
func Nothing() Mass { return Mass{LogP: math.Inf(-1)} }

// latticed is a pair all of whose finite losses are whole multiples of a span apart
// from its anchor: a grid with a step that divides the span loses nothing.
type latticed interface{ Span() float64 }

// SpanOf is the span of a pair on a lattice of its own, 0 for every other.
// See docs/math/noise.md §1.4.9.
func SpanOf(p Pair) float64 {
	if l, ok := p.(latticed); ok {
		return l.Span()
	}
	return 0
}

type mixed interface{ PartCount() int }

// PartsOf is how many distributions each cell of a pair has to be summed of, 1 for
// most pairs: what a cell costs.
func PartsOf(p Pair) int {
	if m, ok := p.(mixed); ok {
		return m.PartCount()
	}
	return 1
}

// Exchanged exchanges P and Q of an outcome.
func Exchanged(m Mass) Mass {
	if math.IsInf(m.LogP, -1) {
		return m
	}
	return Mass{
		LogP: m.LogP - m.Loss, Loss: -m.Loss,
		LogErr: m.LogErr + m.LossErr + num.Ulp*(math.Abs(m.LogP)+math.Abs(m.Loss)), LossErr: m.LossErr,
	}
}

// Union is the union of two sets of outcomes.
func Union(a, b Mass) Mass {
	switch {
	case math.IsInf(a.LogP, -1):
		return b
	case math.IsInf(b.LogP, -1):
		return a
	}
	p, q := num.LogAddExp(a.LogP, b.LogP), num.LogAddExp(a.LogP-a.Loss, b.LogP-b.Loss)
	logErr, lossErr := math.Max(a.LogErr, b.LogErr), math.Max(a.LossErr, b.LossErr)
	rounding := num.Ulp * 8 * (1 + math.Abs(p) + math.Abs(q) + math.Abs(a.LogP) + math.Abs(b.LogP))
	return Mass{LogP: p, Loss: p - q, LogErr: logErr + rounding, LossErr: 2*logErr + lossErr + 2*rounding}
}
