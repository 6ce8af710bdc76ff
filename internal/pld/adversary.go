// SPDX-License-Identifier: Apache-2.0

package pld

import (
	"math"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/loss/compound"
	"github.com/dpaccountant/accountant/internal/pld/closed"
	"github.com/dpaccountant/accountant/internal/pld/interval"
)

// asking is a question about compositions: of ε, or of ln δ.
type asking struct {
	Wanted
	epsilon bool
	ask     func(loss.Composition, Wanted) (loss.Bounds, string)
	read    func(loss.PrivacyCurve) loss.Bounds // the answer, from a curve
}

// nothing is the answer if nothing is lost.
func (q asking) nothing() float64 {
	if q.epsilon {
		return 0
	}
	return math.Inf(-1)
}

// above is what c has at most, of which the lower end is not used: nothing more than usual is done for the width.
func (q asking) above(c loss.Composition) (loss.Bounds, string) {
	w := q.Wanted
	w.OneEnd = true
	return q.ask(c, w)
}

// below is the most that any of them has at least, or nothing.
func (q asking) below(all []loss.Composition) float64 {
	w, most := q.Wanted, q.nothing()
	w.OneEnd, w.Closely = true, false
	for _, c := range all {
		if least, none := q.ask(c, w); none == "" {
			most = math.Max(most, least.Lower)
		}
	}
	return most
}

// overall answers for every composition that c may stand for.
func overall(c loss.Composition, q asking) (loss.Bounds, string) {
	ask := q.ask
	q.ask = func(c loss.Composition, w Wanted) (loss.Bounds, string) {
		one := asking{w, q.epsilon, ask, q.read}
		if !c.Dominating() || c.AttainedOnce() {
			return ask(c, w)
		}
		return one.played(c)
	}
	return q.anyPart(c)
}

// playWork is the work of a play whatever is wanted, in about nanoseconds, and that on blocks of what is played
// among others; finer is by how much it grows where that is not as close as wanted, and mostFiner by how much at most.
const playWork, blockWork, finer, mostFiner = 7e7, 4e7, 4., 16.

// played answers where pairs only dominate: by the profile of an adaptive choice, where that is known, or else from
// above by pairs and from below by what is attained.
func (q asking) played(c loss.Composition) (b loss.Bounds, reason string) {
	p, ok := closed.Play(c, playWork, q.In)
	if ok {
		b = q.read(p)
	} else if b, reason = q.fromBelow(c, blockWork); reason != "" {
		return b, reason
	}
	if closed.Played(c) == 0 {
		return b, ""
	}
	for work := finer; q.Gap > 0 && work <= mostFiner && !q.Reached(q.epsilon, b) && !q.Stopped(); work *= finer {
		q.In.Try(func() {
			closer := interval.Everything
			if p, ok := closed.Play(c, work*playWork, q.In); ok {
				closer = q.read(p)
			} else if blocks, reason := q.fromBelow(c, work*blockWork); reason == "" {
				closer = blocks
			}
			b = interval.Meet(b, closer)
		})
	}
	return b, ""
}

// mostChoices bounds the compositions that are asked about where releases are on disjoint
// parts, and mostReached those that bound them from below.
const mostChoices, mostReached = 16, 8

// anyPart answers for a record in any part of every release on disjoint parts. Where the
// data was parted before the first release the largest of all answers counts, from below
// too. Where there are too many to ask, or one has no answer, these releases count from above
// as if they had been parted later.
func (q asking) anyPart(c loss.Composition) (loss.Bounds, string) {
	if all := compound.Choices(c, mostChoices, q.In); len(all) > 1 {
		if b, reason := q.largest(all); reason == "" {
			return b, ""
		}
	}
	return q.adaptively(c)
}

// adaptively answers as if all partitions might depend on outputs: from above by the pair of
// the largest curve, or if there is none by bounds on K; from below by what an adversary can
// reach, for whom those that were fixed in advance are fixed (docs/math/parallel.md §1.5.3). A single
// release alone is all its parts.
func (q asking) adaptively(c loss.Composition) (loss.Bounds, string) {
	if parts := compound.Alone(c); parts != nil {
		if b, reason := q.largest(parts); reason == "" {
			return b, ""
		}
	}
	reached := compound.Reached(c, mostReached, q.In)
	if reached == nil {
		return q.ask(compound.Adaptive(c), q.Wanted)
	}
	b, reason := q.above(compound.Adaptive(c))
	if reason == "" {
		b.Lower = q.below(reached)
	}
	return b, reason
}

// largest is the largest of the answers about all of them, if all have one.
func (q asking) largest(all []loss.Composition) (b loss.Bounds, reason string) {
	b = loss.Bounds{Lower: math.Inf(-1), Upper: math.Inf(-1)}
	for _, c := range all {
		one, reason := q.adaptively(c)
		if reason != "" {
			return one, reason
		}
		b = interval.Larger(b, one)
	}
	return b, ""
}

// fromBelow answers where pairs only dominate: from below what is attained counts, if
// anything is. Of what is played, blocks are made by that work.
func (q asking) fromBelow(c loss.Composition, work float64) (loss.Bounds, string) {
	worse := c
	if blocks, ok := closed.Blocks(c, work, q.In); ok {
		worse = blocks
	}
	b, reason := q.above(worse)
	if reason == "" {
		b.Lower = q.below(c.AnyAttained())
	}
	return b, reason
}
