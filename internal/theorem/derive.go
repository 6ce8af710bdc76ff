// SPDX-License-Identifier: Apache-2.0

package theorem

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/dpaccountant/accountant/internal/num"
)

// ofGroup returns what g implies for a group of k records.
func ofGroup(g Guarantee, t Target) (Converted, error) {
	k := num.Count(t.GroupSize)
	out := Converted{Guarantee: g, Tight: true}
	switch g.Kind {
	case Pure:
		out.Guarantee.Epsilon = num.MulUp(k, g.Epsilon)
		out.Theorem, out.Source = "kε", "Dwork–Roth 2014, Thm 2.2"
	case Approximate:
		out.Guarantee.Epsilon = num.MulUp(k, g.Epsilon)
		out.Guarantee.Delta = math.Min(1, num.ExpUp(logGroup(t.GroupSize, g.Epsilon, num.LogUp(g.Delta))))
		if t.GroupSize == 1 {
			out.Guarantee = g
		}
		if out.Guarantee.Delta == 1 {
			return Converted{}, &RefusedError{g.Kind, t.Kind, "δ reaches 1"}
		}
		out.Theorem, out.Source, out.Tight = "(kε, δ·(e^{kε} − 1)/(e^ε − 1))",
			"Vadhan 2017, Lemma 2.2 with its proof", false
	case Concentrated:
		out.Guarantee.Rho = num.MulUp(num.MulUp(k, k), g.Rho)
		out.Theorem, out.Source = "k²ρ", "Bun–Steinke 2016 (arXiv 1605.02065v1), Prop. 1.9"
	case Gaussian:
		out.Guarantee.Mu = num.MulUp(k, g.Mu)
		out.Theorem, out.Source = "kμ", "Dong–Roth–Su 2022 (arXiv 1905.02383v3), Thm 2.14"
	case Renyi:
		c := bits.Len64(t.GroupSize) - 1
		if t.GroupSize != 1<<c || g.Order < math.Ldexp(2, c) {
			return Converted{}, &RefusedError{g.Kind, t.Kind,
				fmt.Sprintf("it is known for k = 2^c with order ≥ 2k; here k = %d and the order is %v",
					t.GroupSize, g.Order)}
		}
		out.Guarantee.Order = math.Ldexp(g.Order, -c)
		for range c {
			out.Guarantee.Epsilon = num.MulUp(3, out.Guarantee.Epsilon)
		}
		out.Theorem, out.Source, out.Tight = "order α/2^c, 3^c·τ for k = 2^c",
			"Mironov 2017 (arXiv 1702.07476v3), Prop. 2", c == 0
	}
	return out, nil
}

// ofSampled returns what g, pure or approximate DP, implies for a mechanism that runs on a
// Poisson sample. Both results are tight.
func ofSampled(g Guarantee, t Target) (Converted, error) {
	out := Converted{
		Guarantee: g, Tight: true,
		Theorem: "(ln(1 + q(e^ε − 1)), qδ)", Source: "Balle–Barthe–Gaboardi 2018 (arXiv 1807.01647v2), Thm 8",
	}
	out.Guarantee.Epsilon = amplified(g.Epsilon, t.SamplingProbability)
	if g.Delta > 0 {
		out.Guarantee.Delta = math.Min(g.Delta, num.MulUp(t.SamplingProbability, g.Delta))
	}
	return out, nil
}

// Test bounds every test of two neighbouring datasets, given the output.
type Test struct {
	Alpha      *float64 // the type I error that was asked about
	Beta       float64  // then the type II error is at least this; 0 where none was
	EqualError float64  // the error of a test that errs equally often on both sides is at least this
	Advantage  float64  // true positives minus false positives are at most this
}

// tested evaluates the trade-off function: G_μ(α) = Φ(Φ⁻¹(1 − α) − μ) for Gaussian DP, and
// otherwise max{0, 1 − δ − e^ε·α, e^{−ε}(1 − δ − α)}.
func tested(g Guarantee, t Target) Converted {
	if g.Kind == Gaussian {
		equal := math.Max(0, num.Down(num.NormalTail(g.Mu/2)*(1-32*num.Ulp)))
		out := Test{Alpha: t.Alpha, EqualError: equal, Advantage: math.Min(1, num.Up(1-2*equal))}
		if t.Alpha != nil {
			out.Beta = gaussianBeta(g.Mu, *t.Alpha)
		}
		return Converted{Test: &out, Tight: true, Theorem: "β ≥ G_μ(α) = Φ(Φ⁻¹(1 − α) − μ)",
			Source: "Dong–Roth–Su 2022 (arXiv 1905.02383v3), Def. 4"}
	}
	rest := 1.0 // 1 − δ, rounded down
	if g.Delta > 0 {
		rest = num.Down(1 - g.Delta)
	}
	ratio := num.ExpUp(g.Epsilon)
	out := Test{Alpha: t.Alpha, EqualError: math.Max(0, num.Down(rest/num.Up(1+ratio)))}
	out.Advantage = math.Min(1, num.Up(1-2*out.EqualError))
	if t.Alpha != nil {
		steep := num.Down(rest - num.MulUp(ratio, *t.Alpha))
		flat := num.Down(num.Down(rest-*t.Alpha) / ratio)
		if *t.Alpha == 0 {
			steep = rest
		}
		out.Beta = math.Max(0, math.Max(steep, flat))
	}
	return Converted{Test: &out, Tight: true, Theorem: "α + e^ε·β ≥ 1 − δ and e^ε·α + β ≥ 1 − δ",
		Source: "Wasserman–Zhou 2010, Thm 2.4; Kairouz–Oh–Viswanath 2015 (arXiv 1311.0776), Thm 2.1"}
}

// gaussianBeta returns Φ(z − μ) with Φ(−z) = α, rounded down.
func gaussianBeta(mu, alpha float64) float64 {
	switch alpha {
	case 0:
		return 1
	case 1:
		return 0
	}
	const middle = 40 // Φ(−40) underflows
	below, _ := num.Crossing(func(x float64) (float64, float64) {
		return alpha - num.NormalTail(x-middle)*(1-32*num.Ulp), 0
	}, 0, 2*middle, middle, 0x1p-52, 200)
	return num.ExpDown(num.LogNormalCDF(num.Down(below-middle-mu)) * (1 + 40*num.Ulp))
}

// muOfPure is μ = 2Φ⁻¹(e^ε/(1 + e^ε)), rounded up. Of the ε-DP trade-off function
// max{1 − e^ε·α, e^{−ε}(1 − α)} the corner (c, c), c = 1/(1 + e^ε), lies on G_μ, and G_μ
// is convex from (0, 1) to there: it is nowhere above, and with a smaller μ it is, at
// the corner. See docs/math/conversions.md §4.5.5.
func muOfPure(epsilon float64) float64 {
	corner := -num.Up(num.Log1pExp(epsilon) * (1 + 8*num.Ulp)) // ln c, rounded down
	_, half := num.Crossing(func(x float64) (float64, float64) {
		v := num.LogNormalCDF(-x)
		return corner - (v + 64*num.Ulp*math.Abs(v)), 0
	}, 0, 1.01*math.Sqrt(2*epsilon)+1e-12, math.Sqrt(epsilon), 0x1p-52, 400)
	return 2 * half
}
