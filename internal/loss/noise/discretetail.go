// SPDX-License-Identifier: Apache-2.0

package noise

import (
	"math"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/num"
)

// Bounds on the work for one μ: on the numbers whose tails are asked, on how many releases are added up, and on
// the variance of their sum.
const (
	mostScores   = 60_000
	mostSummed   = 1024
	mostVariance = 2048
)

// NormalMu implements loss.NormalTail. The releases are added up, in as few sums as can be computed and as equal ones
// as there are, so that more releases need no smaller μ; several sums are √(Σμ²)-GDP together. Far out the noise has
// the tail of a Gaussian of the same σ, and no less.
func (g discreteGaussian) NormalMu(count uint64) loss.NormalMu {
	n := num.Count(count)
	out := loss.NormalMu{Upper: math.Inf(1)}
	if !(g.sigma > 0 && g.d >= 1 && g.mu() < 1e100) {
		return out
	}
	out.Tail = num.Down(math.Sqrt(n) * (g.d / g.sigma) * (1 - 1e-12))
	out.Lower = out.Tail
	if rounded := (discreteVector{sigma: g.sigma, d: g.d, coordinates: 1}).roundedMu(n); rounded < math.Inf(1) {
		out.Upper = rounded
	}
	size := math.Max(1, math.Floor(min(n, mostSummed, mostVariance/(g.sigma*g.sigma), inRange(g.sigma),
		mostScores/3/g.d)))
	sums := math.Ceil(n / size)
	each := math.Floor(n / sums)
	larger := n - sums*each // have one release more
	law, ok := sumOf(g.sigma, int(each))
	if ok {
		block := law.mu(g.d)
		squares := (sums - larger) * block.Upper * block.Upper
		if larger > 0 {
			law, ok = law.plus(oneDiscrete(g.sigma))
			upper := law.mu(g.d).Upper
			squares += larger * upper * upper
		}
		if ok {
			out.Upper = math.Min(out.Upper, num.Up(math.Sqrt(squares)*(1+8*num.Ulp)))
		}
		if sums == 1 {
			out.Lower = math.Max(out.Lower, block.Lower)
		}
	}
	out.Lower = math.Min(out.Lower, out.Upper)
	return out
}

// mu is the least μ for n releases that a record moves by d each, if their noise is known as a sum. A distance that
// is too large is taken in steps: z(t) − z(t − D) adds up over them.
func (a discreteSum) mu(d float64) loss.NormalMu {
	s2 := a.squared()
	out := loss.NormalMu{Upper: math.Inf(1)}
	if !(s2 < 1e6 && s2 > 1e-6) {
		return out
	}
	step := math.Max(1, math.Min(d, math.Floor(mostScores/3/a.n())))
	apart := int(step * a.n())
	last := apart + int(math.Min(mostScores, 8*s2+8*math.Sqrt(s2)+8))
	z := a.scores(last)
	out = z.largest(apart, s2)
	if step == d {
		return out
	}
	steps := math.Floor(d / step)
	total := num.MulUp(steps, out.Upper)
	if rest := d - steps*step; rest > 0 {
		total = num.AddUp(total, z.largest(int(rest*a.n()), s2).Upper)
	}
	return loss.NormalMu{Upper: total}
}

// largest is the supremum of f(t) = z(t) − z(t − D) over all whole t. By symmetry t > D/2 serve. Up to the last z
// they are compared one by one. If f is largest at a later t, then f(t+1) ≤ f(t), and hence
//
//	f·(z(t) + z(t−D))/2 ≤ ln(P(t−D)/P(t)) = D(t − D/2)/s²,
//
// where z(t) ≥ (t − β)/s; so f ≤ (D/s)·(1 + β/(t − D/2 − β)). If no t has the supremum, it is the limit D/s.
// See docs/math/gaussian-dp.md §4.13.4.
func (z scores) largest(apart int, s2 float64) loss.NormalMu {
	s := math.Sqrt(s2)
	var out loss.NormalMu
	for t := (apart + 2) / 2; t <= len(z.z); t++ {
		high, errHigh := z.at(t)
		low, errLow := z.at(t - apart)
		err := errHigh + errLow + 4*num.Ulp*(math.Abs(high)+math.Abs(low))
		out.Upper = math.Max(out.Upper, high-low+err)
		out.Lower = math.Max(out.Lower, high-low-err)
	}
	first := float64(len(z.z) + 1 - apart) // of t − D beyond
	beta := z.lag(first, s2)
	beyond := float64(apart) / s * (1 + beta/(first+float64(apart)/2-beta)) * (1 + 1e-12)
	out.Upper = num.Up(math.Max(out.Upper, beyond))
	out.Lower = math.Max(0, num.Down(out.Lower))
	return out
}

