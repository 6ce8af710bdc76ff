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
	knots []knot  // rising, K convex through (0, 0)
	atom  float64 // of all, rounded up

	unlimited bool // something has no bound that could be computed
}

// knot is a bound on K at one s.
type knot struct{ s, k float64 }

// Bounds on the knots that are added up, and on tables times knots.
const mostKnots, mostTabled = 1 << 15, 1 << 22

// Declared splits what is known by bounds on K alone, and has no pair, off a composition. Σ n_j·ρ_j,
// the tables' sums and the atom are rounded up; ok is false where there is nothing of
// the kind. See docs/math/declared.md §4.9.
func (c Composition) Declared(in *num.Interrupt) (rest Composition, g Guarantee, ok bool) {
	var tables []table
	var only Composition
	for _, t := range c {
		if !t.Loss.Facts().BoundOnly || paired(t.Loss) {
			rest = append(rest, t)
			continue
		}
		only, ok = append(only, t), true
		one, n := guaranteeOf(t.Loss), num.Count(t.Count)
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
		_, atom := only.AtomOf(d)
		g.atom = math.Max(g.atom, atom)
	}
	return rest, g, ok
}

// Guaranteed is a loss known by a bound on K alone that can be told exactly.
type Guaranteed interface {
	// Guarantee is that bound, without the atom.
	Guarantee() Guarantee
}

// guaranteeOf is the bound on K of a loss, at fixed orders if it is of no special form.
func guaranteeOf(l Loss) Guarantee {
	if d, ok := l.(Guaranteed); ok {
		return d.Guarantee()
	}
	knots := tabulate(Composition{{l, 1}})
	return Guarantee{knots: knots, unlimited: len(knots) == 0}
}

// paired reports whether a loss has a pair from above in every direction.
func paired(l Loss) bool {
	return l.Pair(Remove, Dominating) != nil && (l.Facts().Symmetric || l.Pair(Add, Dominating) != nil)
}

// none: nothing is lost.
func (g Guarantee) none() bool { return g.rho == 0 && len(g.knots) == 0 && !g.unlimited }

// table is a number of times a convex bound on K by its knots.
type table struct {
	n     float64
	knots []knot
}

// sumOf adds tables up, to where the shortest one ends; nil where that is too much
// work. See docs/math/cumulant.md §1.1.7.
func sumOf(tables []table, in *num.Interrupt) []knot {
	end, all := math.Inf(1), 0
	for _, t := range tables {
		end = math.Min(end, t.knots[len(t.knots)-1].s)
		all += len(t.knots)
	}
	if all > mostKnots || all*len(tables) > mostTabled {
		return nil
	}
	var at []float64
	for _, t := range tables {
		for _, k := range t.knots {
			if k.s <= end {
				at = append(at, k.s)
			}
		}
	}
	slices.Sort(at)
	at = slices.Compact(at)
	sum := make([]knot, len(at))
	for i, s := range at {
		in.Spend(60 * len(tables))
		sum[i].s = s
		for _, t := range tables {
			sum[i].k = num.AddUp(sum[i].k, num.MulUp(t.n, straight(t.knots, s).Upper()))
		}
	}
	return hull(sum)
}

// hull is the lower convex hull of (0, 0) and points of rising s: K is convex with
// K(0) = 0, so that a bound at two points bounds it between them.
func hull(points []knot) []knot {
	out := []knot{{}}
	for _, p := range points {
		if !(p.k < math.MaxFloat64) {
			continue
		}
		for len(out) > 1 {
			a, b := out[len(out)-2], out[len(out)-1]
			if (b.k-a.k)/(b.s-a.s) < (p.k-b.k)/(p.s-b.s) {
				break
			}
			out = out[:len(out)-1]
		}
		out = append(out, p)
	}
	return out[1:]
}

// straight is the bound between knots, +Inf beyond the last one and below 0.
func straight(knots []knot, s float64) Value {
	if s < 0 || !(s <= knots[len(knots)-1].s) {
		return Value{K: math.Inf(1)}
	}
	i, _ := slices.BinarySearchFunc(knots, s, func(k knot, s float64) int { return cmp.Compare(k.s, s) })
	from, to := knot{}, knots[i]
	if i > 0 {
		from = knots[i-1]
	}
	v := Value{Slope: (to.k - from.k) / (to.s - from.s)}
	switch s {
	case 0:
	case to.s:
		v.K = to.k
	default:
		v.K = from.k + (to.k-from.k)*((s-from.s)/(to.s-from.s))
		v.Err = 8*num.Ulp*(from.k+to.k) + math.SmallestNonzeroFloat64
	}
	return v
}

// tabulate bounds K of a composition in both directions by knots at fixed orders, and at
// the last one where there is one; nil where it is nowhere finite. See docs/math/declared.md §4.9.
func tabulate(c Composition) []knot {
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
	points := make([]knot, 0, len(orders))
	for _, s := range orders {
		k := math.Max(0, c.Renyi(Remove, s).Upper())
		if !c.Symmetric() {
			k = math.Max(k, c.Renyi(Add, s).Upper())
		}
		points = append(points, knot{s, k})
	}
	return hull(points)
}
