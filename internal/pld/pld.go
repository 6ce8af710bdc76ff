// Package pld answers a composition from the distribution of its privacy loss
// itself: exactly, from above and from below.
//
// Closed forms: one Laplace release, one Poisson-sampled Gaussian step, and
// randomized response, pure and approximate DP of one ε0 in any number. One release
// of any other pair is a single cell of it (release.go). The
// contour (contour*.go) inverts the loss cumulant where its characteristic
// function decays; the lattice (lattice*.go) takes the rest. All give certified
// intervals. What has no pair is refused, with the reason.
package pld

import (
	"math"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/num"
)

// Epsilon encloses ε at δ in (0, 1): +Inf where δ is below δ_∞. Closed form
// first, else the contour, and where that refuses or stays wider than wanted the
// lattice too: then both hold.
func Epsilon(c loss.Composition, delta float64, w Wanted) (loss.Bounds, string) {
	return overall(c, 0, func(c loss.Composition) (loss.Bounds, string) {
		return narrowed(w, true, latticeEpsilonGap, func(w Wanted) (loss.Bounds, string) { return epsilonWithin(c, delta, w) })
	})
}

// overall answers for every composition that c may stand for; nothing is the answer if
// nothing is lost.
func overall(c loss.Composition, nothing float64, ask func(loss.Composition) (loss.Bounds, string)) (loss.Bounds, string) {
	return anyPart(c, nothing, func(c loss.Composition) (loss.Bounds, string) {
		if c.Dominating() {
			return fromBelow(c, nothing, ask)
		}
		return ask(c)
	})
}

// mostChoices bounds the compositions that are asked about where releases are on disjoint
// parts, and mostReached those that bound them from below.
const mostChoices, mostReached = 16, 8

// anyPart answers for a record in any part of every release on disjoint parts. Where the
// data was parted before the first release the largest of all answers counts, from below
// too. Where there are too many to ask, or one has no answer, these releases count from above
// as if they had been parted later.
func anyPart(c loss.Composition, nothing float64, ask func(loss.Composition) (loss.Bounds, string)) (loss.Bounds, string) {
	if all := c.Choices(mostChoices); len(all) > 1 {
		b, reason := largest(all, func(c loss.Composition) (loss.Bounds, string) { return adaptively(c, nothing, ask) })
		if reason == "" {
			return b, ""
		}
	}
	return adaptively(c, nothing, ask)
}

// adaptively answers as if all partitions might depend on outputs: from above by the pair of
// the largest curve, or if there is none by bounds on K; from below by what an adversary can
// reach, for whom those that were fixed in advance are fixed (docs/math.md §1.5). A single
// release alone is all its parts.
func adaptively(c loss.Composition, nothing float64, ask func(loss.Composition) (loss.Bounds, string)) (loss.Bounds, string) {
	if parts := c.Alone(); parts != nil {
		each := func(c loss.Composition) (loss.Bounds, string) { return adaptively(c, nothing, ask) }
		if b, reason := largest(parts, each); reason == "" {
			return b, ""
		}
	}
	b, reason := ask(c.Adaptive())
	if reason != "" {
		return b, reason
	}
	if reached := c.Reached(mostReached); reached != nil {
		b.Lower = nothing
		for _, one := range reached {
			if least, none := ask(one); none == "" {
				b.Lower = math.Max(b.Lower, least.Lower)
			}
		}
	}
	return b, ""
}

// largest is the largest of the answers about all of them, if all have one.
func largest(all []loss.Composition, ask func(loss.Composition) (loss.Bounds, string)) (b loss.Bounds, reason string) {
	b = loss.Bounds{Lower: math.Inf(-1), Upper: math.Inf(-1)}
	for _, c := range all {
		one, reason := ask(c)
		if reason != "" {
			return one, reason
		}
		b = loss.Bounds{Lower: math.Max(b.Lower, one.Lower), Upper: math.Max(b.Upper, one.Upper)}
	}
	return b, ""
}

