// SPDX-License-Identifier: Apache-2.0

package pairs

import (
	"math"
	"math/cmplx"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/num"
)

// Response is randomized response with an atom at L = +∞: with probability
// atom the loss is infinite; otherwise it is ±ε0, or 0 where both true answers
// differ from the one given (k > 2 buckets). With w the probability of a finite
// loss other than 0,
//
//	M(s) − 1 = w·2·sinh(sε0/2)·sinh((s+1)ε0/2)/cosh(ε0/2),  w = (1+e^{−ε0})/(1+(k−1)e^{−ε0}).
//
// With k = 2 it dominates every (ε0, atom)-DP mechanism (Kairouz–Oh–Viswanath
// 2015, Thm 3.4; docs/math/cumulant.md §1.1.3). Both directions are equal.
type Response struct {
	Epsilon      float64 // ε0 > 0, maybe +Inf
	K            float64 // k, a whole number
	InfinityMass float64 // m
	Rounded      bool    // ε0 was computed, and rounded up
	Name         string  // what was reported, for messages
	Class        bool    // what was reported has ε0, but need not be randomized response
}

func (r Response) Facts() loss.Facts {
	return loss.Facts{
		Name: r.Name, InfinityMass: r.InfinityMass, Rho: RhoOfPure(r.Epsilon), Epsilon: r.Epsilon,
		Rounded: r.Rounded, Symmetric: true, Dominating: r.Class,
	}
}

// Buckets is k.
func (r Response) Buckets() float64 { return r.K }

func (r Response) MaxLoss(loss.Direction) float64 { return r.Epsilon }

func (r Response) Cumulant(_ loss.Direction, s float64, _ *num.Interrupt) loss.Value {
	return loss.MirroredCumulant(s, r.rightLine)
}

func (r Response) Line(d loss.Direction, theta float64, in *num.Interrupt) loss.Line {
	return loss.Guarded(loss.MirroredLine(theta, r.rightLine), r.Cumulant(d, theta, in))
}

// rightLine is Line for θ ≥ −½.
func (r Response) rightLine(theta float64) loss.Line {
	small := math.Exp(-r.Epsilon)
	// 1 + (k−1)e^{−ε0}, its logarithm, and w·2/cosh(ε0/2) = 4·e^{−ε0/2}/(…).
	whole := 1 + (r.K-1)*small
	logWhole := math.Log1p((r.K - 1) * small)
	scale := 4 * math.Exp(-r.Epsilon/2) / whole
	// Far from 1 the logarithm is taken as it stands.
	far := r.Epsilon > 600 || theta*r.Epsilon > 300 || theta < 0 && -theta*r.Epsilon > 1
	return func(t float64) loss.ComplexValue {
		s := complex(theta, t)
		if s == 0 {
			return loss.ComplexValue{}
		}
		if math.IsInf(r.Epsilon, 1) {
			return loss.ComplexValue{K: cmplx.Inf(), Err: math.Inf(1), Upper: math.Inf(1)}
		}
		a, b := s*complex(r.Epsilon/2, 0), (s+1)*complex(r.Epsilon/2, 0)
		if far {
			// M = e^{sε0}·[1 + e^{−(2s+1)ε0} + (k−2)·e^{−(s+1)ε0}]/(1+(k−1)e^{−ε0})
			rest := Decaying(2*(a+b)) + complex(r.K-2, 0)*Decaying(2*b)
			near := num.ComplexLog1p(rest)
			k := 2*a + near - complex(logWhole, 0)
			err := 16*cmplx.Abs(a) + 8*logWhole + (16+16*cmplx.Abs(rest)*(1+cmplx.Abs(b)))/cmplx.Abs(1+rest)
			return loss.Around(k, num.Ulp*err)
		}
		sa, sb := num.ComplexSinh(a), num.ComplexSinh(b)
		ca, cb := math.Cosh(real(a)), math.Cosh(real(b)) // ≥ |cosh a|, |cosh b|
		pa, pb := cmplx.Abs(sa), cmplx.Abs(sb)
		// a and b are within 8 Ulp: it moves sinh a by at most |a|·cosh(Re a)·8 Ulp.
		err := (8*cmplx.Abs(a)*ca+4*pa)*pb + (8*cmplx.Abs(b)*cb+4*pb)*pa + (16+2*r.Epsilon)*pa*pb
		return loss.FromComplexExcess(complex(scale, 0)*sa*sb, scale*err*num.Ulp+math.SmallestNonzeroFloat64)
	}
}

// Decaying returns e^{−z}, 0 where it underflows.
func Decaying(z complex128) complex128 {
	if real(z) > 745 {
		return 0
	}
	return cmplx.Exp(-z)
}

func (r Response) Order() [4]float64 { return [4]float64{r.Epsilon, r.K, r.InfinityMass} }

// Decay: atoms alone have none.
func (Response) Decay(loss.Direction, float64, loss.Value, *num.Interrupt) loss.Decay {
	return loss.Undecayed
}

// Covers: with k = 2 everything with no larger ε and δ (Kairouz–Oh–Viswanath 2015, Thm 3.4).
func (r Response) Covers(o loss.Loss) bool {
	f := o.Facts()
	if r.K != 2 {
		if k, ok := loss.BucketsOf(o); !ok || k != r.K {
			return false
		}
	}
	return r.Epsilon >= f.Epsilon && r.InfinityMass >= f.InfinityMass
}

// Grouped: no more is known than what ε and δ imply.
func (Response) Grouped(uint64) (loss.Loss, error) { return nil, nil }
