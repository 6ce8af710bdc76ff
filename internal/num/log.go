package num

import "math"

// Log1mExp returns ln(1 − e^{−x}) for x > 0 within 4 Ulp of its value: −Inf at
// 0, NaN below (Mächler 2012, "Accurately computing log(1 − exp(−|a|))").
func Log1mExp(x float64) float64 {
	if x < math.Ln2 {
		return math.Log(-math.Expm1(-x))
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
		return math.Log(math.Expm1(x))
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
func Expm2(x float64) float64 {
	if math.Abs(x) > 1 {
		return math.Expm1(x) - x
	}
	// Σ x^k/k!, k = 2 … 19; the next term is below 2⁻⁶⁰ of the first.
	p := 1.0
	for k := 19.0; k > 2; k-- {
		p = 1 + x*p/k
	}
	return x * x / 2 * p
}

// ExpDivergence returns x·e^x − e^x + 1 = x²/2 + x³/3 + x⁴/8 + … ≥ 0 within
// 8 Ulp of its value. It is the generator of the Kullback–Leibler divergence
// at the ratio e^x.
func ExpDivergence(x float64) float64 {
	if math.Abs(x) > 1 {
		if x > 1 {
			return math.Exp(x)*(x-1) + 1
		}
		return x*math.Exp(x) - math.Expm1(x)
	}
	// Σ (k−1)·x^k/k!, k = 2 … 20: as Expm2, with (k−1) carried along.
	p, c := 0.0, 1.0/2432902008176640000 // 1/20!
	for k := 20.0; k >= 2; k-- {
		p = p*x + (k-1)*c
		c *= k
	}
	return x * x * p
}

// LogUp returns a float64 ≥ ln x for x ≥ 0: −Inf at 0. math.Log is within one
// unit in the last place.
func LogUp(x float64) float64 {
	if x == 0 || x == 1 {
		return math.Log(x)
	}
	return Up(math.Log(x))
}

// LogDown returns a float64 ≤ ln x for x ≥ 0.
func LogDown(x float64) float64 {
	if x == 0 || x == 1 {
		return math.Log(x)
	}
	return Down(math.Log(x))
}

// ExpUp returns a float64 ≥ e^x: positive for every x but −Inf. math.Exp is
// within one unit in the last place.
func ExpUp(x float64) float64 {
	if x == 0 || math.IsInf(x, -1) {
		return math.Exp(x)
	}
	return Up(math.Exp(x))
}

// ExpDown returns a float64 ≤ e^x, and ≥ 0.
func ExpDown(x float64) float64 {
	if x == 0 {
		return 1
	}
	return math.Max(0, Down(math.Exp(x)))
}
