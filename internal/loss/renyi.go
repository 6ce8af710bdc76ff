package loss

import (
	"hash/fnv"
	"math"
	"math/cmplx"
	"sort"

	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/num"
)

// renyi is a declared table of Rényi divergences: D_α ≤ ε at some orders, in both
// directions. (α−1)·D_α = K(α−1) is convex and 0 at α = 1, so that it is at most the
// lower convex hull of what is given, below the first order along the line to 0 and
// with no bound above the last (docs/math/cumulant.md §1.1.7). No pair is known.
type renyi struct {
	boundOnly
	orders, values mechanism.Numbers // s = α − 1 and K of the hull's corners
	name           string            // of what was reported, for messages
	key            [4]float64        // of its order, which takes long to find

	in *num.Interrupt // of what looks for an s among the corners
}

const renyiGuarantee = "Rényi-DP guarantee"

// ofRenyiDP takes K(s) = s·ε rounded up; s is exact.
func ofRenyiDP(m mechanism.RenyiDP, in *num.Interrupt) Loss {
	in.Spend(knotWork * m.Orders.Len())
	orders, epsilons := m.Orders.Values(), m.Epsilons.Values()
	points := make([]knot, len(orders))
	for i, alpha := range orders {
		points[i] = knot{alpha - 1, num.MulUp(alpha-1, epsilons[i])}
	}
	return renyiOf(hull(points), renyiGuarantee, in)
}

// knotWork is about what it takes to read one corner, in nanoseconds.
const knotWork = 20

func renyiOf(knots []knot, name string, in *num.Interrupt) renyi {
	s, k := make([]float64, len(knots)), make([]float64, len(knots))
	for i, n := range knots {
		s[i], k[i] = n.s, n.k
	}
	r := renyi{orders: mechanism.NumbersOf(s...), values: mechanism.NumbersOf(k...), name: name, in: in}
	r.key = orderOf(string(r.orders), string(r.values))
	return r
}

func (r renyi) knots() []knot {
	r.in.Spend(knotWork * r.orders.Len())
	knots := make([]knot, r.orders.Len())
	for i := range knots {
		knots[i] = knot{r.orders.At(i), r.values.At(i)}
	}
	return knots
}

// Knots are the orders, less 1, next to s on either side at which declared tables of a
// composition have a corner: there its best order often is, exactly.
func (c Composition) Knots(s float64) []float64 {
	below, above := c.corners(s)
	var knots []float64
	for _, k := range [...]float64{below, above} {
		if k > 0 && !math.IsInf(k, 1) {
			knots = append(knots, k)
		}
	}
	return knots
}

// corners are the last corner up to s, or 0, and the first beyond, or +Inf.
func (c Composition) corners(s float64) (below, above float64) {
	above = math.Inf(1)
	for _, t := range c {
		if l, ok := t.Loss.(Tabled); ok {
			b, a := l.Corners(s)
			below, above = math.Max(below, b), math.Min(above, a)
		}
	}
	return below, above
}

func (r renyi) Facts() Facts {
	return Facts{Name: r.name, Rho: math.Inf(1), Epsilon: math.Inf(1), Symmetric: true, BoundOnly: true}
}

// Last implements Tabled. Where every value overflowed it has no last order.
func (r renyi) Last() float64 {
	if n := r.orders.Len(); n > 0 {
		return r.orders.At(n - 1)
	}
	return math.Inf(1)
}

// Corners implements Tabled.
func (r renyi) Corners(s float64) (below, above float64) {
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
func (r renyi) Guarantee() Guarantee {
	return Guarantee{knots: r.knots(), unlimited: r.orders.Len() == 0}
}

// Covers: only itself is known to be covered.
func (r renyi) Covers(Loss) bool { return false }

// Grouped: a table of one record's divergences says nothing of groups.
func (r renyi) Grouped(uint64) (Loss, error) { return nil, nil }

func (r renyi) MaxLoss(Direction) float64 { return math.Inf(1) }

// Cumulant is the bound where it holds, and +Inf elsewhere.
func (r renyi) Cumulant(_ Direction, s float64) Value {
	if r.orders.Len() == 0 { // every value overflowed
		if s == 0 {
			return Value{}
		}
		return Value{K: math.Inf(1)}
	}
	return straight(r.knots(), s)
}

// Line knows no more than |E[e^{sL}]| ≤ E[e^{θL}].
func (r renyi) Line(d Direction, theta float64) Line { return boundLine(r.Cumulant(d, theta)) }

func boundLine(onAxis Value) Line {
	upper := onAxis.Upper()
	return func(float64) ComplexValue { return ComplexValue{cmplx.NaN(), math.Inf(1), upper} }
}

func (r renyi) Order() [4]float64 { return r.key }

// orderOf is a key of long values.
func orderOf(values ...string) [4]float64 {
	key := [4]float64{float64(len(values))}
	for i, v := range values {
		h := fnv.New64a()
		_, _ = h.Write([]byte(v)) // never fails
		sum := h.Sum64()
		key[1+i%3] = key[1+i%3]*3 + float64(sum>>12)
	}
	return key
}
