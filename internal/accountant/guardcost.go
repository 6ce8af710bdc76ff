// SPDX-License-Identifier: Apache-2.0

package accountant

import (
	"math"
	"math/big"
	"slices"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/loss/kinds"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/num"
)

// Whole is a limit in the shares that costs are counted in: 10¹²·2⁶·3⁵·7·11·13.
// Sums of whole shares are exact, do not drift and do not depend on the order.
// It has many divisors, so that the numbers people write divide without a rest:
// ten times ε = 0.1, or thirty times, is exactly 1, or 3. What rounding up loses
// is at most 6.5e−11 of a budget in 10⁹ steps.
const Whole uint64 = 15_567_552_000_000_000_000

// Cost is what one application of a mechanism takes of a limit, in shares of
// 1/Whole rounded up. It is at least 1, and math.MaxUint64 where it is more than
// that: more than the whole limit.
type Cost struct {
	Value uint64 // of Limit.Value
	Delta uint64 // of Limit.Delta; 0 for a mechanism that never fails
}

// Cost is what one application of m under adj takes of the limit, or the reason
// why the guard cannot charge it. m must have passed Check(adj).
//
// Parameters and limits are read as the shortest decimals that identify them:
// what a person wrote. Costs that are rational in those are exact; the others
// come from package loss, rounded up.
func (l Limit) Cost(m mechanism.Mechanism, adj mechanism.Adjacency) (Cost, string) {
	value, delta, reason := l.Shares(m, adj, nil)
	if reason != "" {
		return Cost{}, reason
	}
	return CostOf(value, delta), ""
}

// CostOf is the cost of these shares.
func CostOf(value, delta *big.Int) Cost { return Cost{Value: bounded(value), Delta: bounded(delta)} }

// Shares is Cost without a bound: a refusal tells what is missing also where one
// application is more than the whole limit. value is nil where it is infinite. in, which
// may be nil, interrupts it.
func (l Limit) Shares(m mechanism.Mechanism, adj mechanism.Adjacency,
	in *num.Interrupt) (value, delta *big.Int, reason string) {
	amount, failures, reason := l.amounts(m, adj, in)
	if reason != "" {
		return nil, nil, reason
	}
	if failures.Sign() == 0 {
		return shares(amount, l.Value), new(big.Int), ""
	}
	return shares(amount, l.Value), shares(failures, l.Delta), ""
}

// amounts are the costs in the units of l.Value, nil for more than any limit, and of
// l.Delta: of a mechanism that is several releases the sum of theirs.
func (l Limit) amounts(m mechanism.Mechanism, adj mechanism.Adjacency,
	in *num.Interrupt) (amount, failures *big.Rat, reason string) {
	amount, failures = new(big.Rat), new(big.Rat)
	for _, p := range mechanism.Expand(m) {
		n := times(p.Count)
		if parts := mechanism.DisjointParts(p.Mechanism); len(parts) > 0 {
			each, atom, reason := l.largest(parts, adj, in)
			if reason != "" {
				return nil, nil, reason
			}
			amount = plus(amount, each, n)
			failures.Add(failures, n.Mul(n, atom))
			continue
		}
		in.Spend(costWork)
		terms, err := kinds.TermsWithin(p.Mechanism, adj, in)
		if err != nil {
			return nil, nil, err.Error()
		}
		each, reason := l.value(p.Mechanism, adj, terms, in)
		if reason != "" {
			return nil, nil, reason
		}
		amount = plus(amount, each, n)
		for _, t := range terms {
			lost := t.Loss.Facts().Failing().InfinityMass
			if lost == 0 {
				continue
			}
			if l.Delta == 0 {
				return nil, nil, p.Mechanism.Kind() + " fails with probability δ = " + number(lost) +
					", which the guard " + l.Guard.String() + " of this budget does not allow"
			}
			failures = plus(failures, num.Decimal(lost), new(big.Rat).Mul(n, times(t.Count)))
		}
	}
	return amount, failures, ""
}

func times(n uint64) *big.Rat { return new(big.Rat).SetInt(new(big.Int).SetUint64(n)) }

// costWork is about what it takes to find the cost of a simple mechanism, in nanoseconds, and
// termWork what its loss takes at one order, if the loss does not spend it itself.
const costWork, termWork = 20_000, 500

// largest are the largest costs of all parts: at every step a record is in one.
// See docs/math/parallel.md §1.5.5.
func (l Limit) largest(parts []mechanism.Mechanism, adj mechanism.Adjacency,
	in *num.Interrupt) (amount, failures *big.Rat, reason string) {
	amount, failures = new(big.Rat), new(big.Rat)
	for _, part := range parts {
		each, atom, reason := l.amounts(part, adj, in)
		if reason != "" {
			return nil, nil, reason
		}
		if each == nil {
			amount = nil
		} else if amount != nil && each.Cmp(amount) > 0 {
			amount = each
		}
		if atom.Cmp(failures) > 0 {
			failures = atom
		}
	}
	return amount, failures, ""
}

