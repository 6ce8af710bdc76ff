// SPDX-License-Identifier: Apache-2.0

package closed

import (
	"math"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/num"
)

// responses is the privacy profile of n releases whose loss is ±ε0 or 0 each: randomized
// response and, as dominated by it, pure and approximate DP of one ε0. The sum
// of losses is m·ε0 with whole m; P(L = mε0) is binomial for k = 2 buckets,
// trinomial for more.
//
// Point v = 0, 1, … is the loss l_v = (n − stride·v)·ε0, from the top. With
// P_v = P(L = l_v), g = stride·ε0 and b_v = e^{l_v}·Q(L ≥ l_v) the curve obeys
//
//	δ(l_{v+1}) = δ(l_v) + b_v·(1 − e^{−g}),  b_{v+1} = P_{v+1} + e^{−g}·b_v,
//	δ(ε) = δ(l_v) + b_v·(1 − e^{ε−l_v})  for l_{v+1} ≤ ε ≤ l_v
//
// because δ' = −e^ε·Q(L > ε) and e^{l}·Q(L = l) = P(L = l). All terms are
// positive, so relative precision holds in any tail (docs/math/curves.md §4.4).
type responses struct {
	n       float64 // ≤ 2⁵³
	e0      float64
	buckets float64 // k
	stride  float64
	small   float64 // e^{−ε0}
	rounded bool    // ε0 may be too high by 8 Ulp

	in *num.Interrupt
}

// maxSteps bounds the walk down the losses, a tenth of a second. A walk
// that would be longer ends with the bound proven so far.
const maxSteps = 1 << 22

func newResponses(c loss.Composition, buckets, n float64, in *num.Interrupt) (loss.PrivacyCurve, string) {
	f := c[0].Loss.Facts()
	switch {
	case n > 1<<53:
		return nil, "more than 2^53 releases: too many for the exact sum"
	case !(n*f.Epsilon < 1e300):
		return nil, "the largest loss is beyond 1e300: too large for the exact sum"
	}
	l := responses{n: n, e0: f.Epsilon, buckets: buckets, stride: 1, small: math.Exp(-f.Epsilon), in: in}
	if l.buckets == 2 {
		l.stride = 2
	}
	for _, f := range c.Facts() {
		l.rounded = l.rounded || f.Rounded
	}
	return l, ""
}

// above is l_v − ε, correctly rounded.
func (l responses) above(v, epsilon float64) float64 {
	return math.FMA(l.n-l.stride*v, l.e0, -epsilon)
}

// epsilonOf returns one end of ε(δ), walking down until the curve passes delta
// between l_v and l_{v+1}.
func (l responses) epsilonOf(delta float64, upper bool) float64 {
	logDelta := num.Log(delta)
	w := l.newWalk(50 - logDelta)
	// Far from passing, rounding does not matter.
	shift, limit := w.shift, 0.9*math.Exp(logDelta-w.shift)
	for ; ; w.down() {
		if w.shift != shift {
			shift, limit = w.shift, 0.9*math.Exp(logDelta-w.shift)
		}
		next := w.delta + w.b*w.rise
		last := l.above(w.v+1, 0) <= 0
		switch {
		case w.steps >= maxSteps && !last && upper:
			return math.Max(0, num.Up(l.above(w.v, 0))) // the curve was below delta there
		case w.steps >= maxSteps && !last:
			return 0
		case next < limit && !last:
			continue
		}
		low, high := w.bounds(next)
		if last || upper && high >= delta || !upper && low >= delta {
			break
		}
	}
	// ε = l_v + ln(1 − (δ − δ(l_v))/b_v)
	top := l.above(w.v, 0)
	dLow, dHigh := w.bounds(w.delta)
	bLow, bHigh := w.bounds(w.b)
	if upper {
		rest := num.Down(num.Down(delta-dHigh) / bHigh)
		switch {
		case !(rest > 0) && w.steps == 0 && w.v > 0: // the start was too low
			top = l.above(0, 0)
			fallthrough
		case !(rest > 0): // at l_v the curve was proven to be below delta
			return num.Up(top)
		case rest >= 1:
			return 0
		}
		fall := math.Log1p(-rest)
		return math.Max(0, num.UpBy(top+fall, 4*num.Ulp*(top-fall)))
	}
	rest := num.Up(num.Up(delta-dLow) / bLow)
	if !(rest < 1) {
		return 0
	}
	fall := math.Log1p(-math.Max(0, rest))
	slack := 4 * num.Ulp * (top - fall)
	if l.rounded {
		slack += 8 * num.Ulp * top
	}
	return math.Max(0, num.DownBy(top+fall, slack))
}

