// SPDX-License-Identifier: Apache-2.0

package num

import "math"

// LogBinomialMass returns ln[C(n,k)·p^k·q^{n−k}], p + q = 1, for whole numbers
// 0 ≤ k ≤ n ≤ 2⁵³ given with p and q within 4 Ulp of their values each, with a
// bound on its error. It stays near 10⁻¹⁴ in the bulk however large n is, where
// differences of log-factorials lose n·ln n·Ulp (Loader 2000, "Fast and
// accurate computation of binomial probabilities"). See docs/math/curves.md §4.4.
func LogBinomialMass(k, n, p, q float64) (value, err float64) {
	switch {
	case k < 0 || k > n:
		return math.Inf(-1), 0
	case n == 0:
		return 0, 0
	case k == 0:
		return logPower(n, p, q)
	case k == n:
		return logPower(n, q, p)
	}
	a, b := deviance(k, n*p), deviance(n-k, n*q)
	value = stirlingError(n) - stirlingError(k) - stirlingError(n-k) - a - b +
		(Log(n/k)-Log(n-k))/2 - logSqrtTwoPi
	// An error of 5 Ulp in n·p changes a by 5·|n·p − k| Ulp.
	return value, Ulp * (16 + 4*(a+b) + 6*math.Abs(n*p-k) + 6*math.Abs(n*q-(n-k)) + math.Abs(value) + 2*Log(n))
}

// logPower returns n·ln q where p = 1 − q.
func logPower(n, p, q float64) (value, err float64) {
	if p < 0.5 {
		value = n * math.Log1p(-p)
		return value, Ulp * 4 * math.Abs(value)
	}
	value = n * Log(q)
	return value, Ulp * (2*math.Abs(value) + 2*n)
}

// deviance returns x·ln(x/m) + m − x ≥ 0 for x > 0, m > 0.
func deviance(x, m float64) float64 {
	if math.Abs(x-m) > 0.1*(x+m) {
		return x*Log(x/m) + m - x
	}
	// With v = (x−m)/(x+m): ln(x/m) = 2·(v + v³/3 + v⁵/5 + …).
	v := (x - m) / (x + m)
	sum, term, w := (x-m)*v, 2*x*v, v*v
	for j := 3.0; j < 40; j += 2 {
		term *= w
		next := sum + term/j
		if next == sum {
			break
		}
		sum = next
	}
	return sum
}

// stirlingError returns ln n! − ln[√(2πn)·(n/e)^n] for whole n ≥ 1, within 10⁻¹⁷.
func stirlingError(n float64) float64 {
	if n < 16 {
		return smallStirling[int(n)]
	}
	w := 1 / (n * n)
	return (1./12 - w*(1./360-w*(1./1260-w*(1./1680-w*(1./1188-w*691./360360))))) / n
}

// smallStirling[n] is the error for n < 16, to 20 digits; [0] is not used.
var smallStirling = [16]float64{
	0, 0.08106146679532725822, 0.041340695955409294094, 0.027677925684998339149,
	0.020790672103765093112, 0.016644691189821192163, 0.013876128823070747999, 0.011896709945891770095,
	0.010411265261972096497, 0.0092554621827127329177, 0.0083305634333628712565, 0.007573675487951840795,
	0.0069428401072095298657, 0.0064089941880042070684, 0.0059513701127588477356, 0.005554733551962801371,
}