// lag is a β for which z(t) ≥ (t − β)/s at every t ≥ first, or +Inf. With x = (t − β)/s, P(T ≥ t) is at most
// peak·e^{−t²/2s²}/(1 − e^{−t/s²}), and Φ(−x) at least e^{−x²/2}/√(2π)·x/(1 + x²); the first is at most the second
// at every t ≥ first if it is at first, and if β/s² ≥ 1/(first − β).
func (z scores) lag(first, s2 float64) float64 {
	s, rate := math.Sqrt(s2), first/s2
	least := math.Log(z.peak*math.Sqrt(2*math.Pi)) - math.Log(-math.Expm1(-rate))
	needs := func(beta float64) float64 { // the β that this one would have to be at least
		x := (first - beta) / s
		return (least + math.Log((1+x*x)/x) + beta*beta/(2*s2)) / rate
	}
	beta := 0.0
	for range 100 {
		next := math.Max(needs(beta), s2/(first-beta))
		if !(next < first/2) {
			return math.Inf(1)
		}
		if next = next*(1+1e-9) + 1e-9; next <= beta {
			break
		}
		beta = next
	}
	if beta >= needs(beta)*(1+1e-10)+1e-10/rate && beta >= s2/(first-beta)*(1+1e-10) {
		return beta
	}
	return math.Inf(1)
}

// roundedMu is an upper bound on μ of n releases: they are nearly what is made of Gaussian noise of a variance that is
// a little less. Probabilities that a factor of e^κ changes, and of what is not in the event as well, move their
// Φ⁻¹ by √(2π)·κ at most. It is +Inf where σ is too small for that. See docs/math/gaussian-dp.md §4.13.5.
func (v discreteVector) roundedMu(n float64) float64 {
	l, shift, _, ok := v.Nearly()
	if !ok {
		return math.Inf(1)
	}
	mu, _ := loss.MuOf(l)
	return num.AddUp(num.MulUp(num.SqrtUp(n), mu), num.MulUp(num.MulUp(n, shift), 2*2.50662828))
}

// NormalMu implements loss.NormalTail: a move by a is a moves by 1, so that a way to move with Σ a_i² ≤ d² has
// √(Σ a_i²) ≤ d times the μ of a move by 1 at most.
func (v discreteVector) NormalMu(count uint64) loss.NormalMu {
	n := num.Count(count)
	out := loss.NormalMu{Upper: v.roundedMu(n)}
	squared := squaredOf(v.d)
	if !(squared >= 1) { // no whole number moves
		return loss.NormalMu{}
	}
	one := discreteGaussian{sigma: v.sigma, d: 1}.NormalMu(1)
	out.Upper = math.Min(out.Upper, num.MulUp(num.SqrtUp(num.MulUp(n, squared)), one.Upper))
	if v.coordinates < 4 && v.coordinates < squared { // four squares add up to every whole number
		root := math.Floor(math.Sqrt(squared))
		squared = root * root
	}
	out.Tail = num.Down(math.Sqrt(n) * (math.Sqrt(squared) / v.sigma) * (1 - 1e-12))
	out.Lower = math.Min(out.Tail, out.Upper)
	return out
}

// NormalMu is that of the vector.
func (v movedVector) NormalMu(count uint64) loss.NormalMu { return v.vector.NormalMu(count) }
