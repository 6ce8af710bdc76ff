// SPDX-License-Identifier: Apache-2.0

package noise

import (
	"math"
	"math/cmplx"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/loss/pairs"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/num"
)

// discreteLaplace is the pair of discrete Laplace laws P(x) ∝ e^{−a|x|} at a distance of d
// whole numbers, e0 = da: the losses are e0 − 2ja, j = 0 … d. With w = s + ½
//
//	M(s) = A·e^{s·e0} + B·e^{−(s+1)·e0},  A = (1 + κ)/2, B = (1 − κ)/2,
//	κ = tanh(a/2)/tanh(wa)
//
// (docs/math/noise.md §1.4.3), as for Laplace, where κ = 1/(2w). It dominates noise on vectors at
// the ℓ1 distance d. Both directions are equal.
type discreteLaplace struct {
	a float64 // 1/b > 0, rounded up
	d float64 // a whole number ≥ 2
}

// ofDiscreteLaplace: at distance 1 there are two losses, those of binary randomized
// response.
func ofDiscreteLaplace(m mechanism.DiscreteLaplace, adj mechanism.Adjacency) loss.Loss {
	scale, distance := m.Ratio(adj)
	if distance == 1 {
		return discreteStep{pairs.Response{Epsilon: num.DivUp(1, scale), K: 2, Rounded: true,
			Name: discreteLaplaceName}}
	}
	return discreteLaplace{a: num.DivUp(1, scale), d: distance}
}

// discreteStep is discrete Laplace noise at distance 1.
type discreteStep struct{ pairs.Response }

// Grouped is at distance k.
func (l discreteStep) Grouped(k uint64) (loss.Loss, error) {
	return discreteLaplace{a: l.Epsilon, d: num.Count(k)}, nil
}

func (l discreteLaplace) e0() float64 { return num.MulUp(l.a, l.d) }

func (l discreteLaplace) Facts() loss.Facts {
	return loss.Facts{Name: discreteLaplaceName, Rho: pairs.RhoOfPure(l.e0()), Epsilon: l.e0(), Symmetric: true}
}

func (l discreteLaplace) MaxLoss(loss.Direction) float64 { return l.e0() }

func (l discreteLaplace) Cumulant(_ loss.Direction, s float64, _ *num.Interrupt) loss.Value {
	return loss.MirroredCumulant(s, l.rightLine)
}

func (l discreteLaplace) Line(d loss.Direction, theta float64, in *num.Interrupt) loss.Line {
	return loss.Guarded(loss.MirroredLine(theta, l.rightLine), l.Cumulant(d, theta, in))
}

// rightLine is Line for θ ≥ −½.
func (l discreteLaplace) rightLine(theta float64) loss.Line {
	return func(t float64) loss.ComplexValue { return l.complexCumulant(complex(theta, t)) }
}

func (l discreteLaplace) complexCumulant(s complex128) loss.ComplexValue {
	e0 := l.e0()
	if s == 0 {
		return loss.ComplexValue{}
	}
	if math.IsInf(e0, 1) {
		return loss.ComplexValue{K: cmplx.Inf(), Err: math.Inf(1), Upper: math.Inf(1)}
	}
	if cmplx.Abs(2*s+1) < 0.5 {
		return l.nearHalf(s)
	}
	// (M − 1) = A·E(s·e0) + B·E(−(s+1)·e0) + e0·(wκ − ½), E(z) = e^z − 1 − z.
	k := l.kappa(s)
	first, second := 1-k.rest, k.rest
	x, y := s*complex(e0, 0), -(s+1)*complex(e0, 0)
	if math.Abs(real(s))*e0 > 300 || real(s) < 0 && -real(s)*e0 > 1 {
		tail := first
		if v := -(2*s + 1) * complex(e0, 0); real(v) > -800 {
			tail += second * cmplx.Exp(v)
		}
		v := x + cmplx.Log(tail)
		grow := math.Exp(math.Min(0, real(y-x)))
		return loss.Around(v, num.Ulp*(8*cmplx.Abs(s)*e0+8*cmplx.Abs(v)+
			64*(cmplx.Abs(first)+cmplx.Abs(second)*grow*(1+cmplx.Abs(y-x)))/cmplx.Abs(tail))+
			k.restErr*(1+grow)/cmplx.Abs(tail))
	}
	a, b := first*num.ComplexExpm2(x), second*num.ComplexExpm2(y)
	c := complex(e0, 0) * k.excess
	err := cmplx.Abs(first)*pairs.RemainderError(x) + cmplx.Abs(second)*pairs.RemainderError(y) +
		num.Ulp*12*(cmplx.Abs(a)+cmplx.Abs(b)+cmplx.Abs(c)) +
		e0*k.excessErr + k.restErr*(cmplx.Abs(num.ComplexExpm2(x))+cmplx.Abs(num.ComplexExpm2(y)))
	return loss.FromComplexExcess(a+b+c, err+math.SmallestNonzeroFloat64)
}

