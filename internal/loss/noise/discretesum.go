// SPDX-License-Identifier: Apache-2.0

package noise

import (
	"math"

	"github.com/dpaccountant/accountant/internal/num"
)

// discreteSum is the law of the sum of n discrete Gaussians of the parameter σ, with s² = nσ²:
//
//	P(T) ∝ c(T)·e^{−T²/2s²}, where c has the period n
//
// (docs/math/gaussian-dp.md §4.13.4). c is even.
type discreteSum struct {
	sigma float64
	c     []float64 // of 0 … n − 1, the largest about 1
	err   float64   // bound on the relative error of each c
}

func oneDiscrete(sigma float64) discreteSum { return discreteSum{sigma: sigma, c: []float64{1}} }

func (a discreteSum) n() float64 { return float64(len(a.c)) }

// squared is s².
func (a discreteSum) squared() float64 { return a.n() * (a.sigma * a.sigma) }

// at is c(t).
func (a discreteSum) at(t int) float64 {
	if t %= len(a.c); t < 0 {
		t += len(a.c)
	}
	return a.c[t]
}

// ends are the least and the largest c, as computed.
func (a discreteSum) ends() (least, most float64) {
	least = math.Inf(1)
	for _, c := range a.c {
		least, most = math.Min(least, c), math.Max(most, c)
	}
	return least, most
}

// plus is the law of the sum of both; false where its c leave the range of float64. With m = a.n, n = b.n and
// r² = mnσ²/(m + n)
//
//	c(T) = Σ_x e^{−(x − Tm/(m+n))²/2r²}·a.c(x)·b.c(T − x).
func (a discreteSum) plus(b discreteSum) (sum discreteSum, ok bool) {
	m, n := a.n(), b.n()
	twice := 2 * m * n * (a.sigma * a.sigma) / (m + n) // 2r²
	wide := math.Ceil(math.Sqrt(50*twice+m*n/4)) + 2   // what is left out is e^−50 of the least c
	_, most := a.ends()
	_, other := b.ends()
	// Of what is left out, beyond wide on each side, a geometric sum bounds the weights.
	first := math.Exp(-(wide - 1) * (wide - 1) / twice)
	omitted := 2 * most * other * first / -math.Expm1(-2*(wide-1)/twice)
	sum = discreteSum{sigma: a.sigma, c: make([]float64, len(a.c)+len(b.c))}
	for t := range sum.c {
		middle := float64(t) * m / (m + n)
		var total float64
		for x := math.Ceil(middle - wide); x <= middle+wide; x++ {
			total += math.Exp(-(x-middle)*(x-middle)/twice) * a.at(int(x)) * b.at(t-int(x))
		}
		sum.c[t] = total
	}
	least, most := sum.ends()
	if !(least > most*1e-200) {
		return sum, false
	}
	for t := range sum.c {
		sum.c[t] /= most
	}
	// A term's exponent, of at most about 200, is within 8 Ulp of itself; x − middle is within 4 Ulp of middle.
	slack := 8*math.Max(200, wide*wide/twice) + 8*(m+n)*wide/twice + 2*wide + 16
	sum.err = a.err + b.err + num.Ulp*slack + omitted/least*(1+1e-9)
	return sum, sum.err < 1e-8
}

// inRange is about how many can be added up: with each of them the least c falls behind the largest by the same factor,
// which is that of the weights half-way between two whole numbers.
func inRange(sigma float64) float64 {
	var whole, half float64
	for x := -9.0; x <= 9; x++ {
		whole += math.Exp(-x * x / (2 * sigma * sigma))
		half += math.Exp(-(x - 0.5) * (x - 0.5) / (2 * sigma * sigma))
	}
	return 450 / math.Abs(math.Log(half/whole)) // 1e−200 is e^−460
}

