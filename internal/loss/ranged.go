package loss

import (
	"math"
	"math/cmplx"

	"github.com/dpaccountant/accountant/internal/num"
)

// sloped is the pair whose finite losses lie in [−r, r], where P has a density
// ∝ e^{l/2} and Q one ∝ e^{−l/2}: the Laplace pair without its atoms. With S(x) =
// sinh(x)/x and w = s + ½
//
//	M(s) = S(wr)/S(r/2).
//
// Both directions are equal. As class it is the least pair that dominates every
// mechanism whose losses lie in a range of width r (docs/math/noise.md §1.4.6), as those of
// the exponential mechanism do; without, it is truncated Laplace noise whose two
// supports overlap by less than half.
type sloped struct {
	r     float64 // > 0, maybe +Inf
	atom  float64 // P(L = ∞)
	class bool
}

// ranged is the loss of mechanisms with losses in a range of width r.
func ranged(r float64) sloped { return sloped{r: r, class: true} }

// Facts: r-DP, and (r²/8)-zCDP if the range is all that is known (Cesar–Rogers 2021,
// arXiv 2004.07223). ln S is concave in x² with slope 1/6 at 0, so that the
// pair itself has ρ = r²/6.
func (l sloped) Facts() Facts {
	f := Facts{Name: "truncated Laplace", Atom: l.atom, Epsilon: l.r, Symmetric: true, Dominating: l.class, Rounded: true}
	square := num.MulUp(l.r, l.r)
	f.Rho = math.Min(rhoOfPure(l.r), num.DivUp(square, 6))
	if l.class {
		f.Name = "bounded-range selection"
		f.Rho = math.Min(rhoOfPure(l.r), square/8)
	}
	return f
}

func (l sloped) MaxLoss(Direction) float64 { return l.r }

// attained is binary randomized response with half of r: two candidates whose scores
// exchange their places.
func (l sloped) attained() Loss {
	if !l.class {
		return l
	}
	return response{epsilon: l.r / 2 * (1 - 4*num.Ulp), buckets: 2, rounded: true, kind: randomizedResponse}
}

func (l sloped) Cumulant(_ Direction, s float64) Value {
	m, _ := mirrored(s)
	v := realValue(m, l.rightLine(m))
	if m != s {
		v.Slope = -v.Slope
	}
	return v
}

func (l sloped) Line(d Direction, theta float64) Line {
	return guarded(mirroredLine(theta, l.rightLine), l.Cumulant(d, theta))
}

// rightLine is Line for θ ≥ −½.
func (l sloped) rightLine(theta float64) Line {
	return func(t float64) ComplexValue { return l.at(complex(theta, t)) }
}

