// SPDX-License-Identifier: Apache-2.0

package participation

import (
	"math"

	"github.com/dpaccountant/accountant/internal/num"
)

const (
	// mostProducts bounds the products of coefficients that are computed one by one.
	mostProducts = 1 << 26
	// mostSums bounds the sums that one way to bound them makes.
	mostSums = 1 << 25
	// mostBands bounds the coefficients of which all patterns within their reach are tried.
	mostBands = 63
)

// lags are bounds on the inner products of the columns of a lower-triangular Toeplitz matrix:
// lags[d] is at least |X_st| of any s and t = s + d, wherever the last row cuts them. If all
// coefficients are nonnegative it is X_st of columns that are not cut.
//
// Only those that patterns of the separation need are computed. It returns nil if they are too
// many (docs/math/matrices.md §1.8.6).
func lags(c []float64, separation uint64) []float64 {
	b := uint64(len(c))
	if rest := b - min(separation, b); num.Count(rest)*num.Count(rest+1)/2 > mostProducts {
		return nil
	}
	x, signed := make([]float64, b), !isNonnegative(c)
	for _, v := range c {
		x[0] += v * v
	}
	for d := separation; d < b; d++ {
		sum := 0.0
		for u := range b - d {
			sum += c[u] * c[u+d]
			x[d] = math.Max(x[d], math.Abs(sum))
		}
		if signed { // terms that cancel
			x[d] += 2 * num.Count(b) * num.Ulp * x[0]
		}
	}
	return x
}

// chained bounds the sum of a pattern by its participations one after another: each adds x[0]
// and twice its products with those before it, which are at most the largest sum of as many lags
// that are far enough apart. It is +Inf if that takes too long.
func chained(x []float64, p Pattern) float64 {
	b := uint64(len(x))
	fit := min((b-1)/p.Separation, p.Most-1) // how many lags can be apart
	if num.Count(fit)*num.Count(b) > mostSums {
		return math.Inf(1)
	}
	sum := num.Count(p.Most) * x[0]
	largest := 0.0
	before, with := make([]float64, b), make([]float64, b) // of one lag less, by the last lag
	for i := uint64(1); i <= fit; i++ {
		for d := p.Separation; d < b; d++ {
			with[d] = math.Max(with[d-1], x[d]+before[d-p.Separation])
		}
		largest = with[b-1]
		sum += 2 * largest
		before, with = with, before
	}
	return sum + 2*largest*num.Count(p.Most-1-fit)
}

// run is the largest sum of some participations that end in a certain way, and how many steps
// after the first one the last one is.
type run struct {
	sum    float64
	length uint64
}

// tried is the largest sum of p.Most participations in as many steps as they like. It reports
// false if there are too many ways for one participation to follow others. The work goes with
// participations times the ways to place some of them within the reach of one.
func tried(x []float64, p Pattern) (run, bool) {
	b := uint64(len(x))
	if b > mostBands {
		return run{}, false
	}
	reach := uint64(1)<<b - 1
	work := 0
	ends := map[uint64]run{1: {sum: x[0]}} // by the participations at distance 0, 1, … of the last one
	for range p.Most - 1 {
		if work += len(ends) * int(b); work > mostSums/32 {
			return run{}, false
		}
		next := make(map[uint64]run, len(ends))
		for end, r := range ends {
			for gap := p.Separation; gap <= b; gap++ {
				before := end << gap & reach
				add := x[0]
				for d := gap; d < b; d++ {
					if before>>d&1 == 1 {
						add += 2 * x[d]
					}
				}
				now := run{r.sum + add, r.length + gap}
				old, ok := next[before|1]
				if !ok || now.sum > old.sum || now.sum == old.sum && now.length < old.length {
					next[before|1] = now
				}
			}
		}
		ends = next
	}
	var best run
	for _, r := range ends {
		if r.sum > best.sum || r.sum == best.sum && r.length < best.length {
			best = r
		}
	}
	return best, true
}

// periodic bounds the sum of participations that are exactly the separation apart.
func periodic(x []float64, p Pattern) float64 {
	b, sum := uint64(len(x)), num.Count(p.Most)*x[0]
	for j := uint64(1); j < p.Most && j*p.Separation < b; j++ {
		sum += 2 * num.Count(p.Most-j) * x[j*p.Separation]
	}
	return sum
}
