// SPDX-License-Identifier: Apache-2.0

package sampling

import (
	"math"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/loss/allocation"
	"github.com/dpaccountant/accountant/internal/num"
)

// Renyi bounds K of the epoch itself, of which the pair has no losses beyond the largest one that
// is computed (docs/math/allocation.md §1.11.7). It is the least of three bounds: that of the pair
// with what it leaves out, that of E[S^α] at whole orders, and that of a record whose step is known
// or, towards ADD, of the geometric mean.
func (a allocated) Renyi(d loss.Direction, s float64, in *num.Interrupt) loss.Value {
	v := a.plain(d, s, in)
	if a.steps == 1 {
		return v
	}
	if d == loss.Remove {
		v = lesser(v, a.between(s, in))
	}
	return lesser(v, a.completed(d, s, in))
}

func lesser(a, b loss.Value) loss.Value {
	if b.Upper() < a.Upper() {
		return b
	}
	return a
}

// plain bounds K by that of one step: a mixture's divergence is at most the largest, and a mean is
// at least the geometric one.
func (a allocated) plain(d loss.Direction, s float64, in *num.Interrupt) loss.Value {
	if d == loss.Remove {
		return loss.Renyi(a.inner, d, s, in)
	}
	t := num.Count(a.steps)
	v := loss.Renyi(a.inner, d, s/t, in)
	return loss.Value{K: t * v.K, Err: t*v.Err + 4*num.Ulp*t*math.Abs(v.K), Slope: v.Slope, Curvature: v.Curvature / t}
}

// completed is K of the pair with what lies beyond its largest loss.
func (a allocated) completed(d loss.Direction, s float64, in *num.Interrupt) loss.Value {
	pair, ok := a.table(in).(cutPair)
	if !ok { // it is that of one step
		return loss.Value{K: math.Inf(1)}
	}
	v := pair.Cumulant(d, s, in)
	top, beyond := pair.Beyond(d, edgeWidth)
	linear := num.Log(a.lost) + math.Log1p(s) + s*top
	tail := math.Inf(-1)
	if !(top >= a.MaxLoss(d)) { // otherwise nothing lies beyond
		tail = math.Inf(1)
		for r := 1.05 * s; r < 1e4*s; r *= 1.2 { // Hölder's inequality holds for every r > s
			tail = math.Min(tail, (1-s/r)*num.Log(beyond)+s/r*a.plain(d, r, in).Upper())
		}
	}
	rest := num.LogAddExp(linear, tail)
	rest += 1e-9 * (1e3 + math.Abs(rest) + s*math.Abs(top)) // its rounding, by far
	more := num.Log1pUp(num.ExpUp(rest - v.Upper()))
	if !(more < math.MaxFloat64) {
		return loss.Value{K: math.Inf(1)}
	}
	v.Err = num.AddUp(v.Err, more)
	return v
}

// edgeWidth is how far below the largest loss masses count as beyond it, as a part of it.
const edgeWidth = 0.01

// cutPair is a pair from above that leaves something out beyond its largest loss.
type cutPair interface {
	loss.Loss
	// Beyond returns the largest finite loss, and a bound on P's mass of what is above it, in a
	// distribution that the pair is above: by that of the losses a part less than it, and of what
	// counts as infinite.
	Beyond(d loss.Direction, part float64) (top, mass float64)
}

// between bounds K towards REMOVE by the exact E[S^m] at whole orders m next to 1 + s: K is convex.
func (a allocated) between(s float64, in *num.Interrupt) loss.Value {
	most := 0
	for _, n := range momentOrders {
		if s <= float64(n-1) {
			most = n
			break
		}
	}
	if most == 0 {
		return loss.Value{K: math.Inf(1)}
	}
	a.below, a.class, a.least = false, false, 0
	type key struct {
		momentsOf allocated
		most      int
	}
	m := loss.Recall(allocations, key{a, most}, in, func(in *num.Interrupt) []loss.Knot { return a.moments(most, in) })
	if !(m[len(m)-1].K < math.MaxFloat64) {
		return loss.Value{K: math.Inf(1)}
	}
	return loss.Straight(m, s)
}

// momentOrders are the numbers of moments that are computed at once.
var momentOrders = [...]int{64, 512}

// moments are K(s) at s = 1, …, most − 1, rounded up.
func (a allocated) moments(most int, in *num.Interrupt) []loss.Knot {
	one := make([]float64, most+1)
	for m := 2; m <= most; m++ {
		one[m] = loss.Renyi(a.inner, loss.Remove, float64(m-1), in).Upper()
	}
	logs := allocation.LogMoments(one, a.steps, in)
	knots := make([]loss.Knot, most-1)
	for i := range knots {
		knots[i] = loss.Knot{S: float64(i + 1), K: math.Max(0, logs[i+2])}
	}
	return knots
}
