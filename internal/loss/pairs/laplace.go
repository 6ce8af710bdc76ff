// SPDX-License-Identifier: Apache-2.0

package pairs

import (
	"math"
	"math/cmplx"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/loss/quadrature"
	"github.com/dpaccountant/accountant/internal/num"
)

// laplace is the pair of Laplace densities at distance e0 = d/b; noise on ℓ1
// vectors is dominated by it, for all real distances (docs/math/laplace-vectors.md §1.4.4).
// Both directions are equal, |L| ≤ e0 and
//
//	K(s) = ln{[(s+1)·e^{s·e0} + s·e^{−(s+1)·e0}]/(2s+1)}
//
// (docs/math/cumulant.md §1.1.2; on the real axis Mironov 2017, Prop. 6).
type laplace struct {
	e0 float64 // > 0, maybe +Inf
	// class: what was reported is dominated by this pair, and itself dominates the one
	// with half of e0.
	class bool
}

func (l laplace) Facts() loss.Facts {
	return loss.Facts{Name: "Laplace", Rho: RhoOfPure(l.e0), Epsilon: l.e0, Symmetric: true, Dominating: l.class}
}

func (l laplace) Attained() loss.Loss {
	if !l.class {
		return l
	}
	return laplace{e0: l.e0 / 2 * (1 - 4*num.Ulp)}
}

// Curve is that of the pair.
func (l laplace) Curve(*num.Interrupt) loss.PrivacyCurve { return laplaceCurve{l.e0} }

// Repeat is that of the pair, too.
func (l laplace) Repeat(count float64, in *num.Interrupt) loss.PrivacyCurve {
	return newLaplaceSum(l.e0, count, in)
}

func (l laplace) MaxLoss(loss.Direction) float64 { return l.e0 }

func (l laplace) Cumulant(_ loss.Direction, s float64, _ *num.Interrupt) loss.Value {
	return loss.MirroredCumulant(s, l.rightLine)
}

func (l laplace) Line(d loss.Direction, theta float64, in *num.Interrupt) loss.Line {
	return loss.Guarded(loss.MirroredLine(theta, l.rightLine), l.Cumulant(d, theta, in))
}

// rightLine is Line for θ ≥ −½.
func (l laplace) rightLine(theta float64) loss.Line {
	return func(t float64) loss.ComplexValue { return l.complexCumulant(complex(theta, t)) }
}

func (l laplace) complexCumulant(s complex128) loss.ComplexValue {
	e0 := complex(l.e0, 0)
	twice := 2*s + 1
	switch {
	case s == 0:
		return loss.ComplexValue{}
	case math.IsInf(l.e0, 1):
		return loss.ComplexValue{K: cmplx.Inf(), Err: math.Inf(1), Upper: math.Inf(1)}
	case cmplx.Abs(twice) < 0.5:
		return l.nearHalf(s)
	case math.Abs(real(s))*l.e0 > 300 || real(s) < 0 && -real(s)*l.e0 > 1:
		// Far from 1 the logarithm is taken as it stands.
		tail := (s + 1) / twice
		if x := twice * e0; real(x) < 800 {
			tail += s / twice * cmplx.Exp(-x)
		}
		k := s*e0 + cmplx.Log(tail)
		return loss.Around(k, num.Ulp*(8*cmplx.Abs(s)*l.e0+64/cmplx.Abs(tail)+4*cmplx.Abs(k)))
	}
	// M − 1 = [(s+1)·E(s·e0) + s·E(−(s+1)·e0)]/(2s+1), E(z) = e^z − 1 − z: the
	// linear terms cancel exactly, and for real s > 0 nothing else does.
	a, b := s*e0, -(s+1)*e0
	first, second := (s+1)*num.ComplexExpm2(a)/twice, s*num.ComplexExpm2(b)/twice
	err := cmplx.Abs((s+1)/twice)*RemainderError(a) + cmplx.Abs(s/twice)*RemainderError(b) +
		num.Ulp*12*(cmplx.Abs(first)+cmplx.Abs(second))
	return loss.FromComplexExcess(first+second, err+math.SmallestNonzeroFloat64)
}

// RemainderError bounds the error of e^z − 1 − z for a z known within 4 Ulp.
func RemainderError(z complex128) float64 {
	size := cmplx.Abs(z)
	if size <= 1 {
		return num.Ulp * 24 * size * size
	}
	return num.Ulp * (8 + 8*size + (8+8*size)*math.Exp(real(z)))
}

