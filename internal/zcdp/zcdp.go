// SPDX-License-Identifier: Apache-2.0

// Package zcdp bounds a composition by zero-concentrated differential privacy
// (Bun–Steinke 2016, arXiv 1605.02065v1): the sum of ρ (Lemma 1.7), converted
// with the infimum over real orders of Canonne–Kamath–Steinke 2020, Prop. 12.
//
// It is approximate zCDP (Def. 8.1) where mechanisms can fail altogether: ρ
// belongs to the finite part of the losses, δ = δ_∞ + (1 − δ_∞)·δ_zCDP. Every
// answer is rounded up.
package zcdp

import (
	"math"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/num"
)

// Rho returns Σ n_j·ρ_j, rounded up, or +Inf if a mechanism has no ρ.
func Rho(c loss.Composition) float64 {
	var sum float64
	for i, f := range c.Facts() {
		sum = num.AddUp(sum, num.MulUp(num.Count(c[i].Count), f.Rho))
	}
	return sum
}

// Epsilon returns an upper bound on ε at δ in (0, 1), never below the truth, and
// the order α that proves it. It is +Inf, with order 0, where δ does not exceed
// δ_∞. See docs/math/conversions.md §4.5.6.
func Epsilon(c loss.Composition, delta float64) (epsilon, order float64) {
	if len(c) == 0 {
		return 0, 0
	}
	finite := loss.Finite(delta, c.Failing())
	if !(finite > 0) {
		return math.Inf(1), 0
	}
	epsilon, s := loss.LeastEpsilon(loss.ConcentratedBound(Rho(c)), num.LogDown(finite), 0, nil)
	return epsilon, 1 + s
}

// LogDelta returns an upper bound on ln δ at ε ≥ 0, at most 0, and its order.
func LogDelta(c loss.Composition, epsilon float64) (logDelta, order float64) {
	if len(c) == 0 {
		return math.Inf(-1), 0
	}
	finite, s := loss.LeastLogDelta(loss.ConcentratedBound(Rho(c)), epsilon, 0, nil)
	return loss.LogTotal(finite, c.Failing()), 1 + s
}
