// SPDX-License-Identifier: Apache-2.0

package loss

import (
	"cmp"
	"math"
	"slices"

	"github.com/dpaccountant/accountant/internal/num"
)

// Guarantee is the sum of all that a composition has of which no more is known than a
// bound on K, the same in both directions: zCDP with Σρ, and tables, whose sum is
// straight between knots and known up to the last one only.
type Guarantee struct {
	rho   float64
	knots []Knot  // rising, K convex through (0, 0)
	atom  float64 // of all, rounded up

	unlimited bool // something has no bound that could be computed
}

// Knot is a bound on K at one s.
type Knot struct{ S, K float64 }

// Bounds on the knots that are added up, and on tables times knots.
const mostKnots, mostTabled = 1 << 15, 1 << 22

// Declared splits what is known by bounds on K alone, and has no pair, off a composition. Σ n_j·ρ_j,
// the tables' sums and the atom are rounded up; ok is false where there is nothing of
// the kind. See docs/math/declared.md §4.9.
func (c Composition) Declared(in *num.Interrupt) (rest Composition, g Guarantee, ok bool) {
	var tables []table
	var only Composition
	for _, t := range c {
		if !t.Loss.Facts().BoundOnly || Paired(t.Loss, in) {
			rest = append(rest, t)
			continue
		}
		only, ok = append(only, t), true
		one, n := guaranteeOf(t.Loss, in), num.Count(t.Count)
		in.Spend(20 * len(one.knots))
		g.rho = num.AddUp(g.rho, num.MulUp(n, one.rho))
		g.unlimited = g.unlimited || one.unlimited
		if len(one.knots) > 0 {
			tables = append(tables, table{n, one.knots})
		}
	}
	if len(tables) > 0 && !g.unlimited {
		g.knots = sumOf(tables, in)
		g.unlimited = len(g.knots) == 0
	}
	for _, d := range []Direction{Remove, Add} {
		_, atom := only.InfinityMassOf(d)
		g.atom = math.Max(g.atom, atom)
	}
	return rest, g, ok
}

// Guaranteed is a loss known by a bound on K alone that can be told exactly.
type Guaranteed interface {
	// Guarantee is that bound, without the atom.
	Guarantee(in *num.Interrupt) Guarantee
}

// guaranteeOf is the bound on K of a loss, at fixed orders if it is of no special form.
func guaranteeOf(l Loss, in *num.Interrupt) Guarantee {
	if d, ok := l.(Guaranteed); ok {
		return d.Guarantee(in)
	}
	knots := Tabulate(Composition{{l, 1}}, in)
	return TabledGuarantee(knots)
}

// Paired reports whether a loss has a pair from above in every direction.
func Paired(l Loss, in *num.Interrupt) bool {
	return l.Pair(Remove, Dominating, in) != nil && (l.Facts().Symmetric || l.Pair(Add, Dominating, in) != nil)
}

// ConcentratedGuarantee is K(s) ≤ ρ·s(s+1).
func ConcentratedGuarantee(rho float64) Guarantee { return Guarantee{rho: rho} }

// TabledGuarantee is straight between knots, whose s rise and through which K is convex; of
// none nothing is known.
func TabledGuarantee(knots []Knot) Guarantee {
	return Guarantee{knots: knots, unlimited: len(knots) == 0}
}

// none: nothing is lost.
func (g Guarantee) none() bool { return g.rho == 0 && len(g.knots) == 0 && !g.unlimited }

// table is a number of times a convex bound on K by its knots.
type table struct {
	n     float64
	knots []Knot
}

// sumOf adds tables up, to where the shortest one ends; nil where that is too much
// work. See docs/math/cumulant.md §1.1.7.
func sumOf(tables []table, in *num.Interrupt) []Knot {
	end, all := math.Inf(1), 0
	for _, t := range tables {
		end = math.Min(end, t.knots[len(t.knots)-1].S)
		all += len(t.knots)
	}
	if all > mostKnots || all*len(tables) > mostTabled {
		return nil
	}
	var at []float64
	for _, t := range tables {
		for _, k := range t.knots {
			if k.S <= end {
				at = append(at, k.S)
			}
		}
	}
	slices.Sort(at)
	at = slices.Compact(at)
	sum := make([]Knot, len(at))
	for i, s := range at {
		in.Spend(60 * len(tables))
		sum[i].S = s
		for _, t := range tables {
			sum[i].K = num.AddUp(sum[i].K, num.MulUp(t.n, Straight(t.knots, s).Upper()))
		}
	}
	return Hull(sum)
}

// Hull is the lower convex hull of (0, 0) and points of rising s: K is convex with
// K(0) = 0, so that a bound at two points bounds it between them.
func Hull(points []Knot) []Knot {
	out := []Knot{{}}
	for _, p := range points {
		if !(p.K < math.MaxFloat64) {
			continue
		}
		for len(out) > 1 {
			a, b := out[len(out)-2], out[len(out)-1]
			if (b.K-a.K)/(b.S-a.S) < (p.K-b.K)/(p.S-b.S) {
				break
			}
			out = out[:len(out)-1]
		}
		out = append(out, p)
	}
	return out[1:]
}

// Straight is the bound between knots, +Inf beyond the last one and below 0.
func Straight(knots []Knot, s float64) Value {
	if s < 0 || !(s <= knots[len(knots)-1].S) {
		return Value{K: math.Inf(1)}
	}
	i, _ := slices.BinarySearchFunc(knots, s, func(k Knot, s float64) int { return cmp.Compare(k.S, s) })
	from, to := Knot{}, knots[i]
	if i > 0 {
		from = knots[i-1]
	}
	v := Value{Slope: (to.K - from.K) / (to.S - from.S)}
	switch s {
	case 0:
	case to.S:
		v.K = to.K
	default:
		v.K = from.K + (to.K-from.K)*((s-from.S)/(to.S-from.S))
		v.Err = 8*num.Ulp*(from.K+to.K) + math.SmallestNonzeroFloat64
	}
	return v
}

// Tabulate bounds K of a composition in both directions by knots at fixed orders, and at
// the last one where there is one; nil where it is nowhere finite. See docs/math/declared.md §4.9.
func Tabulate(c Composition, in *num.Interrupt) []Knot {
	last := c.Last()
	var orders []float64
	for i := -24; i <= 40; i++ {
		if s := math.Pow(10, float64(i)/8); s < last {
			orders = append(orders, s)
		}
	}
	if !math.IsInf(last, 1) {
		orders = append(orders, last)
	}
	points := make([]Knot, 0, len(orders))
	for _, s := range orders {
		k := math.Max(0, c.Renyi(Remove, s, in).Upper())
		if !c.Symmetric() {
			k = math.Max(k, c.Renyi(Add, s, in).Upper())
		}
		points = append(points, Knot{s, k})
	}
	return Hull(points)
}
