package pld

import (
	"math"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/num"
)

// Declared zCDP guarantees are no distribution, but their sum has a dominating pair
// (loss.DeclaredPair). Composed with the rest on the lattice it bounds from above, at
// most what the Rényi analysis proves and the lattice's gap. From below only the
// rest counts: a mechanism with a guarantee may lose nothing, and more mechanisms
// never lose less. Alone, zCDP's conversion is as good but near ε = 0, where this knows
// better.

const onlyDeclared = "nothing but zCDP guarantees: zCDP converts their sum"

// declaredEpsilon is epsilonWithin where c has zCDP guarantees, without which it is rest.
func declaredEpsilon(c, rest loss.Composition, rho, delta float64, w Wanted) (loss.Bounds, string) {
	if len(rest) == 0 {
		if e, ok := loss.DeclaredEpsilon(rho, num.LogDown(delta)); ok {
			return loss.Bounds{Upper: e}, ""
		}
		return loss.Bounds{}, onlyDeclared
	}
	b, reason := latticeEpsilon(c, delta, w.latticeGap(latticeEpsilonGap), w.Stop)
	if reason != "" {
		return loss.Bounds{}, reason
	}
	b.Lower = 0
	if e, reason := epsilonWithin(rest, delta, w); reason == "" {
		b.Lower = e.Lower
	}
	return b, ""
}

// declaredLogDelta is logDeltaWithin likewise.
func declaredLogDelta(c, rest loss.Composition, rho, epsilon float64, w Wanted) (loss.Bounds, string) {
	if len(rest) == 0 {
		if d, ok := loss.DeclaredLogDelta(rho, epsilon); ok {
			return loss.Bounds{Lower: math.Inf(-1), Upper: d}, ""
		}
		return loss.Bounds{}, onlyDeclared
	}
	b, reason := latticeLogDelta(c, epsilon, w.latticeGap(latticeLogGap), w.Stop)
	if reason != "" {
		return loss.Bounds{}, reason
	}
	b.Lower = math.Inf(-1)
	if d, reason := logDeltaWithin(rest, epsilon, w); reason == "" {
		b.Lower = d.Lower
	}
	return b, ""
}
