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

// discreteGaussian is the pair of discrete Gaussians P(x) ∝ e^{−(x−d)²/2σ²}, Q(x) ∝
// e^{−x²/2σ²} on the whole numbers: L(x) = d(2x − d)/(2σ²). With μ = d/σ and Θ(c) =
// Σ_x e^{−(x−c)²/2σ²}, which has the period 1,
//
//	M(s) = e^{s(s+1)μ²/2}·Θ(sd)/Θ(0),  Θ(c)/(σ√2π) = 1 + 2·Σ_{k≥1} e^{−2π²σ²k²}·cos 2πkc
//
// (Canonne–Kamath–Steinke 2020, Thm 14 and its proof; docs/math/noise.md §1.4.2). Both
// directions are equal.
type discreteGaussian struct {
	sigma, d float64 // d a whole number
}

// ofDiscreteGaussian has losses of its own for several coordinates.
func ofDiscreteGaussian(m mechanism.DiscreteGaussian, x loss.Maker) (loss.Loss, error) {
	sigma, distance := m.Ratio(x.Adjacency)
	if m.Coordinates > 1 {
		return ofVector(sigma, distance, num.Count(m.Coordinates), x.In), nil
	}
	return discreteGaussian{sigma: sigma, d: distance}, nil
}

// vectorTerms: coordinates of which none can be moved by 2 are moved by 1, each on its own, as many as can be.
func vectorTerms(m mechanism.DiscreteGaussian, x loss.Maker, records uint64) ([]loss.Term, error) {
	sigma, distance := m.Ratio(x.Adjacency)
	squared := squaredOf(num.MulUp(num.Count(records), distance))
	if m.Coordinates <= 1 || !(squared >= 1 && squared < 4) {
		return nil, nil
	}
	return []loss.Term{{Loss: discreteGaussian{sigma: sigma, d: 1}, Count: min(m.Coordinates, uint64(squared))}}, nil
}

// mu is μ, rounded up.
func (g discreteGaussian) mu() float64 { return num.DivUp(g.d, g.sigma) }

// Facts: Θ(c) ≤ Θ(0), so that no more than the Gaussian's ρ = μ²/2 is lost (Thm 14 with
// one coordinate).
func (g discreteGaussian) Facts() loss.Facts {
	mu := g.mu()
	return loss.Facts{
		Name: "discrete Gaussian", Rho: num.MulUp(num.MulUp(mu, mu), 0.5), Epsilon: math.Inf(1), Symmetric: true,
	}
}

func (g discreteGaussian) MaxLoss(loss.Direction) float64 { return math.Inf(1) }

func (g discreteGaussian) Cumulant(d loss.Direction, s float64, in *num.Interrupt) loss.Value {
	v := pairs.NewGaussian(g.mu()).Cumulant(d, s, in)
	if math.IsInf(v.K, 0) || s == 0 || s == -1 {
		return v
	}
	at := g.complexCumulant(complex(s, 0))
	if math.IsNaN(real(at.K)) || !(at.Err >= 0) {
		return loss.Value{K: math.Inf(1), Err: math.Inf(1)}
	}
	v.K, v.Err = real(at.K), at.Err
	if g.sigma < 1.2 { // above, Θ hardly bends
		v.Slope, v.Curvature = g.tilted(s)
	}
	return v
}

// tilted is the mean and the variance of L where every outcome x counts as e^{sL(x)}·P(x),
// K'(s) and K”(s): a discrete Gaussian around (1+s)d. A step off the real axis would tell
// them only within the losses' period 2πσ²/d, which may be as short as you like.
func (g discreteGaussian) tilted(s float64) (mean, variance float64) {
	centre := math.Round((1 + s) * g.d)
	c := (1+s)*g.d - centre
	var whole, first, second float64
	for j, n := -g.beyond(), g.beyond(); j <= n; j++ {
		w := math.Exp((2*j*c - j*j) / (2 * g.sigma * g.sigma))
		whole += w
		first += w * j
		second += w * j * j
	}
	first /= whole
	step := g.d / g.sigma / g.sigma // between neighbours
	return step * (centre + first - g.d/2), step * step * math.Max(0, second/whole-first*first)
}

// beyond is how far the whole numbers matter on either side: e^{−(n²−n)/2σ²} < e^{−40}.
func (g discreteGaussian) beyond() float64 { return 1 + math.Ceil(1+10*g.sigma) }

func (g discreteGaussian) Line(d loss.Direction, theta float64, in *num.Interrupt) loss.Line {
	return loss.Guarded(func(t float64) loss.ComplexValue { return g.complexCumulant(complex(theta, t)) },
		g.Cumulant(d, theta, in))
}

