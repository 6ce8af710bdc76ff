// SPDX-License-Identifier: Apache-2.0

package accountant

import (
	"math"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/loss/kinds"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/num"
)

// Limit is what a budget came to when its ledger was created: numbers that a
// guard's sums may not pass. It is a fact from then on; better analyses do not
// move it. Whatever keeps within it keeps within the budget.
type Limit struct {
	Guard Guard   `field:"1"`
	Value float64 `field:"2"` // of Σε, Σρ, Σμ² or Σ D_α, by the guard; finite and > 0
	Delta float64 `field:"3"` // of Σδ; 0 where mechanisms may leave nothing to failures
	Order float64 `field:"4"` // α of an RDP guard, otherwise 0
}

// Check returns nil, or a *mechanism.ParameterError on a number that no limit has.
func (l Limit) Check() error {
	switch {
	case !(l.Value > 0 && !math.IsInf(l.Value, 1)):
		return &mechanism.ParameterError{Field: "value", Value: number(l.Value), Allowed: "a finite number > 0"}
	case !(l.Delta >= 0 && l.Delta < 1):
		return &mechanism.ParameterError{Field: "delta", Value: number(l.Delta), Allowed: "a number in [0, 1)"}
	case l.Guard == GuardRDP && !(l.Order > 1 && !math.IsInf(l.Order, 1)) || l.Guard != GuardRDP && l.Order != 0:
		return &mechanism.ParameterError{Field: "order", Value: number(l.Order),
			Allowed: "a finite number > 1 with the guard RDP, otherwise 0"}
	}
	return nil
}

// Resolve finds the largest limit that implies b, rounded down. run is the
// described run (see mechanism.Compose), maybe empty: an RDP guard without an
// order gets the one at which the most such runs fit. It fails with a
// *mechanism.ParameterError if b is not allowed or can never be met.
func (b Budget) Resolve(run mechanism.Composition) (Limit, error) { return b.ResolveWithin(run, nil) }

// ResolveWithin is Resolve for a search that in, which may be nil, interrupts.
func (b Budget) ResolveWithin(run mechanism.Composition, in *num.Interrupt) (Limit, error) {
	if err := b.Check(); err != nil {
		return Limit{}, err
	}
	l := Limit{Guard: b.Guard}
	converts := b.Epsilon != 0
	switch b.Guard {
	case GuardBasic:
		l.Value, l.Delta = b.Epsilon, b.Delta
	case GuardZCDP:
		l.Value = b.Rho
		if converts {
			l.Value = largestRho(b.Epsilon, b.Delta)
		}
	case GuardApproximateZCDP:
		// (ρ, δ′) and a conversion at δ″ are (ε, δ′ + δ″): half of δ each.
		l.Value, l.Delta = b.Rho, b.Delta
		if converts {
			l.Delta = b.Delta / 2
			l.Value = largestRho(b.Epsilon, b.Delta/2)
		}
	case GuardGDP:
		mu := b.Mu
		if converts {
			mu = largestMu(b.Epsilon, b.Delta)
		}
		l.Value = num.DecimalSquareDown(mu)
	case GuardRDP:
		l.Order = b.Order
		if l.Order == 0 {
			var err error
			if l.Order, err = b.bestOrder(run, in); err != nil {
				return Limit{}, err
			}
		}
		l.Value = largestDivergence(l.Order, b.Epsilon, b.Delta)
		if !(l.Value > 0) {
			return Limit{}, &mechanism.ParameterError{Field: "order", Value: number(l.Order),
				Allowed: "an order at which " + b.String() + " can be met: a larger one, or a larger budget"}
		}
	default:
		return Limit{}, &mechanism.ParameterError{Field: "guard", Value: "missing",
			Allowed: "BASIC, ZCDP, APPROXIMATE_ZCDP, GDP or RDP"}
	}
	if !(l.Value > 0) || math.IsInf(l.Value, 1) {
		return Limit{}, &mechanism.ParameterError{Field: "bound", Value: b.String(),
			Allowed: "a budget that something can meet"}
	}
	return l, nil
}

// margin is what converted limits are lowered by: parameters and limits are read
// as the shortest decimals that identify them (see Cost), each within 2⁻⁵³.
const margin = 0x1p-48

