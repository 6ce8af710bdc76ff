// SPDX-License-Identifier: Apache-2.0

package pairs

import (
	"math"

	"github.com/dpaccountant/accountant/internal/num"
)

// RhoOfPure returns ρ = ε·tanh(ε/2), rounded up: every ε-DP mechanism is ρ-zCDP
// with it, and none smaller serves them all (docs/math/curves.md §4.4).
func RhoOfPure(epsilon float64) float64 {
	// Tanh is within two units in the last place of its value, at most 1.
	t := math.Tanh(epsilon / 2)
	return num.MulUp(epsilon, math.Min(1, num.Up(t*(1+4*num.Ulp))))
}
