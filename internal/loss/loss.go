// SPDX-License-Identifier: Apache-2.0

// Package loss is what the analyses share: the privacy loss of a mechanism under an
// adjacency, through its cumulant K(s) and its dominating pair
// (docs/math/cumulant.md §1). It knows no kind of mechanism.
//
// For neighbouring outputs' distributions P and Q, L = ln(P/Q)(x) with x ~ P is
// the loss and K(s) = ln E_P[e^{sL} | L < ∞]. Everything here either bounds its
// own error or errs upwards.
//
// The files, from the bottom: cumulant (values of K), mass and atoms (pairs as masses), curve
// and conversion (from K to ε and δ), loss and capability (what a loss is, and what it may
// have beside), spread and tilted (a loss along a line, and its decay), estimate, composition,
// renyi (bounds on K at an order), guarantee and guaranteepair (what is known by bounds on K
// alone), make (how a kind of mechanism becomes a loss).
//
// The packages, from the bottom: quadrature and poisson are numerics; pairs are losses that
// many kinds have; allocation bounds sums of likelihood ratios and participation the sensitivity
// of a matrix mechanism; declared, noise, selection,
// sampling and compound are the families of kinds; kinds lists them all. A new kind is a file
// in its family and a line in that family's Kinds.
package loss

import "github.com/dpaccountant/accountant/internal/num"

// Loss is the privacy loss of one application of a mechanism under one
// adjacency. It is a value that holds parameters only: its dynamic type is always
// comparable, and two that are == are the same loss.
//
// A method that can take long is given the interrupt that may end it, last; nil lets it come to
// its end. What it returns goes on using that interrupt.
type Loss interface {
	// Facts are the properties the analyses choose by.
	Facts() Facts

	// Cumulant returns K(s) at any real s. Where K is infinite, or overflows, it
	// is +Inf; with BoundOnly it is an upper bound, for s > 0.
	Cumulant(d Direction, s float64, in *num.Interrupt) Value

	// Line returns K(θ + it) as a function of t.
	Line(d Direction, theta float64, in *num.Interrupt) Line

	// MaxLoss is the least upper bound of the finite losses; maybe +Inf.
	MaxLoss(d Direction) float64

	// Pair is the loss's pair in one direction; nil where none is known, or where its
	// parameters are outside the range that masses are computed for.
	Pair(d Direction, side Side, in *num.Interrupt) Pair

	// Decay bounds the characteristic function on the line Re s = θ, given k = K(θ). It is
	// Undecayed where nothing is proven; then no contour integral ends.
	Decay(d Direction, theta float64, k Value, in *num.Interrupt) Decay

	// Covers reports whether this loss dominates o in both directions. It is false where
	// that is not known: then both count.
	Covers(o Loss) bool

	// Grouped is the loss of k ≥ 2 records in the place of one. It is nil where no more is
	// known of it than what Epsilon and InfinityMass of Facts imply.
	Grouped(k uint64) (Loss, error)

	// Order is the canonical sort key within the type.
	Order() [4]float64
}

// Facts are a loss's properties. Parameters are rounded up from what was
// reported, by less than a relative 2⁻⁵¹.
type Facts struct {
	// Name is the loss's family, for messages: "Gaussian".
	Name string

	// InfinityMass is m, the probability of an infinite loss. With OneSided it is that
	// only in the remove direction; in both, Rho and Epsilon hold when an event of this
	// probability is taken out.
	InfinityMass float64
	OneSided     bool

	// Uneven: m is InfinityMasses in the two directions, and InfinityMass the larger of
	// them, of which Rho and Epsilon hold as above.
	Uneven         bool
	InfinityMasses [2]float64

	// Cut: the mechanism itself never has an infinite loss. InfinityMass is of its pair, whose
	// largest losses are not computed; Rho, Epsilon, MaxLoss and Renyi hold without it.
	Cut bool

	// Rho is the least known ρ for which the mechanism is ρ-zCDP apart from the
	// infinity mass (Bun–Steinke 2016, Def. 8.1); +Inf where there is none.
	Rho float64

	// Epsilon is the least ε for which the mechanism is (ε, InfinityMass)-DP; +Inf where
	// there is none.
	Epsilon float64

	// Rounded says of a Response that Epsilon is not what was reported, but was computed from
	// it and rounded up. The infinity mass was computed and rounded up, too, by a relative 2⁻⁴⁶
	// at most where it is above 2⁻⁹⁶⁰.
	Rounded bool

	// Symmetric: both directions have the same loss.
	Symmetric bool

	// Dominating: the pair is at least as bad as every mechanism that the report may
	// mean, of which none need attain it: it proves nothing from below.
	Dominating bool

	// BoundOnly: no pair is known; K is an upper bound on the real axis, s > 0.
	BoundOnly bool
}

// InfinityMassIn is m in one direction.
func (f Facts) InfinityMassIn(d Direction) float64 {
	switch {
	case f.Uneven:
		return f.InfinityMasses[d]
	case f.OneSided && d == Add:
		return 0
	}
	return f.InfinityMass
}

// Failing are the facts with the probability that the mechanism itself has an infinite loss in
// the place of its pair's.
func (f Facts) Failing() Facts {
	if f.Cut {
		f.InfinityMass, f.InfinityMasses = 0, [2]float64{}
	}
	return f
}

// PairOf is l.Pair; false where it is nil.
func PairOf(l Loss, d Direction, side Side, in *num.Interrupt) (Pair, bool) {
	pair := l.Pair(d, side, in)
	return pair, pair != nil
}

// Decay bounds the tilted characteristic function
//
//	φ(t) = M(θ+it)/M(θ),  M(s) = E[e^{sL} | L < ∞],
//
// on an interval: for 0 < t0 ≤ t1 ≤ +Inf it returns an upper bound ≤ 0 on
// ln|φ(t)| over t0 ≤ t ≤ t1, or 0 where nothing better is known. With closely it
// may take a millisecond where that helps (docs/math/inversion.md §2.3). It also returns what was
// computed for that, in the units of Steps.Spent.
type Decay func(t0, t1 float64, closely bool) (log, spent float64)

// Undecayed knows of no decay: |φ| ≤ 1.
func Undecayed(float64, float64, bool) (log, spent float64) { return 0, 0 }
