// SPDX-License-Identifier: Apache-2.0

// Package pld answers a composition from the distribution of its privacy loss
// itself: exactly, from above and from below.
//
// The packages below it know one way each. closed has the compositions with a closed form;
// contour inverts the characteristic function of the loss along a line of the complex plane,
// where that function decays; lattice composes distributions on a grid by Fourier
// transforms, and takes the rest. All of them give certified intervals. This package asks
// them in turn, and has what holds for a composition as a whole: partitions, pairs that only
// dominate, and declared guarantees. What has no pair is refused, with the reason.
package pld

import (
	"math"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/num"
	"github.com/dpaccountant/accountant/internal/pld/closed"
	"github.com/dpaccountant/accountant/internal/pld/contour"
	"github.com/dpaccountant/accountant/internal/pld/interval"
	"github.com/dpaccountant/accountant/internal/pld/lattice"
)

// Wanted says how close the bounds should be and when to stop looking.
type Wanted = interval.Wanted

// Epsilon encloses ε at δ in (0, 1): +Inf where δ is below δ_∞. Closed form
// first, else the contour, and where that refuses or stays wider than wanted the
// lattice too: then both hold.
func Epsilon(c loss.Composition, delta float64, w Wanted) (loss.Bounds, string) {
	b, reason := epsilonOfPairs(c, delta, w)
	return nearlyEpsilon(c, delta, w, b, reason)
}

// epsilonOfPairs is Epsilon without what is nearly known.
func epsilonOfPairs(c loss.Composition, delta float64, w Wanted) (loss.Bounds, string) {
	return overall(c, asking{w, true, func(c loss.Composition, w Wanted) (loss.Bounds, string) {
		if rest, g, ok := c.Declared(w.In); ok {
			return declaredEpsilon(c, rest, g, delta, w)
		}
		return epsilonNarrowed(c, delta, w)
	}, epsilonOf(delta)})
}

// epsilonNarrowed is Epsilon of c as it is, without declared guarantees.
func epsilonNarrowed(c loss.Composition, delta float64, w Wanted) (loss.Bounds, string) {
	return narrowed(ofFew(w, c, fewEpsilonGap), true, lattice.EpsilonGap,
		func(w Wanted) (loss.Bounds, string) { return epsilonWithin(c, delta, w) })
}

// narrower is how much narrower than the bounds so far the next ones are to be. Finer
// grids cost about its square root more each time.
const narrower = 1. / 32

// Where Wanted.Closely says so, at most mostFew releases are enclosed this closely: a grid of
// the usual step misses most where little is averaged over.
const (
	mostFew       = 16
	fewEpsilonGap = 2e-7
	fewLogGap     = 1e-6
)

// ofFew is w, with at most that gap where c has few releases.
func ofFew(w Wanted, c loss.Composition, gap float64) Wanted {
	left := uint64(mostFew)
	for _, t := range c {
		if t.Count > left {
			return w
		}
		left -= t.Count
	}
	if w.Closely && !w.OneEnd && (w.Gap == 0 || w.Gap > gap) {
		w.Gap = gap
	}
	return w
}

// narrowed asks for bounds of ε, or of ln δ: first for the usual ones, and as long as they
// are wider than wanted for narrower ones, all of which hold. It ends where that does not
// help. What is asked for next depends on what was found and not on what is wanted, so
// that a finer request sees all that a coarser one does: no answer gets wider by asking
// for a narrower one. See docs/math/conversions.md §4.11.
func narrowed(w Wanted, epsilon bool, usualGap float64, ask func(Wanted) (loss.Bounds, string)) (loss.Bounds, string) {
	b, none := ask(Wanted{Closely: w.Closely, Stop: w.Stop, In: w.In})
	for w.Gap > 0 && none == "" && !w.Reached(epsilon, b) && !w.Stopped() {
		was := b.Upper - b.Lower
		finer, refused := w.InTime(func() (loss.Bounds, string) {
			return ask(Wanted{Gap: narrower * math.Min(was, usualGap), Stop: w.Stop, In: w.In})
		})
		if b, _ = interval.Both(b, "", finer, refused); !(b.Upper-b.Lower < 0.8*was) {
			break
		}
	}
	return b, none
}

// epsilonWithin is Epsilon at one gap.
func epsilonWithin(c loss.Composition, delta float64, w Wanted) (e loss.Bounds, reason string) {
	if len(c) == 0 {
		return loss.Bounds{}, ""
	}
	low, high := c.InfinityMass()
	down, up := loss.Finite(delta, high), math.Min(loss.FiniteUp(delta, low), math.Nextafter(1, 0))
	if f, why := closed.Of(c, w.In); why == "" {
		e = loss.Bounds{Lower: math.Inf(1), Upper: math.Inf(1)}
		if down > 0 {
			e.Upper = f.Epsilon(down).Upper
		}
		if delta > low {
			e.Lower = f.Epsilon(up).Lower
		}
		return e, ""
	}
	if r, ok := closed.Sum(c, w.In); ok {
		if e = r.Epsilon(delta); w.Reached(true, e) {
			return e, ""
		}
		b, reason := composedEpsilon(c, delta, down, up, w)
		return interval.Both(e, "", b, reason)
	}
	return composedEpsilon(c, delta, down, up, w)
}