// nearHalf is K near s = −½, where both terms of the quotient have a pole: with
// x = (s+½)·e0, M = e^{−e0/2}·[cosh x + (e0/2)·sinh(x)/x].
func (l laplace) nearHalf(s complex128) loss.ComplexValue {
	half := l.e0 / 2
	x := (2*s + 1) * complex(half, 0)
	if l.e0 > 1 {
		// Both signs of Re x give the same M; the larger exponential is taken out.
		if real(x) < 0 {
			x = -x
		}
		e := cmplx.Exp(-2 * x)
		sinhc := 1 + e // 2·e^{−x}·cosh x
		inner := sinhc / 2
		if cmplx.Abs(x) < 0.5 {
			inner += complex(half, 0) * cmplx.Exp(-x) * (1 + SinhcMinusOne(x))
		} else {
			inner += complex(half, 0) * (1 - e) / (2 * x)
		}
		k := x - complex(half, 0) + cmplx.Log(inner)
		return loss.Around(k, num.Ulp*(16*l.e0+64*(1+half)/cmplx.Abs(inner)+16*cmplx.Abs(x)))
	}
	sinh := num.ComplexSinh(x / 2)
	excess := 2*sinh*sinh + complex(half, 0)*SinhcMinusOne(x) - complex(num.Expm2(half), 0)
	err := num.Ulp * 64 * (l.e0 * l.e0)
	return loss.FromComplexExcess(excess*complex(math.Exp(-half), 0), err+math.SmallestNonzeroFloat64)
}

// SinhcMinusOne returns sinh(z)/z − 1 = z²/6 + z⁴/120 + … for |z| ≤ ½.
func SinhcMinusOne(z complex128) complex128 {
	w := z * z
	sum := complex(0, 0)
	for k := 16.0; k >= 2; k -= 2 {
		sum = w / complex(k*(k+1), 0) * (1 + sum)
	}
	return sum
}

func (l laplace) Order() [4]float64 { return [4]float64{l.e0} }

// Decay is spread over cells of the loss, or takes the terms of M apart: for
// θ ≥ −½, |s+1|/|2s+1| falls with t and |s|/|2s+1| is at most its value at t0 or ½,
//
//	|M(θ+it)| ≤ |s+1|/|2s+1|·e^{θe0} + |s|/|2s+1|·e^{−(θ+1)e0}.
//
// The atoms at ±e0 leave half of it however large t.
func (l laplace) Decay(_ loss.Direction, theta float64, k loss.Value, _ *num.Interrupt) loss.Decay {
	theta, _ = loss.Mirrored(theta)
	if !(k.Err < quadrature.CellSlop) || math.Abs(theta)*l.e0 > 1e9 {
		return loss.Undecayed
	}
	cells := loss.WorthPairs(l.cells(theta, k.Upper()))
	return func(t0, t1 float64, _ bool) (log, spent float64) {
		scale := math.Hypot(2*theta+1, 2*t0)
		first, second := math.Hypot(theta+1, t0)/scale, math.Max(0.5, math.Hypot(theta, t0)/scale)
		a := theta*l.e0 - k.K
		slack := k.Err + num.Ulp*(32+8*math.Abs(theta*l.e0)+8*math.Abs(k.K)+8*l.e0)
		apart := loss.LogModulus(num.UpBy(a+math.Log(first+second*math.Exp(-(2*theta+1)*l.e0)), slack))
		return math.Min(apart, loss.Spread(cells, t0, t1)), 0
	}
}

// cells cut the loss: P has mass ½ at e0, ½·e^{−e0} at −e0 and density
// ¼·e^{−(e0−l)/2} between, all times e^{θl − K}. See docs/math/inversion.md §2.3.1.
func (l laplace) cells(theta, k float64) []loss.MassCell {
	const n = 32
	slop := 1 - 4*quadrature.CellSlop
	h := 2 * l.e0 / n
	point := func(mass, at float64) loss.MassCell {
		return loss.MassCell{Mass: mass * slop, Left: at, Right: at, Least: at, Most: at}
	}
	cells := []loss.MassCell{point(0.5*math.Exp(-l.e0-theta*l.e0-k), -l.e0)}
	for i := range n {
		left := -l.e0 + float64(i)*h
		mid := left + h/2
		// The density is convex: at least its value in the middle. Its logarithm has
		// slope θ+½, so that the mean is within (θ+½)h²/12 of the middle.
		mass := h / 4 * math.Exp(-(l.e0-mid)/2+theta*mid-k)
		off := math.Min(h/2, (theta+0.5)*h*h/12) * (1 + 1e-9)
		const wide = 1e-12 // of e0, for the rounding of the ends
		cells = append(cells,
			loss.MassCell{Mass: mass * slop, Left: left - wide*l.e0, Right: left + h + wide*l.e0,
				Least: mid - off - wide*l.e0, Most: mid + off + wide*l.e0})
	}
	return append(cells, point(0.5*math.Exp(theta*l.e0-k), l.e0))
}

// Covers is of less noise.
func (l laplace) Covers(o loss.Loss) bool {
	b, ok := o.(laplace)
	return ok && l.e0 >= b.e0
}

// Grouped has k times the distance.
func (l laplace) Grouped(k uint64) (loss.Loss, error) {
	return laplace{e0: num.MulUp(num.Count(k), l.e0), class: l.class}, nil
}

// NewLaplace is the pair at a distance of e0; as class it only dominates what was reported.
func NewLaplace(e0 float64, class bool) loss.Loss { return laplace{e0: e0, class: class} }

// LaplaceAt is its K at a complex s, Re s ≥ −½.
func LaplaceAt(e0 float64, s complex128) loss.ComplexValue { return laplace{e0: e0}.complexCumulant(s) }
