package pld

import (
	"math"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/num"
)

// laplace is the curve of one Laplace release, e0 = d/b:
//
//	δ(ε) = [1 − e^{(ε−e0)/2}]₊,  ε ≥ 0
//
// (Balle–Barthe–Gaboardi 2018, arXiv 1807.01647v2, Thm 3).
type laplace struct {
	e0 float64 // rounded up by a relative 2⁻⁵⁰ at most
}

func (l laplace) logDelta(epsilon float64) (loss.Bounds, float64) {
	b := loss.Bounds{Lower: math.Inf(-1), Upper: math.Inf(-1)}
	// ln(1 − e^{−x}) increases with x = (e0 − ε)/2.
	high := num.Up(l.e0-epsilon) / 2
	if l.e0 > epsilon {
		b.Upper = math.Min(0, up(num.Log1mExp(high)))
	}
	if low := num.Down(l.e0*(1-8*num.Ulp)-epsilon) / 2; low > 0 {
		b.Lower = down(num.Log1mExp(low))
	}
	return b, 1 / (2 * math.Expm1(high))
}

// epsilon is e0 + 2·ln(1 − δ).
func (l laplace) epsilon(delta float64) loss.Bounds {
	fall := 2 * math.Log1p(-delta)
	slack := 8 * num.Ulp * math.Abs(fall)
	return loss.Bounds{
		Lower: math.Max(0, num.DownBy(l.e0*(1-8*num.Ulp)+fall, slack+2*num.Ulp*l.e0)),
		Upper: math.Max(0, num.UpBy(l.e0+fall, slack+2*num.Ulp*l.e0)),
	}
}

// up and down move a logarithm that is within 8 Ulp of its value past it.
func up(v float64) float64   { return num.UpBy(v, 8*num.Ulp*math.Abs(v)) }
func down(v float64) float64 { return num.DownBy(v, 8*num.Ulp*math.Abs(v)) }