func (l responses) Epsilon(delta float64) loss.Bounds {
	return loss.Bounds{Lower: l.epsilonOf(delta, false), Upper: l.epsilonOf(delta, true)}
}

func (l responses) LogDelta(epsilon float64) (loss.Bounds, float64) {
	if l.above(0, epsilon) <= 0 {
		return loss.Bounds{Lower: math.Inf(-1), Upper: math.Inf(-1)}, 0
	}
	w := l.newWalk(l.exponent(epsilon) + 60 + num.Log(l.n))
	for l.above(w.v+1, epsilon) > 0 {
		// δ only rises on the way down: near 1, or after long, 1 is its upper bound.
		if full := w.steps&1023 == 1 && w.shift+num.Log(w.delta) > -1e-14; full || w.steps >= maxSteps {
			low, _ := w.logBounds(w.delta)
			return loss.Bounds{Lower: math.Min(0, low), Upper: 0}, 0
		}
		w.down()
	}
	x := l.above(w.v, epsilon)
	if x <= 0 { // the walk began below ε: only its start bounds the tail
		return loss.Bounds{Lower: math.Inf(-1), Upper: math.Min(0, w.logTail)}, 0
	}
	low, high := w.logBounds(w.delta - w.b*math.Expm1(-x))
	return loss.Bounds{Lower: low, Upper: math.Min(0, high)}, 0
}

// tilt returns κ(τ) = ln E_P[e^{τm}] of one release's m ∈ {−1, 0, 1} and κ'(τ),
// for 0 ≤ τ ≤ maxTilt, in units in which ε0 may be as small as it likes.
func (l responses) tilt(tau float64) (value, slope float64) {
	whole := 1 + (l.buckets-1)*l.small
	up, down := 1/whole, l.small/whole
	x := up*math.Expm1(tau) + down*math.Expm1(-tau)
	return math.Log1p(x), (up*math.Exp(tau) - down*math.Exp(-tau)) / (1 + x)
}

const maxTilt = 300

// saddle returns about where an increasing function of τ crosses 0.
func (l responses) saddle(f func(tau, value, slope float64) float64) float64 {
	_, tau := num.Crossing(func(tau float64) (float64, float64) {
		value, slope := l.tilt(tau)
		return f(tau, value, slope), 0
	}, 1e-12, maxTilt, 1, 1e-3, 100)
	return tau
}

// exponent is Chernoff's for P(L > ε): the largest τm − n·κ(τ), m = ε/ε0.
func (l responses) exponent(epsilon float64) float64 {
	m := epsilon / l.e0
	tau := l.saddle(func(_, _, slope float64) float64 { return l.n*slope - m })
	value, _ := l.tilt(tau)
	return math.Max(0, tau*m-l.n*value)
}

// start returns the point from which to walk so that what lies above has mass
// at most about e^{−exponent}, and the logarithm of a bound on that mass.
func (l responses) start(exponent float64) (v, logTail float64) {
	top := l.n * math.Log1p((l.buckets-1)*l.small) // −ln of the mass of the top
	for aim := exponent; aim < top; aim += 10 + aim/4 {
		tau := l.saddle(func(tau, value, slope float64) float64 { return l.n*(tau*slope-value) - aim })
		value, slope := l.tilt(tau)
		v = math.Floor(l.n * (1 - slope) / l.stride)
		if !(v > 16) {
			break
		}
		// P(m ≥ n − stride·(v−1)) ≤ e^{n·κ(τ) − τ·(n − stride·(v−1))}; κ is within
		// 8·(τ + κ) Ulp.
		a, b := l.n*value, tau*(l.n-l.stride*(v-1))
		if logTail = num.UpBy(a-b, 8*num.Ulp*(a+b+l.n*tau)); logTail < 5-exponent {
			return v, logTail
		}
	}
	return 0, math.Inf(-1)
}
