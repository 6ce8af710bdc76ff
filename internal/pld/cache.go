// SPDX-License-Identifier: Apache-2.0

package pld

import (
	"math"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/num"
	"github.com/dpaccountant/accountant/internal/pld/closed"
	"github.com/dpaccountant/accountant/internal/pld/contour"
	"github.com/dpaccountant/accountant/internal/pld/lattice"
)

// Cache answers one growing composition again and again, by the contour's cache where that
// has an answer that is close enough, and otherwise as the functions Epsilon and LogDelta
// do. The zero value is ready. It is not for concurrent use.
type Cache struct {
	contour contour.Cache
}

// Bytes is about what the cache holds in memory.
func (k *Cache) Bytes() int { return k.contour.Bytes() }

// cacheable reports whether the contour may answer about c: every pair is attained, and none is
// a declared guarantee.
func cacheable(c loss.Composition, w Wanted) bool {
	if len(c) == 0 || c.Dominating() {
		return false
	}
	_, _, declared := c.Declared(w.In)
	return !declared
}

// Epsilon encloses ε at δ in (0, 1), as the function Epsilon does.
func (k *Cache) Epsilon(c loss.Composition, delta float64, w Wanted) (loss.Bounds, string) {
	low, high := c.InfinityMass()
	rest, most := loss.Finite(delta, high), math.Min(loss.FiniteUp(delta, low), math.Nextafter(1, 0))
	if !(rest > 0) || !cacheable(c, w) {
		return Epsilon(c, delta, w)
	}
	down, up := num.LogDown(rest), num.LogUp(most)
	return narrowed(ofFew(w, c, fewEpsilonGap), true, lattice.EpsilonGap, func(w Wanted) (loss.Bounds, string) {
		if _, none := closed.Of(c, w.In); none != "" {
			if b, ok := k.contour.Epsilon(c, down, up, w); ok {
				return b, ""
			}
		}
		return overall(c, asking{w, true, func(c loss.Composition, w Wanted) (loss.Bounds, string) {
			return epsilonWithin(c, delta, w)
		}, epsilonOf(delta)})
	})
}

// LogDelta encloses ln δ at ε ≥ 0, as the function LogDelta does.
func (k *Cache) LogDelta(c loss.Composition, epsilon float64, w Wanted) (loss.Bounds, string) {
	if !cacheable(c, w) {
		return LogDelta(c, epsilon, w)
	}
	return narrowed(ofFew(w, c, fewLogGap), false, lattice.LogGap, func(w Wanted) (loss.Bounds, string) {
		if _, none := closed.Of(c, w.In); none != "" {
			if b, ok := k.contour.LogDelta(c, epsilon, w); ok {
				return withAtom(c, b), ""
			}
		}
		return overall(c, asking{w, false, func(c loss.Composition, w Wanted) (loss.Bounds, string) {
			return logDeltaWithin(c, epsilon, w)
		}, logDeltaOf(epsilon)})
	})
}
