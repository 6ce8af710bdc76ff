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

// truncatedLaplace is the pair of Laplace densities cut off at ±T, in units of the noise, at
// a distance e0 ≤ T (at larger ones, sloped). With g = e^{−(T−e0)}, g' = e^{−T} and M_L
// the Laplace pair's M
//
//	P(L = ∞) = m = (g − g')/(2(1 − g')),  (1 − g')(1 − m) = 1 − g/2 − g'/2,
//	(1 − g')(1 − m)(M − 1) = (M_L − 1) − ½(g − g')(e^{se0} − 1) − 2g'·sinh²(se0/2)
//
// (docs/math/noise.md §1.4.5): P's atoms at ±e0 lose g/2 and g'/2 of the Laplace ones. Both
// directions are equal.
type truncatedLaplace struct {
	e0    float64 // > 0, rounded up
	end   float64 // g' in [0, 1), within 64 Ulp
	atom  float64 // m, rounded up
	near  float64 // (g − g')/2, within 64 Ulp
	bound float64 // T, about
	noise cutNoise
}

// cutNoise is truncated Laplace noise as it was reported.
type cutNoise struct {
	scale, bound float64
	distance     float64 // between the neighbours' outputs
}

// overlapping is truncated Laplace noise at a distance beyond its bound: x in [d − T, T]
// tells nothing for sure, and L = 2x − d there.
type overlapping struct {
	pairs.Sloped
	atom  float64 // P(L = ∞)
	noise cutNoise
}

func (l overlapping) Facts() loss.Facts {
	return loss.Facts{Name: "truncated Laplace", InfinityMass: l.atom, Rho: l.Rho(), Epsilon: l.R,
		Symmetric: true, Rounded: true}
}

func (l overlapping) Pair(_ loss.Direction, side loss.Side, _ *num.Interrupt) loss.Pair {
	return l.WithAtom(l.atom, side)
}

// Covers: only itself is known to be covered.
func (overlapping) Covers(loss.Loss) bool { return false }

// Grouped is at k times the distance.
func (l overlapping) Grouped(k uint64) (loss.Loss, error) { return l.noise.times(k), nil }

func (l overlapping) Order() [4]float64 { return [4]float64{l.R, l.atom} }

func ofTruncatedLaplace(m mechanism.TruncatedLaplace, adj mechanism.Adjacency) loss.Loss {
	scale, distance := m.Ratio(adj)
	return cutNoise{scale: scale, bound: m.Bound, distance: distance}.loss()
}

// times is the loss at k times the distance.
func (c cutNoise) times(k uint64) loss.Loss {
	c.distance = num.MulUp(num.Count(k), c.distance)
	return c.loss()
}

// loss takes the quotients in twice the precision: in e^{−T} their rounding would count T
// times.
func (c cutNoise) loss() loss.Loss {
	scale, bound, distance := c.scale, c.bound, c.distance
	e0 := num.DivUp(distance, scale)
	exp := func(x float64) float64 { // e^{x/scale}, within 12 Ulp
		q := x / scale
		return math.Exp(q) * (1 + math.FMA(-q, scale, x)/scale)
	}
	end := exp(-bound)
	if distance > bound {
		atom := 1 - exp(bound-distance)*(-math.Expm1(-(2*bound-distance)/scale))/(2*-math.Expm1(-bound/scale))
		reach := num.DivUp(num.Up(2*bound-distance), scale)
		return overlapping{pairs.Sloped{R: reach}, atomUp(atom), c}
	}
	near := math.Expm1(distance/scale) * end / 2
	if distance/scale > 1 {
		near = (exp(distance-bound) - end) / 2
	}
	return truncatedLaplace{e0: e0, end: end, near: near, atom: atomUp(near / -math.Expm1(-bound/scale)),
		bound: bound / scale, noise: c}
}

// atomUp rounds a probability within 64 Ulp up; one that is 1 but for rounding stays
// below it.
func atomUp(m float64) float64 {
	return math.Max(math.SmallestNonzeroFloat64, math.Min(math.Nextafter(1, 0), num.Up(m*(1+64*num.Ulp))))
}

// Facts: (e0, m)-DP, the finite losses within ±e0.
func (l truncatedLaplace) Facts() loss.Facts {
	return loss.Facts{Name: "truncated Laplace", InfinityMass: l.atom, Rho: pairs.RhoOfPure(l.e0), Epsilon: l.e0,
		Symmetric: true, Rounded: true}
}

func (l truncatedLaplace) MaxLoss(loss.Direction) float64 { return l.e0 }

func (l truncatedLaplace) Cumulant(_ loss.Direction, s float64, _ *num.Interrupt) loss.Value {
	return loss.MirroredCumulant(s, l.rightLine)
}

func (l truncatedLaplace) Line(d loss.Direction, theta float64, in *num.Interrupt) loss.Line {
	return loss.Guarded(loss.MirroredLine(theta, l.rightLine), l.Cumulant(d, theta, in))
}

// rightLine is Line for θ ≥ −½.
func (l truncatedLaplace) rightLine(theta float64) loss.Line {
	return func(t float64) loss.ComplexValue { return l.complexCumulant(complex(theta, t)) }
}

