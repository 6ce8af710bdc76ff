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
