// SPDX-License-Identifier: Apache-2.0

package allocation

import (
	"math"

	"github.com/dpaccountant/accountant/internal/num"
)

// LogMoments bounds ln E[S^m] for m = 0, 1, … from above, S the mean of t independent copies of a
// number X ≥ 0 with ln E[X^m] ≤ of[m], of[0] = of[1] = 0 (docs/math/allocation.md §1.11.7).
func LogMoments(of []float64, t uint64, in *num.Interrupt) []float64 {
	n := len(of)
	power := make([]float64, n) // ln(E[s^m]/m!) of a sum s
	factorials := make([]float64, n)
	for m := range power {
		factorials[m], _ = math.Lgamma(float64(m + 1))
		power[m] = of[m] - factorials[m]
	}
	var total []float64
	sums := 0
	for rest := t; ; power, sums = convolved(power, power, in), sums+1 {
		if rest&1 == 1 {
			if total == nil {
				total = power
			} else {
				total, sums = convolved(total, power, in), sums+1
			}
		}
		if rest >>= 1; rest == 0 {
			break
		}
	}
	logT := math.Log(num.Count(t))
	out := make([]float64, n)
	// Errors of logarithms add up in each sum as its terms' orders do: what an order has of them, of
	// each unit, is at most the largest that any order below adds.
	var each float64
	for m := 2; m < n; m++ {
		order := float64(m)
		size := math.Abs(of[m]) + factorials[m] + order*logT
		each = math.Max(each, 8*size/order+16)
		out[m] = num.UpBy(total[m]+factorials[m]-order*logT, num.Ulp*order*each*float64(sums+2))
	}
	return out
}

// momentWork is about what one term of a sum takes, in nanoseconds.
const momentWork = 12

// convolved has the moments of the sum of two independent numbers.
func convolved(a, b []float64, in *num.Interrupt) []float64 {
	out := make([]float64, len(a))
	for m := range out {
		in.Spend(momentWork * (m + 1))
		top := math.Inf(-1)
		for j := 0; j <= m; j++ {
			top = math.Max(top, a[j]+b[m-j])
		}
		if math.IsInf(top, 0) {
			out[m] = top
			continue
		}
		var sum float64
		for j := 0; j <= m; j++ {
			sum += math.Exp(a[j] + b[m-j] - top)
		}
		out[m] = top + math.Log(sum)
	}
	return out
}
