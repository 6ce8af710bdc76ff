package loss

import (
	"math"
	"slices"
)

// Choices are the compositions in which every release on parts that were fixed before
// the first release is one of its parts; c alone if there is none. Whichever part a record
// is in each time, its losses are one of these. Nil if there would be more than most.
// Applications of one mechanism may have parted the data differently, so that of n with k
// parts there are C(n+k−1, k−1).
func (c Composition) Choices(most int) []Composition {
	return c.choices(most, func(p parallel) bool { return p.fixed })
}

func (c Composition) choices(most int, open func(parallel) bool) []Composition {
	if !c.parted(open) {
		return []Composition{c}
	}
	all := []Composition{nil}
	for _, t := range c {
		p, ok := t.Loss.(parallel)
		if !ok || !open(p) {
			for i := range all {
				all[i] = append(all[i][:len(all[i]):len(all[i])], t)
			}
			continue
		}
		if t.Count > uint64(most) {
			return nil
		}
		splits := shares(int(t.Count), len(p.each()), most/len(all))
		if splits == nil {
			return nil
		}
		var next []Composition
		for _, chosen := range all {
			for _, split := range splits {
				with := chosen[:len(chosen):len(chosen)]
				for i, n := range split {
					with = append(with, p.taken(i, uint64(n))...)
				}
				next = append(next, with)
			}
		}
		all = next
	}
	for i := range all {
		all[i] = all[i].merged()
	}
	return all
}

// parted reports whether there is such a release on disjoint parts.
func (c Composition) parted(such func(parallel) bool) bool {
	return slices.ContainsFunc(c, func(t Term) bool { p, ok := t.Loss.(parallel); return ok && such(p) })
}

func anyParallel(parallel) bool { return true }

// taken is part i, n times.
func (p parallel) taken(i int, n uint64) []Term {
	var terms []Term
	for _, one := range p.each()[i] {
		if n > 0 {
			terms = append(terms, timesTerm(one, n))
		}
	}
	return terms
}

// shares are the ways to write n as k numbers ≥ 0, nil where there are more than most.
func shares(n, k, most int) [][]int {
	if k == 1 {
		if most < 1 {
			return nil
		}
		return [][]int{{n}}
	}
	var all [][]int
	for first := n; first >= 0; first-- {
		rest := shares(n-first, k-1, most-len(all))
		if rest == nil {
			return nil
		}
		for _, r := range rest {
			all = append(all, append([]int{first}, r...))
		}
	}
	return all
}

// Adaptive is c with every partition as one that may depend on outputs: no less is lost.
func (c Composition) Adaptive() Composition {
	all := slices.Clone(c)
	for i, t := range all {
		if p, ok := t.Loss.(parallel); ok {
			p.fixed = false
			all[i].Loss = p
		}
	}
	return all.merged()
}

// Alone are the parts of a single release on disjoint parts with nothing beside it: with
// nothing to choose by, its curve is the largest of theirs. Nil for other compositions.
func (c Composition) Alone() []Composition {
	if len(c) != 1 || c[0].Count != 1 {
		return nil
	}
	if p, ok := c[0].Loss.(parallel); ok {
		return p.each()
	}
	return nil
}

// Reached are compositions with partitions that an adversary can reach, so that c loses
// at least what each of them loses; at most about that many. Nil if the whole of c can be
// reached: nothing is parted, or one release is and its curve is the largest of the
// parts', because the adversary may make that release last, and then chooses best.
// Of several, the choice for the one is not best for all that can follow: then one is
// left to the adversary, and for the others all vectors of parts are tried, or if these
// are too many the same part for all.
func (c Composition) Reached(most int) []Composition {
	if !c.parted(anyParallel) {
		return nil
	}
	var rest Composition
	var last []Term
	uses, parts := uint64(0), 0
	for _, t := range c {
		p, ok := t.Loss.(parallel)
		if !ok {
			rest = append(rest, t)
			continue
		}
		uses, parts = uses+min(t.Count, math.MaxInt64), max(parts, len(p.each()))
		if last == nil && p.paired() {
			last = []Term{{p, 1}}
			t.Count--
		}
		if t.Count > 0 {
			rest = append(rest, t)
		}
	}
	if uses == 1 && last != nil {
		return nil
	}
	all := slices.Clone(rest.choices(most, anyParallel))
	if all == nil {
		for i := range min(parts, most) {
			all = append(all, rest.inPart(i))
		}
	}
	for i := range all {
		all[i] = append(all[i][:len(all[i]):len(all[i])], last...).merged()
	}
	return all
}

// inPart is c with the record in part i of every release, or in the last where there are
// fewer.
func (c Composition) inPart(i int) (all Composition) {
	for _, t := range c {
		if p, ok := t.Loss.(parallel); ok {
			all = append(all, p.taken(min(i, len(p.each())-1), t.Count)...)
			continue
		}
		all = append(all, t)
	}
	return all
}
