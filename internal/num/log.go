// SPDX-License-Identifier: Apache-2.0

package num

import "math"

// Log returns ln x within one unit in the last place, two for subnormal x. It is
// math.Log but right for subnormal x too: on amd64, Go 1.26's math.Log takes
// ln 5e−324 for −709, not −744.
func Log(x float64) float64 {
	if x > 0 && x < 0x1p-1022 {
		return math.Log(x*0x1p54) - 54*math.Ln2
	}
	return math.Log(x)
}

// Log1mExp returns ln(1 − e^{−x}) for x > 0 within 4 Ulp of its value: −Inf at
// 0, NaN below (Mächler 2012, "Accurately computing log(1 − exp(−|a|))").
func Log1mExp(x float64) float64 {
	if x < math.Ln2 {
		return Log(-math.Expm1(-x))
	}
	return math.Log1p(-math.Exp(-x))
}

// Log1pExp returns ln(1 + e^x) within 4 Ulp of its value.
func Log1pExp(x float64) float64 {
	if x > 40 { // e^{−x} is below the last place of x
		return x
	}
	return math.Log1p(math.Exp(x))
}

// LogExpm1 returns ln(e^x − 1) for x > 0: −Inf at 0, NaN below. Its error is
// within 4 Ulp of |x| + |result|.
func LogExpm1(x float64) float64 {
	if x < 1 {
		return Log(math.Expm1(x))
	}
	return x + Log1mExp(x)
}

// LogAddExp returns ln(e^a + e^b) within 4 Ulp of max(|a|, |result|). −Inf
// stands for an exact zero.
func LogAddExp(a, b float64) float64 {
	if a < b {
		a, b = b, a
	}
	if math.IsInf(b, -1) || math.IsInf(a, 1) {
		return a
	}
	return a + math.Log1p(math.Exp(b-a))
}

// LogSubExp returns ln(e^a − e^b) for a ≥ b: −Inf where they are equal, NaN for
// a < b. Its error is within 4 Ulp of max(|a|, |result|), exact inputs taken
// for granted.
func LogSubExp(a, b float64) float64 {
	if math.IsInf(b, -1) || math.IsInf(a, 1) && !math.IsInf(b, 1) {
		return a
	}
	return a + Log1mExp(a-b)
}

// Expm2 returns e^x − 1 − x = x²/2 + x³/6 + … within 4 Ulp of its value.
// See docs/math/sampled-gaussian.md §1.2.1.
func Expm2(x float64) float64 {
	if math.Abs(x) > 1 {
		return math.Expm1(x) - x
	}
	return x * x * series(x, &inverseFactorials)
}

// ExpDivergence returns x·e^x − e^x + 1 = x²/2 + x³/3 + x⁴/8 + … ≥ 0 within
// 8 Ulp of its value. It is the generator of the Kullback–Leibler divergence
// at the ratio e^x. See docs/math/sampled-gaussian.md §1.2.1.
func ExpDivergence(x float64) float64 {
	if math.Abs(x) > 1 {
		if x > 1 {
			return math.Exp(x)*(x-1) + 1
		}
		return x*math.Exp(x) - math.Expm1(x)
	}
	return x * x * series(x, &divergenceTerms)
}

// Coefficients of x^{k−2}, k = 2 … 19: 1/k! and (k−1)/k!. For |x| ≤ 1 the rest of
// either series is below 2⁻⁵⁷ of its sum.
var inverseFactorials = [18]float64{
	1. / 2, 1. / 6, 1. / 24, 1. / 120, 1. / 720, 1. / 5040,
	1. / 40320, 1. / 362880, 1. / 3628800, 1. / 39916800, 1. / 479001600, 1. / 6227020800,
	1. / 87178291200, 1. / 1307674368000, 1. / 20922789888000, 1. / 355687428096000, 1. / 6402373705728000,
	1. / 121645100408832000,
}

var divergenceTerms = [18]float64{
	1. / 2, 2. / 6, 3. / 24, 4. / 120, 5. / 720, 6. / 5040,
	7. / 40320, 8. / 362880, 9. / 3628800, 10. / 39916800, 11. / 479001600, 12. / 6227020800,
	13. / 87178291200, 14. / 1307674368000, 15. / 20922789888000, 16. / 355687428096000, 17. / 6402373705728000,
	18. / 121645100408832000,
}

// series sums a power series, with fewer terms where they suffice.
func series(x float64, c *[18]float64) float64 {
	n := len(c) - 1
	if math.Abs(x) < 0.0625 {
		n = 10 // 16⁻¹¹ = 2⁻⁴⁴ times 2·11/13! is below 2⁻⁷¹
	}
	sum := c[n]
	for i := n - 1; i >= 0; i-- {
		sum = sum*x + c[i]
	}
	return sum
}

// The standard library's functions are not correctly rounded. Measured on
// some 300,000 points each against 113 bits (amd64, Go 1.26, with and without FMA,
// and the portable versions of other machines), in units in the last place of
// the exact value: Exp 1.73, Log 0.82, Log1p 0.79, Expm1 0.81. The worst of
// them are in testdata/elementary.json. Bounds below take 2 for Exp and 1 for
// the others, in twice as many steps: below a power of two a step is half of
// the unit above it.
const (
	expSteps = 4
	logSteps = 2
)

// stepsUp returns the n-th float64 above x.
func stepsUp(x float64, n int) float64 {
	for range n {
		x = Up(x)
	}
	return x
}

// stepsDown returns the n-th float64 below x.
func stepsDown(x float64, n int) float64 {
	for range n {
		x = Down(x)
	}
	return x
}

// LogUp returns a float64 ≥ ln x for x ≥ 0: −Inf at 0.
func LogUp(x float64) float64 {
	if x == 0 || x == 1 {
		return Log(x)
	}
	if x < 0x1p-1022 {
		return stepsUp(Log(x), 2*logSteps)
	}
	return stepsUp(Log(x), logSteps)
}

// LogDown returns a float64 ≤ ln x for x ≥ 0.
func LogDown(x float64) float64 {
	if x == 0 || x == 1 {
		return Log(x)
	}
	if x < 0x1p-1022 {
		return stepsDown(Log(x), 2*logSteps)
	}
	return stepsDown(Log(x), logSteps)
}

// Log1pUp returns a float64 ≥ ln(1 + x) for x ≥ −1: −Inf at −1.
func Log1pUp(x float64) float64 {
	if x == 0 || x == -1 {
		return math.Log1p(x)
	}
	return stepsUp(math.Log1p(x), logSteps)
}

// Expm1Up returns a float64 ≥ e^x − 1.
func Expm1Up(x float64) float64 {
	if x == 0 || math.IsInf(x, -1) {
		return math.Expm1(x)
	}
	return stepsUp(math.Expm1(x), logSteps)
}

// ExpUp returns a float64 ≥ e^x: positive for every x but −Inf.
func ExpUp(x float64) float64 {
	if x == 0 || math.IsInf(x, -1) {
		return math.Exp(x)
	}
	return stepsUp(math.Exp(x), expSteps)
}

// ExpDown returns a float64 ≤ e^x, and ≥ 0.
func ExpDown(x float64) float64 {
	if x == 0 {
		return 1
	}
	return math.Max(0, stepsDown(math.Exp(x), expSteps))
}
