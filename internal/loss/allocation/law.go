// SPDX-License-Identifier: Apache-2.0

// Package allocation bounds the distribution of a sum of independent likelihood ratios, from
// above and from below in convex order (docs/math/allocation.md). A record that takes part in
// one of t steps, chosen at random and hidden, has the likelihood ratio (X₁ + … + X_t)/t.
//
// law.go has what a distribution is here, ratio.go makes it of a pair, cells.go adds two up and
// rounds their sum upwards or downwards, edges.go chooses where, and thin.go leaves out what shows little.
package allocation

import (
	"math"

	"github.com/dpaccountant/accountant/internal/num"
)

// law is a distribution of a nonnegative number s under Q, as finitely many outcomes, that
// bounds the true one in convex order but for rounding: for every monotone convex function
// f ≥ 0, a law from above has
//
//	E[f(s)] ≤ (1 + massErr)·Σ mass·f(at·(1 ± atErr)) + lost·lim f(s)/s as s → ∞,
//
// with the sign that makes f larger, and a law from below the opposite with 1 − massErr.
type law struct {
	at, mass       []float64 // at rises and is ≥ 0
	lost           float64   // a part of the expectation that is carried at +∞
	massErr, atErr float64
}

// Bounds is the law of a sum between two laws in convex order.
type Bounds struct {
	below, above law
	width        float64 // of cells, in units of the usual ones
	lost         float64 // of the whole sum, what may be left out at either end

	// Of the whole sum: ln of what is too small to show much in it, and of its mean.
	logFloor, logMean float64
}

// times is the law of the sum of t ≥ 1 independent copies.
func (b Bounds) times(t uint64, in *num.Interrupt) Bounds {
	var total Bounds
	for any, power := false, b; ; power = plus(power, power, in) {
		if t&1 == 1 {
			if any {
				total = plus(total, power, in)
			} else {
				total, any = power, true
			}
		}
		if t >>= 1; t == 0 {
			return total
		}
	}
}

// plus is the law of the sum of two independent numbers.
func plus(a, b Bounds, in *num.Interrupt) Bounds {
	g := gridOf(a, b, in)
	return Bounds{
		below: added(a.below, b.below, g, false, in).gathered(), above: added(a.above, b.above, g, true, in).spread(),
		width: a.width, lost: a.lost, logFloor: a.logFloor, logMean: a.logMean,
	}
}

// Pair is a mean of t ratios as the outcomes of a pair: each loss ln S with P's mass, rising,
// and what each distribution has where the other one has nothing.
type Pair struct {
	Losses, Masses    []float64
	Infinite, Missing float64 // rounded up

	// MassErr bounds the relative errors of all masses, and LossErr the errors of all losses.
	MassErr, LossErr float64
}

// Above is the pair of the mean of t ratios from their sum: one that dominates it.
func (b Bounds) Above(t uint64) Pair { return b.above.pair(t) }

// Below is a pair that the mean of t ratios dominates. It has no infinite losses.
func (b Bounds) Below(t uint64) Pair { return b.below.pair(t) }

func (l law) pair(t uint64) Pair {
	n := num.Count(t)
	p := Pair{MassErr: num.UpBy(l.massErr+2*l.atErr, 8*num.Ulp)}
	for i, s := range l.at {
		switch v := math.Log(s) - math.Log(n); {
		case s == 0:
			p.Missing += l.mass[i]
		case l.mass[i] > 0:
			p.Losses = append(p.Losses, v)
			p.Masses = append(p.Masses, l.mass[i]*(s/n))
			p.LossErr = math.Max(p.LossErr, num.Ulp*(4+4*math.Abs(v)+4*math.Log(n)))
		}
	}
	p.LossErr = num.Up(p.LossErr + 2*l.atErr)
	p.Missing, p.Infinite = num.MulUp(p.Missing, 1+p.MassErr), num.MulUp(l.lost/n, 1+p.MassErr)
	return p
}

// mean is about the expectation of the outcomes.
func (l law) mean() float64 {
	var sum float64
	for i, w := range l.mass {
		sum += w * l.at[i]
	}
	return sum
}
