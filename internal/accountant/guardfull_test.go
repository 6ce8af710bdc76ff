// SPDX-License-Identifier: Apache-2.0

package accountant

import (
	"errors"
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/num"
)

// drawBudget draws a budget of a guard that has a limit.
func drawBudget(t *rapid.T) (Budget, Limit) {
	epsilon, delta := drawBound(t)
	b := rapid.SampledFrom([]Budget{
		{Guard: GuardBasic, Epsilon: epsilon}, {Guard: GuardBasic, Epsilon: epsilon, Delta: delta},
		{Guard: GuardZCDP, Rho: epsilon}, {Guard: GuardZCDP, Epsilon: epsilon, Delta: delta},
		{Guard: GuardApproximateZCDP, Rho: epsilon, Delta: delta},
		{Guard: GuardApproximateZCDP, Epsilon: epsilon, Delta: delta},
		{Guard: GuardGDP, Mu: epsilon}, {Guard: GuardGDP, Epsilon: epsilon, Delta: delta},
		{Guard: GuardRDP, Epsilon: epsilon, Delta: delta, Order: 1 + 2*math.Log(1/delta)/epsilon},
	}).Draw(t, "budget")
	l, err := b.Resolve(mechanism.Composition{})
	if err != nil {
		t.Fatal(err)
	}
	return b, l
}

// A full limit implies the budget it came from, and hardly less than that.
func TestFullLimitsImplyTheirBudgets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b, l := drawBudget(t)
		if b.Epsilon == 0 || b.Delta == 0 {
			return
		}
		epsilon, logDelta := l.Implies(b.Delta), l.impliesDelta(b.Epsilon)
		if epsilon > b.Epsilon || logDelta > math.Log(b.Delta)*(1-1e-9) { // searches end near the best order
			t.Fatalf("%v: the full limit %+v implies ε = %g, ln δ = %g (%g)", b, l, epsilon,
				logDelta, math.Log(b.Delta))
		}
		if epsilon < b.Epsilon*(1-1e-9) && b.Guard != GuardBasic {
			t.Fatalf("%v: the full limit %+v implies only ε = %g", b, l, epsilon)
		}
	})
}

// What a limit implies is what the analyses say of the one mechanism that it
// guarantees, which find it on other ways.
func TestFullLimitsAgainstTheAnalyses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b, l := drawBudget(t)
		all := l.Declared(b)
		if len(all) == 0 || l.Guard == GuardRDP || l.Guard == GuardApproximateZCDP {
			return
		}
		m := all[0]
		_, delta := drawBound(t)
		got := l.Implies(delta)
		a := mustAsk(t, mechanism.AddOrRemoveOne, []mechanism.Event{{Mechanism: m, Count: 1}}, AtDelta(delta))
		// The truth lies between the analyses' bounds; both round up.
		tolerance := 1e-9*(1+a.Epsilon) + 1e-12
		if a.Analysis == PLD {
			tolerance = 1e-4 * (1 + a.Epsilon)
			if l.Guard == GuardZCDP { // the chord near ε = 0, by which no budget is resolved
				tolerance = math.Inf(1)
			}
		}
		if got > a.Epsilon+tolerance || a.EpsilonLower != nil && got < *a.EpsilonLower-1e-12 ||
			math.IsInf(got, 1) != math.IsInf(a.Epsilon, 1) && delta != l.Delta {
			t.Fatalf("%+v at δ = %g: ε = %g; %v: %g (%v)", l, delta, got, m, a.Epsilon, a.Analysis)
		}
		epsilon, _ := drawBound(t)
		gotDelta := l.impliesDelta(epsilon)
		d := mustAsk(t, mechanism.AddOrRemoveOne, []mechanism.Event{{Mechanism: m, Count: 1}}, AtEpsilon(epsilon))
		tolerance = 1e-8 * (1 + math.Abs(d.LogDelta))
		if d.Analysis == PLD {
			tolerance = 1e-2
			if l.Guard == GuardZCDP {
				tolerance = math.Inf(1)
			}
		}
		if gotDelta > d.LogDelta+tolerance && !math.IsInf(d.LogDelta, -1) &&
			math.Exp(gotDelta) > d.Delta+1e-15*(1+epsilon) ||
			d.LogDeltaLower != nil && gotDelta < *d.LogDeltaLower-1e-9 {
			t.Fatalf("%+v at ε = %g: ln δ = %g; %v: %g (%v)", l, epsilon, gotDelta, m, d.LogDelta, d.Analysis)
		}
	})
}

