// SPDX-License-Identifier: Apache-2.0

package loss

import "github.com/dpaccountant/accountant/internal/num"

// Moved is a loss that stands for several mechanisms, of which an adversary chooses one for each release after
// the answers before. All their losses are on one grid, and both directions of each have the same law.
type Moved interface {
	// Moves returns the laws of the loss of each mechanism; outcomes with the probability e^{−depth} in all may be
	// missing from each of them. It returns false where that would take too long.
	Moves(depth float64, in *num.Interrupt) (Moves, bool)
}

// Moves are the laws of the losses that an adversary may choose from.
type Moves struct {
	Unit   float64 // all losses are whole multiples of it, which is known within 4 Ulp of its size
	Stride int     // and of each other apart by whole multiples of Stride·Unit
	Laws   []Law

	// Reach bounds the sums of n losses: for every choice Σ L is beyond Least·n·Unit − Reach·√n·Unit and
	// Most·n·Unit + Reach·√n·Unit with a probability of at most 2e^{−depth}.
	Least, Most, Reach float64

	Err  float64 // bound on the relative errors of all masses
	Tail float64 // bound on what is missing from each law
}

// Law has Masses[i] at the loss (First + i·Stride)·Unit.
type Law struct {
	First  int
	Masses []float64
}

// bounded is a loss that stands for a class, with a pair and a bound on K.
type bounded interface {
	// Bound is the loss of the same mechanism of which nothing but a bound on K is known.
	Bound() Loss
}

// BoundOf is the bound on K of a loss that has one beside a pair that stands for a class, or the loss itself.
// See docs/math/vectors.md §1.4.13.4.
func BoundOf(l Loss) Loss {
	if b, ok := l.(bounded); ok {
		return b.Bound()
	}
	return l
}
