// SPDX-License-Identifier: Apache-2.0

package pairs

import (
	"math"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/num"
)

// laplaceCurve is the curve of one Laplace release, e0 = d/b:
//
//	δ(ε) = [1 − e^{(ε−e0)/2}]₊,  ε ≥ 0
//
// (Balle–Barthe–Gaboardi 2018, arXiv 1807.01647v2, Thm 3). See docs/math/curves.md §4.2.
type laplaceCurve struct {
	e0 float64 // rounded up by a relative 2⁻⁵⁰ at most
}

func (l laplaceCurve) LogDelta(epsilon float64) (loss.Bounds, float64) {
	b := loss.Bounds{Lower: math.Inf(-1), Upper: math.Inf(-1)}
	// ln(1 − e^{−x}) increases with x = (e0 − ε)/2.
	high := num.Up(l.e0-epsilon) / 2
	if l.e0 > epsilon {
		b.Upper = math.Min(0, num.UpUlps(num.Log1mExp(high), 8))
	}
	if low := num.Down(l.e0*(1-8*num.Ulp)-epsilon) / 2; low > 0 {
		b.Lower = num.DownUlps(num.Log1mExp(low), 8)
	}
	return b, 1 / (2 * math.Expm1(high))
}

// Epsilon is e0 + 2·ln(1 − δ).
func (l laplaceCurve) Epsilon(delta float64) loss.Bounds {
	fall := 2 * math.Log1p(-delta)
	slack := 8 * num.Ulp * math.Abs(fall)
	return loss.Bounds{
		Lower: math.Max(0, num.DownBy(l.e0*(1-8*num.Ulp)+fall, slack+2*num.Ulp*l.e0)),
		Upper: math.Max(0, num.UpBy(l.e0+fall, slack+2*num.Ulp*l.e0)),
	}
}
