// SPDX-License-Identifier: Apache-2.0

package accountant

import (
	"math"
	"math/big"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/num"
)

// What a full limit guarantees. It bounds whatever keeps within the limit, however
// the mechanisms, their parameters and the stop were chosen: the guard's sums are
// filters (see Guard), and each kind of sum has its conversion:
//
//	BASIC             Σε ≤ E, Σδ ≤ D: δ(ε) = D + (1−D)·(e^E − e^ε)⁺/(1 + e^E), the curve
//	                  of randomized response with failures, which dominates everything
//	                  (E, D)-DP (Kairouz–Oh–Viswanath 2015, arXiv 1311.0776)
//	ZCDP              Canonne–Kamath–Steinke 2020 (arXiv 2004.00010v3, Prop. 12) at the
//	                  best order of K(s) = ρ·s(s+1)
//	APPROXIMATE_ZCDP  the same at δ − Σδ
//	GDP               the Gaussian curve at μ = √Σμ² (Balle–Wang 2018, Thm 8)
//	RDP               the same proposition at the one order
//
// Numbers are read as decimals (see Cost), so that Σ may pass the float64 by its
// rounding: conversions start from the next one above.

// Implies returns ε such that whatever keeps within the limit is (ε, delta)-DP:
// rounded up, at least 0, +Inf where it guarantees nothing at this δ. delta must be
// in [0, 1). See docs/math/adaptivity.md §5.3.
func (l Limit) Implies(delta float64) float64 {
	logDelta, value := num.LogDown(delta), num.Up(l.Value)
	if delta == 0 && l.Guard != GuardBasic { // a Gaussian keeps within it
		return math.Inf(1)
	}
	switch l.Guard {
	case GuardBasic:
		if delta < l.Delta {
			return math.Inf(1)
		}
		// ε = E + ln(1 − t(1 + e^−E)), t = (δ − D)/(1 − D).
		t := math.Max(0, num.Down(num.Down(delta-l.Delta)/num.Up(1-l.Delta)))
		x := -num.Down(t * num.Down(1+num.ExpDown(-value)))
		if x <= -1 {
			return 0
		}
		return math.Max(0, math.Min(l.Value, num.AddUp(value, num.Log1pUp(x))))
	case GuardZCDP, GuardApproximateZCDP:
		if !(delta > l.Delta) {
			return math.Inf(1)
		}
		if l.Delta > 0 {
			logDelta = num.LogDown(num.Down(delta - num.Up(l.Delta)))
		}
		epsilon, _ := loss.LeastEpsilon(loss.ConcentratedBound(value), logDelta, 0, nil)
		return epsilon
	case GuardGDP:
		mu := num.Up(math.Sqrt(value))
		return loss.Inverse(func(epsilon float64) (loss.Bounds, float64) {
			return loss.GaussianLogDelta(mu, epsilon)
		}, delta, loss.GaussianTop(mu, delta)).Upper
	case GuardRDP:
		s := l.Order - 1
		return loss.EpsilonAt(s, num.MulUp(s, value), logDelta)
	}
	return math.Inf(1)
}

// impliesDelta returns ln δ such that whatever keeps within the limit is (epsilon,
// δ)-DP: rounded up, at most 0, −Inf for δ = 0. epsilon must be finite and ≥ 0.
func (l Limit) impliesDelta(epsilon float64) float64 {
	value := num.Up(l.Value)
	switch l.Guard {
	case GuardBasic:
		if epsilon >= l.Value {
			return num.LogUp(l.Delta)
		}
		// 1 − e^{ε−E}, then over 1 + e^−E, and D + (1 − D)·that.
		some := num.Up(-math.Expm1(num.Down(epsilon-value)) * (1 + 4*num.Ulp))
		some = num.Up(some / num.Down(1+num.ExpDown(-value)))
		return math.Min(0, num.LogUp(num.AddUp(l.Delta, num.Up(some*num.Up(1-l.Delta)))))
	case GuardZCDP, GuardApproximateZCDP:
		logDelta, _ := loss.LeastLogDelta(loss.ConcentratedBound(value), epsilon, 0, nil)
		if l.Delta == 0 {
			return logDelta
		}
		return math.Min(0, num.LogUp(num.AddUp(num.ExpUp(logDelta), num.Up(l.Delta))))
	case GuardGDP:
		b, _ := loss.GaussianLogDelta(num.Up(math.Sqrt(value)), epsilon)
		return math.Min(0, b.Upper)
	case GuardRDP:
		s := l.Order - 1
		return loss.LogDeltaAt(s, num.MulUp(s, value), epsilon)
	}
	return 0
}

