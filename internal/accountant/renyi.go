// SPDX-License-Identifier: Apache-2.0

package accountant

import (
	"math"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/num"
	"github.com/dpaccountant/accountant/internal/zcdp"
)

// RenyiPoint is the Rényi divergence between the outputs on neighbouring datasets, in the direction in
// which it is larger, at one order.
type RenyiPoint struct {
	Order      float64  // α > 1
	Divergence float64  // in nats, from above; maybe +Inf
	Lower      *float64 // from below; nil where nothing is known
}

// Concentrated is the least ρ for which a composition is (ξ, ρ)-zCDP: its Rényi divergence at every order
// α > 1 is at most ξ + ρα (Bun and Steinke 2016, arXiv 1605.02065v1, Def. 1.1).
type Concentrated struct {
	Xi, Rho  float64  // Rho from above; maybe +Inf
	RhoLower *float64 // from below; nil where nothing is known
}

// mostOrder bounds the orders that can be asked for.
const mostOrder = 1e6

// divergence is D_{1+s}, s > 0, of c. What may lose everything has none. See docs/math/conversions.md §4.5.7.
func (q Question) divergence(c loss.Composition, s float64) RenyiPoint {
	p := RenyiPoint{Order: 1 + s, Divergence: math.Inf(1)}
	if c.Failing() > 0 {
		if least, _ := c.InfinityMass(); least > 0 {
			p.Lower = &p.Divergence
		}
		return p
	}
	if len(c) == 0 {
		return RenyiPoint{Order: 1 + s, Lower: new(float64)}
	}
	known := true
	for _, f := range c.Facts() {
		known = known && !f.BoundOnly && !f.Dominating
	}
	var upper, lower float64
	for _, d := range c.Directions() {
		var sum loss.ValueSum
		for _, t := range c {
			q.in.Spend(renyiWork)
			sum.Add(float64(t.Count), loss.Renyi(t.Loss, d, s, q.in))
		}
		upper = math.Max(upper, math.Min(num.Up(sum.Value().Upper()/s), c.MaxLoss(d)))
		if known {
			lower = math.Max(lower, num.Down(c.Cumulant(d, s, q.in).Lower()/s))
		}
	}
	p.Divergence = upper
	if known {
		lower = math.Min(lower, upper)
		p.Lower = &lower
	}
	return p
}

// renyiWork is roughly the work, in nanoseconds, of a loss that does not report its own.
const renyiWork = 500

// renyi are the divergences at the orders. What the question's Stop leaves out is +Inf.
func (q Question) renyi(c loss.Composition, orders []float64) []RenyiPoint {
	out := make([]RenyiPoint, len(orders))
	for i, alpha := range orders {
		out[i] = RenyiPoint{Order: alpha, Divergence: math.Inf(1)}
		q.in.Try(func() {
			// The divergence rises with the order, and s must not be below α − 1.
			out[i] = q.divergence(c, num.Up(alpha-1))
			out[i].Order = alpha
		})
	}
	return out
}

// concentrated is the least ρ at ξ. Orders from α_i to α_{i+1} have at most (D at α_{i+1} − ξ)/α_i, as D
// rises; those before the first as much as at the first, over 1; and those beyond the last what the sums
// of ρ and of largest losses tell. See docs/math/conversions.md §4.5.8.
func (q Question) concentrated(c loss.Composition, xi float64) Concentrated {
	out := Concentrated{Xi: xi, Rho: zcdp.Rho(c)}
	if c.Failing() > 0 {
		out.Rho = math.Inf(1)
		return out
	}
	// D_α ≤ ρ_U·α + M: what has a largest loss by it, the rest by its ρ.
	var rho, top float64
	for _, t := range c {
		n, f := num.Count(t.Count), t.Loss.Facts()
		if l := math.Max(t.Loss.MaxLoss(loss.Remove), t.Loss.MaxLoss(loss.Add)); l < math.Inf(1) {
			top = num.AddUp(top, num.MulUp(n, l))
		} else {
			rho = num.AddUp(rho, num.MulUp(n, f.Rho))
		}
	}
	if math.IsInf(rho, 1) {
		return out
	}
	beyond := func(alpha float64) float64 { return num.AddUp(rho, math.Max(0, num.Up((top-xi)/alpha))) }
	var points []RenyiPoint
	above := func(i int) float64 { // between the points i−1 and i
		from, to := 1.0, points[i].Divergence
		if i > 0 {
			from = points[i-1].Order
		}
		return num.Up(num.Up(to-xi) / from)
	}
	add := func(at int, alpha float64) bool {
		return q.in.Try(func() {
			p := q.divergence(c, num.Up(alpha-1))
			if p.Lower != nil {
				lower := math.Max(0, num.Down(num.Down(*p.Lower-xi)/num.Up(p.Order)))
				if out.RhoLower == nil || lower > *out.RhoLower {
					out.RhoLower = &lower
				}
			}
			points = append(points, RenyiPoint{})
			copy(points[at+1:], points[at:])
			points[at] = p
		})
	}
	add(0, 2)
	for range mostConcentrated {
		if len(points) == 0 {
			break
		}
		last := len(points)
		worst, at := beyond(points[last-1].Order), last
		for i := range points {
			if v := above(i); v > worst {
				worst, at = v, i
			}
		}
		out.Rho = math.Min(out.Rho, math.Max(0, worst))
		if out.RhoLower != nil && out.Rho <= *out.RhoLower*(1+concentratedGap) {
			break
		}
		from, to := 1.0, math.Inf(1)
		if at > 0 {
			from = points[at-1].Order
		}
		if at < last {
			to = points[at].Order
		}
		next := from * 2
		if to < math.Inf(1) {
			next = from + (to-from)/2
		}
		if !(next > from && next < to) || next > mostOrder || !add(at, next) {
			break
		}
	}
	return out
}

const (
	mostConcentrated = 400  // orders at most
	concentratedGap  = 1e-4 // of ρ
)
