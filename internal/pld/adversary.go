package pld

import (
	"math"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/loss/compound"
	"github.com/dpaccountant/accountant/internal/num"
	"github.com/dpaccountant/accountant/internal/pld/closed"
)

// overall answers for every composition that c may stand for; nothing is the answer if
// nothing is lost, and read takes the answer from a curve.
func overall(c loss.Composition, nothing float64, in *num.Interrupt,
	read func(loss.PrivacyCurve) loss.Bounds,
	ask func(loss.Composition) (loss.Bounds, string)) (loss.Bounds, string) {
	return anyPart(c, nothing, in, func(c loss.Composition) (loss.Bounds, string) {
		if !c.Dominating() {
			return ask(c)
		}
		if p, ok := closed.Play(c, in); ok {
			return read(p), ""
		}
		return fromBelow(c, nothing, ask)
	})
}

// mostChoices bounds the compositions that are asked about where releases are on disjoint
// parts, and mostReached those that bound them from below.
const mostChoices, mostReached = 16, 8

// anyPart answers for a record in any part of every release on disjoint parts. Where the
// data was parted before the first release the largest of all answers counts, from below
// too. Where there are too many to ask, or one has no answer, these releases count from above
// as if they had been parted later.
func anyPart(c loss.Composition, nothing float64, in *num.Interrupt,
	ask func(loss.Composition) (loss.Bounds, string)) (loss.Bounds, string) {
	if all := compound.Choices(c, mostChoices, in); len(all) > 1 {
		each := func(c loss.Composition) (loss.Bounds, string) { return adaptively(c, nothing, in, ask) }
		if b, reason := largest(all, each); reason == "" {
			return b, ""
		}
	}
	return adaptively(c, nothing, in, ask)
}

// adaptively answers as if all partitions might depend on outputs: from above by the pair of
// the largest curve, or if there is none by bounds on K; from below by what an adversary can
// reach, for whom those that were fixed in advance are fixed (docs/math/parallel.md §1.5.3). A single
// release alone is all its parts.
func adaptively(c loss.Composition, nothing float64, in *num.Interrupt,
	ask func(loss.Composition) (loss.Bounds, string)) (loss.Bounds, string) {
	if parts := compound.Alone(c); parts != nil {
		each := func(c loss.Composition) (loss.Bounds, string) { return adaptively(c, nothing, in, ask) }
		if b, reason := largest(parts, each); reason == "" {
			return b, ""
		}
	}
	b, reason := ask(compound.Adaptive(c))
	if reason != "" {
		return b, reason
	}
	if reached := compound.Reached(c, mostReached, in); reached != nil {
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
// anything is. Of one release that may be the pair's curve at every ε, each time by another
// mechanism.
func fromBelow(c loss.Composition, nothing float64,
	ask func(loss.Composition) (loss.Bounds, string)) (loss.Bounds, string) {
	b, reason := ask(c)
	if reason != "" || c.AttainedOnce() {
		return b, reason
	}
	b.Lower = nothing
	for _, rest := range c.AnyAttained() {
		if least, none := ask(rest); none == "" {
			b.Lower = math.Max(b.Lower, least.Lower)
		}
	}
	return b, ""
}
