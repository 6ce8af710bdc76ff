// SPDX-License-Identifier: Apache-2.0

package pairs

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// Laplace noise on two coordinates, at any real distances, is dominated by one coordinate
// at their sum, and not at the larger of them (docs/math/laplace-vectors.md §1.4.4).
// The vector's δ(ε) is the mean over the second coordinate, clamped to [0, d2], of the
// first one's curve at what is left of ε; by the midpoint rule.
func TestLaplaceVectors(t *testing.T) {
	one := func(d, epsilon float64) float64 { // Balle–Barthe–Gaboardi 2018, Thm 3, mirrored
		if epsilon < 0 {
			return 1 - math.Exp(epsilon)*(1-math.Max(0, -math.Expm1((-epsilon-d)/2)))
		}
		return math.Max(0, -math.Expm1((epsilon-d)/2))
	}
	larger := 0
	rapid.Check(t, func(t *rapid.T) {
		d1, d2 := rapid.Float64Range(0.01, 4).Draw(t, "d1"), rapid.Float64Range(0.01, 4).Draw(t, "d2")
		epsilon := rapid.Float64Range(-4, 8).Draw(t, "ε")
		given := func(y float64) float64 { return one(d1, epsilon-(2*y-d2)) }
		const cells = 4000
		h := d2 / cells
		both := given(d2)/2 + math.Exp(-d2)/2*given(0)
		for i := range cells {
			y := (float64(i) + 0.5) * h
			both += math.Exp(y-d2) / 2 * h * given(y)
		}
		b, _ := laplaceCurve{e0: d1 + d2}.LogDelta(math.Abs(epsilon))
		stated := math.Exp(b.Upper)
		if epsilon < 0 {
			stated = 1 - math.Exp(epsilon)*(1-stated)
		}
		if both > stated+1e-6 {
			t.Fatalf("δ of (%g, %g) at ε = %g is %.9g, of their sum %.9g", d1, d2, epsilon, both, stated)
		}
		if both > one(math.Max(d1, d2), epsilon)+1e-3 {
			larger++
		}
	})
	if larger == 0 {
		t.Error("no case above the curve of the larger distance alone: the test shows nothing")
	}
}

// The sum of one release is its closed form, and of two it is the mean of the closed form over the losses of one
// of them: P has the mass ½ at a, ½·e^{−a} at −a and the density ¼·e^{−(a−l)/2} between; by Gauss's rule of two points.
func TestLaplaceSumIsTheMeanOfOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := math.Exp(rapid.Float64Range(-6, 3).Draw(t, "ln a"))
		epsilon := rapid.Float64Range(0, 2.2).Draw(t, "ε/a") * a
		one := func(epsilon float64) float64 { // Balle–Barthe–Gaboardi 2018, Thm 3, and δ(−ε) = 1 − e^{−ε}·(1 − δ(ε))
			d := math.Max(0, -math.Expm1((math.Abs(epsilon)-a)/2))
			if epsilon < 0 {
				return -math.Expm1(epsilon) + math.Exp(epsilon)*d
			}
			return d
		}
		two := one(epsilon-a)/2 + math.Exp(-a)/2*one(epsilon+a)
		// The curve has kinks where its argument is 0 or ±a.
		kinks := []float64{-a, math.Min(a, math.Max(-a, epsilon-a)), math.Min(a, math.Max(-a, epsilon)), a}
		for i := range 3 {
			const cells = 2000
			h := (kinks[i+1] - kinks[i]) / cells
			for j := range cells {
				for _, side := range []float64{-1, 1} {
					l := kinks[i] + (float64(j)+0.5+side/(2*math.Sqrt(3)))*h
					two += h / 2 * math.Exp(-(a-l)/2) / 4 * one(epsilon-l)
				}
			}
		}
		for n, want := range map[float64]float64{1: one(epsilon), 2: two} {
			b, _ := newLaplaceSum(a, n, nil).LogDelta(epsilon)
			if want < 1e-30 { // nothing is claimed from below
				want = math.Exp(b.Upper)
			}
			if low, high := math.Exp(b.Lower), math.Exp(b.Upper); !(low <= want*(1+1e-10) && want <= high*(1+1e-10)) ||
				high > want*(1+1e-9)+1e-40 {
				t.Fatalf("%v releases of %v: δ(%v) in [%v, %v], want %v", n, a, epsilon, low, high, want)
			}
		}
	})
}

// A sum of tiny or very many losses is left to others, and one that is out of floating point is no answer.
func TestLaplaceSumKnowsItsRange(t *testing.T) {
	for _, c := range []struct{ a, n float64 }{{1e-10, 2}, {1, 513}, {math.Inf(1), 2}, {1, 201}, {0.5, 399}} {
		if s := newLaplaceSum(c.a, c.n, nil); s != nil {
			t.Errorf("%v releases of %v have a sum", c.n, c.a)
		}
	}
	b, _ := newLaplaceSum(0.1, 100, nil).LogDelta(9.999999)
	if !math.IsInf(b.Lower, -1) || !(b.Upper < -80) {
		t.Errorf("a tiny δ is in [%v, %v]", b.Lower, b.Upper)
	}
	if b, _ = newLaplaceSum(0.1, 100, nil).LogDelta(10.001); !math.IsInf(b.Upper, -1) {
		t.Errorf("beyond the largest loss δ is up to e^%v", b.Upper)
	}
}
