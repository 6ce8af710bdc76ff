// SPDX-License-Identifier: Apache-2.0

package noise

import (
	"math"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/loss/pairs"
	"github.com/dpaccountant/accountant/internal/loss/quadrature"
	"github.com/dpaccountant/accountant/internal/num"
)

// wholes are losses L(x) = κ(2x − d) of the whole numbers x.
type wholes struct {
	kappa, d float64
}

func (w wholes) Span() float64 { return 2 * w.kappa }

// last returns the greatest x with L(x) ≤ l, give or take the rounding of l, so that an
// x at an edge belongs to the cell below it; slack is by how much L may be beyond l.
// See docs/math/noise.md §1.4.9.
func (w wholes) last(l float64) (x, slack float64) {
	v := (l/w.kappa + w.d) / 2
	if math.IsInf(v, 0) {
		return v, 0
	}
	off := 16 * num.Ulp * (math.Abs(l/w.kappa) + w.d + 1)
	return math.Floor(v + off), 3 * w.kappa * off
}

// each calls cell with the x of every cell, first > last where there are none.
func (w wholes) each(edges []float64, cells []loss.Mass, cell func(first, last float64) loss.Mass) (slack float64) {
	below, slack := w.last(edges[0])
	for i := range cells {
		upTo, s := w.last(edges[i+1])
		slack = math.Max(slack, s)
		cells[i] = loss.Nothing()
		if upTo > below {
			cells[i] = cell(below+1, upTo)
			below = upTo
		}
	}
	return slack
}

func (l discreteLaplace) Pair(_ loss.Direction, side loss.Side, _ *num.Interrupt) loss.Pair {
	e0 := loss.Sided(l.e0(), side)
	if !(e0 <= pairs.MostEpsilon && e0 >= 1e-300) {
		return nil
	}
	// ln 1/(1 + e^{−a}): a in place of 1/b moves it by a·e^{−a} Ulp.
	return discreteLaplacePair{wholes{kappa: e0 / l.d, d: l.d}, e0, -math.Log1p(math.Exp(-l.a))}
}

// discreteLaplacePair has, with r = e^{−a}, κ = a,
//
//	P(L = e0) = 1/(1+r),  P(L = −e0) = e^{−e0}/(1+r),
//	P(i ≤ x ≤ j) = e^{−a(d−j)}·(1 − e^{−a(j−i+1)})/(1+r) for 0 < i ≤ j < d,
//
// and Q(i ≤ x ≤ j) = e^{−ai}·(1 − …)/(1+r): the loss of a cell is exactly the middle of
// L(i) and L(j).
type discreteLaplacePair struct {
	wholes
	e0, log float64 // log = −ln(1 + r)
}

func (p discreteLaplacePair) Ends(logBelow, _ float64) (lo, hi float64) {
	return math.Max(-p.e0, p.e0+2*logBelow), p.e0
}

func (p discreteLaplacePair) Cells(edges []float64, cells []loss.Mass) (slack float64) {
	return p.each(edges, cells, func(i, j float64) loss.Mass {
		i, j = math.Max(i, 1), math.Min(j, p.d-1)
		if i > j {
			return loss.Nothing()
		}
		log := p.log - p.kappa*(p.d-j) + num.Log1mExp(p.kappa*(j-i+1))
		return loss.Mass{
			LogP: log, Loss: p.kappa * (i + j - p.d),
			LogErr: num.Ulp * (16 + 4*p.e0 + 4*math.Abs(log)), LossErr: num.Ulp * 8 * p.e0,
		}
	})
}

func (p discreteLaplacePair) Atoms() []loss.Mass {
	return []loss.Mass{
		{LogP: p.log - p.e0, Loss: -p.e0, LogErr: num.Ulp * (16 + 2*p.e0), LossErr: num.Ulp * 8 * p.e0},
		{LogP: p.log, Loss: p.e0, LogErr: num.Ulp * 16, LossErr: num.Ulp * 8 * p.e0},
	}
}

