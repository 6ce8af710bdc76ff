// SPDX-License-Identifier: Apache-2.0

package num

import (
	"cmp"
	"math"
)

const (
	sqrtHalfPi   = 1.2533141373155002512 // √(π/2)
	sqrtTwoPi    = 2.5066282746310005024 // √(2π)
	logSqrtTwoPi = 0.9189385332046727418 // ln √(2π)
)

// LogNormalDensity returns ln φ(x) = −x²/2 − ln √(2π), within 2 Ulp.
func LogNormalDensity(x float64) float64 { return -x*x/2 - logSqrtTwoPi }

// LogNormalCDF returns ln Φ(x) within 32 Ulp of its value, in both tails.
func LogNormalCDF(x float64) float64 {
	switch {
	case x > 0:
		return math.Log1p(-NormalTail(x))
	case x > -2:
		return Log(NormalTail(-x))
	}
	mills, _ := millsTail(-x)
	return LogNormalDensity(x) + Log(mills)
}

// NormalTail returns 1 − Φ(x) within 16 Ulp of its value, down to where it
// underflows (x near 38).
func NormalTail(x float64) float64 {
	if x < 2 {
		return math.Erfc(x/math.Sqrt2) / 2
	}
	mills, _ := millsTail(x)
	// x = h + l with h² exact, so that the exponent's rounding is not magnified.
	h := math.Float64frombits(math.Float64bits(x) &^ (1<<27 - 1))
	return math.Exp(-h*h/2) * math.Exp(-(x-h)*(x+h)/2) * mills / sqrtTwoPi
}

// Mills returns (1 − Φ(x))/φ(x), the Mills ratio, within 32 Ulp of its value
// for x ≥ −2; it overflows below −38.
func Mills(x float64) float64 {
	if x < 2 {
		return sqrtHalfPi * math.Exp(x*x/2) * math.Erfc(x/math.Sqrt2)
	}
	m, _ := millsTail(x)
	return m
}

// millsTail returns the Mills ratio m and 1 − x·m for x ≥ 2, both within 8 Ulp,
// from Laplace's continued fraction m = 1/(x + 1/(x + 2/(x + 3/(x + …)))): its
// terms are positive, so rounding does not grow. Cut after n terms it is
// within 10⁻²⁰ (measured against 40 digits at x = 2, 3, 4, 6, 10, 20).
func millsTail(x float64) (m, oneMinusXM float64) {
	n := 20 + math.Floor(800/(x*x))
	c := 0.0
	for k := n; k > 1; k-- {
		c = k / (x + c)
	}
	c = 1 / (x + c)
	m = 1 / (x + c)
	return m, m * c
}

// millsSlope returns −m'(x) = 1 − x·m(x) > 0 for x ≥ −1, within 50 Ulp.
func millsSlope(x float64) float64 {
	if x < 2 {
		return 1 - x*Mills(x)
	}
	_, s := millsTail(x)
	return s
}

// LogTailGap returns the logarithm of
//
//	∫_c^∞ φ(t)·(1 − e^{−d(t−c)}) dt = φ(c)·[m(c) − m(c+d)],  m the Mills ratio,
//
// for d > 0 and c + d ≥ 0, with a bound on its error for exact c and d. It is
// the hockey-stick divergence of two normals at distance d (docs/math/curves.md §4.1.1).
// Relative precision holds however small d or the result; where the logarithm
// itself overflows the value is −MaxFloat64, a bound from above.
func LogTailGap(c, d float64) (value, err float64) {
	switch {
	case math.IsNaN(c) || math.IsNaN(d):
		return math.NaN(), math.Inf(1)
	case d < 1 || c > 10*d:
		// m(c) − m(c+d) is the integral of −m' over an interval short against 1 or
		// against c: ten Gauss–Legendre points, all terms positive.
		var mean float64
		for i, x := range legendreNodes {
			mean += legendreWeights[i] / 2 * (millsSlope(c+d*(0.5+x/2)) + millsSlope(c+d*(0.5-x/2)))
		}
		value = LogNormalDensity(c) + Log(d) + Log(mean)
		if value < -math.MaxFloat64 {
			return -math.MaxFloat64, 0
		}
		return value, Ulp * (100 + 2*math.Abs(value) + 3*math.Abs(Log(d)))
	case c < -1:
		// Φ(−c) ≥ 0.84 and the other term is at most 0.16·1.26.
		tail := math.Exp(LogNormalDensity(c)) * Mills(c+d)
		missing := NormalTail(-c) + tail // 1 − the integral, at most 0.37
		// Beyond 40 both parts underflow.
		return math.Log1p(-missing), Ulp*missing*(60+4*math.Min(c*c, 1600)) + math.SmallestNonzeroFloat64
	}
	a, b := Mills(c), Mills(c+d)
	value = LogNormalDensity(c) + Log(a-b)
	return value, Ulp * (8 + 3*math.Abs(value) + 32*(a+b)/(a-b))
}

// Nodes x > 0 and weights of the ten-point Gauss–Legendre rule on [−1, 1], to
// 20 digits (Abramowitz–Stegun, table 25.4).
var (
	legendreNodes = [...]float64{0.14887433898163121088, 0.43339539412924719080,
		0.67940956829902440623, 0.86506336668898451073, 0.97390652851717172008}
	legendreWeights = [...]float64{0.29552422471475287017, 0.26926671930999635509,
		0.21908636251598204400, 0.14945134915058059315, 0.06667134430868813759}
)

// LogNormalQuantile is Φ⁻¹(e^log), within a relative 1e−13 and as much of 1.
func LogNormalQuantile(log float64) float64 {
	if math.IsInf(log, -1) || log >= 0 {
		return math.Inf(cmp.Compare(log, -1e-300))
	}
	lo, hi := -math.Sqrt(-2*log)-1, 9.0
	for range 100 {
		if middle := lo + (hi-lo)/2; LogNormalCDF(middle) < log {
			lo = middle
		} else {
			hi = middle
		}
	}
	return lo
}
