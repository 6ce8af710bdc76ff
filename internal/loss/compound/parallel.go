// SPDX-License-Identifier: Apache-2.0

package compound

import (
	"fmt"
	"math"

	"github.com/dpaccountant/accountant/internal/loss"
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
	parts mechanism.List[mechanism.List[loss.Term]]
	fixed bool       // the partition was fixed before the first release
	facts loss.Facts // of the parts, which take long to find again
}

// parallelTerms are the losses of a mechanism on disjoint parts. The members of a group may be
// in several.
func parallelTerms(m mechanism.Parallel, x loss.Maker, records uint64) ([]loss.Term, error) {
	if records > 1 {
		return nil, nil
	}
	var parts []loss.Composition
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
func onParts(parts []loss.Composition, fixed bool, in *num.Interrupt) loss.Composition {
	var kept []loss.Composition
	for _, c := range parts {
		in.Spend(coverWork * len(kept))
		covered := false
		var rest []loss.Composition
		for _, k := range kept {
			covered = covered || covers(k, c)
			if covered || !covers(c, k) {
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
	lists := make([]mechanism.List[loss.Term], len(kept))
	for i, c := range kept {
		lists[i] = mechanism.ListOf([]loss.Term(c)...)
	}
	return loss.Composition{{Loss: parallel{mechanism.ListOf(lists...), fixed, factsOf(kept)}, Count: 1}}
}

// covers: c dominates o, release by release.
func covers(c loss.Composition, o loss.Composition) bool {
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
func (p parallel) each() []loss.Composition {
	var parts []loss.Composition
	for _, l := range p.parts.Values() {
		parts = append(parts, l.Values())
	}
	return parts
}

func (p parallel) Facts() loss.Facts { return p.facts }

// factsOf are the facts of a release on these parts.
func factsOf(parts []loss.Composition) loss.Facts {
	f := loss.Facts{Name: "parallel release", Uneven: true, Symmetric: true, BoundOnly: true}
	for _, c := range parts {
		var rho, epsilon float64
		for i, one := range c.Facts() {
			n := num.Count(c[i].Count)
			rho = num.AddUp(rho, num.MulUp(n, one.Rho))
			epsilon = num.AddUp(epsilon, num.MulUp(n, one.Epsilon))
		}
		f.Rho, f.Epsilon = math.Max(f.Rho, rho), math.Max(f.Epsilon, epsilon)
		for d := range f.InfinityMasses {
			_, atom := c.InfinityMassOf(loss.Direction(d))
			f.InfinityMasses[d] = math.Max(f.InfinityMasses[d], atom)
		}
		_, atom := c.InfinityMass()
		f.InfinityMass = math.Max(f.InfinityMass, atom)
		f.Symmetric = f.Symmetric && c.Symmetric()
	}
	f.Uneven = f.InfinityMass > 0
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
		b, a := c.Corners(s)
		below, above = math.Max(below, b), math.Min(above, a)
	}
	return below, above
}

// Decay: a bound on K has no characteristic function.
func (parallel) Decay(loss.Direction, float64, loss.Value, *num.Interrupt) loss.Decay {
	return loss.Undecayed
}

// Covers: only itself is known to be covered.
func (p parallel) Covers(loss.Loss) bool { return false }

// Grouped: the members of a group may be in several parts.
func (p parallel) Grouped(uint64) (loss.Loss, error) { return nil, nil }

// LostAtLeast is the largest of the parts' lower bounds on P(L = ∞): the record may be there
// each time.
func (p parallel) LostAtLeast(d loss.Direction) float64 {
	most := 0.0
	for _, c := range p.each() {
		lost, _ := c.InfinityMassOf(d)
		most = math.Max(most, lost)
	}
	return most
}

func (p parallel) MaxLoss(d loss.Direction) float64 {
	most := math.Inf(-1)
	for _, c := range p.each() {
		most = math.Max(most, c.MaxLoss(d))
	}
	return most
}

// NormalMu is that of the worst part, at each release: whichever part a record is in, and however that was chosen,
// its releases are at most that far apart. A record may stay in one part, which has a tail. See
// docs/math/gaussian-dp.md §4.13.6.
func (p parallel) NormalMu(count uint64) loss.NormalMu {
	if most := math.Max(p.MaxLoss(loss.Remove), p.MaxLoss(loss.Add)); most < math.Inf(1) {
		return loss.NormalMu{Upper: math.Inf(1)} // its curve says more
	}
	var mu, tail float64
	for _, c := range p.each() {
		var squares, tails num.Sum
		for _, t := range c {
			one := loss.NormalMuOf(t.Loss, t.Count)
			if e := t.Loss.Facts(); math.IsInf(one.Upper, 1) && e.Failing().InfinityMass == 0 {
				one = loss.NormalMuOfTail(loss.PureMu(e.Epsilon), 0, t.Count)
			}
			if math.IsInf(one.Upper, 1) {
				return one
			}
			squares.Add(one.Upper * one.Upper)
			tails.Add(one.Tail * one.Tail)
		}
		mu, tail = math.Max(mu, math.Sqrt(squares.Value())), math.Max(tail, math.Sqrt(tails.Value()))
	}
	return loss.NormalMuOfTail(num.Up(mu*(1+1e-13)), num.Down(tail*(1-1e-12)), count)
}

// Cumulant is the largest of the parts' upper bounds, for s ≥ 0: not a cumulant itself.
func (p parallel) Cumulant(d loss.Direction, s float64, in *num.Interrupt) loss.Value {
	if s < 0 {
		return loss.Value{K: math.Inf(1)}
	}
	if s == 0 {
		return loss.Value{}
	}
	best := loss.Value{K: math.Inf(-1)}
	for _, c := range p.each() {
		if v := c.Renyi(d, s, in); !(v.Upper() <= best.K) { // NaN counts
			best = loss.Value{K: v.Upper(), Slope: v.Slope, Curvature: v.Curvature}
		}
	}
	if math.IsNaN(best.K) {
		return loss.Value{K: math.Inf(1)}
	}
	return best
}

// Line knows no more than |E[e^{sL}]| ≤ E[e^{θL}].
func (p parallel) Line(d loss.Direction, theta float64, in *num.Interrupt) loss.Line {
	return loss.BoundLine(p.Cumulant(d, theta, in))
}

func (p parallel) Order() [4]float64 {
	keys := []string{fmt.Sprint(p.fixed)}
	for _, c := range p.each() {
		keys = append(keys, c.Key())
	}
	return loss.OrderOf(keys...)
}

// What a release on disjoint parts has beside a loss's methods.
var _ loss.Tabled = parallel{}