// composedEpsilon is epsilonWithin by the contour and the lattice, with δ of the finite
// losses from down to up.
func composedEpsilon(c loss.Composition, delta, down, up float64, w Wanted) (e loss.Bounds, reason string) {
	if down > 0 {
		e, reason = contour.Epsilon(c, num.LogDown(down), num.LogUp(up), w)
		if reason == "" && (w.Reached(true, e) || w.Stopped()) {
			return e, ""
		}
	} else {
		e, reason = interval.Everything, "no finite loss is left at this delta"
	}
	b, refused := lattice.Epsilon(c, delta, w)
	return interval.Both(e, reason, b, refused)
}

// LogDelta encloses ln δ at ε ≥ 0 in the same way. δ = 0 is −Inf.
func LogDelta(c loss.Composition, epsilon float64, w Wanted) (loss.Bounds, string) {
	b, reason := logDeltaOfPairs(c, epsilon, w)
	return nearlyLogDelta(c, epsilon, w, b, reason)
}

// logDeltaOfPairs is LogDelta without what is nearly known.
func logDeltaOfPairs(c loss.Composition, epsilon float64, w Wanted) (loss.Bounds, string) {
	sides := c.Dominating() // then one side is of what dominates, and the other of what is attained
	return overall(c, asking{w, false, func(c loss.Composition, w Wanted) (loss.Bounds, string) {
		if rest, g, ok := c.Declared(w.In); ok {
			return declaredLogDelta(c, rest, g, epsilon, sides, w)
		}
		return logDeltaNarrowed(c, epsilon, sides, w)
	}, logDeltaOf(epsilon)})
}

// logDeltaNarrowed is LogDelta of c as it is, without declared guarantees.
func logDeltaNarrowed(c loss.Composition, epsilon float64, sides bool, w Wanted) (loss.Bounds, string) {
	return narrowed(ofFew(w, c, fewLogGap), false, lattice.LogGap, func(w Wanted) (loss.Bounds, string) {
		w.Half = sides
		return logDeltaWithin(c, epsilon, w)
	})
}

// logDeltaWithin is LogDelta at one gap.
func logDeltaWithin(c loss.Composition, epsilon float64, w Wanted) (logDelta loss.Bounds, reason string) {
	if len(c) == 0 {
		return loss.Bounds{Lower: math.Inf(-1), Upper: math.Inf(-1)}, ""
	}
	if f, why := closed.Of(c, w.In); why == "" {
		finite, _ := f.LogDelta(epsilon)
		return withAtom(c, finite), ""
	}
	if r, ok := closed.Sum(c, w.In); ok {
		if logDelta, _ = r.LogDelta(epsilon); w.Reached(false, logDelta) {
			return logDelta, ""
		}
		b, reason := composedLogDelta(c, epsilon, w)
		return interval.Both(logDelta, "", b, reason)
	}
	return composedLogDelta(c, epsilon, w)
}

// epsilonOf and logDeltaOf read a curve.
func epsilonOf(delta float64) func(loss.PrivacyCurve) loss.Bounds {
	return func(c loss.PrivacyCurve) loss.Bounds { return c.Epsilon(delta) }
}

func logDeltaOf(epsilon float64) func(loss.PrivacyCurve) loss.Bounds {
	return func(c loss.PrivacyCurve) loss.Bounds {
		b, _ := c.LogDelta(epsilon)
		return b
	}
}

// withAtom adds the probability of an infinite loss to ln δ(ε) of the finite ones.
func withAtom(c loss.Composition, finite loss.Bounds) loss.Bounds {
	low, high := c.InfinityMass()
	return loss.Bounds{Lower: loss.LogTotalDown(finite.Lower, low), Upper: loss.LogTotal(finite.Upper, high)}
}

// composedLogDelta is logDeltaWithin by the contour and the lattice.
func composedLogDelta(c loss.Composition, epsilon float64, w Wanted) (logDelta loss.Bounds, reason string) {
	finite, reason := contour.LogDelta(c, epsilon, w)
	if reason == "" {
		logDelta = withAtom(c, finite)
		if w.Reached(false, logDelta) || w.Stopped() {
			return logDelta, ""
		}
	}
	b, refused := lattice.LogDelta(c, epsilon, w)
	return interval.Both(logDelta, reason, b, refused)
}