func (l sloped) at(s complex128) ComplexValue {
	half := l.r / 2
	z := (2*s + 1) * complex(half, 0)
	switch {
	case s == 0 || s == -1:
		return ComplexValue{}
	case math.IsInf(l.r, 1):
		return ComplexValue{cmplx.Inf(), math.Inf(1), math.Inf(1)}
	case half <= 1.5 && cmplx.Abs(z) <= 1.5:
		// S(z) − S(h) = Σ (z²ᵏ − h²ᵏ)/(2k+1)!, every term with the factor z² − h² =
		// r²·s(s+1); for real s > 0 nothing cancels. From k = 14 on they are below 2⁻⁶⁰.
		step := (s * complex(l.r, 0)) * ((s + 1) * complex(l.r, 0))
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
		return fromComplexExcess(step*sum*complex(scale, 0), cmplx.Abs(step)*moduli*scale*96*num.Ulp+math.SmallestNonzeroFloat64)
	}
	a, errA := logSinhc(z)
	b, errB := logSinhc(complex(half, 0))
	return around(a-b, errA+errB+2*num.Ulp*(cmplx.Abs(a)+cmplx.Abs(b)))
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

// decay of a density between −r and r is spread over cells of it, or |S(z)| ≤
// cosh(Re z)/|z|, z = wr, whose |w| grows with t.
func (l sloped) decay(theta float64, k Value) decay {
	x := math.Abs(theta+0.5) * l.r
	if !(k.Err < slopCells && x < 1e9) {
		return undecayed
	}
	half, _ := logSinhc(complex(l.r/2, 0))
	cells := worthPairs(l.cells(theta, k.Upper()))
	return func(t0, t1 float64, _ bool) float64 {
		cosh := x + math.Log1p(math.Exp(-2*x)) - math.Ln2
		v := cosh - math.Log(math.Hypot(theta+0.5, t0)*l.r) - real(half) - k.K
		slack := k.Err + num.Ulp*(64+32*x+8*l.r+8*math.Abs(k.K))
		return math.Min(bounded(num.UpBy(v, slack)), spread(cells, t0, t1))
	}
}

// cells cut the loss: P has density ½·e^{(l−r)/2}/(1 − e^{−r}), times e^{θl − K}.
func (l sloped) cells(theta, k float64) []massCell {
	const n = 32
	h := 2 * l.r / n
	whole := -math.Expm1(-l.r)
	var cells []massCell
	for i := range n {
		left := -l.r + float64(i)*h
		mid := left + h/2
		// As for Laplace: convex, and ln of it has slope θ+½.
		mass := h / 2 * math.Exp((mid-l.r)/2+theta*mid-k) / whole
		off := math.Min(h/2, math.Abs(theta+0.5)*h*h/12) * (1 + 1e-9)
		const wide = 1e-12 // of r, for the rounding of the ends
		cells = append(cells, massCell{mass * (1 - 4*slopCells), left - wide*l.r, left + h + wide*l.r, mid - off - wide*l.r, mid + off + wide*l.r})
	}
	return cells
}

// renyi bounds K of every mechanism in the class for s > 0: of randomized response
// with the losses t and t − r, the extreme of them, at the worst t,
//
//	K(s) = s·t + ln(A/((s+1)(1−e^{−r}))),  e^t = s·A/((s+1)·B),
//	A = 1 − e^{−(s+1)r},  B = e^{−r}(1 − e^{−sr})
//
// (Dong–Durfee–Rogers 2020, arXiv 1909.13830; docs/math/noise.md §1.4.6), and never more than
// s(s+1)·r²/8. Both hold at each order, so they add up over adaptive compositions.
func (l sloped) renyi(s float64) Value {
	v := ZeroConcentrated(l.Facts().Rho, s)
	if !l.class || !(s > 0) || !(l.r < 1e300) {
		return v
	}
	a, b := num.Log1mExp((s+1)*l.r), num.Log1mExp(s*l.r)
	share := math.Log1p(1 / s) // −ln(s/(s+1))
	t := a + l.r - b - share
	k := s*t + a - math.Log1p(s) - num.Log1mExp(l.r)
	err := num.Ulp * 32 * (s*(math.Abs(a)+l.r+math.Abs(b)+share+1) + math.Abs(a) + math.Log1p(s) + math.Abs(num.Log1mExp(l.r)))
	if !(num.UpBy(k, err) < v.Upper()) {
		return v
	}
	// The mean and variance of the two losses under the tilt.
	odds := math.Exp(num.Log1mExp(l.r-math.Min(t, l.r)) - num.Log1mExp(math.Max(t, 0)) + l.r - t + s*l.r)
	low := 1 / (1 + odds)
	return Value{K: k, Err: err, Slope: t - l.r*low, Curvature: math.Max(l.r*l.r*low*(1-low), 1e-12)}
}

func (l sloped) Order() [4]float64 { return [4]float64{l.r, l.atom} }

// Renyi is Cumulant where a bound on K at the order 1 + s > 1 is all that is asked for:
// of a class of mechanisms the largest K of any of them, which may be less than that
// of the pair that dominates them all.
func Renyi(l Loss, d Direction, s float64) Value {
	if c, ok := l.(sloped); ok && c.class && s > 0 {
		return c.renyi(s)
	}
	return l.Cumulant(d, s)
}

// RenyiEstimate is EstimateOf for Renyi, at s > 0.
func RenyiEstimate(l Loss, d Direction) Estimate {
	c, ok := l.(sloped)
	if !ok || !c.class {
		return EstimateOf(l, d)
	}
	return func(s float64) (k, slope, curvature float64) {
		v := c.renyi(s)
		return v.K, v.Slope, v.Curvature
	}
}

// Renyi is Cumulant with every loss's Renyi.
func (c Composition) Renyi(d Direction, s float64) Value {
	var sum ValueSum
	for _, t := range c {
		sum.Add(float64(t.Count), Renyi(t.Loss, d, s))
	}
	return sum.Value()
}

// member is a loss that may stand for a class.
type member interface {
	// attained is the loss of some mechanism that the report may mean, nil where none is
	// known; the loss itself where it is exact.
	attained() Loss
}

// Dominating reports whether some term's pair need not be attained.
func (c Composition) Dominating() bool {
	for _, t := range c {
		if t.Loss.Facts().Dominating {
			return true
		}
	}
	return false
}

// Attained is what a composition has at least: of each class a mechanism that belongs
// to it, or none.
func (c Composition) Attained() Composition {
	var least Composition
	for _, t := range c {
		if t.Loss.Facts().Dominating {
			m, ok := t.Loss.(member)
			if !ok {
				continue
			}
			if t.Loss = m.attained(); t.Loss == nil {
				continue
			}
		}
		least = append(least, t)
	}
	return least
}