// largestRho returns a ρ whose conversion gives at most ε at δ, within 1e−12 of
// the largest; 0 if there is none.
func largestRho(epsilon, delta float64) float64 {
	logDelta := num.LogDown(delta)
	return largest(func(rho float64) bool {
		e, _ := loss.LeastEpsilon(loss.ConcentratedBound(rho), logDelta, 0, nil)
		return e <= epsilon
	})
}

// largestMu returns a μ whose Gaussian curve gives at most δ at ε, within 1e−12
// of the largest; 0 if there is none.
func largestMu(epsilon, delta float64) float64 {
	logDelta := num.LogDown(delta)
	return largest(func(mu float64) bool {
		d, _ := loss.GaussianLogDelta(mu, epsilon)
		return d.Upper <= logDelta
	})
}

// largest returns the largest x with fits(x), lowered by the margin; fits was
// computed to hold at a point above it. fits must hold below where it holds; 0
// if it does not hold at 2⁻⁵⁰⁰.
func largest(fits func(x float64) bool) float64 {
	lo, hi := 0.0, 1.0
	for fits(hi) && hi < 0x1p500 {
		lo, hi = hi, 2*hi
	}
	for lo == 0 && hi > 0x1p-500 {
		if x := hi / 2; fits(x) {
			lo = x
		} else {
			hi = x
		}
	}
	for lo > 0 && hi-lo > 1e-13*lo {
		x := lo + (hi-lo)/2
		if fits(x) {
			lo = x
		} else {
			hi = x
		}
	}
	return lo * (1 - margin)
}

// largestDivergence returns the largest D_α, lowered by the margin, that the
// conversion turns into at most ε at δ; 0 or less if there is none.
func largestDivergence(order, epsilon, delta float64) float64 {
	s, logDelta := order-1, num.LogDown(delta)
	at := func(d float64) float64 { return loss.EpsilonAt(s, num.MulUp(s, d), logDelta) }
	// ε = D + ln(1 − 1/α) − (ln δ + ln α)/(α − 1): linear in D with slope 1.
	d := epsilon + math.Log1p(1/s) + (logDelta+math.Log1p(s))/s
	size := epsilon + math.Log1p(1/s) + (math.Abs(logDelta)+math.Log1p(s))/s
	for step := 4 * num.Ulp * size; at(d) > epsilon; step *= 2 {
		if d -= step; !(d > 0) {
			return 0
		}
	}
	return d * (1 - margin)
}

// bestOrder is the order, s = α − 1 of three digits, at which the largest number
// of runs fits into the budget.
func (b Budget) bestOrder(run mechanism.Composition, in *num.Interrupt) (float64, error) {
	missing := &mechanism.ParameterError{Field: "order", Value: "missing",
		Allowed: "a number > 1, or a described run to choose it for"}
	if len(run.Parts) == 0 {
		return 0, missing
	}
	c, err := kinds.ComposeWithin(run, in)
	if err != nil {
		return 0, err
	}
	share := func(s float64) float64 { // of the limit that a run takes
		in.Spend(costWork + termWork*len(c))
		limit := largestDivergence(1+s, b.Epsilon, b.Delta)
		k := math.Max(c.Cumulant(loss.Remove, s, in).Upper(), c.Cumulant(loss.Add, s, in).Upper())
		if !(limit > 0) || !(k < math.MaxFloat64) {
			return math.Inf(1)
		}
		return k / (s * limit)
	}
	best, least := 0.0, math.Inf(1)
	try := func(s float64) {
		if v := share(s); v < least {
			best, least = s, v
		}
	}
	for e := -3.0; e <= 5; e += 0.1 {
		try(math.Pow(10, e))
	}
	if best == 0 {
		return 0, &mechanism.ParameterError{Field: "bound", Value: b.String(),
			Allowed: "a budget that RDP can meet, or another guard for the described run"}
	}
	for step := 0.05; step > 1e-4; step /= 2 {
		center := best
		try(center * math.Pow(10, step))
		try(center / math.Pow(10, step))
	}
	if rounded := threeDigits(best); rounded > 0 && !math.IsInf(share(rounded), 1) {
		best = rounded
	}
	return 1 + best, nil
}
