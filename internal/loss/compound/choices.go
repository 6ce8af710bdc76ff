// SPDX-License-Identifier: Apache-2.0

package compound

import (
	"slices"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/num"
)

// Choices are the compositions in which every release on parts that were fixed before
// the first release is one of its parts, also where it is within a part of another; c alone
// if there is none. Whichever part a record is in each time, its losses are one of these.
// Nil if there would be more than most. Applications of one mechanism may have parted the
// data differently, so that of n with k parts there are C(n+k−1, k−1).
// See docs/math/parallel.md §1.5 and docs/math/parallel.md §1.5.6.
func Choices(c loss.Composition, most int, in *num.Interrupt) []loss.Composition {
	return choices(c, most, fixedInAdvance, in)
}

func fixedInAdvance(p parallel) bool { return p.fixed }
func anyParallel(parallel) bool      { return true }

// choices are the ways to put the record into one part of every such release.
func choices(c loss.Composition, most int, such func(parallel) bool, in *num.Interrupt) []loss.Composition {
	if most < 1 {
		return nil
	}
	if !parted(c, such) {
		return []loss.Composition{c}
	}
	all := []loss.Composition{nil}
	for _, t := range c {
		ways := []loss.Composition{{{Loss: t.Loss, Count: 1}}}
		if p, ok := t.Loss.(parallel); ok {
			if ways = p.choices(most, such, in); ways == nil {
				return nil
			}
		}
		splits := shares(t.Count, len(ways), most/len(all))
		if splits == nil {
			return nil
		}
		var next []loss.Composition
		for _, chosen := range all {
			for _, split := range splits {
				with := chosen[:len(chosen):len(chosen)]
				for i, n := range split {
					with = append(with, ways[i].Times(n)...)
				}
				next = append(next, with)
			}
		}
		all = next
	}
	for i := range all {
		all[i] = all[i].Merged()
	}
	return all
}

// choices are those of one application.
func (p parallel) choices(most int, such func(parallel) bool, in *num.Interrupt) (all []loss.Composition) {
	if such(p) {
		for _, part := range p.each() {
			ways := choices(part, most-len(all), such, in)
			if ways == nil {
				return nil
			}
			all = append(all, ways...)
		}
		return all
	}
	lists := [][]loss.Composition{nil} // of parts
	for _, part := range p.each() {
		ways := choices(part, most/len(lists), such, in)
		if ways == nil {
			return nil
		}
		var next [][]loss.Composition
		for _, list := range lists {
			for _, way := range ways {
				next = append(next, append(list[:len(list):len(list)], way))
			}
		}
		lists = next
	}
	for _, list := range lists {
		all = append(all, onParts(list, p.fixed, in))
	}
	return all
}

// someChoices are all choices, or if there are too many those in which the record is in the
// same part of every such release.
func someChoices(c loss.Composition, most int, such func(parallel) bool, in *num.Interrupt) []loss.Composition {
	all := choices(c, most, such, in)
	if all != nil {
		return all
	}
	for i := range max(1, most) {
		one := inPart(c, i, such, in)
		if i > 0 && slices.Equal(one, all[i-1]) {
			break
		}
		all = append(all, one)
	}
	return all
}

// inPart is c with the record in part i of every such release, or in the last where there
// are fewer.
func inPart(c loss.Composition, i int, such func(parallel) bool, in *num.Interrupt) (all loss.Composition) {
	for _, t := range c {
		one := loss.Composition{{Loss: t.Loss, Count: 1}}
		if p, ok := t.Loss.(parallel); ok {
			if parts := p.each(); such(p) {
				one = inPart(parts[min(i, len(parts)-1)], i, such, in)
			} else {
				for j := range parts {
					parts[j] = inPart(parts[j], i, such, in)
				}
				one = onParts(parts, p.fixed, in)
			}
		}
		all = append(all, one.Times(t.Count)...)
	}
	return all.Merged()
}

// parted reports whether there is such a release on disjoint parts, maybe within a part.
// Parted reports whether any release, also one within a part of another, is on disjoint parts.
func Parted(c loss.Composition) bool { return parted(c, anyParallel) }