// smooth is the σ from which Fourier's series serves: its terms fall like
// e^{−2π²σ²(k² − k)} for the c that are needed.
const smooth = 0.5

func (g discreteGaussian) complexCumulant(s complex128) loss.ComplexValue {
	if s == 0 || s == -1 {
		return loss.ComplexValue{}
	}
	mu := g.mu()
	if !(mu < 1e150 && cmplx.Abs(s) < 1e150) {
		return loss.ComplexValue{K: cmplx.NaN(), Err: math.Inf(1), Upper: math.Inf(1)}
	}
	// The losses are on a lattice of width h = d/σ²: M(s + 2πi/h) = (−1)^d·M(s).
	s, turned, off := g.folded(s)
	sum := g.sum
	if g.sigma >= smooth {
		sum = g.series
	}
	v := sum(s)
	v.K += complex(0, turned)
	if off > 0 {
		theta := real(s)
		v.Err += off * math.Exp(theta*(theta+1)*mu*mu/2-real(v.K)+1e-9) // K(θ) ≤ θ(θ+1)μ²/2
	}
	return v
}

// folded moves Im s into a period around 0. K turns by the angle, and the rounding of
// Im s moves it by off/|φ|: |dK| ≤ E_θ|L|/|φ|·|dt|, where under the tilt L has a variance
// of at most μ² and a mean within h/2 of (θ + ½)μ².
func (g discreteGaussian) folded(s complex128) (folded complex128, angle, off float64) {
	h := g.d / g.sigma / g.sigma
	period := 2 * math.Pi / h
	t := imag(s)
	n := math.Round(t / period)
	if n == 0 || !(math.Abs(n) < 1e15) {
		return s, 0, 0
	}
	rest := math.FMA(-n, period, t)
	mu := g.mu()
	off = 16 * num.Ulp * math.Abs(t) * (math.Abs(real(s)+0.5)*mu*mu + 2*mu + h)
	return complex(real(s), rest), math.Pi * math.Mod(n*math.Mod(g.d, 2), 2), off
}

// series is K by Fourier's series, for |Im s|·d up to πσ²: of terms e^{−2π²σ²k²}·(cos
// 2πksd − 1) those from k = 6 on are below 1e−60.
func (g discreteGaussian) series(s complex128) loss.ComplexValue {
	mu := g.mu()
	whole := s * complex(g.d, 0)
	x, y := real(whole), math.Abs(imag(whole)) // cos is even: the conjugate for Im < 0
	off := 8 * num.Ulp * cmplx.Abs(whole)
	x -= math.Round(x)
	var sum complex128
	var err float64
	zero := 1.0
	for k := 1.0; k < 6; k++ {
		q := 2 * math.Pi * math.Pi * (g.sigma * k) * (g.sigma * k)
		if q-2*math.Pi*k*y > 800 {
			break
		}
		zero += 2 * math.Exp(-q)
		// 2(cos 2πkc − 1) = e^{2πky − 2πikx} + e^{−2πky + 2πikx} − 2
		a := complex(2*math.Pi*k*y, -2*math.Pi*k*x)
		var term complex128
		if cmplx.Abs(a) < 30 {
			half := num.ComplexSinh(a / 2)
			term = 4 * half * half * complex(math.Exp(-q), 0)
		} else {
			term = cmplx.Exp(a-complex(q, 0)) - complex(2*math.Exp(-q), 0)
		}
		sum += term
		most := math.Exp(real(a) - q) // bounds |e^a|·e^{−q}
		err += num.Ulp*cmplx.Abs(term)*(32+4*q+8*cmplx.Abs(a)) +
			2*math.Pi*k*off*(math.Min(cmplx.Abs(a), 1)*most+most*off*k*8)
	}
	if imag(whole) < 0 {
		sum = cmplx.Conj(sum)
	}
	c := loss.FromComplexExcess(sum/complex(zero, 0), (err+cmplx.Abs(sum)*8*num.Ulp)/zero+1e-60)
	if sum == 0 && err < 1e-300 {
		c = loss.ComplexValue{}
	}
	plain := (s * complex(mu, 0)) * ((s + 1) * complex(mu, 0)) / 2
	size := cmplx.Abs(s) * mu * cmplx.Abs(s+1) * mu / 2
	return loss.Around(plain+c.K, c.Err+num.Ulp*(16*size+4*cmplx.Abs(c.K))+math.SmallestNonzeroFloat64*(1+cmplx.Abs(s)))
}

