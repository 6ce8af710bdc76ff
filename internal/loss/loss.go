// Package loss holds the one numeric primitive the analyses share: the privacy
// loss of each mechanism under an adjacency, through its cumulant K(s) and its
// dominating pair (docs/math/cumulant.md §1).
//
// For neighbouring outputs' distributions P and Q, L = ln(P/Q)(x) with x ~ P is
// the loss and K(s) = ln E_P[e^{sL} | L < ∞]. Everything here either bounds its
// own error or errs upwards.
package loss

import (
	"fmt"

	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/num"
)

// Direction is which of two neighbours' outputs is P. An asymmetric mechanism
// has two; a composition is composed in each apart and the larger curve counts.
type Direction uint8

const (
	// Remove: P is the output with the record, Q without.
	Remove Direction = iota
	// Add: P is the output without the record, Q with it.
	Add
)

func (d Direction) String() string {
	if d == Add {
		return "add"
	}
	return "remove"
}

// Loss is the privacy loss of one application of a mechanism under one
// adjacency. Its dynamic type is always comparable, and two that are == are
// the same loss.
type Loss interface {
	// Facts are the properties the analyses choose by.
	Facts() Facts

	// Cumulant returns K(s) at any real s. Where K is infinite, or overflows, it
	// is +Inf; with BoundOnly it is an upper bound, for s > 0.
	Cumulant(d Direction, s float64) Value

	// Line returns K(θ + it) as a function of t.
	Line(d Direction, theta float64) Line

	// MaxLoss is the least upper bound of the finite losses; maybe +Inf.
	MaxLoss(d Direction) float64

	// order is the canonical sort key within the type.
	Order() [4]float64
}

// Facts are a loss's properties. Parameters are rounded up from what was
// reported, by less than a relative 2⁻⁵¹.
type Facts struct {
	// Name is the loss's family, for messages: "Gaussian".
	Name string

	// Atom is m, the probability of an infinite loss. With OneSided it is that only
	// in the remove direction; in both, Rho and Epsilon hold when an event of
	// probability Atom is taken out.
	Atom     float64
	OneSided bool

	// Uneven: m is Atoms in the two directions, and Atom the larger of them, of which
	// Rho and Epsilon hold as above.
	Uneven bool
	Atoms  [2]float64

	// Rho is the least known ρ for which the mechanism is ρ-zCDP apart from the
	// atom (Bun–Steinke 2016, Def. 8.1); +Inf where there is none.
	Rho float64

	// Epsilon is the least ε for which the mechanism is (ε, Atom)-DP; +Inf where
	// there is none.
	Epsilon float64

	// Rounded: of a Response, Epsilon is not what was reported but computed from it
	// and rounded up; with Atom likewise, by a relative 2⁻⁴⁶ at most where it is above
	// 2⁻⁹⁶⁰.
	Rounded bool

	// Last is the largest s at which a bound on K is known where there is none beyond:
	// a declared table ends at its last order. It is 0 where there is no such s.
	Last float64

	// Symmetric: both directions have the same loss.
	Symmetric bool

	// Dominating: the pair is at least as bad as every mechanism that the report may
	// mean, of which none need attain it: it proves nothing from below.
	Dominating bool

	// BoundOnly: no pair is known; K is an upper bound on the real axis, s > 0.
	BoundOnly bool
}

// AtomIn is m in one direction.
func (f Facts) AtomIn(d Direction) float64 {
	switch {
	case f.Uneven:
		return f.Atoms[d]
	case f.OneSided && d == Add:
		return 0
	}
	return f.Atom
}

// Of returns the loss of one application of m under adj. m must have passed
// Check(adj). A mechanism that is several releases has several losses (TermsOf):
// Of has none.
func Of(m mechanism.Mechanism, adj mechanism.Adjacency) (Loss, error) { return of(m, adj, nil) }

// OfWithin is Of for a loss that in interrupts, wherever it is computed.
func OfWithin(m mechanism.Mechanism, adj mechanism.Adjacency, in *num.Interrupt) (Loss, error) {
	return of(m, adj, in)
}

// of is Of for losses that in interrupts.
func of(m mechanism.Mechanism, adj mechanism.Adjacency, in *num.Interrupt) (Loss, error) {
	switch m := m.(type) {
	case mechanism.Gaussian:
		return ofGaussian(m, adj), nil
	case mechanism.GaussianDP:
		return gaussian{mu: m.Mu}, nil
	case mechanism.Laplace:
		return ofLaplace(m, adj), nil
	case mechanism.RandomizedResponse:
		return ofRandomizedResponse(m), nil
	case mechanism.PureDP:
		return response{epsilon: m.Epsilon, buckets: 2, kind: pureDP}, nil
	case mechanism.ApproximateDP:
		return response{epsilon: m.Epsilon, buckets: 2, atom: m.Delta, kind: approximateDP}, nil
	case mechanism.ZeroConcentratedDP:
		return zeroConcentrated{rho: m.Rho, atom: m.Delta}, nil
	case mechanism.RepeatAndSelect:
		return ofRepeatAndSelect(m, adj, in)
	case mechanism.PrivacyLossTable:
		return ofTable(m), nil
	case mechanism.RenyiDP:
		return ofRenyiDP(m), nil
	case mechanism.NameAndShame:
		return failure{atom: m.Delta}, nil
	case mechanism.PoissonSampled:
		return ofPoissonSampled(m, adj, in)
	case mechanism.MixtureOfGaussians:
		return ofMixture(m, adj, in), nil
	case mechanism.Group:
		return ofGroup(m, adj, in)
	case mechanism.FixedSizeSampled:
		return ofFixedSize(m, in)
	case mechanism.TruncatedPoissonSampled:
		return ofTruncated(m, adj, in)
	case mechanism.Shuffled:
		return ofShuffled(m, adj), nil
	case mechanism.TreeAggregation:
		return ofTree(m, adj), nil
	case mechanism.BandedMatrix:
		return ofBanded(m, adj), nil
	}
	if l := ofNoise(m, adj); l != nil {
		return l, nil
	}
	return nil, fmt.Errorf("%s: no privacy loss is known for this mechanism", m.Kind())
}