// kappa is B = (1 − κ)/2 = sinh(sa)/(2·sinh(wa)·cosh(a/2)), and wκ − ½ = s·κ − B =
// (C(wa) − C(a/2))/(2·C(a/2)) with C(z) = z·coth z, with bounds on their errors.
type kappa struct {
	rest, excess       complex128
	restErr, excessErr float64
}

func (l discreteLaplace) kappa(s complex128) kappa {
	w := s + 0.5
	z, h := w*complex(l.a, 0), l.a/2
	tanh, relative := complexTanh(z)
	size := cmplx.Abs(z)
	value := complex(math.Tanh(h), 0) / tanh
	err := cmplx.Abs(value) * (relative + 8*num.Ulp)
	k := kappa{rest: (1 - value) / 2, restErr: err}
	if sa := s * complex(l.a, 0); cmplx.Abs(sa) < 1 && real(z) < 300 {
		// Each is within 4 Ulp of its argument, which counts |z·coth z| times.
		sinh, other := num.ComplexSinh(sa), num.ComplexSinh(z)
		k.rest = sinh / (2 * other * complex(math.Cosh(h), 0))
		k.restErr = cmplx.Abs(k.rest) * num.Ulp * (48 + 16*size*math.Cosh(real(z))/cmplx.Abs(other) + 8*h)
	}
	if size < 0.5 && h < 0.5 {
		// C is even: a series in z² with radius π², the factor z² − h² = a²·s(s+1) taken out.
		step := (s * complex(l.a, 0)) * ((s + 1) * complex(l.a, 0))
		quotient, moduli, powers := complex(1, 0), 1.0, 1.0
		var sum complex128
		var all float64
		for _, c := range cothSeries {
			sum += complex(c, 0) * quotient
			all += math.Abs(c) * moduli
			powers *= h * h
			quotient = quotient*z*z + complex(powers, 0)
			moduli = moduli*size*size + powers
		}
		scale := math.Tanh(h) / h / 2
		k.excess = step * sum * complex(scale, 0)
		k.excessErr = cmplx.Abs(step) * all * scale * 96 * num.Ulp
		return k
	}
	k.excess = s*value - k.rest
	k.excessErr = cmplx.Abs(s)*err + k.restErr + num.Ulp*4*(cmplx.Abs(s*value)+cmplx.Abs(k.rest))
	return k
}

// cothSeries are the coefficients of z², z⁴, … in z·coth z: 2²ᵏ·B₂ₖ/(2k)!, which fall
// like 2/π²ᵏ: at |z| ≤ ½ the rest is below 2⁻⁵⁸ of the first.
var cothSeries = [...]float64{
	1. / 3, -1. / 45, 2. / 945, -1. / 4725, 2. / 93555, -1382. / 638512875, 4. / 18243225, -3617. / 162820783125,
	87734. / 38979295480125, -349222. / 1531329465290625, 310732. / 13447856940643125,
}