// sumOf is the law of the sum of n; false where it leaves the range of float64.
func sumOf(sigma float64, n int) (discreteSum, bool) {
	if n == 1 {
		return oneDiscrete(sigma), true
	}
	half, ok := sumOf(sigma, n/2)
	if ok {
		half, ok = half.plus(half)
	}
	if ok && n%2 == 1 {
		half, ok = half.plus(oneDiscrete(sigma))
	}
	return half, ok
}

// scores are z(t) = −Φ⁻¹(P(T ≥ t)) for t = 1 … last, with bounds on their errors; those of t ≤ 0 follow from z(t) =
// −z(1 − t).
type scores struct {
	z, err []float64 // of t − 1
	peak   float64   // the largest c over Σ_T c(T)·e^{−T²/2s²}, rounded up
}

// scores adds up R(t) = Σ_{x≥t} c(x)·e^{(t²−x²)/2s²} from far out: R(t) = c(t) + e^{−(2t+1)/2s²}·R(t+1), and P(T ≥ t)
// = e^{−t²/2s²}·R(t)/(c(0) + 2e^{−1/2s²}·R(1)).
func (a discreteSum) scores(last int) scores {
	s2 := a.squared()
	least, most := a.ends()
	// R(start) is known within a factor of tail/least, and its part in R(last) is e^{−50} divided by that.
	unknown := math.Log(most / least / -math.Expm1(-float64(last)/s2))
	start := last + 1 + int(math.Ceil((50+2*unknown)*s2/float64(last)))
	tail := most / -math.Expm1(-float64(start)/s2) // R(start) is between least and this
	r, err := tail, tail/least
	out := scores{z: make([]float64, last), err: make([]float64, last)}
	errs := make([]float64, last)
	for t := start - 1; t >= 1; t-- {
		fall := float64(2*t+1) / (2 * s2)
		more := math.Exp(-fall) * r
		c := a.at(t)
		r, err = c+more, 2*num.Ulp+(c*a.err+more*(err+num.Ulp*(4+8*fall)))/(c+more)
		if t <= last {
			out.z[t-1], errs[t-1] = math.Log(r), err
		}
	}
	more := 2 * math.Exp(-1/(2*s2)) * r
	all := a.at(0) + more
	allErr := math.Max(a.err, errs[0]) + num.Ulp*(8+8/s2)
	out.peak = num.Up(most / all * (1 + a.err + allErr) * (1 + 1e-9))
	logAll, guess := math.Log(all), math.Max(1, float64(last)/math.Sqrt(s2))
	for t := last; t >= 1; t-- {
		depth := float64(t) * float64(t) / (2 * s2)
		y := depth - out.z[t-1] + logAll // −ln P(T ≥ t)
		off := (errs[t-1]+allErr)*(1+1e-6) + num.Ulp*(8*depth+4*math.Abs(out.z[t-1])+4*math.Abs(logAll))
		out.z[t-1], out.err[t-1] = normalScore(y, off, guess)
		guess = out.z[t-1]
	}
	return out
}

// at is z(t) for any t ≤ last, with its error.
func (z scores) at(t int) (score, err float64) {
	if t >= 1 {
		return z.z[t-1], z.err[t-1]
	}
	return -z.z[-t], z.err[-t]
}

// normalScore is the z ≥ 0 with −ln Φ(−z) = y, by Newton's method from a guess, and a bound on its error where y is
// within off. −ln Φ(−z) is convex with the slope 1/m(z) ≥ max(√(2/π), z), m the Mills ratio.
func normalScore(y, off, guess float64) (z, err float64) {
	z = math.Max(guess, 0)
	var residual float64
	for range 60 {
		m := num.Mills(z)
		h := -num.LogNormalDensity(z) - math.Log(m)
		residual = y - h
		if math.Abs(residual) <= 4*num.Ulp*(1+y) {
			break
		}
		z = math.Max(0, z+residual*m)
	}
	off += math.Abs(residual) + num.Ulp*(64+4*y)
	err = off * 1.2534
	if err < 1 && z > 2 {
		err = off / (z - err) * (1 + 1e-9)
	}
	return z, err + 4*num.Ulp*z
}