// sum is K by the sum over the whole numbers near (1+θ)d, for σ below smooth: with x
// the nearest of them and c = (1+s)d − x,
//
//	M = e^{−(x−d)²/2σ² + sL(x)}·Σ_j e^{(2jc − j²)/2σ²}/Σ_j e^{−j²/2σ²}.
func (g discreteGaussian) sum(s complex128) loss.ComplexValue {
	centre := math.Round((1 + real(s)) * g.d)
	half := 1 / (2 * g.sigma * g.sigma)
	c := complex((1+real(s))*g.d-centre, imag(s)*g.d)
	n := g.beyond()
	if h := 2 * half * g.d; cmplx.Abs(s)*h*(n+g.d) < 1 {
		return g.few(s, n, h, half)
	}
	var top complex128
	var bottom, err float64
	for j := -n; j <= n; j++ {
		a := (complex(2*j, 0)*c - complex(j*j, 0)) * complex(half, 0)
		term := cmplx.Exp(a)
		top += term
		bottom += math.Exp(-j * j * half)
		// c is within 4|s + 1|·d Ulp.
		err += cmplx.Abs(term) * (16 + 8*cmplx.Abs(a) + 8*math.Abs(j)*half*cmplx.Abs(s+1)*g.d + 2*n)
	}
	l := g.d * (2*centre - g.d) * half
	from := centre - g.d
	k := complex(-from*from*half, 0) + s*complex(l, 0) + cmplx.Log(top) - complex(math.Log(bottom), 0)
	rounding := 4*from*from*half + 8*cmplx.Abs(s)*math.Abs(l) + 4*cmplx.Abs(k)
	return loss.Around(k, num.Ulp*(rounding+err/cmplx.Abs(top)+64+2*n))
}

// few is sum where all losses that matter are small: M − 1 = Σ P(x)·(e^{sL(x)} − 1).
func (g discreteGaussian) few(s complex128, n, h, half float64) loss.ComplexValue {
	var excess complex128
	var all, moduli float64
	for j := -n; j <= n; j++ { // x = d + j
		p := math.Exp(-j * j * half)
		term := num.ComplexExpm1(s * complex(h*(j+g.d/2), 0))
		excess += complex(p, 0) * term
		all += p
		moduli += p * cmplx.Abs(term) * (24 + 8*j*j*half)
	}
	v := excess / complex(all, 0)
	return loss.FromComplexExcess(v, (moduli/all+32*cmplx.Abs(v))*num.Ulp+1e-30*cmplx.Abs(s)*h*(n+g.d))
}

func (g discreteGaussian) Order() [4]float64 { return [4]float64{g.sigma, g.d} }

// Decay: with the period T = 2πσ²/d of the losses' lattice, Poisson's summation formula gives
//
//	|φ(t)| ≤ Σ_n e^{−(t − nT)²μ²/2} / (1 − 2·Σ_{k≥1} e^{−2π²σ²k²}):
//
// what a Gaussian has, around every multiple of T (docs/math/noise.md §1.4.2). At a distance D
// from the nearest one the second nearest is T/2 away at least, and for σ ≥ ½ all others together
// with the denominator make less than a factor of 1.04.
func (g discreteGaussian) Decay(loss.Direction, float64, loss.Value, *num.Interrupt) loss.Decay {
	mu := g.mu() * (1 - 8*num.Ulp)
	period := 2 * math.Pi * g.sigma * (g.sigma / g.d)
	if !(g.sigma >= smooth && period < 1e300 && mu > 1e-150) {
		return loss.Undecayed
	}
	second := -math.Pi * math.Pi * g.sigma * g.sigma / 2
	return func(t0, t1 float64, _ bool) (log, spent float64) {
		far := distance(t0, t1, period) * mu
		near := -far * far / 2
		return math.Min(0, num.LogAddExp(near, math.Min(near, second))*(1-16*num.Ulp)+math.Log(1.04)), 0
	}
}

// distance is at most that of any t from t0 to t1 to the nearest multiple of the period.
func distance(t0, t1, period float64) float64 {
	n := math.Floor(t0 / period)
	if !(t1 < (n+1)*period) || !(n < 1<<20) {
		return 0
	}
	return math.Max(0, math.Min(t0-n*period, (n+1)*period-t1)*(1-1e-9)-1e-9*period*n)
}

// Covers: only itself is known to be covered.
func (discreteGaussian) Covers(loss.Loss) bool { return false }

// Grouped is at k times the distance, a whole number of at most 2^53.
func (g discreteGaussian) Grouped(k uint64) (loss.Loss, error) {
	return discreteGaussian{sigma: g.sigma, d: num.Count(k) * g.d}, nil
}
