package loss

import (
	"math"
	"math/cmplx"

	"github.com/dpaccountant/accountant/internal/num"
)

// response is randomized response with an atom at L = +∞: with probability
// atom the loss is infinite; otherwise it is ±ε0, or 0 where both true answers
// differ from the one given (k > 2 buckets). With w the probability of a finite
// loss other than 0,
//
//	M(s) − 1 = w·2·sinh(sε0/2)·sinh((s+1)ε0/2)/cosh(ε0/2),  w = (1+e^{−ε0})/(1+(k−1)e^{−ε0}).
//
// With k = 2 it dominates every (ε0, atom)-DP mechanism (Kairouz–Oh–Viswanath
// 2015, Thm 3.4). Both directions are equal.
type response struct {
	epsilon float64 // ε0 > 0, maybe +Inf
	buckets float64 // k, a whole number
	atom    float64 // m
	rounded bool    // ε0 was computed, and rounded up
	kind    string  // what was reported, for messages
	class   bool    // what was reported has ε0, but need not be randomized response
}

const (
	randomizedResponse = "randomized response"
	pureDP             = "pure-DP guarantee"
	approximateDP      = "approximate-DP guarantee"
	noisyMax           = "noisy maximum"
	aboveThreshold     = "sparse vector run"
	discreteLaplace    = "discrete Laplace"
)

func (r response) Facts() Facts {
	return Facts{
		Name: r.kind, Atom: r.atom, Rho: rhoOfPure(r.epsilon), Epsilon: r.epsilon,
		Rounded: r.rounded, Symmetric: true, Dominating: r.class,
	}
}

// Buckets is k.
func (r response) Buckets() float64 { return r.buckets }

func (r response) MaxLoss(Direction) float64 { return r.epsilon }

func (r response) Cumulant(_ Direction, s float64) Value {
	m, _ := mirrored(s)
	v := realValue(m, r.rightLine(m))
	if m != s {
		v.Slope = -v.Slope
	}
	return v
}

func (r response) Line(d Direction, theta float64) Line {
	return guarded(mirroredLine(theta, r.rightLine), r.Cumulant(d, theta))
}

// rightLine is Line for θ ≥ −½.
func (r response) rightLine(theta float64) Line {
	small := math.Exp(-r.epsilon)
	// 1 + (k−1)e^{−ε0}, its logarithm, and w·2/cosh(ε0/2) = 4·e^{−ε0/2}/(…).
	whole := 1 + (r.buckets-1)*small
	logWhole := math.Log1p((r.buckets - 1) * small)
	scale := 4 * math.Exp(-r.epsilon/2) / whole
	// Far from 1 the logarithm is taken as it stands.
	far := r.epsilon > 600 || theta*r.epsilon > 300 || theta < 0 && -theta*r.epsilon > 1
	return func(t float64) ComplexValue {
		s := complex(theta, t)
		if s == 0 {
			return ComplexValue{}
		}
		if math.IsInf(r.epsilon, 1) {
			return ComplexValue{cmplx.Inf(), math.Inf(1), math.Inf(1)}
		}
		a, b := s*complex(r.epsilon/2, 0), (s+1)*complex(r.epsilon/2, 0)
		if far {
			// M = e^{sε0}·[1 + e^{−(2s+1)ε0} + (k−2)·e^{−(s+1)ε0}]/(1+(k−1)e^{−ε0})
			rest := decaying(2*(a+b)) + complex(r.buckets-2, 0)*decaying(2*b)
			near := num.ComplexLog1p(rest)
			k := 2*a + near - complex(logWhole, 0)
			err := 16*cmplx.Abs(a) + 8*logWhole + (16+16*cmplx.Abs(rest)*(1+cmplx.Abs(b)))/cmplx.Abs(1+rest)
			return around(k, num.Ulp*err)
		}
		sa, sb := num.ComplexSinh(a), num.ComplexSinh(b)
		ca, cb := math.Cosh(real(a)), math.Cosh(real(b)) // ≥ |cosh a|, |cosh b|
		pa, pb := cmplx.Abs(sa), cmplx.Abs(sb)
		// a and b are within 8 Ulp: it moves sinh a by at most |a|·cosh(Re a)·8 Ulp.
		err := (8*cmplx.Abs(a)*ca+4*pa)*pb + (8*cmplx.Abs(b)*cb+4*pb)*pa + (16+2*r.epsilon)*pa*pb
		return fromComplexExcess(complex(scale, 0)*sa*sb, scale*err*num.Ulp+math.SmallestNonzeroFloat64)
	}
}

// decaying returns e^{−z}, 0 where it underflows.
func decaying(z complex128) complex128 {
	if real(z) > 745 {
		return 0
	}
	return cmplx.Exp(-z)
}

func (r response) Order() [4]float64 { return [4]float64{r.epsilon, r.buckets, r.atom} }

// rhoOfPure returns ρ = ε·tanh(ε/2), rounded up: every ε-DP mechanism is ρ-zCDP
// with it, and none smaller serves them all (docs/math/curves.md §4.4).
func rhoOfPure(epsilon float64) float64 {
	// Tanh is within two units in the last place of its value, at most 1.
	t := math.Tanh(epsilon / 2)
	return num.MulUp(epsilon, math.Min(1, num.Up(t*(1+4*num.Ulp))))
}

// Decay: atoms alone have none.
func (response) Decay(Direction, float64, Value) Decay { return Undecayed }

// Covers: with k = 2 everything with no larger ε and δ (Kairouz–Oh–Viswanath 2015, Thm 3.4).
func (r response) Covers(o Loss) bool {
	if r.buckets == 2 {
		f := o.Facts()
		return r.epsilon >= f.Epsilon && r.atom >= f.Atom
	}
	b, ok := o.(response)
	return ok && r.buckets == b.buckets && r.epsilon >= b.epsilon && r.atom >= b.atom
}

// Grouped: discrete Laplace noise at distance 1 is at distance k.
func (r response) Grouped(k uint64) (Loss, error) {
	if r.kind == discreteLaplace {
		return discrete{a: r.epsilon, d: num.Count(k)}, nil
	}
	return nil, nil
}