func (l truncatedLaplace) complexCumulant(s complex128) loss.ComplexValue {
	if s == 0 {
		return loss.ComplexValue{}
	}
	rest := 1 - l.end - l.near // (1 − g')(1 − m) = 1 − g/2 − g'/2
	restErr := num.Ulp * (4 + 64*(l.near+l.end))
	plain := pairs.LaplaceAt(l.e0, s)
	if !(rest > 4*restErr) || cmplx.IsNaN(plain.K) || cmplx.IsInf(plain.K) {
		return loss.ComplexValue{K: cmplx.Inf(), Err: math.Inf(1), Upper: math.Inf(1)}
	}
	se0 := s * complex(l.e0, 0)
	if x := real(se0); x > 300 || real(plain.K) > 300 {
		// In units of e^{se0}; what underflows is less than nothing is known to.
		a := cmplx.Exp(plain.K - se0)
		lost := complex(l.near, 0)*(1-cmplx.Exp(-se0)) + complex(l.end/2, 0)*(1+cmplx.Exp(-2*se0)-2*cmplx.Exp(-se0))
		left := a - lost - complex(1-rest, 0)*cmplx.Exp(-se0)
		k := se0 + cmplx.Log(left/complex(rest, 0))
		size := cmplx.Abs(left)
		err := (cmplx.Abs(a)*(plain.Err+num.Ulp*8*(1+cmplx.Abs(se0)))+num.Ulp*128*(l.near+l.end))/size + restErr/rest +
			num.Ulp*(4+4*cmplx.Abs(k)+4*cmplx.Abs(se0))
		return loss.Around(k, err)
	}
	excess := num.ComplexExpm1(plain.K)
	grow := num.ComplexExpm1(se0)
	half := num.ComplexSinh(se0 / 2)
	first, second := complex(l.near, 0)*grow, complex(2*l.end, 0)*half*half
	err := cmplx.Abs(1+excess)*math.Expm1(math.Min(1, plain.Err)) + num.Ulp*8*cmplx.Abs(excess) +
		num.Ulp*(80+8*cmplx.Abs(se0))*(cmplx.Abs(first)+cmplx.Abs(second)) +
		num.Ulp*8*cmplx.Abs(se0)*(l.near*cmplx.Abs(1+grow)+2*l.end*cmplx.Abs(half)*math.Cosh(real(se0)/2))
	if plain.Err > 1 {
		err = math.Inf(1)
	}
	moved := excess - first - second
	v := moved / complex(rest, 0)
	return loss.FromComplexExcess(v, err/rest+cmplx.Abs(v)*(restErr/rest+4*num.Ulp))
}

// Decay: nothing is proven of a part of the Laplace pair.
func (truncatedLaplace) Decay(loss.Direction, float64, loss.Value, *num.Interrupt) loss.Decay {
	return loss.Undecayed
}

// Covers: only itself is known to be covered.
func (truncatedLaplace) Covers(loss.Loss) bool { return false }

// Grouped is at k times the distance.
func (l truncatedLaplace) Grouped(k uint64) (loss.Loss, error) { return l.noise.times(k), nil }

func (l truncatedLaplace) Order() [4]float64 { return [4]float64{l.e0, l.end, l.near} }

// Pair: P has (1 − g)/2 and (e^{−e0} − g')/2 at ±e0, over 1 − g', and the Laplace
// density between.
func (l truncatedLaplace) Pair(_ loss.Direction, side loss.Side, _ *num.Interrupt) loss.Pair {
	whole := 1 - l.end
	// Both atoms are ½·e^{…}·(1 − e^{−(T − e0)}).
	left := l.bound - l.e0
	if !(l.e0 <= pairs.MostEpsilon && l.e0 >= 1e-300 && whole > 1e-6) {
		return nil
	}
	e0 := loss.Sided(l.e0, side)
	log := -math.Ln2 - math.Log(whole)
	share := num.Ulp * (8 + 80*l.end/whole)
	p := pairs.SlopedPair{Extent: e0, Centre: e0, LogScale: log, LogScaleErr: share, Lost: l.atom}
	if side == loss.Dominated {
		p.Lost = l.atom * (1 - 192*num.Ulp)
	}
	if top := -math.Expm1(-left); left > 1e-9 {
		cut := num.Log(top)
		err := share + num.Ulp*(8+math.Abs(cut)+8*(l.bound+l.e0)*math.Exp(-left)/top)
		p.AtEnds = []loss.Mass{
			{LogP: log + cut - e0, Loss: -e0, LogErr: err + num.Ulp*(4*e0+4)},
			{LogP: log + cut, Loss: e0, LogErr: err},
		}
	} else {
		// Next to nothing is left of the atoms, and less is known of it. From below all
		// of it is taken to have the least loss.
		most := num.Log(1.001e-9)
		p.AtEnds = []loss.Mass{{LogP: log + most - e0, Loss: -e0}, {LogP: log + most, Loss: e0}}
		if side == loss.Dominated {
			p.AtEnds = []loss.Mass{{LogP: log + most + math.Ln2, Loss: -e0}}
		}
	}
	return p
}
