// SPDX-License-Identifier: Apache-2.0

package num

import (
	"math"
	"math/big"
)

// atLeast reports whether got ≥ x op y exactly. An infinite operand makes any
// infinite result right.
func atLeast(got, x, y float64, op rune) bool {
	if math.IsNaN(got) {
		return false
	}
	if math.IsInf(got, 1) {
		return true
	}
	if math.IsInf(x, 0) || math.IsInf(y, 0) {
		return false
	}
	a, b := new(big.Rat).SetFloat64(x), new(big.Rat).SetFloat64(y)
	exact := new(big.Rat)
	switch op {
	case '+':
		exact.Add(a, b)
	case '*':
		exact.Mul(a, b)
	case '/':
		exact.Quo(a, b)
	}
	return new(big.Rat).SetFloat64(got).Cmp(exact) >= 0
}
