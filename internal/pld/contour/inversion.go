// SPDX-License-Identifier: Apache-2.0

package contour

import (
	"math"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/num"
	"github.com/dpaccountant/accountant/internal/pld/interval"
)

// inversion is one direction's privacy profile δ(ε) by the trapezoid rule on the line Re s = θ:
//
//	S(ε) = (Δ/π)·Σ' Re[e^{K(s_k)−s_k·ε}/(s_k(s_k+1))],  s_k = θ + ikΔ,
//
// half weight at k = 0. With W = 2π/Δ it equals Σ_m e^{mθW}·δ(ε+mW) over all
// whole m for θ > 0, and −Σ_m e^{mθW}·(1−δ)(ε+mW) for −1 < θ < 0, all terms
// positive (docs/math/inversion.md §2.1): it never under-reports δ, or 1 − δ. What it has
// too much is bounded by alias, what is cut off by cut, what was rounded by at.
//
// Everything is kept in units of e^{K(θ)−θε}. It is immutable once built.
type inversion struct {
	theta, step float64
	k           loss.Value // K(θ)

	re, im []float64 // e^{K(s_k)−K(θ)}/(s_k(s_k+1)), the first halved
	size   float64   // Σ of their moduli
	drift  float64   // Σ of moduli times t_k
	err    float64   // bound on Σ of their errors

	cut          float64 // bound on what lies beyond the last node, with its factor Δ/π
	above, below alias

	maxLoss float64 // δ(ε) = 0 from there on; maybe +Inf
	limited bool    // more nodes would have been better but too much work
}

// alias bounds the terms m > 0, or m < 0, by Chernoff's bound at another point
// θ ± gap of the real axis: together they are at most
//
//	e^{log ∓ gap·ε}/(e^{gap·W} − 1),  log ≥ K(θ ± gap) − K(θ) + ln c(θ ± gap)
//
// (docs/math/inversion.md §2.2; c as in interval.LogChernoff).
type alias struct {
	gap, log float64
}

// newAlias is the bound by the point s of the real axis, K(s) = at.
func newAlias(c *inversion, s float64, at loss.Value) alias {
	return alias{math.Abs(s - c.theta), num.Up(at.Upper()-c.k.Lower()) + interval.LogChernoff(s)*(1-8*num.Ulp)}
}

// logDelta encloses ln δ(ε) and approximates −d ln δ/dε, 0 where unknown.
func (c *inversion) logDelta(epsilon float64) (loss.Bounds, float64) {
	if epsilon >= c.maxLoss {
		return loss.Bounds{Lower: math.Inf(-1), Upper: math.Inf(-1)}, 0
	}
	low, high, fall := c.tail(epsilon)
	if c.theta > 0 {
		return loss.Bounds{Lower: math.Min(0, low), Upper: math.Min(0, high)}, fall
	}
	b := loss.Bounds{Lower: math.Inf(-1), Upper: 0} // of ln(1 − e^x)
	if high < 0 {
		b.Lower = num.DownUlps(num.Log1mExp(-high), 8)
	}
	if low < 0 && !math.IsInf(low, -1) {
		b.Upper = math.Min(0, num.UpUlps(num.Log1mExp(-low), 8))
	}
	// dδ/dε = −d(1−δ)/dε
	mid := math.Min(-1e-17, (low+high)/2)
	return b, -fall / math.Expm1(-mid)
}

// tail encloses ln δ(ε), or ln(1 − δ(ε)) for θ < 0, and approximates
// −d/dε of it. low is −Inf where nothing is proven.
func (c *inversion) tail(epsilon float64) (low, high, fall float64) {
	var sum, turned num.Sum
	for k := range c.re {
		t := float64(k) * c.step
		sin, cos := math.Sincos(t * epsilon)
		sum.Add(c.re[k]*cos + c.im[k]*sin)
		turned.Add(t * (c.im[k]*cos - c.re[k]*sin))
	}
	s := sum.Value()
	// The phase t·ε is rounded once; sine, cosine, products and sums take a few Ulp.
	rounding := c.err + num.Ulp*(2*c.drift*math.Abs(epsilon)+16*c.size)
	if c.theta < 0 {
		s = -s
	}
	scale := c.step / math.Pi
	base := c.k.K - c.theta*epsilon
	slack := c.k.Err + num.Ulp*(4*math.Abs(c.k.K)+4*math.Abs(c.theta*epsilon))
	total := num.UpBy((s+rounding)*scale*(1+8*num.Ulp), c.cut*(1+8*num.Ulp))
	high = math.Inf(1)
	if total > 0 {
		high = base + math.Log(total)
		high = num.UpBy(high, slack+4*num.Ulp*math.Abs(high))
	}
	low = math.Inf(-1)
	excess := (c.cut + c.excess(epsilon)) * (1 + 8*num.Ulp)
	if rest := num.DownBy((s-rounding)*scale*(1-8*num.Ulp), excess); rest > 0 {
		low = base + math.Log(rest)
		low = num.DownBy(low, slack+4*num.Ulp*math.Abs(low))
	}
	if math.IsNaN(high) || math.IsNaN(low) {
		return math.Inf(-1), math.Inf(1), 0
	}
	fall = c.theta - turned.Value()/sum.Value()
	return low, high, fall
}

// excess bounds Σ_{m≠0} of the terms the rule has too much, from above.
func (c *inversion) excess(epsilon float64) float64 {
	width := 2 * math.Pi / c.step * (1 - 4*num.Ulp)
	total := 0.0
	// Beyond the largest loss δ is 0, but 1 − δ is 1: only for θ > 0 is nothing left.
	if c.theta < 0 || epsilon+width < c.maxLoss {
		total += c.above.total(-c.above.gap*epsilon, width)
	}
	return total + c.below.total(c.below.gap*epsilon, width)
}

func (a alias) total(shift, width float64) float64 {
	period := a.gap * width
	v := a.log + shift - period - num.Log1mExp(period)
	slack := 16 * num.Ulp * (math.Abs(a.log) + math.Abs(shift) + period)
	return num.ExpUp(num.UpBy(v, slack+8*num.Ulp*math.Abs(v)))
}
