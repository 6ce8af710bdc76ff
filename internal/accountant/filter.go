// SPDX-License-Identifier: Apache-2.0

package accountant

import (
	"cmp"
	"math"
	"math/big"
	"slices"
	"strings"

	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/num"
)

// Name is the guard as answers name it: "approximate_zcdp".
func (g Guard) Name() Analysis { return Analysis(strings.ToLower(g.String())) }

// AskFilter answers q for whatever keeps within all of limits, also if it was
// chosen adaptively: the least of what each budget's full limit implies, never
// below the truth. It is listed with the budgets in order, by their guards' names.
// No lower bound is known of what may still be charged.
func AskFilter(limits []Limit, q Question) (Answer, error) {
	if err := q.Check(); err != nil {
		return Answer{}, err
	}
	bounds := make([]bound, len(limits))
	for i, l := range limits {
		if q.Delta != nil {
			bounds[i] = epsilonAbove(l.Guard.Name(), l.Implies(*q.Delta), l.Order)
			continue
		}
		bounds[i] = deltaAbove(l.Guard.Name(), math.Min(0, l.impliesDelta(*q.Epsilon)), l.Order)
	}
	a := q.least(bounds)
	a.EpsilonLower, a.DeltaLower, a.LogDeltaLower = nil, nil, nil
	return a, nil
}

// AskFilterCurve is AskCurve for whatever keeps within all of limits.
func AskFilterCurve(limits []Limit, q CurveQuestion) (Curve, error) {
	ask := func(p Question) (Answer, error) { return AskFilter(limits, p) }
	out, err := q.curve(ask)
	if err != nil {
		return out, err
	}
	rho, mu := FilterRhoAndMu(limits)
	if q.GaussianDP {
		if out.GaussianDP = (&GaussianDP{Mu: mu}); math.IsInf(mu, 1) {
			out.GaussianDP.Reason = "no budget limits μ"
		}
	}
	for _, alpha := range q.Orders {
		out.Renyi = append(out.Renyi, RenyiPoint{Order: alpha, Divergence: num.MulUp(rho, alpha)})
	}
	if q.Xi != nil {
		out.Concentrated = &Concentrated{Xi: *q.Xi, Rho: rho}
	}
	return out, nil
}

// telling adds the ε to points, of which the first is at 0, that together with 0 bound what a test can do. There is one
// where δ(0) is not known well: of a budget, and of mechanisms of which only Rényi divergences are known.
func (q CurveQuestion) telling(ask func(Question) (Answer, error), points []CurvePoint) (all []CurvePoint, at []float64,
	err error) {
	if p := points[0]; p.DeltaLower != nil && p.Delta-*p.DeltaLower <= tightAdvantage {
		return points, nil, nil
	}
	epsilon := mostTelling(func(p Question) (Answer, error) {
		if q.Stop != nil && q.Stop() {
			return Answer{}, ErrStopped
		}
		p.Stop, p.rough = q.Stop, true
		return ask(p)
	})
	i, found := slices.BinarySearchFunc(points, epsilon,
		func(p CurvePoint, e float64) int { return cmp.Compare(p.Epsilon, e) })
	if found {
		return points, []float64{epsilon}, nil
	}
	more, err := q.points(ask, []float64{epsilon})
	return slices.Insert(points, i, more...), []float64{epsilon}, err
}

// tightAdvantage is how wide δ(0) may be for no other ε to be looked for.
const tightAdvantage = 1e-3

// mostTelling is the ε whose δ bounds the advantage most, of a curve of which δ(0) is not known well, as that of a
// limit. It does not depend on the ε that somebody asks for, so every curve of the same limits has the same advantage.
// Any ε bounds it, so it need not be found exactly.
func mostTelling(ask func(Question) (Answer, error)) (best float64) {
	least := 1.0
	try := func(epsilon float64) float64 {
		a, err := ask(Question{Epsilon: &epsilon})
		if err != nil { // the curve says so
			return 1
		}
		bound := equalAdvantage(CurvePoint{Epsilon: epsilon, Delta: a.Delta})
		if bound < least {
			least, best = bound, epsilon
		}
		return bound
	}
	try(0)
	for e := -6.0; e <= 6; e++ {
		try(math.Exp2(e))
	}
	const golden = 0.381966
	lo, hi := best/2, math.Max(2*best, math.Exp2(-6))
	a, b := lo+golden*(hi-lo), hi-golden*(hi-lo)
	va, vb := try(a), try(b)
	for range 30 {
		if va <= vb {
			hi, b, vb = b, a, va
			a = lo + golden*(hi-lo)
			va = try(a)
		} else {
			lo, a, va = a, b, vb
			b = hi - golden*(hi-lo)
			vb = try(b)
		}
	}
	return best
}

// RhoAndMu are the ρ of c's zero-concentrated and the μ of its Gaussian
// differential privacy, by their composition theorems (Bun–Steinke 2016, arXiv
// 1605.02065, Lemma 1.7; Dong–Roth–Su 2022, arXiv 1905.02383v3, Cor. 3.3); +Inf
// where a mechanism has none. Sampling is given no amplification. The sums are as
// of Limit.Cost, of decimals; each result, read as a decimal, is not below them.
func RhoAndMu(c mechanism.Composition) (rho, mu float64) {
	return num.DecimalUp(sumOf(GuardZCDP, c)), num.DecimalRootUp(sumOf(GuardGDP, c))
}

// FilterRhoAndMu are the ρ and the μ that keeping within all of limits implies:
// those of ZCDP and GDP limits, a GDP of μ being μ²/2-zCDP too; +Inf where there
// are none.
func FilterRhoAndMu(limits []Limit) (rho, mu float64) {
	rho, mu = math.Inf(1), math.Inf(1)
	for _, l := range limits {
		switch l.Guard {
		case GuardZCDP:
			rho = math.Min(rho, l.Value)
		case GuardGDP:
			squared := num.Decimal(l.Value)
			rho = math.Min(rho, num.DecimalUp(new(big.Rat).Quo(squared, big.NewRat(2, 1))))
			mu = math.Min(mu, num.DecimalRootUp(squared))
		}
	}
	return rho, mu
}

// sumOf is the sum of what a guard adds up, rounded up; nil where it cannot charge
// a mechanism of c.
func sumOf(g Guard, c mechanism.Composition) *big.Rat {
	sum := new(big.Rat)
	for _, p := range c.Parts {
		value, _, reason := Limit{Guard: g}.amounts(p.Mechanism, c.Adjacency, nil)
		if reason != "" || value == nil {
			return nil
		}
		n := new(big.Rat).SetInt(new(big.Int).SetUint64(p.Count))
		sum.Add(sum, n.Mul(n, value))
		if sum.Denom().BitLen() > 4096 { // many kinds: exact fractions would grow without end
			new(big.Float).SetPrec(512).SetMode(big.ToPositiveInf).SetRat(sum).Rat(sum)
		}
	}
	return sum
}
