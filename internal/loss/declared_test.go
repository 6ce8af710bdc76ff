// SPDX-License-Identifier: Apache-2.0

package loss_test

import (
	"math"
	"testing"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/loss/losstest"
	"github.com/dpaccountant/accountant/internal/loss/pairs"
	"github.com/dpaccountant/accountant/internal/num"
	"pgregory.net/rapid"
)

// Right of ℓ(s*) the declared pair's curve is the conversion itself, at the best of
// all orders; left of it the curve lies below.
func TestDeclaredPairIsTheConversion(t *testing.T) {
	for _, rho := range []float64{1e-9, 1e-4, 0.02, 0.5, 3, 40} {
		p := loss.ConcentratedGuarantee(rho).Pair()
		touch, _, _ := loss.ConcentratedGuarantee(rho).Begins()
		for _, x := range []float64{0.2, 0.9, 1.01, 1.5, 3, 10} {
			epsilon := touch * x
			want, _ := loss.LeastLogDelta(loss.ConcentratedBound(rho), epsilon, 0, nil)
			if want < -60 {
				continue
			}
			got := math.Log(losstest.Hockey(p, epsilon, 4000))
			if x > 1 && math.Abs(got-want) > 1e-8*(1-want) || got > want+1e-9 {
				t.Errorf("ρ=%v ε=%v: ln δ = %v, by conversion %v", rho, epsilon, got, want)
			}
		}
	}
}

// What is ρ-zCDP lies below the declared pair's curve at every real ε: the Gaussian of
// that ρ, and binary randomized response, for which ρ = ε0·tanh(ε0/2) is tight.
func TestDeclaredPairDominates(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rho := math.Exp(rapid.Float64Range(math.Log(1e-6), math.Log(50)).Draw(t, "ln ρ"))
		p := loss.ConcentratedGuarantee(rho).Pair()
		width := 4*math.Sqrt(rho) + 2*rho
		epsilon := width * rapid.Float64Range(-1, 1).Draw(t, "ε over the width")
		above := losstest.Hockey(p, epsilon, 2000)
		mu := math.Sqrt(2 * rho)
		normal, _ := loss.GaussianLogDelta(mu, epsilon)
		if below := math.Exp(normal.Lower); above < below*(1-1e-9)-1e-12 {
			t.Errorf("ρ=%v ε=%v: δ = %v, Gaussian %v", rho, epsilon, above, below)
		}
		_, e0 := num.Crossing(func(e float64) (float64, float64) { return e*math.Tanh(e/2) - rho, 0 }, 0,
			2*rho+4*math.Sqrt(rho)+1, 1, 1e-15, 200)
		e0 *= 1 - 1e-12
		inner, _ := loss.PairOf(pairs.Response{Epsilon: e0, K: 2}, loss.Remove, loss.Dominating, nil)
		if below := losstest.Hockey(inner, epsilon, 4); above < below*(1-1e-9)-1e-12 {
			t.Errorf("ρ=%v ε=%v: δ = %v, randomized response of ε0=%v %v", rho, epsilon, above, e0, below)
		}
	})
}

// The pair is a pair: its own moments are at least the guarantee's, and its curve
// falls and is convex in e^ε.
func TestDeclaredPairIsConvex(t *testing.T) {
	for _, rho := range []float64{1e-3, 0.3, 5} {
		p := loss.ConcentratedGuarantee(rho).Pair()
		width := 3*math.Sqrt(rho) + rho
		var x, d [3]float64
		for i := -20; i <= 20; i++ {
			e := width * float64(i) / 20
			copy(x[:], x[1:])
			copy(d[:], d[1:])
			x[2], d[2] = math.Exp(e), losstest.Hockey(p, e, 1000)
			if d[2] < math.Max(0, 1-x[2])-1e-12 || d[2] > 1+1e-12 {
				t.Errorf("ρ=%v: δ(%v) = %v", rho, e, d[2])
			}
			if i < -18 {
				continue
			}
			left, right := (d[1]-d[0])/(x[1]-x[0]), (d[2]-d[1])/(x[2]-x[1])
			if left > right+1e-9 || right > 1e-12 {
				t.Errorf("ρ=%v at ε=%v: slopes %v, %v", rho, e, left, right)
			}
		}
	}
}

// The chord and its inverse are the pair's curve where they answer.
func TestDeclaredChord(t *testing.T) {
	for _, rho := range []float64{1e-9, 1e-3, 0.2, 1, 4} {
		p := loss.ConcentratedGuarantee(rho).Pair()
		touch, _, _ := loss.ConcentratedGuarantee(rho).Begins()
		for _, x := range []float64{0, 0.1, 0.6, 0.999} {
			log, ok := loss.ConcentratedGuarantee(rho).LogDelta(x * touch)
			if want := math.Log(losstest.Hockey(p, x*touch, 3000)); !ok || math.Abs(log-want) > 1e-9 {
				t.Errorf("ρ=%v: ln δ(%v) = %v %v, want %v", rho, x*touch, log, ok, want)
			}
			if converted, _ := loss.LeastLogDelta(loss.ConcentratedBound(rho), x*touch, 0, nil); log > converted {
				t.Errorf("ρ=%v: ln δ(%v) = %v above the conversion %v", rho, x*touch, log, converted)
			}
			// log was rounded up
			if e, ok := loss.ConcentratedGuarantee(rho).Epsilon(log); !ok || math.Abs(e-x*touch) > 1e-11*(1+touch) {
				t.Errorf("ρ=%v: ε(e^%v) = %v %v, want %v", rho, log, e, ok, x*touch)
			}
		}
		if _, ok := loss.ConcentratedGuarantee(rho).LogDelta(touch * 1.001); ok {
			t.Errorf("ρ=%v: the chord answers beyond %v", rho, touch)
		}
		if e, ok := loss.ConcentratedGuarantee(rho).Epsilon(-1e-3); !ok || e != 0 && rho < 0.5 {
			t.Errorf("ρ=%v: ε(0.999) = %v %v", rho, e, ok)
		}
	}
}

func TestDeclaredPairRange(t *testing.T) {
	for _, rho := range []float64{0, 1e-300, 601, math.Inf(1), math.NaN()} {
		if loss.ConcentratedGuarantee(rho).Pair() != nil {
			t.Errorf("a pair for ρ = %v", rho)
		}
	}
}
