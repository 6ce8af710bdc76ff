// SPDX-License-Identifier: Apache-2.0

package declared

import (
	"math"
	"sort"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/num"
)

// RenyiTable is a declared table of Rényi divergences: D_α ≤ ε at some orders, in both
// directions. (α−1)·D_α = K(α−1) is convex and 0 at α = 1, so that it is at most the
// lower convex hull of what is given, below the first order along the line to 0 and
// with no bound above the last (docs/math/cumulant.md §1.1.7). No pair is known.
type RenyiTable struct {
	loss.BoundOnly
	orders, values mechanism.Numbers // s = α − 1 and K of the hull's corners
	name           string            // of what was reported, for messages
	key            [4]float64        // of its order, which takes long to find
}

// RenyiGuarantee is what messages call a declared table.
const RenyiGuarantee = "Rényi-DP guarantee"

// ofRenyiDP takes K(s) = s·ε rounded up; s is exact.
func ofRenyiDP(m mechanism.RenyiDP, in *num.Interrupt) loss.Loss {
	in.Spend(knotWork * m.Orders.Len())
	orders, epsilons := m.Orders.Values(), m.Epsilons.Values()
	points := make([]loss.Knot, len(orders))
	for i, alpha := range orders {
		points[i] = loss.Knot{S: alpha - 1, K: num.MulUp(alpha-1, epsilons[i])}
	}
	return NewRenyiTable(loss.Hull(points), RenyiGuarantee)
}

// knotWork is about what it takes to read one corner, in nanoseconds.
const knotWork = 20

// NewRenyiTable has the corners of a convex hull; name is that of what was reported.
func NewRenyiTable(knots []loss.Knot, name string) RenyiTable {
	s, k := make([]float64, len(knots)), make([]float64, len(knots))
	for i, n := range knots {
		s[i], k[i] = n.S, n.K
	}
	r := RenyiTable{orders: mechanism.NumbersOf(s...), values: mechanism.NumbersOf(k...), name: name}
	r.key = loss.OrderOf(string(r.orders), string(r.values))
	return r
}

// Knots are the corners of the bound.
func (r RenyiTable) Knots(in *num.Interrupt) []loss.Knot {
	in.Spend(knotWork * r.orders.Len())
	knots := make([]loss.Knot, r.orders.Len())
	for i := range knots {
		knots[i] = loss.Knot{S: r.orders.At(i), K: r.values.At(i)}
	}
	return knots
}

func (r RenyiTable) Facts() loss.Facts {
	return loss.Facts{Name: r.name, Rho: math.Inf(1), Epsilon: math.Inf(1), Symmetric: true, BoundOnly: true}
}

// Known reports whether there is a bound at all: it may have overflowed.
func (r RenyiTable) Known() bool { return r.orders.Len() > 0 }

// Spend says that something that takes so long is done with every corner, in nanoseconds.
func (r RenyiTable) Spend(each int, in *num.Interrupt) { in.Spend(each * r.orders.Len()) }

// Last implements Tabled. Where every value overflowed it has no last order.
func (r RenyiTable) Last() float64 {
	if n := r.orders.Len(); n > 0 {
		return r.orders.At(n - 1)
	}
	return math.Inf(1)
}

// Corners implements Tabled.
func (r RenyiTable) Corners(s float64) (below, above float64) {
	i := sort.Search(r.orders.Len(), func(i int) bool { return r.orders.At(i) > s })
	above = math.Inf(1)
	if i > 0 {
		below = r.orders.At(i - 1)
	}
	if i < r.orders.Len() {
		above = r.orders.At(i)
	}
	return below, above
}

// Guarantee implements Guaranteed.
func (r RenyiTable) Guarantee(in *num.Interrupt) loss.Guarantee {
	return loss.TabledGuarantee(r.Knots(in))
}

// Covers: only itself is known to be covered.
func (r RenyiTable) Covers(loss.Loss) bool { return false }

// Grouped: a table of one record's divergences says nothing of groups.
func (r RenyiTable) Grouped(uint64) (loss.Loss, error) { return nil, nil }

func (r RenyiTable) MaxLoss(loss.Direction) float64 { return math.Inf(1) }

// Cumulant is the bound where it holds, and +Inf elsewhere.
func (r RenyiTable) Cumulant(_ loss.Direction, s float64, in *num.Interrupt) loss.Value {
	if r.orders.Len() == 0 { // every value overflowed
		if s == 0 {
			return loss.Value{}
		}
		return loss.Value{K: math.Inf(1)}
	}
	return loss.Straight(r.Knots(in), s)
}

// Line knows no more than |E[e^{sL}]| ≤ E[e^{θL}].
func (r RenyiTable) Line(d loss.Direction, theta float64, in *num.Interrupt) loss.Line {
	return loss.BoundLine(r.Cumulant(d, theta, in))
}

func (r RenyiTable) Order() [4]float64 { return r.key }
