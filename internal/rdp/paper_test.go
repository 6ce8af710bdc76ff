// SPDX-License-Identifier: Apache-2.0

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
	both := compose(t, mechanism.AddOrRemoveOne, mechanism.Event{Mechanism: g, Count: 3},
		mechanism.Event{Mechanism: l, Count: 2})
	for _, alpha := range []float64{1.2, 2, 9, 50} {
		s, e0 := alpha-1, 0.2
		laplace := math.Log(alpha/(2*alpha-1)*math.Exp(s*e0) + s/(2*alpha-1)*math.Exp(-alpha*e0)) // Prop. 6
		want := 3*s*alpha/32 + 2*laplace
		if got := both.Cumulant(loss.Remove, s, nil); math.Abs(got.K-want) > 1e-12*(1+want) {
			t.Errorf("α = %v: (α−1)·τ = %v, want %v", alpha, got.K, want)
		}
		for _, delta := range []float64{1e-9, 1e-3} {
			if got, _ := Epsilon(both, delta, nil); got > want/s+math.Log(1/delta)/s {
				t.Errorf("δ = %v: ε = %v, by order %v %v", delta, got, alpha, want/s+math.Log(1/delta)/s)
			}
		}
	}
}

// Papernot–Steinke 2022 (arXiv 2110.03620v2), Thms 2 and 6: never above what
// dp_accounting 0.6.0 (RdpAccountant, its default orders with 1.05, 1.1, … 21 and
// 22 … 399) proves of the same events by them, here the best of selections of Gaussians,
// and Gaussians. The order is the best of a grid, although the bound is not convex.
func TestSelectionsBelowRdpAccountant(t *testing.T) {
	geometric := func(mean float64) mechanism.RepeatAndSelect {
		return mechanism.RepeatAndSelect{Gamma: 1 / mean, Eta: 1}
	}
	poisson := func(mean float64) mechanism.RepeatAndSelect { return mechanism.RepeatAndSelect{Mean: mean} }
	gaussian := func(sigma float64) mechanism.Mechanism { return mechanism.Gaussian{NoiseMultiplier: sigma} }
	for _, r := range []struct {
		runs   mechanism.RepeatAndSelect
		one    mechanism.Mechanism
		n      uint32
		sigma  float64 // of one more Gaussian; 0: none
		delta  float64
		theirs float64
	}{
		{geometric(8), mechanism.Composed{Events: mechanism.ListOf(sampled(0.01, 1.1, 1000))}, 1, 0,
			1e-5, 3.324815471564607},
		{geometric(8), mechanism.Composed{Events: mechanism.ListOf(sampled(0.01, 1.1, 1000))}, 10, 0,
			1e-5, 23.620056729595728},
		{geometric(1.5), gaussian(4), 1, 0, 1e-5, 1.424159909858313},
		{geometric(8), gaussian(4), 10, 0, 1e-5, 15.903366887110403},
		{geometric(10), gaussian(1), 20, 0, 1e-6, 123.92525114445426},
		{geometric(100), gaussian(20), 20, 0, 1e-3, 9.10891281091796},
		{geometric(8), gaussian(10), 1, 1, 1e-5, 5.33526442875718},
		{geometric(100), gaussian(40), 1, 1, 1e-5, 4.955728307067757},
		{geometric(8), gaussian(40), 5, 1, 1e-5, 5.491623681729703},
		{poisson(10), gaussian(1), 1, 0, 1e-5, 10.2108},
		{poisson(8), gaussian(4), 1, 1, 1e-5, 5.854930909244686},
		{poisson(1.5), gaussian(4), 10, 1, 1e-5, 8.118031834714248},
	} {
		r.runs.Mechanism = r.one
		events := []mechanism.Event{{Mechanism: r.runs, Count: r.n}}
		if r.sigma > 0 {
			events = append(events, mechanism.Event{Mechanism: gaussian(r.sigma), Count: 1})
		}
		c := compose(t, mechanism.AddOrRemoveOne, events...)
		got, _ := Epsilon(c, r.delta, nil)
		if !(got <= r.theirs) {
			t.Errorf("%v: %v, theirs %v", events, got, r.theirs)
		}
		for s := 0.01; s < 200; s *= 1.1 {
			worst := 0.0
			for _, d := range []loss.Direction{loss.Remove, loss.Add} {
				worst = math.Max(worst, loss.EpsilonAt(s, c.Renyi(d, s, nil).Upper(), math.Log(r.delta)))
			}
			if worst < got*(1-1e-4) {
				t.Errorf("%v: ε = %v, and %v at s = %v", events, got, worst, s)
			}
		}
	}
}

// Papernot–Steinke 2022, Thm 6 with the exact δ̂ of one Gaussian, in the form of docs/math/best-of.md
// §1.6.2: the least over all orders of the converted bound, by mpmath.
func TestPoissonRunsOfOneGaussian(t *testing.T) {
	c := compose(t, mechanism.AddOrRemoveOne, mechanism.Event{Mechanism: mechanism.RepeatAndSelect{Mean: 10,
		Mechanism: mechanism.Gaussian{NoiseMultiplier: 1}}, Count: 1})
	const want = 8.461413810143
	if got, _ := Epsilon(c, 1e-5, nil); !(got >= want*(1-1e-9) && got <= want*(1+1e-5)) {
		t.Errorf("ε = %v, want %v", got, want)
	}
}