// The two ways to ask agree: at the ε of a δ, no more than that δ; ε falls as δ
// grows.
func TestFullLimitsAreCurves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		_, l := drawBudget(t)
		_, delta := drawBound(t)
		epsilon := l.Implies(delta)
		if math.IsInf(epsilon, 1) {
			if !(delta <= l.Delta) {
				t.Fatalf("%+v implies nothing at δ = %g", l, delta)
			}
			return
		}
		if back := l.impliesDelta(epsilon); back > math.Log(delta)+1e-7*math.Max(1, math.Abs(math.Log(delta))) {
			t.Fatalf("%+v: ε = %g at δ = %g, there ln δ = %g (%g)", l, epsilon, delta, back, math.Log(delta))
		}
		if larger := l.Implies(delta * 1.5); larger > epsilon*(1+1e-12) {
			t.Fatalf("%+v: ε = %g at δ = %g, %g at a larger one", l, epsilon, delta, larger)
		}
	})
}

// The curve of (E, D)-DP, with 200 bits: e^ε = e^E − (1 + e^E)(δ − D)/(1 − D), by
// its power series. Nothing is below it.
func TestBasicCurve(t *testing.T) {
	exp := func(x *big.Float) *big.Float {
		sum, term := new(big.Float).SetPrec(200).SetInt64(1), new(big.Float).SetPrec(200).SetInt64(1)
		for n := int64(1); n < 200; n++ {
			term.Mul(term, x).Quo(term, new(big.Float).SetInt64(n))
			sum.Add(sum, term)
		}
		return sum
	}
	big200 := func(x float64) *big.Float { return new(big.Float).SetPrec(200).SetFloat64(x) }
	delta := func(e, d, epsilon float64) float64 {
		top := exp(big200(e))
		part := new(big.Float).SetPrec(200).Sub(top, exp(big200(epsilon)))
		part.Quo(part, new(big.Float).SetPrec(200).Add(big200(1), top))
		part.Mul(part, new(big.Float).SetPrec(200).Sub(big200(1), big200(d)))
		f, _ := part.Add(part, big200(d)).Float64()
		return f
	}
	for _, c := range []struct{ e, d, epsilon float64 }{
		{1, 0, 0.5}, {1, 1e-6, 0.5}, {8, 1e-5, 7.5}, {8, 0, 7.999999}, {0.01, 1e-9, 0.003}, {3, 0.25, 0.001},
		{20, 0, 19}, {1e-6, 0, 5e-7},
	} {
		l := Limit{Guard: GuardBasic, Value: c.e, Delta: c.d}
		want := delta(c.e, c.d, c.epsilon)
		if got := math.Exp(l.impliesDelta(c.epsilon)); got < want*(1-1e-14) || got > want*(1+1e-8) {
			t.Errorf("(%g, %g)-DP at ε = %g: δ = %.17g; want %.17g", c.e, c.d, c.epsilon, got, want)
		}
		if got := l.Implies(want); got < c.epsilon*(1-1e-13) || got > c.epsilon+1e-9*(1+c.epsilon) {
			t.Errorf("(%g, %g)-DP at δ = %g: ε = %.17g; want %.17g", c.e, c.d, want, got, c.epsilon)
		}
	}
	l := Limit{Guard: GuardBasic, Value: 2, Delta: 1e-6}
	if got := l.Implies(1e-7); !math.IsInf(got, 1) {
		t.Errorf("below its δ: %g; want ∞", got)
	}
	if got := l.Implies(1e-6); got != 2 {
		t.Errorf("at its δ: %g; want 2", got)
	}
	if got := l.Implies(0.99); got != 0 {
		t.Errorf("at δ = 0.99: %g; want 0", got)
	}
	if got := (Limit{Guard: GuardBasic, Value: 2}).impliesDelta(2); !math.IsInf(got, -1) {
		t.Errorf("pure: ln δ = %g at ε; want −∞", got)
	}
	if got := (Limit{}).Implies(0.1); !math.IsInf(got, 1) {
		t.Errorf("without a guard: %g", got)
	}
	if got := (Limit{}).impliesDelta(1); got != 0 {
		t.Errorf("without a guard: ln δ = %g", got)
	}
}

// A declared mechanism takes the whole of the limit that it stands for: what is set
// aside for a child is never less than what the child may spend.
func TestDeclaredTakesTheWholeLimit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b, l := drawBudget(t)
		all := l.Declared(b)
		if len(all) == 0 {
			if b.Guard != GuardApproximateZCDP || b.Epsilon != 0 {
				t.Fatalf("%v: nothing to declare", b)
			}
			return
		}
		for _, m := range all {
			if err := (mechanism.Event{Mechanism: m, Count: 1}).Check(mechanism.ZeroOut); err != nil {
				t.Fatal(err)
			}
			if a, ok := m.(mechanism.ApproximateDP); ok && b.Guard != GuardBasic {
				if l.Implies(a.Delta) > a.Epsilon {
					t.Fatalf("%v: %+v implies %g; declared %v", b, l, l.Implies(a.Delta), m)
				}
				continue
			}
			c, reason := l.Cost(m, mechanism.ZeroOut)
			if reason != "" || c.Value < Whole || l.Delta > 0 && c.Delta < Whole {
				t.Fatalf("%v: %v takes %+v of %d, %s", b, m, c, Whole, reason)
			}
		}
	})
}

