// SPDX-License-Identifier: Apache-2.0

package closed

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// every is the most that a player reaches who tries tries many places of the range after each
// answer, off the grid of play.
func every(eta, alpha float64, n, tries int) float64 {
	if n == 0 {
		return math.Max(0, 1-alpha)
	}
	most := 0.0
	for k := range tries {
		t := eta * (float64(k) + 0.37) / float64(tries)
		p := math.Expm1(t-eta) / math.Expm1(-eta)
		most = math.Max(most,
			p*every(eta, alpha*math.Exp(-t), n-1, tries)+(1-p)*every(eta, alpha*math.Exp(eta-t), n-1, tries))
	}
	return most
}

// No choice passes the bound from above, and that from below is not above it. The profile falls,
// also from one count to the next, and both bounds are close.
func TestPlayAgainstEveryChoice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		eta := math.Exp(rapid.Float64Range(-4, 1.5).Draw(t, "ln η"))
		n := rapid.IntRange(2, 3).Draw(t, "n")
		epsilon := float64(n) * eta * rapid.Float64Range(0, 0.95).Draw(t, "ε")
		curve := newPlay(eta, n, 200, nil)
		b, _ := curve.LogDelta(epsilon)
		lower, upper := math.Exp(b.Lower), math.Exp(b.Upper)
		some := every(eta, math.Exp(epsilon), n, 24)
		if !(some <= upper*(1+1e-12) && lower <= upper) {
			t.Fatalf("δ(%v) in [%v, %v], a player has %v", epsilon, lower, upper, some)
		}
		if upper > lower*1.03+1e-6 || lower < some*0.95-1e-6 {
			t.Fatalf("δ(%v) in [%v, %v] is wide, a player has %v", epsilon, lower, upper, some)
		}
		more := newPlay(eta, n+1, 100, nil)
		if next, _ := more.LogDelta(epsilon); next.Upper < b.Lower {
			t.Fatalf("δ(%v) of one release more ≤ %v, without it ≥ %v", epsilon, math.Exp(next.Upper), lower)
		}
		later, _ := curve.LogDelta(epsilon * 1.01)
		if later.Lower > b.Upper || later.Upper > b.Upper*(1-1e-12) && later.Upper > b.Upper {
			t.Fatalf("δ(%v) in %v, δ(%v) in %v", epsilon, b, epsilon*1.01, later)
		}
		delta := upper
		if e := curve.Epsilon(delta); !(e.Lower <= epsilon*(1+1e-9)+1e-12 && e.Upper >= e.Lower) {
			t.Fatalf("ε(%v) in %v, δ(%v) ≤ %v", delta, e, epsilon, delta)
		}
	})
}
