// SPDX-License-Identifier: Apache-2.0

package loss

import (
	"math"

	"github.com/dpaccountant/accountant/internal/num"
)

// Bounds enclose a number: Lower ≤ it ≤ Upper.
type Bounds struct {
	Lower, Upper float64
}

// GaussianLogDelta encloses ln δ(ε) of the pair (N(μ,1), N(0,1)), any real ε,
//
//	δ(ε) = Φ(μ/2 − ε/μ) − e^ε·Φ(−μ/2 − ε/μ)
//
// (Balle–Wang 2018, arXiv 1805.06530v2, Thm 8), for a μ > 0 that is rounded up
// by a relative 2⁻⁵⁰ at most, and approximates −d ln δ/dε.
//
// With c = ε/μ − μ/2 both terms are φ(c) times a Mills ratio (docs/math/curves.md §4.1.1):
// nothing is lost however deep the tail.
func GaussianLogDelta(mu, epsilon float64) (b Bounds, slope float64) {
	if epsilon < 0 {
		// δ(ε) = 1 − e^ε + e^ε·δ(−ε), all terms positive.
		b, slope = GaussianLogDelta(mu, -epsilon)
		head := num.Log(-math.Expm1(epsilon))
		at := func(v float64) float64 { return num.LogAddExp(head, epsilon+v) }
		slack := 16 * num.Ulp * (1 + math.Abs(head) - epsilon)
		return Bounds{num.DownBy(at(b.Lower), slack), math.Min(0, num.UpBy(at(b.Upper), slack))}, slope
	}
	if math.IsInf(mu, 1) {
		return Bounds{math.Inf(-1), 0}, 0
	}
	x := epsilon / mu
	c := x - mu/2
	value, err := num.LogTailGap(c, mu)
	// ∂ln δ/∂ln μ = μ·φ(c)/δ; c is within 3·(x + μ) Ulp and moves ln δ by at most
	// μ·φ(c)·m(x+μ/2)/δ a unit, m(y) ≤ min(1.26, 1/y).
	// Where the difference of logarithms has no digits left, μ·φ(c)/δ ≤ (y + 1.5)².
	y := x + mu/2
	moves := (y + 1.5) * (y + 1.5)
	if value > -1e4 {
		moves = math.Exp(num.LogNormalDensity(c) + num.Log(mu) - value)
	}
	mills := num.Mills(y)
	err += num.Ulp * moves * (16 + 3*mills*(x+mu))
	if !(err >= 0) || mu < 0x1p-900 {
		err = 1e-9 + 1e-9*math.Abs(value) // only where c² or μ leaves the range of float64
		b.Lower = math.Inf(-1)
	} else {
		b.Lower = num.DownBy(value, err)
	}
	b.Upper = math.Min(0, num.UpBy(value, err))
	return b, moves * mills / mu
}

// Inverse encloses the least ε ≥ 0 with δ(ε) ≤ delta for a decreasing curve
// that encloses ln δ(ε) and approximates −d ln δ/dε. top is a guess from above;
// it is doubled until it is one, and the answer is +Inf where that does not
// help.
func Inverse(curve func(epsilon float64) (Bounds, float64), delta, top float64) Bounds {
	down, up := num.LogDown(delta), num.LogUp(delta)
	zero, _ := curve(0)
	if zero.Upper <= down {
		return Bounds{}
	}
	top = math.Max(top, math.SmallestNonzeroFloat64)
	for {
		if b, _ := curve(top); b.Upper <= down {
			break
		}
		if top *= 2; math.IsInf(top, 1) {
			return Bounds{0, math.Inf(1)}
		}
	}
	const tolerance, steps = 0x1p-48, 300
	_, upper := num.Crossing(func(e float64) (float64, float64) {
		b, slope := curve(e)
		return down - b.Upper, slope
	}, 0, top, top/2, tolerance, steps)
	if zero.Lower <= up {
		return Bounds{0, upper}
	}
	lower, _ := num.Crossing(func(e float64) (float64, float64) {
		b, slope := curve(e)
		return up - b.Lower, slope
	}, 0, upper, upper*(1-tolerance), tolerance, steps)
	return Bounds{lower, upper}
}

// GaussianTop bounds ε(δ) of the Gaussian pair from above: δ ≤ Φ(μ/2 − ε/μ) ≤
// e^{−x²/2} at ε = μ²/2 + μ·x.
func GaussianTop(mu, delta float64) float64 {
	return (mu*mu/2 + mu*math.Sqrt(-2*num.Log(delta))) * (1 + 1e-9)
}