// fromBelow answers where pairs only dominate: from below what is attained counts, if
// anything is.
func fromBelow(c loss.Composition, nothing float64, ask func(loss.Composition) (loss.Bounds, string)) (loss.Bounds, string) {
	b, reason := ask(c)
	if reason != "" {
		return b, reason
	}
	b.Lower = nothing
	if rest := c.Attained(); len(rest) > 0 {
		if least, none := ask(rest); none == "" {
			b.Lower = least.Lower
		}
	}
	return b, ""
}

// narrower is how much narrower than the bounds so far the next ones are to be. Finer
// grids cost about its square root more each time.
const narrower = 1. / 32

// narrowed asks for bounds of ε, or of ln δ: first for the usual ones, and as long as they
// are wider than wanted for narrower ones, all of which hold. It ends where that does not
// help. What is asked for next depends on what was found and not on what is wanted, so
// that a finer request sees all that a coarser one does: no answer gets wider by asking
// for a narrower one.
func narrowed(w Wanted, epsilon bool, usualGap float64, ask func(Wanted) (loss.Bounds, string)) (loss.Bounds, string) {
	b, none := ask(Wanted{Stop: w.Stop, In: w.In})
	for w.Gap > 0 && none == "" && !w.Reached(epsilon, b) && !w.stopped() {
		was := b.Upper - b.Lower
		finer, refused := w.inTime(everything, func() (loss.Bounds, string) {
			return ask(Wanted{Gap: narrower * math.Min(was, usualGap), Stop: w.Stop, In: w.In})
		})
		if b, _ = both(b, "", finer, refused); !(b.Upper-b.Lower < 0.8*was) {
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
	if rest, g, ok := c.Declared(w.In); ok {
		return declaredEpsilon(c, rest, g, delta, w)
	}
	low, high := c.Atom()
	down, up := loss.Finite(delta, high), math.Min(loss.FiniteUp(delta, low), math.Nextafter(1, 0))
	if f, why := closedForm(c); why == "" {
		e = loss.Bounds{Lower: math.Inf(1), Upper: math.Inf(1)}
		if down > 0 {
			e.Upper = f.Epsilon(down).Upper
		}
		if delta > low {
			e.Lower = f.Epsilon(up).Lower
		}
		return e, ""
	}
	if r, ok := newRelease(c); ok {
		if e = r.epsilon(delta); w.Reached(true, e) {
			return e, ""
		}
		b, reason := composedEpsilon(c, delta, down, up, w)
		return both(e, "", b, reason)
	}
	return composedEpsilon(c, delta, down, up, w)
}

// composedEpsilon is epsilonWithin by the contour and the lattice, with δ of the finite
// losses from down to up.
func composedEpsilon(c loss.Composition, delta, down, up float64, w Wanted) (e loss.Bounds, reason string) {
	if down > 0 {
		e, reason = contourEpsilon(c, num.LogDown(down), num.LogUp(up), w)
		if reason == "" && (w.Reached(true, e) || w.stopped()) {
			return e, ""
		}
	} else {
		e, reason = everything, "no finite loss is left at this delta"
	}
	b, refused := latticeEpsilon(c, delta, w.latticeGap(latticeEpsilonGap), w)
	return both(e, reason, b, refused)
}

// both is what the contour and the lattice prove together; a reason says that one
// of them proves nothing. Should they contradict each other, neither is believed
// against the other: the wider interval is the answer.
func both(a loss.Bounds, noA string, b loss.Bounds, noB string) (loss.Bounds, string) {
	switch {
	case noA != "":
		return b, noB
	case noB != "":
		return a, ""
	}
	if m := meet(a, b); m.Lower <= m.Upper {
		return m, ""
	}
	return loss.Bounds{Lower: math.Min(a.Lower, b.Lower), Upper: math.Max(a.Upper, b.Upper)}, ""
}

// LogDelta encloses ln δ at ε ≥ 0, −Inf for δ = 0, likewise.
func LogDelta(c loss.Composition, epsilon float64, w Wanted) (loss.Bounds, string) {
	return overall(c, math.Inf(-1), func(c loss.Composition) (loss.Bounds, string) {
		return narrowed(w, false, latticeLogGap, func(w Wanted) (loss.Bounds, string) { return logDeltaWithin(c, epsilon, w) })
	})
}

// logDeltaWithin is LogDelta at one gap.
func logDeltaWithin(c loss.Composition, epsilon float64, w Wanted) (logDelta loss.Bounds, reason string) {
	if len(c) == 0 {
		return loss.Bounds{Lower: math.Inf(-1), Upper: math.Inf(-1)}, ""
	}
	if rest, g, ok := c.Declared(w.In); ok {
		return declaredLogDelta(c, rest, g, epsilon, w)
	}
	low, high := c.Atom()
	total := func(finite loss.Bounds) loss.Bounds {
		return loss.Bounds{Lower: loss.LogTotalDown(finite.Lower, low), Upper: loss.LogTotal(finite.Upper, high)}
	}
	if f, why := closedForm(c); why == "" {
		finite, _ := f.LogDelta(epsilon)
		return total(finite), ""
	}
	if r, ok := newRelease(c); ok {
		if logDelta, _ = r.logDelta(epsilon); w.Reached(false, logDelta) {
			return logDelta, ""
		}
		b, reason := composedLogDelta(c, epsilon, total, w)
		return both(logDelta, "", b, reason)
	}
	return composedLogDelta(c, epsilon, total, w)
}

// composedLogDelta is logDeltaWithin by the contour and the lattice; total adds the atoms.
func composedLogDelta(c loss.Composition, epsilon float64, total func(loss.Bounds) loss.Bounds, w Wanted) (logDelta loss.Bounds, reason string) {
	finite, reason := contourLogDelta(c, epsilon, w)
	if reason == "" {
		logDelta = total(finite)
		if w.Reached(false, logDelta) || w.stopped() {
			return logDelta, ""
		}
	}
	b, refused := latticeLogDelta(c, epsilon, w.latticeGap(latticeLogGap), w)
	return both(logDelta, reason, b, refused)
}

// What the lattice aims at where nothing is asked for: of ε in nats, of ln δ.
const latticeEpsilonGap, latticeLogGap = 1e-4, 1e-2

func (w Wanted) latticeGap(usual float64) float64 {
	if w.Gap > 0 {
		return w.Gap
	}
	return usual
}

// lossless is the curve where nothing loses anything but by failing.
type lossless struct{}

func (lossless) LogDelta(float64) (loss.Bounds, float64) {
	return loss.Bounds{Lower: math.Inf(-1), Upper: math.Inf(-1)}, 0
}

func (lossless) Epsilon(float64) loss.Bounds { return loss.Bounds{} }

// closedForm returns the curve of c's finite losses where one is known.
func closedForm(c loss.Composition) (loss.PrivacyCurve, string) {
	c = c.Losing()
	if len(c) == 0 {
		return lossless{}, ""
	}
	once, closed := loss.CurveOf(c[0].Loss)
	if closed && len(c) == 1 && c[0].Count == 1 {
		return once, ""
	}
	if l, ok := newFewOutcomes(c); ok {
		return l, ""
	}
	total := 0.0
	facts := c.Facts()
	first, _ := loss.BucketsOf(c[0].Loss)
	for i, f := range facts {
		buckets, ok := loss.BucketsOf(c[i].Loss)
		switch {
		case !ok && closed && len(c) == 1:
			return nil, "more than one release of a " + f.Name + " has no closed form"
		case !ok:
			return nil, "a composition with a " + f.Name + " has no closed form"
		case f.Epsilon != facts[0].Epsilon:
			return nil, "guarantees or randomized response of different ε have no closed form"
		case buckets != first:
			return nil, "randomized response with different numbers of buckets has no closed form"
		}
		total += float64(c[i].Count)
	}
	return newLattice(c, first, total)
}
