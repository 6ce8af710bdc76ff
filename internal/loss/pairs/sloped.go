// SPDX-License-Identifier: Apache-2.0

package pairs

import (
	"math"
	"math/cmplx"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/loss/quadrature"
	"github.com/dpaccountant/accountant/internal/num"
)

// Sloped is the pair whose finite losses lie in [−r, r], where P has a density
// ∝ e^{l/2} and Q one ∝ e^{−l/2}: the Laplace pair without its atoms. With S(x) =
// sinh(x)/x and w = s + ½
//
//	M(s) = S(wr)/S(r/2).
//
// Both directions are equal. Truncated Laplace noise has it where its two supports overlap
// by less than half, and it dominates every mechanism whose losses lie in a range of width
// r (docs/math/noise.md §1.4.6).
type Sloped struct {
	R float64 // > 0, maybe +Inf
}

// Rho of the pair itself is at most r²/6: ln S is concave in x² with slope 1/6 at 0.
func (l Sloped) Rho() float64 {
	return math.Min(RhoOfPure(l.R), num.DivUp(num.MulUp(l.R, l.R), 6))
}

func (l Sloped) MaxLoss(loss.Direction) float64 { return l.R }

func (l Sloped) Cumulant(_ loss.Direction, s float64, _ *num.Interrupt) loss.Value {
	return loss.MirroredCumulant(s, l.rightLine)
}

func (l Sloped) Line(d loss.Direction, theta float64, in *num.Interrupt) loss.Line {
	return loss.Guarded(loss.MirroredLine(theta, l.rightLine), l.Cumulant(d, theta, in))
}

// rightLine is Line for θ ≥ −½.
func (l Sloped) rightLine(theta float64) loss.Line {
	return func(t float64) loss.ComplexValue { return l.complexCumulant(complex(theta, t)) }
}

func (l Sloped) complexCumulant(s complex128) loss.ComplexValue {
	half := l.R / 2
	z := (2*s + 1) * complex(half, 0)
	switch {
	case s == 0 || s == -1:
		return loss.ComplexValue{}
	case math.IsInf(l.R, 1):
		return loss.ComplexValue{K: cmplx.Inf(), Err: math.Inf(1), Upper: math.Inf(1)}
	case half <= 1.5 && cmplx.Abs(z) <= 1.5:
		// S(z) − S(h) = Σ (z²ᵏ − h²ᵏ)/(2k+1)!, every term with the factor z² − h² =
		// r²·s(s+1); for real s > 0 nothing cancels. From k = 14 on they are below 2⁻⁶⁰.
		step := (s * complex(l.R, 0)) * ((s + 1) * complex(l.R, 0))
		h2 := half * half
		quotient, size := complex(1, 0), 1.0 // (z²ᵏ − h²ᵏ)/(z² − h²), and with moduli
		powers, factorial := 1.0, 6.0        // h^{2(k−1)}, (2k+1)!
		var sum complex128
		var moduli float64
		for k := 1.0; k < 14; k++ {
			sum += quotient / complex(factorial, 0)
			moduli += size / factorial
			powers *= h2
			quotient = quotient*z*z + complex(powers, 0)
			size = size*real(z*cmplx.Conj(z)) + powers
			factorial *= (2*k + 2) * (2*k + 3)
		}
		scale := half / math.Sinh(half)
		return loss.FromComplexExcess(step*sum*complex(scale, 0),
			cmplx.Abs(step)*moduli*scale*96*num.Ulp+math.SmallestNonzeroFloat64)
	}
	a, errA := logSinhc(z)
	b, errB := logSinhc(complex(half, 0))
	return loss.Around(a-b, errA+errB+2*num.Ulp*(cmplx.Abs(a)+cmplx.Abs(b)))
}

// logSinhc returns ln S(z), one of its values, and a bound on its error for a z within
// 4 Ulp; +Inf at S's zeros.
func logSinhc(z complex128) (v complex128, err float64) {
	if real(z) < 0 {
		z = -z
	}
	size := cmplx.Abs(z)
	if size <= 1.5 { // S − 1 ≤ 0.42
		var sum, term complex128 = 0, 1
		for k := 2.0; k < 30; k += 2 {
			term *= z * z / complex(k*(k+1), 0)
			sum += term
		}
		return num.ComplexLog1p(sum), num.Ulp * 64 * size * size
	}
	e := cmplx.Exp(-2 * z) // 0 where it underflows
	rest := 1 - e
	v = z + cmplx.Log(rest/(2*z))
	return v, num.Ulp * (16*size + 16 + (16+16*size)/cmplx.Abs(rest))
}

// Decay of a density between −r and r is spread over cells of it, or |S(z)| ≤
// cosh(Re z)/|z|, z = wr, whose |w| grows with t.
func (l Sloped) Decay(_ loss.Direction, theta float64, k loss.Value, _ *num.Interrupt) loss.Decay {
	x := math.Abs(theta+0.5) * l.R
	if !(k.Err < quadrature.CellSlop && x < 1e9) {
		return loss.Undecayed
	}
	half, _ := logSinhc(complex(l.R/2, 0))
	cells := loss.WorthPairs(l.cells(theta, k.Upper()))
	return func(t0, t1 float64, _ bool) (log, spent float64) {
		cosh := x + math.Log1p(math.Exp(-2*x)) - math.Ln2
		v := cosh - math.Log(math.Hypot(theta+0.5, t0)*l.R) - real(half) - k.K
		slack := k.Err + num.Ulp*(64+32*x+8*l.R+8*math.Abs(k.K))
		return math.Min(loss.LogModulus(num.UpBy(v, slack)), loss.Spread(cells, t0, t1)), 0
	}
}

// cells cut the loss: P has density ½·e^{(l−r)/2}/(1 − e^{−r}), times e^{θl − K}.
func (l Sloped) cells(theta, k float64) []loss.MassCell {
	const n = 32
	h := 2 * l.R / n
	whole := -math.Expm1(-l.R)
	var cells []loss.MassCell
	for i := range n {
		left := -l.R + float64(i)*h
		mid := left + h/2
		// As for Laplace: convex, and ln of it has slope θ+½.
		mass := h / 2 * math.Exp((mid-l.R)/2+theta*mid-k) / whole
		off := math.Min(h/2, math.Abs(theta+0.5)*h*h/12) * (1 + 1e-9)
		const wide = 1e-12 // of r, for the rounding of the ends
		cells = append(cells,
			loss.MassCell{Mass: mass * (1 - 4*quadrature.CellSlop), Left: left - wide*l.R, Right: left + h + wide*l.R,
				Least: mid - off - wide*l.R, Most: mid + off + wide*l.R})
	}
	return cells
}