func (discreteLaplacePair) Infinite() float64 { return 0 }
func (discreteLaplacePair) Null() float64     { return 0 }
func (p discreteLaplacePair) Anchor() float64 { return p.e0 }

// Masses of discrete Gaussians are computed for σ and d in these ranges.
const leastDiscrete, mostDiscrete, mostDistance = 1e-3, 1 << 30, 1 << 40

func (g discreteGaussian) Pair(loss.Direction, loss.Side, *num.Interrupt) loss.Pair {
	if mu := g.mu(); !(g.sigma >= leastDiscrete && g.sigma <= mostDiscrete && g.d <= mostDistance &&
		mu >= pairs.LeastMu && mu <= pairs.MostMu) {
		return nil
	}
	p := discreteGaussianPair{wholes: wholes{kappa: g.d / (2 * g.sigma * g.sigma), d: g.d}, sigma: g.sigma}
	p.all, p.allErr = p.sum(math.Inf(-1), math.Inf(1), 0, 0)
	return p
}

// discreteGaussianPair has the masses Σ_{x=i}^{j} e^{−(x−d)²/2σ²}/Z and Σ e^{−x²/2σ²}/Z, κ =
// d/2σ².
type discreteGaussianPair struct {
	wholes
	sigma       float64
	all, allErr float64 // ln Z
}

func (p discreteGaussianPair) Ends(logBelow, logAbove float64) (lo, hi float64) {
	low := math.Floor(p.d - p.sigma*pairs.Reach(logBelow-1) - 1)
	high := math.Ceil(p.d + p.sigma*pairs.Reach(logAbove-1) + 1)
	return p.kappa * (2*low - p.d), p.kappa * (2*high - p.d)
}

// Cells: with b and c the numbers of the cell nearest to d and to 0, the masses are
// taken relative to those of b and c, and the loss is that of c, less what b is nearer
// to d than c, plus the logarithm of the ratio of both sums: nothing large cancels.
// See docs/math/noise.md §1.4.9.
func (p discreteGaussianPair) Cells(edges []float64, cells []loss.Mass) (slack float64) {
	square := p.sigma * p.sigma
	return p.each(edges, cells, func(i, j float64) loss.Mass {
		b, c := math.Max(i, math.Min(p.d, j)), math.Max(i, math.Min(0, j))
		top, errP := p.sum(i, j, p.d, b)
		bottom, errQ := p.sum(i, j, 0, c)
		far := (b - p.d) / p.sigma
		log := -far*far/2 + top - p.all
		if math.IsInf(log, -1) { // below e^{−10³⁰⁸}
			return loss.Nothing()
		}
		move := (c - b) * (b + c - 2*p.d) / (2 * square) // ln of P's density at b over that at c
		at := p.kappa * (2*c - p.d)
		l := at + move + top - bottom
		return loss.Mass{
			LogP: log, Loss: l,
			LogErr:  errP + p.allErr + num.Ulp*(4*far*far+4*math.Abs(log)+8),
			LossErr: errP + errQ + num.Ulp*(4*math.Abs(at)+8*math.Abs(move)+4*math.Abs(l)),
		}
	})
}

func (discreteGaussianPair) Atoms() []loss.Mass { return nil }
func (discreteGaussianPair) Infinite() float64  { return 0 }
func (discreteGaussianPair) Null() float64      { return 0 }

// Anchor is the loss of x = d.
func (p discreteGaussianPair) Anchor() float64 { return p.kappa * p.d }

// direct is the σ up to which numbers are added up one by one; above it the
// Euler–Maclaurin formula serves.
const direct = 512