// A bound on the Rényi divergence at one order holds at all smaller orders: there a parent
// charges it in whole, and at larger ones it refuses it.
func TestDeclaredRenyiHoldsBelowItsOrder(t *testing.T) {
	child := Limit{Guard: GuardRDP, Value: 2, Order: 8}
	all := child.Declared(Budget{Guard: GuardRDP, Epsilon: 3, Delta: 1e-6})
	m := all[len(all)-1]
	for order, share := range map[float64]uint64{1.5: Whole / 5, 4: Whole / 5, 8: Whole / 5, 8.5: 0, 100: 0} {
		c, reason := Limit{Guard: GuardRDP, Value: 10, Order: order}.Cost(m, mechanism.AddOrRemoveOne)
		if (reason == "") != (share > 0) || c.Value < share || float64(c.Value) > float64(share)*(1+1e-12) {
			t.Errorf("order %g: %+v, %q; want %d of %d", order, c, reason, share, Whole)
		}
	}
}

// Part rounds as a person reads numbers: to the next float64 whose decimal is not on
// the wrong side.
func TestPart(t *testing.T) {
	tenth := new(big.Int).SetUint64(Whole / 10)
	for n, want := range map[int64]float64{0: 0, 1: 0.1, 3: 0.3, 7: 0.7, 10: 1} {
		shares := new(big.Int).Mul(tenth, big.NewInt(n))
		for _, up := range []bool{true, false} {
			if got := Part(1, shares, up); got != want {
				t.Errorf("%d tenths of 1: %v; want %v", n, got, want)
			}
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		limit := math.Pow(10, rapid.Float64Range(-300, 290).Draw(t, "lg limit"))
		shares := new(big.Int).SetUint64(rapid.Uint64().Draw(t, "shares"))
		shares.Lsh(shares, uint(rapid.OneOf(rapid.IntRange(0, 40), rapid.IntRange(0, 2500)).Draw(t, "shift")))
		exact := new(big.Rat).SetFrac(shares, new(big.Int).SetUint64(Whole))
		exact.Mul(exact, num.Decimal(limit))
		up, down := Part(limit, shares, true), Part(limit, shares, false)
		at := func(x float64) *big.Rat {
			if x == 0 {
				return new(big.Rat)
			}
			return num.Decimal(x)
		}
		if !math.IsInf(up, 1) && at(up).Cmp(exact) < 0 || at(down).Cmp(exact) > 0 ||
			up > math.Nextafter(down, math.Inf(1)) {
			t.Fatalf("%v of %g: %v and %v", shares, limit, down, up)
		}
	})
}

func TestGrown(t *testing.T) {
	old := Budget{Guard: GuardRDP, Epsilon: 8, Delta: 1e-5, Order: 12}
	for _, c := range []struct {
		name   string
		change func(*Budget)
		field  string
	}{
		{"the same", func(*Budget) {}, ""},
		{"larger", func(b *Budget) { b.Epsilon, b.Delta = 9, 1e-4 }, ""},
		{"a smaller ε", func(b *Budget) { b.Epsilon = 7.9 }, "epsilon"},
		{"a smaller δ", func(b *Budget) { b.Epsilon, b.Delta = 9, 9e-6 }, "delta"},
		{"another order", func(b *Budget) { b.Order = 13 }, "order"},
		{"another guard", func(b *Budget) { b.Guard, b.Order = GuardBasic, 0 }, "guard"},
		{"another kind of bound", func(b *Budget) { *b = Budget{Guard: GuardRDP, Rho: 1} }, "bound"},
		{"what is no budget", func(b *Budget) { b.Epsilon = -1 }, "epsilon"},
	} {
		now := old
		c.change(&now)
		err := now.Grown(old)
		var pe *mechanism.ParameterError
		if c.field == "" && err != nil ||
			c.field != "" && (!errors.As(err, &pe) || pe.Field != c.field || pe.Allowed == "") {
			t.Errorf("%s: %v; want an error about %q", c.name, err, c.field)
		}
	}
	if err := (Budget{Guard: GuardZCDP, Epsilon: 8, Delta: 1e-5}).Grown(Budget{Guard: GuardZCDP, Rho: 1}); err == nil {
		t.Error("another kind of bound")
	}
}
