// SPDX-License-Identifier: Apache-2.0

// Package gdp answers exactly about compositions of Gaussian losses. Any number of different
// Gaussians is one Gaussian with μ² = Σ n_j·μ_j² (Dong–Roth–Su 2022, arXiv 1905.02383v3, Cor.
// 3.3), whose privacy curve is known (Balle–Wang 2018, Thm 8).
//
// The upper and the lower bound differ by rounding only. All other compositions are refused,
// with the reason.
package gdp

import (
	"math"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/num"
)

// Mu returns √(Σ n_j·μ_j²), rounded up by a relative 2⁻⁵⁰ at most, or the reason
// why the composition has none. It is 0 for the empty composition.
// See docs/math/cumulant.md §1.1.1.
func Mu(c loss.Composition) (mu float64, reason string) {
	mus := make([]float64, len(c))
	var largest float64
	for i, t := range c {
		if mus[i], _ = loss.MuOf(t.Loss); !(mus[i] > 0) {
			return 0, "not every loss is Gaussian: " + t.Loss.Facts().Name
		}
		largest = math.Max(largest, mus[i])
	}
	if largest == 0 || math.IsInf(largest, 1) {
		return largest, ""
	}
	var sum num.Sum
	for i, one := range mus {
		r := one / largest
		sum.Add(num.Count(c[i].Count) * r * r)
	}
	return num.Up(largest * math.Sqrt(sum.Value()) * (1 + 8*num.Ulp)), ""
}

// Epsilon encloses ε at δ in (0, 1).
func Epsilon(c loss.Composition, delta float64) (e loss.Bounds, reason string) {
	mu, reason := Mu(c)
	if reason != "" || mu == 0 {
		return loss.Bounds{}, reason
	}
	return loss.Inverse(func(epsilon float64) (loss.Bounds, float64) {
		return loss.GaussianLogDelta(mu, epsilon)
	}, delta, loss.GaussianTop(mu, delta)), ""
}

// LogDelta encloses ln δ at ε ≥ 0; −Inf stands for δ = 0.
func LogDelta(c loss.Composition, epsilon float64) (logDelta loss.Bounds, reason string) {
	mu, reason := Mu(c)
	if reason != "" {
		return loss.Bounds{}, reason
	}
	if mu == 0 {
		return loss.Bounds{Lower: math.Inf(-1), Upper: math.Inf(-1)}, ""
	}
	logDelta, _ = loss.GaussianLogDelta(mu, epsilon)
	return logDelta, ""
}
