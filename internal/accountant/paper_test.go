// SPDX-License-Identifier: Apache-2.0

package accountant

import (
	"math"
	"testing"

	"github.com/dpaccountant/accountant/internal/mechanism"
)

// A test a theorem that this room rests on, as its paper states it.

// Dwork–Roth 2014, Thm 3.16: basic composition is (Σε, Σδ); with δ's, ∞ below their sum and Σδ above Σε.
func TestDworkRoth2014Theorem316(t *testing.T) {
	c := compose(t, mechanism.AddOrRemoveOne,
		mechanism.Event{Mechanism: mechanism.ApproximateDP{Epsilon: 0.5, Delta: 0.125}, Count: 2},
		mechanism.Event{Mechanism: mechanism.PureDP{Epsilon: 0.25}, Count: 4})
	for delta, want := range map[float64]float64{0.25: 2, 0.5: 2, 0.2: math.Inf(1)} {
		if r := result(t, ask(t, c, AtDelta(delta)), Basic); r.Epsilon != want {
			t.Errorf("ε(%v) = %v, want %v", delta, r.Epsilon, want)
		}
	}
	for epsilon, want := range map[float64]float64{2: 0.25, 3: 0.25, 1.9: 1} {
		if r := result(t, ask(t, c, AtEpsilon(epsilon)), Basic); r.Delta != want {
			t.Errorf("δ(%v) = %v, want %v", epsilon, r.Delta, want)
		}
	}
}

// ε-DP: the polygon of its two lines, advantage tanh(ε/2), equal error
// 1/(1 + e^ε) (Kairouz–Oh–Viswanath 2015, fig. 1), here ε = 2, δ = 0.
func TestKairouzOhViswanath2015Figure1(t *testing.T) {
	const closed = 1e-13 // what the closed forms add for their rounding
	c := compose(t, mechanism.AddOrRemoveOne, mechanism.Event{Mechanism: mechanism.PureDP{Epsilon: 2}, Count: 1})
	x := math.Exp(2)
	curve := askCurve(t, c, CurveQuestion{Epsilons: []float64{3, 2, 0.5, 0}})
	for i, want := range []float64{0, 0, (x - math.Exp(0.5)) / (1 + x), (x - 1) / (1 + x)} {
		if p := curve.Points[i]; math.Abs(p.Delta-want) > closed ||
			want == 0 && !(p.Delta == 0 && math.IsInf(p.LogDelta, -1)) {
			t.Errorf("%+v, want δ = %v", p, want)
		}
	}
	if math.Abs(curve.Advantage-math.Tanh(1)) > closed || math.Abs(curve.EqualError-1/(1+x)) > closed {
		t.Errorf("advantage %v, equal error %v", curve.Advantage, curve.EqualError)
	}
	at := askCurve(t, c, CurveQuestion{Epsilons: []float64{2}, Alphas: []float64{1, 0.01, 0.5, 0}}).TradeOff
	for i, want := range []TradeOffPoint{{Alpha: 1, Beta: 0}, {Alpha: 0.01, Beta: 1 - 0.01*x},
		{Alpha: 0.5, Beta: 0.5 / x}, {Alpha: 0, Beta: 1}} {
		if p := at[i]; p.Alpha != want.Alpha || math.Abs(p.Beta-want.Beta) > 1e-14 || p.BetaUpper < want.Beta {
			t.Errorf("%+v, want %+v", p, want)
		}
	}
	// Three corners: (0, 1), the equal error, (1, 0).
	corners := askCurve(t, c, CurveQuestion{Epsilons: []float64{2}}).TradeOff
	if len(corners) != 3 || corners[0].Beta != 1 ||
		math.Abs(corners[1].Alpha-corners[1].Beta) > 1e-15 || corners[2].Alpha != 1 {
		t.Errorf("corners %+v", corners)
	}
}
