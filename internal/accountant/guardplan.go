// SPDX-License-Identifier: Apache-2.0

package accountant

import (
	"math/big"

	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/num"
)

// Met reports whether c keeps within a budget without a guard: by the least
// bound of every analysis for (ε, δ), and by exact sums for ρ and μ, where a
// mechanism that has none does not. stop has the meaning of Question's Stop.
func (b Budget) Met(c mechanism.Composition, stop func() bool) (bool, error) {
	if err := b.Check(); err != nil {
		return false, err
	}
	if b.Epsilon != 0 {
		q := AtDelta(b.Delta)
		q.Stop = stop
		a, err := Ask(c, q)
		return err == nil && a.Epsilon <= b.Epsilon, err
	}
	b.Guard = GuardZCDP
	if b.Mu != 0 {
		b.Guard = GuardGDP
	}
	l, err := b.Resolve(mechanism.Composition{})
	if err != nil {
		return false, err
	}
	met, in := false, num.NewInterrupt(stop)
	if !in.Try(func() { met = l.covers(c, in) }) {
		return false, ErrStopped
	}
	return met, nil
}

// covers reports whether the costs of all that c has are within the limit; in interrupts it.
func (l Limit) covers(c mechanism.Composition, in *num.Interrupt) bool {
	var sum big.Int
	for _, p := range c.Parts {
		value, delta, reason := l.Shares(p.Mechanism, c.Adjacency, in)
		if reason != "" {
			return false
		}
		n := new(big.Int).SetUint64(CostOf(value, delta).Value)
		sum.Add(&sum, n.Mul(n, new(big.Int).SetUint64(p.Count)))
	}
	return sum.Cmp(new(big.Int).SetUint64(Whole)) <= 0
}
