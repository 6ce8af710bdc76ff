// SPDX-License-Identifier: Apache-2.0

package loss

import (
	"math"

	"github.com/dpaccountant/accountant/internal/num"
)

// Renyi is Cumulant where a bound on K at the order 1 + s > 1 is all that is asked for:
// of a class of mechanisms the largest K of any of them, which may be less than that
// of the pair that dominates them all (docs/math/noise.md §1.4.6).
func Renyi(l Loss, d Direction, s float64, in *num.Interrupt) Value {
	if c, ok := l.(Ranked); ok && s > 0 {
		return c.Renyi(d, s, in)
	}
	return l.Cumulant(d, s, in)
}

// RenyiEstimate is EstimateOf for Renyi, at s > 0.
func RenyiEstimate(l Loss, d Direction, in *num.Interrupt) Estimate {
	c, ok := l.(Ranked)
	if !ok {
		return EstimateOf(l, d, in)
	}
	return func(s float64) (k, slope, curvature float64) {
		v := c.Renyi(d, s, in)
		return v.K, v.Slope, v.Curvature
	}
}

// Renyi is Cumulant with every loss's Renyi.
func (c Composition) Renyi(d Direction, s float64, in *num.Interrupt) Value {
	var sum ValueSum
	for _, t := range c {
		sum.Add(float64(t.Count), Renyi(t.Loss, d, s, in))
	}
	return sum.Value()
}

// member is a loss that may stand for a class.
type member interface {
	// Attained is the loss of some mechanism that the report may mean, nil where none is
	// known; the loss itself where it is exact.
	Attained() Loss
}

// pointwise is a loss that stands for a class of mechanisms.
type pointwise interface {
	// AttainedOnce: at each ε some mechanism of the class has the δ of the class's pair, in one
	// release. In several releases no mechanism need have that of the composed pair.
	AttainedOnce() bool
}

// AttainedOnce reports whether c is one release whose curve is attained at each ε, although its
// pair dominates a class of mechanisms.
func (c Composition) AttainedOnce() bool {
	if len(c) != 1 || c[0].Count != 1 {
		return false
	}
	l, ok := c[0].Loss.(pointwise)
	return ok && l.AttainedOnce()
}

// Dominating reports whether some term's pair need not be attained.
func (c Composition) Dominating() bool {
	for _, t := range c {
		if t.Loss.Facts().Dominating {
			return true
		}
	}
	return false
}

// members is a loss that stands for a class of which several are known, none of them the worst.
type members interface {
	// Members are losses of mechanisms that the report may mean, which have pairs.
	Members() []Loss
}

// MembersOf are losses of mechanisms that the report of l may mean, if l stands for a class of which such are known.
func MembersOf(l Loss) []Loss {
	if m, ok := l.(members); ok {
		return m.Members()
	}
	return nil
}

// Attained is what a composition has at least: of each class a mechanism that belongs
// to it, or none.
func (c Composition) Attained() Composition { return c.attained(0) }

// AnyAttained is Attained with one known member of the classes after the other.
func (c Composition) AnyAttained() (all []Composition) {
	most := 1
	for _, t := range c {
		if m, ok := t.Loss.(members); ok {
			most = max(most, len(m.Members()))
		}
	}
	for i := range most {
		if least := c.attained(i); len(least) > 0 {
			all = append(all, least)
		}
	}
	return all
}

// attained takes the member at a place, or the last one.
func (c Composition) attained(at int) Composition {
	var least Composition
	for _, t := range c {
		if t.Loss.Facts().Dominating {
			switch m := t.Loss.(type) {
			case members:
				all := m.Members()
				if len(all) == 0 {
					continue
				}
				t.Loss = all[min(at, len(all)-1)]
			case member:
				t.Loss = m.Attained()
			default:
				continue
			}
			if t.Loss == nil {
				continue
			}
		}
		least = append(least, t)
	}
	return least
}

// Knots are the orders, less 1, next to s on either side at which declared tables of a
// composition have a corner: there its best order often is, exactly.
func (c Composition) Knots(s float64) []float64 {
	below, above := c.Corners(s)
	var knots []float64
	for _, k := range [...]float64{below, above} {
		if k > 0 && !math.IsInf(k, 1) {
			knots = append(knots, k)
		}
	}
	return knots
}

// Corners are the last corner up to s, or 0, and the first beyond, or +Inf.
func (c Composition) Corners(s float64) (below, above float64) {
	above = math.Inf(1)
	for _, t := range c {
		if l, ok := t.Loss.(Tabled); ok {
			b, a := l.Corners(s)
			below, above = math.Max(below, b), math.Min(above, a)
		}
	}
	return below, above
}