// plus is sum + n·each, nil where one is.
func plus(sum, each, n *big.Rat) *big.Rat {
	if sum == nil || each == nil {
		return nil
	}
	return sum.Add(sum, new(big.Rat).Mul(each, n))
}

// value is the cost of m, whose losses terms are, in the units of l.Value; nil for more than any
// limit. What is not exact is summed over the losses.
func (l Limit) value(m mechanism.Mechanism, adj mechanism.Adjacency, terms loss.Composition,
	in *num.Interrupt) (*big.Rat, string) {
	name := "a " + m.Kind()
	sum := func(of func(loss.Facts) float64) *big.Rat {
		total := new(big.Rat)
		for _, t := range terms {
			total = plus(total, num.Binary(of(t.Loss.Facts())), times(t.Count))
		}
		return total
	}
	switch l.Guard {
	case GuardBasic:
		if epsilon, ok := mechanism.ExactEpsilon(m, adj); ok {
			return epsilon, ""
		}
		if epsilon := sum(func(f loss.Facts) float64 { return f.Epsilon }); epsilon != nil {
			return epsilon, ""
		}
		if l.Delta == 0 {
			return nil, "no δ is allowed, and without one no finite ε of " + name + " is known"
		}
		return nil, name + " has no single (ε, δ), which the guard BASIC adds up"
	case GuardZCDP, GuardApproximateZCDP:
		if rho := mechanism.ExactRho(m, adj); rho != nil {
			return rho, ""
		}
		if squared := muSquared(m, adj, terms); squared != nil {
			return squared.Quo(squared, big.NewRat(2, 1)), "" // ρ = μ²/2
		}
		if rho := sum(func(f loss.Facts) float64 { return f.Rho }); rho != nil {
			return rho, ""
		}
		return nil, name + " has no ρ, which the guard " + l.Guard.String() + " adds up"
	case GuardGDP:
		if squared := muSquared(m, adj, terms); squared != nil {
			return squared, ""
		}
		return nil, name + " has no μ, which the guard GDP adds up: only Gaussian noise has"
	case GuardRDP:
		s := l.Order - 1
		k := math.Max(divergence(terms, loss.Remove, s, in), divergence(terms, loss.Add, s, in))
		if math.IsInf(k, 1) && slices.ContainsFunc(terms, boundOnly) {
			return nil, name + " says nothing of the order " + number(l.Order) +
				" that the guard RDP of this budget adds up"
		}
		cost := num.Binary(num.DivUp(math.Max(k, 0), s))
		if said := mechanism.ExactRenyi(m, l.Order); said != nil && (cost == nil || said.Cmp(cost) < 0) {
			return said, ""
		}
		return cost, ""
	}
	return nil, "the budget has no guard"
}

// divergence is s times the Rényi divergence of the order 1 + s, rounded up.
func divergence(terms loss.Composition, d loss.Direction, s float64, in *num.Interrupt) (k float64) {
	for _, t := range terms {
		one := math.Max(0, loss.Renyi(t.Loss, d, s, in).Upper())
		k = num.AddUp(k, num.MulUp(num.Count(t.Count), one))
	}
	return k
}

func boundOnly(t loss.Term) bool { return t.Loss.Facts().BoundOnly }

// muSquared returns μ² of Gaussian noise, nil for other mechanisms. Where it is not rational in
// what was reported, as of noise through a matrix, it is that of the loss, rounded up.
func muSquared(m mechanism.Mechanism, adj mechanism.Adjacency, terms loss.Composition) *big.Rat {
	if squared := mechanism.ExactMuSquared(m, adj); squared != nil {
		return squared
	}
	if len(terms) != 1 || terms[0].Count != 1 {
		return nil
	}
	one := terms[0].Loss
	inner, size := mechanism.OneRecord(m)
	if inner != m {
		var err error
		if one, err = kinds.Of(inner, adj); err != nil {
			return nil
		}
	}
	mu, ok := loss.MuOf(one)
	squared := num.Binary(mu)
	if !ok || squared == nil {
		return nil
	}
	return mechanism.OfGroup(squared.Mul(squared, squared), size)
}

// shares is ceil(value/limit·Whole), at least 1; nil for nil.
func shares(value *big.Rat, limit float64) *big.Int {
	if value == nil {
		return nil
	}
	q := new(big.Rat).Quo(value, num.Decimal(limit))
	q.Mul(q, new(big.Rat).SetInt(new(big.Int).SetUint64(Whole)))
	n, rest := new(big.Int).QuoRem(q.Num(), q.Denom(), new(big.Int))
	if rest.Sign() > 0 || n.Sign() == 0 {
		n.Add(n, big.NewInt(1))
	}
	return n
}

// bounded is n, math.MaxUint64 where it is more or nil.
func bounded(n *big.Int) uint64 {
	if n == nil || !n.IsUint64() {
		return math.MaxUint64
	}
	return n.Uint64()
}