// Part is how much so many shares are of a limit's number: the next float64 that
// reads, as a decimal, at least as much, or at most.
func Part(limit float64, shares *big.Int, up bool) float64 {
	if shares.Sign() == 0 || limit == 0 {
		return 0
	}
	part := new(big.Rat).SetFrac(shares, new(big.Int).SetUint64(Whole))
	part.Mul(part, num.Decimal(limit))
	if up {
		return num.DecimalUp(part)
	}
	return num.DecimalDown(part)
}

// Grown returns nil if b, which replaces old, asks for the same kind of bound by the
// same guard and order, and for no smaller one; otherwise a
// *mechanism.ParameterError.
func (b Budget) Grown(old Budget) error {
	if err := b.Check(); err != nil {
		return err
	}
	switch {
	case b.Guard != old.Guard:
		return different("guard", b.Guard.String(), old.Guard.String())
	case b.Order != old.Order:
		return different("order", number(b.Order), number(old.Order))
	case b.given() != old.given():
		return different("bound", b.given(), old.given())
	}
	for _, n := range []struct {
		field    string
		now, was float64
	}{{"epsilon", b.Epsilon, old.Epsilon}, {"delta", b.Delta, old.Delta},
		{"rho", b.Rho, old.Rho}, {"mu", b.Mu, old.Mu}} {
		if n.now < n.was {
			return different(n.field, number(n.now), "at least "+number(n.was))
		}
	}
	return nil
}

func different(field, value, allowed string) error {
	return &mechanism.ParameterError{Field: field, Value: value, Allowed: allowed + ", as before"}
}

// Declared is what a full limit of b guarantees as one declared mechanism: ρ-zCDP,
// μ-GDP, ε- or (ε, δ)-DP, or a Rényi divergence at one order; never less than the limit.
// There may be several, of which a parent charges the first that its guard can, and there
// is none for APPROXIMATE_ZCDP by ρ and δ. See docs/math/children.md §5.5.
func (l Limit) Declared(b Budget) (list []mechanism.Mechanism) {
	switch {
	case l.Guard == GuardZCDP:
		return append(list, mechanism.ZeroConcentratedDP{Rho: l.Value})
	case l.Guard == GuardGDP && b.Mu != 0:
		return append(list, mechanism.GaussianDP{Mu: b.Mu})
	case l.Guard == GuardGDP:
		return append(list, mechanism.GaussianDP{Mu: num.DecimalRootUp(num.Decimal(l.Value))})
	case l.Guard == GuardBasic && l.Delta == 0:
		return append(list, mechanism.PureDP{Epsilon: l.Value})
	case l.Guard == GuardBasic:
		return append(list, mechanism.ApproximateDP{Epsilon: l.Value, Delta: l.Delta})
	}
	if b.Epsilon != 0 {
		list = append(list, mechanism.ApproximateDP{Epsilon: b.Epsilon, Delta: b.Delta})
	}
	if l.Guard == GuardRDP {
		list = append(list, mechanism.RenyiDP{Orders: mechanism.NumbersOf(l.Order),
			Epsilons: mechanism.NumbersOf(l.Value)})
	}
	return list
}