// sum returns ln Σ_{x=i}^{j} e^{−[(x−m)² − (b−m)²]/2σ²} and a bound on its error, b being
// the x in i … j nearest to m. i and j may be infinite.
func (p discreteGaussianPair) sum(i, j, m, b float64) (log, err float64) {
	if i == j {
		return 0, 0
	}
	i, j, b = i-m, j-m, b-m
	if i+j < 0 { // mirrored
		i, j, b = -j, -i, -b
	}
	// Beyond the last number that is taken the terms are below e^{−100}, with all that
	// follow less than (σ²/x + 1) times that.
	last := math.Ceil(math.Sqrt(b*b + 200*p.sigma*p.sigma))
	j, i = math.Min(j, last), math.Max(i, -last)
	const cut = 1e-33
	if b > math.Max(p.sigma*p.sigma, direct*direct) { // each term is less than 1/e of the one before
		const half = 0.2294 // of ln(1/(1 − 1/e))
		return half, half + cut
	}
	if p.sigma > direct {
		v, e := p.maclaurin(i, j)
		far := b / p.sigma
		return v + far*far/2, e + num.Ulp*4*far*far + cut
	}
	var sum num.Sum
	var acc float64
	half := 1 / (2 * p.sigma * p.sigma)
	add := func(x float64) bool {
		a := (x - b) * (x + b) * half
		e := math.Exp(-a)
		sum.Add(e)
		acc += e * (4*a + 4)
		return a < 100
	}
	for x := b; x <= j && add(x); x++ {
	}
	for x := b - 1; x >= i && add(x); x-- {
	}
	s := sum.Value()
	return math.Log(s), num.Ulp*(acc/s+8+4*math.Abs(math.Log(s))) + cut
}

// maclaurin returns ln Σ_{x=i}^{j} f(x), f(x) = e^{−x²/2σ²}, and a bound on its error: with
// the integral I from a = i − ½ to b = j + ½
//
//	Σ f = I − [f']/24 + 7[f‴]/5760 − 31[f⁽⁵⁾]/967680 + R,  |R| ≤ 2·B₆/6!·∫|f⁽⁶⁾|,
//
// f⁽ᵏ⁾ = (−1)ᵏ·He_k(x/σ)·f/σᵏ, and |He_6(z)| ≤ z⁶ + 15z⁴ + 45z² + 15.
func (p discreteGaussianPair) maclaurin(i, j float64) (log, err float64) {
	a, b := (i-0.5)/p.sigma, (j+0.5)/p.sigma
	c, w := (i+j)/2/p.sigma, (j-i+1)/2/p.sigma
	if v := (pairs.Interval{A: c - w, B: c + w}); v.Narrow() {
		s, size := pairs.Series(c, w)
		log = num.LogNormalDensity(c) + num.Log(2*w) + math.Log1p(s)
		err = num.Ulp * (24 + 8*c*c + 16*size + 2*math.Abs(log))
	} else {
		log, err = pairs.Interval{A: a, B: b}.LogMass()
		far := math.Max(math.Abs(a), math.Abs(b))
		err += num.Ulp * 16 * (1 + far*far)
	}
	// [f⁽ᵏ⁾]/I, in units of 1/σ for each derivative and of f and I over σ√2π.
	at := func(z float64) (first, third, fifth float64) {
		f := math.Exp(num.LogNormalDensity(z) - log)
		q := z * z
		return -z * f, -z * (q - 3) * f, -z * (q*(q-10) + 15) * f
	}
	a1, a3, a5 := at(a)
	b1, b3, b5 := at(b)
	square := 1 / (p.sigma * p.sigma)
	more := square * (-(b1-a1)/24 + square*(7*(b3-a3)/5760-square*31*(b5-a5)/967680))
	moduli := square * ((math.Abs(a1) + math.Abs(b1)) / 24) * 2
	z := math.Max(a*a, b*b)
	rest := 2. / 42 / 720 * (z*z*z + 15*z*z + 45*z + 15) * square * square * square
	if !(math.Abs(more)+rest < 0.5) {
		return log, math.Inf(1)
	}
	log += num.Log(p.sigma) + math.Log(quadrature.SqrtTwoPi) + math.Log1p(more)
	err += 2*rest + num.Ulp*(32+64*z)*2*moduli + num.Ulp*4*math.Abs(log)
	return log, err
}
