package accountant

import (
	"math/big"

	"github.com/dpaccountant/accountant/internal/mechanism"
)

// Met reports whether c keeps within a budget without a guard: by the least
// bound of every analysis for (ε, δ), and by exact sums for ρ and μ, where a
// mechanism that has none does not. stop is as in Question.
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
	var sum big.Int
	for _, p := range c.Parts {
		cost, reason := l.Cost(p.Mechanism, c.Adjacency)
		if reason != "" {
			return false, nil
		}
		n := new(big.Int).SetUint64(cost.Value)
		sum.Add(&sum, n.Mul(n, new(big.Int).SetUint64(p.Count)))
	}
	return sum.Cmp(new(big.Int).SetUint64(Whole)) <= 0, nil
}
