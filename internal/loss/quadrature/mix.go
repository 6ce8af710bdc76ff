// SPDX-License-Identifier: Apache-2.0

package quadrature

import (
	"math"

	"github.com/dpaccountant/accountant/internal/num"
)

// LogMix returns ln(1 − q + q·e^x), with q's logarithm given.
func LogMix(rate, logRate, x float64) float64 {
	if x > 40 {
		return x + logRate + math.Log1p((1-rate)/rate*math.Exp(-x))
	}
	y := rate * math.Expm1(x)
	if y < -0.5 {
		return num.Log(1 - rate + rate*math.Exp(x))
	}
	return math.Log1p(y)
}

// MixShare is the share q·e^x/(1 − q + q·e^x) of the second part: the derivative
// of LogMix.
func MixShare(rate, x float64) float64 {
	return rate / (rate + (1-rate)*math.Exp(-x))
}

// Mix is 1 − q + q·e^u, the ratio of a sampled to an unsampled probability.
type Mix struct {
	rate    float64
	LogRate float64 // ln q
	Odds    float64 // (1−q)/q
}

// NewMix is the ratio at a rate in (0, 1).
func NewMix(rate float64) Mix { return Mix{rate, num.Log(rate), (1 - rate) / rate} }

// LogRatio returns ln(1 − q + q·e^u), its slope w in (0, 1) and a bound on its error
// in units of Ulp, for a u that is within du Ulp and a q rounded up by 2.
func (p Mix) LogRatio(u, du float64) (l, w, err float64) {
	if u > 700 {
		rest := p.Odds * math.Exp(-u)
		return u + p.LogRate + math.Log1p(rest), 1 / (1 + rest), du + 2*u + 4 - 4*p.LogRate
	}
	e := math.Exp(u)
	var y, r float64 // r = 1 + y
	if u < -0.5 || u > 0.5 {
		y = p.rate * (e - 1)
	} else {
		y = p.rate * math.Expm1(u)
	}
	if y < -0.5 {
		r = 1 - p.rate + p.rate*e
		l = math.Log(r)
	} else {
		r = 1 + y
		l = math.Log1p(y)
	}
	w = p.rate * e / r
	return l, w, w*du + 8*math.Abs(y)/r + 2*math.Abs(l)
}
