// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"math"
	"testing"

	"github.com/dpaccountant/accountant/internal/loss"
	"pgregory.net/rapid"
)

// K' is convex with K'(0) = 0: bounds that are not lose where they rise faster than they
// have to. Those of selections are repaired by chords; no other one has any to repair.
func TestDivergenceRises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l, d := drawLoss(t), rapid.SampledFrom([]loss.Direction{loss.Remove, loss.Add}).Draw(t, "direction")
		s := math.Exp(rapid.Float64Range(-5, 5).Draw(t, "ln s"))
		next := s * rapid.Float64Range(1, 3).Draw(t, "step")
		low, high := loss.Renyi(l, d, s, nil), loss.Renyi(l, d, next, nil)
		if math.IsInf(high.Upper(), 1) {
			return
		}
		a, b := low.Upper()/s, high.Upper()/next
		slack := 1e-300 + 1e-9*math.Abs(a) + 2*low.Err/s
		if l.Facts().Name == "repeat-and-select bound" {
			slack = 0.02 * a // chords end at points of a grid
		}
		if a > b+slack {
			t.Fatalf("%#v: D = %v at s = %v, %v at %v", l, a, s, b, next)
		}
	})
}
