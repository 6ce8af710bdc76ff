package loss

import (
	"math"
	"slices"

	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/num"
)

// parallel is one release on each of several disjoint parts of the data: a record moves
// one of them, and which one it is depends on the record. Each part's divergence is at
// most the largest of all, at every order, so that K is at most the largest K: a bound
// that composes with everything. What is better is to take every part for itself beside
// everything else, and the largest answer (Choices, docs/math.md §1.5).
type parallel struct {
	parts mechanism.List[mechanism.List[Term]]
}

// parallelTerms are the losses of a mechanism on disjoint parts: where one part covers all
// others, that part's.
func parallelTerms(m mechanism.Parallel, adj mechanism.Adjacency, in *num.Interrupt) ([]Term, error) {
	var kept []Composition
	for _, part := range m.Parts.Values() {
		c, err := ComposeWithin(mechanism.Composition{Adjacency: adj, Parts: []mechanism.Part{{Mechanism: part, Count: 1}}}, in)
		if err != nil {
			return nil, err
		}
		covered := false
		var rest []Composition
		for _, k := range kept {
			covered = covered || k.covers(c)
			if covered || !c.covers(k) {
				rest = append(rest, k)
			}
		}
		if kept = rest; !covered {
			kept = append(kept, c)
		}
	}
	if len(kept) == 1 {
		return kept[0], nil
	}
	lists := make([]mechanism.List[Term], len(kept))
	for i, c := range kept {
		lists[i] = mechanism.ListOf([]Term(c)...)
	}
	return []Term{{parallel{mechanism.ListOf(lists...)}, 1}}, nil
}

// covers: c dominates o, release by release.
func (c Composition) covers(o Composition) bool {
	used := make([]bool, len(c))
next:
	for _, b := range o {
		for i, a := range c {
			if !used[i] && a.Count >= b.Count && covers(a.Loss, b.Loss) {
				used[i] = true
				continue next
			}
		}
		return false
	}
	return true
}

// covers reports whether a dominates b in both directions: less noise, a larger sample,
// or pure and approximate DP with no smaller numbers (Kairouz–Oh–Viswanath 2015, Thm 3.4).
func covers(a, b Loss) bool {
	if a == b {
		return true
	}
	if r, ok := a.(response); ok && r.buckets == 2 {
		f := b.Facts()
		return r.epsilon >= f.Epsilon && r.atom >= f.Atom
	}
	switch a := a.(type) {
	case gaussian:
		b, ok := b.(gaussian)
		return ok && a.mu >= b.mu
	case laplace:
		b, ok := b.(laplace)
		return ok && a.e0 >= b.e0
	case response:
		b, ok := b.(response)
		return ok && a.buckets == b.buckets && a.epsilon >= b.epsilon && a.atom >= b.atom
	case sampledGaussian:
		b, ok := b.(sampledGaussian)
		return ok && a.replace == b.replace && a.mu >= b.mu && a.rate >= b.rate
	case zeroConcentrated:
		b, ok := b.(zeroConcentrated)
		return ok && a.rho >= b.rho && a.atom >= b.atom
	case failure:
		b, ok := b.(failure)
		return ok && a.atom >= b.atom
	}
	return false
}

// each are the parts.
func (p parallel) each() []Composition {
	var parts []Composition
	for _, l := range p.parts.Values() {
		parts = append(parts, l.Values())
	}
	return parts
}

func (p parallel) Facts() Facts {
	f := Facts{Name: "parallel release", Uneven: true, Symmetric: true, BoundOnly: true}
	for _, c := range p.each() {
		var rho, epsilon float64
		for i, one := range c.Facts() {
			n := num.Count(c[i].Count)
			rho = num.AddUp(rho, num.MulUp(n, one.Rho))
			epsilon = num.AddUp(epsilon, num.MulUp(n, one.Epsilon))
		}
		f.Rho, f.Epsilon = math.Max(f.Rho, rho), math.Max(f.Epsilon, epsilon)
		for d := range f.Atoms {
			_, atom := c.AtomOf(Direction(d))
			f.Atoms[d] = math.Max(f.Atoms[d], atom)
		}
		_, atom := c.Atom()
		f.Atom = math.Max(f.Atom, atom)
		if last := c.Last(); !math.IsInf(last, 1) && !(f.Last > 0 && f.Last < last) {
			f.Last = last
		}
		f.Symmetric = f.Symmetric && c.Symmetric()
	}
	f.Uneven = f.Atom > 0
	return f
}

func (p parallel) MaxLoss(d Direction) float64 {
	most := math.Inf(-1)
	for _, c := range p.each() {
		most = math.Max(most, c.MaxLoss(d))
	}
	return most
}

// Cumulant is the largest of the parts' upper bounds, for s ≥ 0: not a cumulant itself.
func (p parallel) Cumulant(d Direction, s float64) Value {
	if s < 0 {
		return Value{K: math.Inf(1)}
	}
	if s == 0 {
		return Value{}
	}
	best := Value{K: math.Inf(-1)}
	for _, c := range p.each() {
		if v := c.Renyi(d, s); !(v.Upper() <= best.K) { // NaN counts
			best = Value{K: v.Upper(), Slope: v.Slope, Curvature: v.Curvature}
		}
	}
	if math.IsNaN(best.K) {
		return Value{K: math.Inf(1)}
	}
	return best
}

// Line knows no more than |E[e^{sL}]| ≤ E[e^{θL}].
func (p parallel) Line(d Direction, theta float64) Line { return boundLine(p.Cumulant(d, theta)) }

func (p parallel) order() [4]float64 {
	var keys []string
	for _, c := range p.each() {
		keys = append(keys, c.key())
	}
	return orderOf(keys...)
}

// Choices are the compositions in which every release on disjoint parts is one of its
// parts, c alone where there is none; whichever part a record is in each time, its losses
// are one of these. Nil where there would be more than most. Applications of one
// mechanism may have parted the data differently, so that of n with k parts there are
// C(n+k−1, k−1).
func (c Composition) Choices(most int) []Composition {
	if !slices.ContainsFunc(c, func(t Term) bool { _, ok := t.Loss.(parallel); return ok }) {
		return []Composition{c}
	}
	all := []Composition{nil}
	for _, t := range c {
		p, ok := t.Loss.(parallel)
		if !ok {
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
				for i, part := range p.each() {
					for _, one := range part {
						if n := uint64(split[i]); n > 0 {
							if one.Count > math.MaxUint64/n {
								return nil
							}
							with = append(with, Term{one.Loss, one.Count * n})
						}
					}
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
