// SPDX-License-Identifier: Apache-2.0

package pld

import (
	"math"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/num"
	"github.com/dpaccountant/accountant/internal/pld/lattice"
)

// Declared guarantees of zCDP and RDP are no distribution, but their sum has a
// dominating pair (loss.Guarantee). Composed with the rest on the lattice it bounds from
// above, at most what the Rényi analysis proves and the lattice's gap. From below only
// the rest counts: a mechanism with a guarantee may lose nothing, and more mechanisms
// never lose less. Alone, the conversion is as good but near ε = 0, where this knows
// better.

const onlyDeclared = "nothing but bounds on Rényi divergences: rdp converts their sum"

// declaredEpsilon is epsilonNarrowed where c has such guarantees, without which it is rest.
// See docs/math/declared.md §4.9.3.
func declaredEpsilon(c, rest loss.Composition, g loss.Guarantee, delta float64, w Wanted) (loss.Bounds, string) {
	if len(rest.Losing()) == 0 {
		_, atom := c.InfinityMass()
		if finite := loss.Finite(delta, atom); finite > 0 {
			if e, ok := g.Epsilon(num.LogDown(finite)); ok {
				return loss.Bounds{Upper: e}, ""
			}
		}
		return loss.Bounds{}, onlyDeclared
	}
	b, reason := narrowed(ofFew(w, rest, fewEpsilonGap), true, lattice.EpsilonGap,
		func(w Wanted) (loss.Bounds, string) { return lattice.Epsilon(c, delta, w) })
	if reason != "" {
		return loss.Bounds{}, reason
	}
	b.Lower = 0
	if e, reason := epsilonNarrowed(rest, delta, w); reason == "" {
		b.Lower = e.Lower
	}
	return b, ""
}

// declaredLogDelta is for logDeltaNarrowed what declaredEpsilon is for epsilonNarrowed.
func declaredLogDelta(c, rest loss.Composition, g loss.Guarantee, epsilon float64, sides bool,
	w Wanted) (loss.Bounds, string) {
	if len(rest.Losing()) == 0 {
		_, atom := c.InfinityMass()
		if d, ok := g.LogDelta(epsilon); ok {
			return loss.Bounds{Lower: math.Inf(-1), Upper: loss.LogTotal(d, atom)}, ""
		}
		return loss.Bounds{}, onlyDeclared
	}
	b, reason := narrowed(ofFew(w, rest, fewLogGap), false, lattice.LogGap, func(w Wanted) (loss.Bounds, string) {
		w.Half = sides
		return lattice.LogDelta(c, epsilon, w)
	})
	if reason != "" {
		return loss.Bounds{}, reason
	}
	b.Lower = math.Inf(-1)
	if d, reason := logDeltaNarrowed(rest, epsilon, sides, w); reason == "" {
		b.Lower = d.Lower
	}
	return b, ""
}
