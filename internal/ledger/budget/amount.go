// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"math"
	"math/big"

	"github.com/dpaccountant/accountant/internal/accountant"
)

// Amount is a limit and how much of it is used. Spent and Reserved are rounded up,
// Limit and Remaining down.
type Amount struct {
	Unit      string // "ε", "δ", "ρ", "μ²" or "Rényi divergence at α = 12"
	Limit     float64
	Spent     float64
	Reserved  float64 // by open reservations
	Remaining float64 // of Limit, after both

	// Used is the share of the limit that is spent or reserved, and Held that which is reserved, rounded up.
	Used, Held float64
}

// Amounts are how limit i stands. The second is zero where mechanisms may leave nothing to failures.
func (a *Account) Amounts(i int) (value, delta Amount) {
	l, used, held := a.Limits[i], a.Used[i], a.Held[i]
	value = amount(unitOf(l), l.Value, used.value, held.value)
	if l.Delta > 0 {
		delta = amount("δ", l.Delta, used.delta, held.delta)
	}
	if used.beyond > 0 { // by what was lost: more than can be told
		value.Spent, value.Used = math.Inf(1), math.Inf(1)
		if l.Delta > 0 {
			delta.Spent, delta.Used = math.Inf(1), math.Inf(1)
		}
	}
	return value, delta
}

// amount makes an Amount of what is used altogether and what of that is held.
func amount(unit string, limit float64, used, held tally) Amount {
	spent := used
	spent.take(held)
	return Amount{
		Unit: unit, Limit: limit,
		Spent: accountant.Part(limit, spent.big(), true), Reserved: accountant.Part(limit, held.big(), true),
		Remaining: accountant.Part(limit, new(big.Int).SetUint64(used.left()), false),
		Used:      accountant.Part(1, used.big(), true), Held: accountant.Part(1, held.big(), true),
	}
}