func parted(c loss.Composition, such func(parallel) bool) bool {
	return slices.ContainsFunc(c, func(t loss.Term) bool {
		p, ok := t.Loss.(parallel)
		return ok && (such(p) || slices.ContainsFunc(p.each(),
			func(part loss.Composition) bool { return parted(part, such) }))
	})
}

// shares are the ways to write n as k numbers ≥ 0, nil where there are more than most.
func shares(n uint64, k, most int) [][]uint64 {
	if most < 1 {
		return nil
	}
	if k == 1 {
		return [][]uint64{{n}}
	}
	var all [][]uint64
	for first := n; ; first-- {
		rest := shares(n-first, k-1, most-len(all))
		if rest == nil {
			return nil
		}
		for _, r := range rest {
			all = append(all, append([]uint64{first}, r...))
		}
		if first == 0 {
			return all
		}
	}
}

// Adaptive is c with every partition as one that may depend on outputs: no less is lost.
func Adaptive(c loss.Composition) loss.Composition {
	if !parted(c, fixedInAdvance) {
		return c
	}
	all := slices.Clone(c)
	for i, t := range all {
		if p, ok := t.Loss.(parallel); ok {
			p.fixed = false
			all[i].Loss = p
		}
	}
	return all.Merged()
}

// Alone are the parts of a single release on disjoint parts with nothing beside it: with
// nothing to choose by, its curve is the largest of theirs. Nil for other compositions.
// See docs/math/parallel.md §1.5.3.
func Alone(c loss.Composition) []loss.Composition {
	if len(c) != 1 || c[0].Count != 1 {
		return nil
	}
	if p, ok := c[0].Loss.(parallel); ok {
		return p.each()
	}
	return nil
}

// Reached are compositions that an adversary can reach with the partitions of c, so that c
// loses at least what each of them loses; at most about that many. Nil if the bound for
// all of c is reached itself.
//
// Where a partition was fixed in advance the record is in one of its parts, which he does
// not choose. Of the others he can leave one release to the end and choose best; for the
// rest, down to the innermost, he settles on parts before he begins.
// See docs/math/parallel.md §1.5.3.
func Reached(c loss.Composition, most int, in *num.Interrupt) (all []loss.Composition) {
	if reachable(c, in) {
		return nil
	}
	chosen := someChoices(c, most, fixedInAdvance, in)
	for _, one := range chosen {
		all = append(all, leavingOne(one, max(1, most/len(chosen)), in)...)
	}
	return all
}

// reachable reports whether an adversary can reach all of c: nothing is parted, or one
// release is, by outputs, and within each of its parts one at most. He makes it last, and
// then the pair of the largest curve is what he gets.
func reachable(c loss.Composition, in *num.Interrupt) bool {
	for i, t := range c {
		if p, ok := t.Loss.(parallel); ok {
			return t.Count == 1 && p.reachable(in) && !parted(c[i+1:], anyParallel)
		}
	}
	return true
}

func (p parallel) reachable(in *num.Interrupt) bool {
	return !p.fixed && loss.Paired(p, in) && !slices.ContainsFunc(p.each(),
		func(part loss.Composition) bool { return !reachable(part, in) })
}

// leavingOne is c, in which no partition was fixed in advance, with one release left to the
// adversary, if one can be, and the record in settled parts of the others.
func leavingOne(c loss.Composition, most int, in *num.Interrupt) []loss.Composition {
	var rest, last loss.Composition
	for _, t := range c {
		if p, ok := t.Loss.(parallel); ok && last == nil {
			var settled []loss.Composition // what he can choose from
			for _, part := range p.each() {
				if reachable(part, in) {
					settled = append(settled, part)
					continue
				}
				settled = append(settled, someChoices(part, most, anyParallel, in)...)
			}
			if one := onParts(settled, false, in); reachable(one, in) {
				last = one
				t.Count--
			}
		}
		if t.Count > 0 {
			rest = append(rest, t)
		}
	}
	all := slices.Clone(someChoices(rest, most, anyParallel, in))
	for i := range all {
		all[i] = append(all[i][:len(all[i]):len(all[i])], last...).Merged()
	}
	return all
}
