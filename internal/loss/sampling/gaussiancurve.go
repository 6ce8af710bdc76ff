// SPDX-License-Identifier: Apache-2.0

package sampling

import (
	"math"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/num"
)

// sampledCurve is the curve of one Poisson-sampled Gaussian step under
// ADD_OR_REMOVE_ONE or ZERO_OUT, the larger of both directions. With G the
// Gaussian pair's curve,
//
//	remove: δ(ε) = q·G(ln(1 + (e^ε − 1)/q))
//	add:    δ(ε) = e^ε·w·G(ln(q/w)),  w = q − (1 − e^{−ε}); 0 where w ≤ 0
//
// (docs/math/curves.md §4.3; the first is Balle–Barthe–Gaboardi 2018, Thm 9, with
// equality, the second follows from δ_add(ε) = 1 − e^ε·(1 − δ_remove(−ε))).
type sampledCurve struct {
	mu, rate float64 // both rounded up by a relative 2⁻⁵⁰ at most
}

func (s sampledCurve) LogDelta(epsilon float64) (loss.Bounds, float64) {
	b, slope := s.remove(epsilon)
	a := s.add(epsilon)
	return loss.Bounds{Lower: math.Max(a.Lower, b.Lower), Upper: math.Max(a.Upper, b.Upper)}, slope
}

func (s sampledCurve) Epsilon(delta float64) loss.Bounds {
	return loss.Inverse(s.LogDelta, delta, loss.GaussianTop(s.mu, delta))
}

func (s sampledCurve) remove(epsilon float64) (loss.Bounds, float64) {
	logRate := num.Log(s.rate)
	var u, steep float64 // u and du/dε
	if epsilon < 700 {
		ratio := math.Expm1(epsilon) / s.rate
		u = math.Log1p(ratio)
		steep = math.Exp(epsilon) / s.rate / (1 + ratio)
	} else {
		u, steep = epsilon-logRate, 1 // (1−q)·e^{−ε} is below the last place
	}
	b, slope := loss.GaussianLogDelta(s.mu, u)
	// q moves u by at most its relative error, u's own rounding counts with it.
	slack := num.Ulp * (slope*(8*u+16) + 8*math.Abs(logRate) + 8)
	if epsilon >= 700 {
		slack += num.Ulp * slope * 8 * math.Abs(logRate)
	}
	return loss.Bounds{
		Lower: num.DownBy(b.Lower+logRate, slack), Upper: math.Min(0, num.UpBy(b.Upper+logRate, slack)),
	}, slope * steep
}

// add grows with w, so that w's error is covered by both ends.
func (s sampledCurve) add(epsilon float64) loss.Bounds {
	w := s.rate + math.Expm1(-epsilon)
	off := 8 * num.Ulp * (s.rate - math.Expm1(-epsilon))
	high, _ := s.addAt(epsilon, math.Min(num.UpBy(w, off), s.rate))
	_, low := s.addAt(epsilon, num.DownBy(w, off))
	return loss.Bounds{Lower: low, Upper: high}
}

func (s sampledCurve) addAt(epsilon, w float64) (upper, lower float64) {
	if !(w > 0) {
		return math.Inf(-1), math.Inf(-1)
	}
	v := math.Max(0, num.Log(s.rate/w))
	b, slope := loss.GaussianLogDelta(s.mu, v)
	head := epsilon + num.Log(w)
	slack := num.Ulp * (slope*(8*v+16) + 8*math.Abs(head) + 8*epsilon + 8)
	return math.Min(0, num.UpBy(b.Upper+head, slack)), num.DownBy(b.Lower+head, slack)
}

// replacedCurve is the curve of one Poisson-sampled Gaussian step under REPLACE_ONE.
// The loss increases with z and equals ε at z*, where μz* = ε/2 + asinh κ with
// κ = ((1−q)/q)·sinh(ε/2)·e^{μ²/2}; with T the tail gap num.LogTailGap computes,
//
//	δ(ε) = q·T(z*−μ, μ) + q·e^{ε − μz* − μ²/2}·T(z*, μ)
//
// (docs/math/curves.md §4.3.3).
type replacedCurve struct {
	mu, rate          float64
	logRate, logOdds  float64 // ln q, ln((1−q)/q)
	logRateE, logOdsE float64 // their errors
}

func newReplacedCurve(mu, rate float64) replacedCurve {
	r := replacedCurve{mu: mu, rate: rate, logRate: num.Log(rate), logOdds: math.Log1p(-rate) - num.Log(rate)}
	r.logRateE = num.Ulp * (8 + 2*math.Abs(r.logRate))
	r.logOdsE = r.logRateE + num.Ulp*(8*rate/(1-rate)+2*math.Abs(math.Log1p(-rate)))
	return r
}

func (r replacedCurve) Epsilon(delta float64) loss.Bounds {
	return loss.Inverse(r.LogDelta, delta, loss.GaussianTop(2*r.mu, delta))
}

func (r replacedCurve) LogDelta(epsilon float64) (loss.Bounds, float64) {
	mu := r.mu
	logKappa := math.Inf(-1)
	if epsilon > 0 {
		logKappa = r.logOdds + mu*mu/2 + epsilon/2 + num.Log1mExp(epsilon) - math.Ln2
	}
	kappaErr := r.logOdsE + num.Ulp*(16+8*mu*mu+8*epsilon+4*math.Abs(logKappa))
	var inverse float64 // asinh κ
	switch {
	case logKappa > 25:
		inverse, kappaErr = logKappa+math.Ln2, kappaErr+math.Exp(-2*logKappa)
	case epsilon == 0:
		kappaErr = 0
	default:
		inverse = math.Asinh(math.Exp(logKappa))
		kappaErr *= math.Min(1, math.Exp(logKappa))
	}
	reach := epsilon/2 + inverse // μz*
	z := reach / mu
	near, nearErr := num.LogTailGap(z-mu, mu)
	far, farErr := num.LogTailGap(z, mu)
	a := near + r.logRate
	b := far + r.logRate + epsilon - reach - mu*mu/2
	value := num.LogAddExp(a, b)

	// z's error moves ln δ by at most its larger ratio of μ·φ·m to either gap.
	scale := num.LogNormalDensity(z) + num.Log(mu*num.Mills(z))
	// At near that is at most m/(−m') ≤ z + 1.5, at far (y + 1.5)²·1.26.
	y := z + mu
	moves := math.Max(z+1.5, 1.26*(y+1.5)*(y+1.5))
	if far > -1e4 {
		moves = math.Max(z+1.5, 1.01*math.Exp(scale-far))
	}
	zErr := (kappaErr + 8*num.Ulp*reach) / mu
	// μ's own: as in GaussianLogDelta, for each gap.
	err := nearErr + farErr + r.logRateE + moves*zErr + num.Ulp*(32*(1+math.Abs(value))+16*(y+1.5)*(y+1.5)) +
		num.Ulp*8*(epsilon+reach+mu*mu)
	if !(err >= 0) || mu < 0x1p-900 || math.IsInf(mu, 1) {
		return loss.Bounds{Lower: math.Inf(-1), Upper: 0}, 0
	}
	// −dδ/dε = e^ε·Q(z > z*).
	log1p := math.Log1p(-r.rate) + num.LogNormalCDF(-z)
	q := num.LogAddExp(log1p, r.logRate+num.LogNormalCDF(-z-mu))
	slope := math.Exp(epsilon + q - value)
	return loss.Bounds{Lower: num.DownBy(value, err), Upper: math.Min(0, num.UpBy(value, err))}, slope
}
