// SPDX-License-Identifier: Apache-2.0

// Package rdp bounds a composition by Rényi differential privacy: the exact
// Rényi divergence of every mechanism at a continuous real order, added up
// (Mironov 2017, arXiv 1702.07476v3, Prop. 1), and converted at the best order
// (Canonne–Kamath–Steinke 2020, Prop. 12).
//
// The two directions are composed apart over the whole composition and the
// larger of the two final bounds counts. What mechanisms leave to an infinite
// loss in a direction, δ_∞, is kept apart: the divergence is of the finite part,
// and δ = δ_∞ + (1 − δ_∞)·δ_RDP. Every answer is rounded up.
package rdp

import (
	"math"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/num"
)

// Epsilon returns an upper bound on ε at δ in (0, 1), never below the truth, and the order α
// that proves it. An order of +Inf stands for the sum of the largest losses. If δ does not
// exceed δ_∞ the bound is +Inf and the order 0.
//
// It tries at least one order in each direction, and no more once in says that the time is
// over.
func Epsilon(c loss.Composition, delta float64, in *num.Interrupt) (epsilon, order float64) {
	if len(c) == 0 {
		return 0, 0
	}
	var logDelta [2]float64 // by direction
	for d := range logDelta {
		finite := loss.Finite(delta, c.FailingIn(loss.Direction(d)))
		if !(finite > 0) {
			return math.Inf(1), 0
		}
		logDelta[d] = num.LogDown(finite)
	}
	return worst(c, func(d loss.Direction, first float64) (float64, float64) {
		rough, exact := within(in, steer(c, d, in), leastEstimates, math.MaxInt),
			within(in, curve(c, d, in), 0, orders(len(c)))
		_, first = loss.LeastEpsilon(rough.CumulantBound, logDelta[d], first, rough.stop)
		epsilon, s := loss.LeastEpsilon(exact.CumulantBound, logDelta[d], first, exact.stop)
		for _, knot := range c.Knots(s) {
			if e := loss.EpsilonAt(knot, exact.At(knot).Upper(), logDelta[d]); e < epsilon {
				epsilon, s = e, knot
			}
		}
		if top := c.MaxLoss(d); top <= epsilon {
			return top, math.Inf(1)
		}
		return epsilon, s
	}, func(d loss.Direction, s float64) float64 {
		return loss.EpsilonAt(s, within(in, curve(c, d, in), 0, 1).At(s).Upper(), logDelta[d])
	})
}

// LogDelta returns an upper bound on ln δ at ε ≥ 0, never above 0, and the order that proves
// it; otherwise it behaves like Epsilon.
func LogDelta(c loss.Composition, epsilon float64, in *num.Interrupt) (logDelta, order float64) {
	if len(c) == 0 {
		return math.Inf(-1), 0
	}
	total := func(d loss.Direction, finite float64) float64 {
		return loss.LogTotal(finite, c.FailingIn(d))
	}
	return worst(c, func(d loss.Direction, first float64) (float64, float64) {
		if c.MaxLoss(d) <= epsilon {
			return total(d, math.Inf(-1)), math.Inf(1)
		}
		rough, exact := within(in, steer(c, d, in), leastEstimates, math.MaxInt),
			within(in, curve(c, d, in), 0, orders(len(c)))
		_, first = loss.LeastLogDelta(rough.CumulantBound, epsilon, first, rough.stop)
		finite, s := loss.LeastLogDelta(exact.CumulantBound, epsilon, first, exact.stop)
		for _, knot := range c.Knots(s) {
			if v := loss.LogDeltaAt(knot, exact.At(knot).Upper(), epsilon); v < finite {
				finite, s = v, knot
			}
		}
		return total(d, finite), s
	}, func(d loss.Direction, s float64) float64 {
		return total(d, loss.LogDeltaAt(s, within(in, curve(c, d, in), 0, 1).At(s).Upper(), epsilon))
	})
}

// termWork is roughly the work, in nanoseconds, of a loss that does not report its own.
const termWork = 500

func curve(c loss.Composition, d loss.Direction, in *num.Interrupt) loss.CumulantBound {
	return loss.CumulantBound{At: func(s float64) loss.Value {
		var sum loss.ValueSum
		for _, t := range c {
			in.Spend(termWork)
			sum.Add(float64(t.Count), loss.Renyi(t.Loss, d, s, in))
		}
		return sum.Value()
	}, Last: c.Last()}
}

// steer is an approximation of curve, fast and without a proof. It finds the order at which
// curve is then evaluated.
func steer(c loss.Composition, d loss.Direction, in *num.Interrupt) loss.CumulantBound {
	estimates := make([]loss.Estimate, len(c))
	for i, t := range c {
		estimates[i] = loss.RenyiEstimate(t.Loss, d, in)
	}
	at := func(s float64) (v loss.Value) {
		for i, t := range c {
			in.Spend(termWork)
			k, slope, curvature := estimates[i](s)
			n := float64(t.Count)
			v.K += n * k
			v.Slope += n * slope
			v.Curvature += n * curvature
		}
		return v
	}
	return loss.CumulantBound{At: at, Last: c.Last()}
}

// timed is a curve that is evaluated at a limited number of orders: at most most, and no more
// than least once the time is over. It returns +Inf when it was interrupted, and is not
// evaluated again.
type timed struct {
	loss.CumulantBound
	stop func() bool
}

func within(in *num.Interrupt, c loss.CumulantBound, least, most int) timed {
	asked, interrupted, at := 0, false, c.At
	c.At = func(s float64) loss.Value {
		v := loss.Value{K: math.Inf(1)}
		if !in.Try(func() { v = at(s) }) {
			interrupted = true
		}
		return v
	}
	return timed{c, func() bool {
		asked++
		return interrupted || asked >= most || asked >= least && in.Stopped()
	}}
}

// orders returns the number of orders to try: mostExact for one or two losses, and fewer where
// each evaluation costs more.
func orders(distinct int) int { return max(leastExact, mostExact*2/max(2, distinct)) }

// These bound the number of orders at which the bound itself is evaluated. The first of them is
// the best one according to the estimates, which is good enough wherever the estimates are
// good.
const leastExact, mostExact = 4, 16

// leastEstimates is the number of estimates that are made even when no time is left: they cost
// little, and one order chosen at random would prove next to nothing.
const leastEstimates = 12

// worst is the larger of both directions' bounds, with its order. The second
// direction is searched only if it is the larger one at the order of the first:
// otherwise its best is smaller still.
// See docs/math/README.md §0.2 and docs/math/conversions.md §4.5.3.
func worst(c loss.Composition, best func(d loss.Direction, first float64) (bound, s float64),
	at func(d loss.Direction, s float64) float64,
) (bound, order float64) {
	bound, s := best(loss.Remove, 0)
	if !c.Symmetric() {
		if math.IsInf(s, 1) || at(loss.Add, s) > bound {
			first := s
			if math.IsInf(s, 1) {
				first = 0
			}
			if b, t := best(loss.Add, first); b > bound {
				bound, s = b, t
			}
		}
	}
	return bound, 1 + s
}
