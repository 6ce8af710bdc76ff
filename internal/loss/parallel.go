package loss

import (
	"fmt"
	"math"

	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/num"
)

// parallel is one release on each of several disjoint parts of the data: a record moves
// one of them. Which part that is may depend on everything that was released before, so
// that an adversary picks it anew for every release. At every order its divergence is at
// most the largest of the parts' (Cumulant), and its curve is at most the largest of their
// curves, which is the curve of one pair (Pair): both bounds compose adaptively
// (docs/math/parallel.md §1.5).
//
// If the data was parted before the first release, a record is in one known part of each
// release, and the largest answer over these parts counts (Composition.Choices).
type parallel struct {
	parts mechanism.List[mechanism.List[Term]]
	fixed bool  // the partition was fixed before the first release
	facts Facts // of the parts, which take long to find again

	in *num.Interrupt // of its pair
}

// parallelTerms are the losses of a mechanism on disjoint parts. The members of a group may be
// in several.
func parallelTerms(m mechanism.Parallel, x Maker, records uint64) ([]Term, error) {
	if records > 1 {
		return nil, nil
	}
	var parts []Composition
	for _, part := range m.Parts.Values() {
		c, err := x.Compose(mechanism.Part{Mechanism: part, Count: 1})
		if err != nil {
			return nil, err
		}
		parts = append(parts, c)
	}
	return onParts(parts, m.PartitionFixedInAdvance, x.In), nil
}

// coverWork is about what it takes to see whether one part covers another, in nanoseconds.
const coverWork = 200

// onParts is one release on disjoint parts: where one part covers all others, that part.
func onParts(parts []Composition, fixed bool, in *num.Interrupt) Composition {
	var kept []Composition
	for _, c := range parts {
		in.Spend(coverWork * len(kept))
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
		return kept[0]
	}
	lists := make([]mechanism.List[Term], len(kept))
	for i, c := range kept {
		lists[i] = mechanism.ListOf([]Term(c)...)
	}
	return Composition{{parallel{mechanism.ListOf(lists...), fixed, factsOf(kept), in}, 1}}
}

// covers: c dominates o, release by release.
func (c Composition) covers(o Composition) bool {
	used := make([]bool, len(c))
next:
	for _, b := range o {
		for i, a := range c {
			if !used[i] && a.Count >= b.Count && (a.Loss == b.Loss || a.Loss.Covers(b.Loss)) {
				used[i] = true
				continue next
			}
		}
		return false
	}
	return true
}

// each are the parts.
func (p parallel) each() []Composition {
	var parts []Composition
	for _, l := range p.parts.Values() {
		parts = append(parts, l.Values())
	}
	return parts
}

func (p parallel) Facts() Facts { return p.facts }

// factsOf are the facts of a release on these parts.
func factsOf(parts []Composition) Facts {
	f := Facts{Name: "parallel release", Uneven: true, Symmetric: true, BoundOnly: true}
	for _, c := range parts {
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
		f.Symmetric = f.Symmetric && c.Symmetric()
	}
	f.Uneven = f.Atom > 0
	return f
}

// Last implements Tabled: the first of the parts' last orders.
func (p parallel) Last() float64 {
	last := math.Inf(1)
	for _, c := range p.each() {
		last = math.Min(last, c.Last())
	}
	return last
}

// Corners implements Tabled.
func (p parallel) Corners(s float64) (below, above float64) {
	above = math.Inf(1)
	for _, c := range p.each() {
		b, a := c.corners(s)
		below, above = math.Max(below, b), math.Min(above, a)
	}
	return below, above
}

// Decay: a bound on K has no characteristic function.
func (parallel) Decay(Direction, float64, Value) Decay { return Undecayed }

// Covers: only itself is known to be covered.
func (p parallel) Covers(Loss) bool { return false }

// Grouped: the members of a group may be in several parts.
func (p parallel) Grouped(uint64) (Loss, error) { return nil, nil }

// lostAtLeast is the largest of the parts' lower bounds on P(L = ∞): the record may be there
// each time.
func (p parallel) lostAtLeast(d Direction) float64 {
	most := 0.0
	for _, c := range p.each() {
		lost, _ := c.AtomOf(d)
		most = math.Max(most, lost)
	}
	return most
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

func (p parallel) Order() [4]float64 {
	keys := []string{fmt.Sprint(p.fixed)}
	for _, c := range p.each() {
		keys = append(keys, c.key())
	}
	return orderOf(keys...)
}
