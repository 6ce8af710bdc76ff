package rdp

import (
	"math"
	"testing"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// A test a theorem that this room rests on, as its paper states it.

// Mironov 2017 (arXiv 1702.07476v3), Prop. 1: divergences at one order add up; Prop. 3: then
// (τ + ln(1/δ)/(α−1), δ)-DP, which the bound is never above at any order.
func TestMironov2017(t *testing.T) {
	g, l := mechanism.Gaussian{NoiseMultiplier: 4}, mechanism.Laplace{Scale: 5, Sensitivity: 1}
	both := compose(t, mechanism.AddOrRemoveOne, mechanism.Event{Mechanism: g, Count: 3}, mechanism.Event{Mechanism: l, Count: 2})
	for _, alpha := range []float64{1.2, 2, 9, 50} {
		s, e0 := alpha-1, 0.2
		laplace := math.Log(alpha/(2*alpha-1)*math.Exp(s*e0) + s/(2*alpha-1)*math.Exp(-alpha*e0)) // Prop. 6
		want := 3*s*alpha/32 + 2*laplace
		if got := both.Cumulant(loss.Remove, s); math.Abs(got.K-want) > 1e-12*(1+want) {
			t.Errorf("α = %v: (α−1)·τ = %v, want %v", alpha, got.K, want)
		}
		for _, delta := range []float64{1e-9, 1e-3} {
			if got, _ := Epsilon(both, delta, nil); got > want/s+math.Log(1/delta)/s {
				t.Errorf("δ = %v: ε = %v, by order %v %v", delta, got, alpha, want/s+math.Log(1/delta)/s)
			}
		}
	}
}