// complexTanh is tanh z for Re z ≥ 0 and a z within 4 Ulp, with a bound on its relative
// error.
func complexTanh(z complex128) (tanh complex128, relative float64) {
	if cmplx.Abs(z) < 0.25 {
		sinh := num.ComplexSinh(z)
		half := num.ComplexSinh(z / 2)
		return sinh / (1 + 2*half*half), 32 * num.Ulp
	}
	e := pairs.Decaying(2 * z)
	minus, plus := 1-e, 1+e
	off := 8 + 16*cmplx.Abs(z)*cmplx.Abs(e)
	return minus / plus, num.Ulp * (8 + off/cmplx.Abs(minus) + off/cmplx.Abs(plus))
}

// zCoth is z·coth z and that less 1, for a z within 4 Ulp, with a bound on the relative
// error of the first, and of the second where |z| < ½.
func zCoth(z complex128) (c, less complex128, relative float64) {
	if cmplx.Abs(z) >= 0.5 {
		tanh, relative := complexTanh(z)
		return z / tanh, z/tanh - 1, relative + 8*num.Ulp
	}
	power := z * z
	for _, k := range cothSeries {
		less += complex(k, 0) * power
		power *= z * z
	}
	return 1 + less, less, 48 * num.Ulp
}

// nearHalf is K near s = −½, where κ has a pole: with x = we0, z = wa and lead =
// d·tanh(a/2)
//
//	M = e^{−e0/2}·[cosh x + lead·(z·coth z)·sinh(x)/x].
func (l discreteLaplace) nearHalf(s complex128) loss.ComplexValue {
	e0, h := l.e0(), l.a/2
	x, z := (s+0.5)*complex(e0, 0), (s+0.5)*complex(l.a, 0)
	if real(x) < 0 {
		x, z = -x, -z
	}
	c, less, relative := zCoth(z)
	lead := l.d * math.Tanh(h)
	if e0 > 1 {
		e := cmplx.Exp(-2 * x)
		inner, last := (1+e)/2, complex(lead, 0)*c
		if cmplx.Abs(x) < 0.5 {
			last *= cmplx.Exp(-x) * (1 + pairs.SinhcMinusOne(x))
		} else {
			last *= (1 - e) / (2 * x)
		}
		inner += last
		k := x - complex(e0/2, 0) + cmplx.Log(inner)
		return loss.Around(k, num.Ulp*(16*e0+(64+64*cmplx.Abs(last)+32*cmplx.Abs(x))/cmplx.Abs(inner)+16*cmplx.Abs(x))+
			relative*cmplx.Abs(last)/cmplx.Abs(inner))
	}
	// Without the linear terms: lead − e0/2 = d·(tanh h − h), h ≤ ¼.
	more := pairs.SinhcMinusOne(x)
	square := h * h
	short := -h * square *
		(1./3 - square*
			(2./15-square*
				(17./315-square*(62./2835-square*(1382./155925-square*(21844./6081075-square*929569./638512875))))))
	sinh := num.ComplexSinh(x / 2)
	excess := 2*sinh*sinh + complex(lead, 0)*(less*(1+more)+more) + complex(l.d*short-num.Expm2(e0/2), 0)
	err := num.Ulp * 128 * (e0 * e0)
	return loss.FromComplexExcess(excess*complex(math.Exp(-e0/2), 0), err+math.SmallestNonzeroFloat64)
}

func (l discreteLaplace) Order() [4]float64 { return [4]float64{l.a, l.d} }

// Decay: atoms alone have none.
func (discreteLaplace) Decay(loss.Direction, float64, loss.Value, *num.Interrupt) loss.Decay {
	return loss.Undecayed
}

// Covers: only itself is known to be covered.
func (l discreteLaplace) Covers(loss.Loss) bool { return false }

// Grouped is at k times the distance.
func (l discreteLaplace) Grouped(k uint64) (loss.Loss, error) {
	return discreteLaplace{a: l.a, d: num.Count(k) * l.d}, nil
}

const discreteLaplaceName = "discrete Laplace"
