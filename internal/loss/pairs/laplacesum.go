// SPDX-License-Identifier: Apache-2.0

package pairs

import (
	"math"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/num"
)

// laplaceSum is the curve of n Laplace releases of one a = e0. With T = (na − ΣL)/2a and w = (na − ε)/2a,
//
//	δ(ε) = 2^{1−n}·e^{−aw}·Σ_q a^{q−1}·Σ_i W_q[i]·B_q(w − i),
//
// where B_q is the cardinal B-spline of order q, the density of a sum of q uniform numbers, and the W_q are
// whole numbers that depend on n alone. Every term is positive, so that relative precision holds in any
// tail (docs/math/curves.md §4.2.1).
type laplaceSum struct {
	a      float64 // rounded up by a relative 2⁻⁵⁰ at most
	n      float64
	splits [][]float64 // W_q[i]·2^{1−n} for q ≥ 2 and i ≤ n/2
	within float64     // the relative error of all sums
	in     *num.Interrupt
}

// The sum is used for few releases whose losses are not large: then it is the fastest way, too. sumsWork bounds
// the additions that make its weights, sumsTerms the orders of its splines.
const (
	mostSummed = 512
	mostLoss   = 200.0 // Σ of the largest losses
	sumsWork   = 1 << 23
	sumsTerms  = 1 << 10

	// What is left out of the sum is less than leftOut, and the answer is used where it is more than leastSum.
	leftOut, leastSum = 1e-50, 1e-36
)

// newLaplaceSum returns nil where the sum is not to be used.
func newLaplaceSum(a, count float64, in *num.Interrupt) loss.PrivacyCurve {
	if !(count <= mostSummed && a > 1e-9 && count*a <= mostLoss) {
		return nil
	}
	mixed, moments := mostMixed(a, count), mostMoments(a, count)
	half := int(count) / 2
	if mixed+2*moments > sumsTerms || (mixed+1)*(half+1)*2*moments > sumsWork ||
		float64(mixed+2*moments)*math.Abs(math.Log(a)) > 690 {
		return nil
	}
	s := laplaceSum{a: a, n: count, in: in}
	s.splits = splitsOf(int(count), half, mixed, moments, in)
	s.within = 32 * num.Ulp * (count + float64(mixed+2*moments) + 64 + count*a)
	return s
}

// mostMixed is how many of the releases may have a loss between the atoms, so that more of them together count
// less than leftOut: Σ_{k > K} C(n,k)·(a/2)^k.
func mostMixed(a, n float64) int {
	terms := []float64{1}
	for k := 1.0; k <= n; k++ {
		terms = append(terms, terms[len(terms)-1]*(n-k+1)/k*a/2)
	}
	most, beyond := int(n), 0.0
	for ; most > 0; most-- {
		if beyond += terms[most]; !(beyond < leftOut/2) {
			break
		}
	}
	return most
}

// mostMoments is how many terms of the series of sinh are used, so that the rest counts less than leftOut.
func mostMoments(a, n float64) int {
	x := a * n / 2 // aw at most
	logTerm := math.Log(2*x) + n*math.Log1p(a/2) - math.Log(leftOut) + math.Ln2
	m := 0
	for ; logTerm > -math.Ln2 || 4*x*x > float64((2*m+2)*(2*m+3)); m++ { // then the rest is a third of the term at most
		logTerm += math.Log(x*x) - math.Log(float64((2*m+2)*(2*m+3)))
	}
	return m + 1
}

// splitsOf are Σ_{k+2m+2=q} C(n,k)·R_{n−k,2m+2}[i]·2^{1−n}, R_{p,r} being the coefficients of (1+z)^p/(1−z)^r.
func splitsOf(n, half, mixed, moments int, in *num.Interrupt) [][]float64 {
	splits := make([][]float64, mixed+2*moments+1)
	for q := range splits {
		splits[q] = make([]float64, half+1)
	}
	choose := math.Ldexp(1, 1-n)
	for k := range mixed + 1 {
		in.Spend(4 * moments * half)
		row := make([]float64, half+1)
		row[0] = choose
		for i := 1; i <= min(half, n-k); i++ {
			row[i] = row[i-1] * float64(n-k-i+1) / float64(i)
		}
		for m := range moments {
			for range 2 {
				for i := 1; i <= half; i++ {
					row[i] += row[i-1]
				}
			}
			for i, r := range row {
				splits[k+2*m+2][i] += r
			}
		}
		choose *= float64(n-k) / float64(k+1)
	}
	return splits
}

// at is F(w) = Σ_q a^{q−1}·Σ_i W_q[i]·B_q(w − i), its derivative, and what underflow may have taken from F.
func (s laplaceSum) at(a, w float64) (f, slope, lost float64) {
	whole := int(w)
	whole = min(whole, len(s.splits[0])-1)
	x := w - float64(whole)
	s.in.Spend(4 * len(s.splits) * (whole + 1))
	spline := make([]float64, whole+1) // B_q(x + j)
	if x < 1 {
		spline[0] = 1
	}
	power := 1.0
	var sum, rises num.Sum
	for q := 2; q < len(s.splits); q++ {
		power *= a
		weights := s.splits[q]
		for i := range whole + 1 { // B_q' = B_{q−1}(·) − B_{q−1}(· − 1)
			d := spline[whole-i]
			if whole > i {
				d -= spline[whole-i-1]
			}
			rises.Add(power * weights[i] * d)
		}
		for j := whole; j >= 0; j-- {
			at := x + float64(j)
			b := at * spline[j]
			if j > 0 {
				b += (float64(q-j) - x) * spline[j-1]
			}
			spline[j] = math.Max(0, b/float64(q-1))
		}
		for i := range whole + 1 {
			weight := power * weights[i]
			sum.Add(weight * spline[whole-i])
			lost += weight * 0x1p-1000
		}
	}
	return sum.Value(), rises.Value(), lost
}

// delta is δ but for the relative error within: at a and w as they are.
func (s laplaceSum) delta(a, w float64) (delta, slope, lost float64) {
	if !(w > 0) {
		return 0, 0, 0
	}
	f, rises, lost := s.at(a, w)
	fall := math.Exp(-a * w)
	return f * fall, (rises/math.Max(f, math.SmallestNonzeroFloat64) - a) / (2 * a), lost*fall + leftOut
}

func (s laplaceSum) LogDelta(epsilon float64) (loss.Bounds, float64) {
	b := loss.Bounds{Lower: math.Inf(-1), Upper: math.Inf(-1)}
	moved := 4 * num.Ulp * s.n // of w, by its rounding
	high, slope, lost := s.delta(s.a, (s.n-epsilon/s.a)/2+moved)
	switch {
	case !(high <= 2): // beyond floating point
		b.Upper = 0
		return b, 0
	case epsilon < s.n*s.a*(1+4*num.Ulp):
		b.Upper = math.Min(0, num.LogUp(high*(1+s.within)+num.Up(lost)))
	}
	least := s.a * (1 - 8*num.Ulp)
	if low, _, _ := s.delta(least, (s.n-epsilon/least)/2-moved); low > leastSum {
		b.Lower = num.LogDown(low * (1 - s.within))
	}
	return b, slope
}

// Epsilon is found on the curve.
func (s laplaceSum) Epsilon(delta float64) loss.Bounds {
	return loss.Inverse(s.LogDelta, delta, s.a*s.n/2)
}
