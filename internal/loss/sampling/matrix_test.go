// SPDX-License-Identifier: Apache-2.0

package sampling

import (
	"math"
	"testing"

	"github.com/dpaccountant/accountant/internal/mechanism"
)

// The projection of the outputs on the mean of all choices is worked out with the whole matrix here. Its best tests
// tell at least what the Gaussian pair from below says.
func TestLeastTogether(t *testing.T) {
	upper := func(x float64) float64 { return math.Erfc(x/math.Sqrt2) / 2 }
	for _, m := range []mechanism.AllocatedMatrix{
		{Coefficients: mechanism.NumbersOf(1, 0.5), Steps: 12, Period: 4},
		{Coefficients: mechanism.NumbersOf(1, 0.5, 0.375, 0.3125), Steps: 23, Period: 5},
		{Coefficients: mechanism.NumbersOf(2), Steps: 7, Period: 3},
		{Coefficients: mechanism.NumbersOf(1, 0, 0.9), Steps: 5, Period: 5},
	} {
		n, tau, c := int(m.Steps), int(m.Period), m.Coefficients.Values()
		shifts, mean, norm := make([][]float64, tau), make([]float64, n), 0.0
		for j := range shifts {
			shifts[j] = make([]float64, n)
			for column := j; column < n; column += tau {
				for row := column; row < n && row-column < len(c); row++ {
					shifts[j][row] += c[row-column]
				}
			}
			for row, v := range shifts[j] {
				mean[row] += v / float64(tau)
			}
		}
		for _, v := range mean {
			norm += v * v
		}
		norm = math.Sqrt(norm)
		at, least := make([]float64, tau), math.Inf(1)
		for j, shift := range shifts {
			for row, v := range shift {
				at[j] += v * mean[row] / norm
			}
			least = math.Min(least, at[j])
		}
		mu := leastTogether(m)
		if !(mu <= least && mu >= least*(1-1e-12)) {
			t.Errorf("%v: %v, not %v", m, mu, least)
		}
		for _, epsilon := range []float64{-1, 0, 0.3, 1, 3} {
			c, remove, add := epsilon/mu+mu/2, 0.0, 0.0
			d := -epsilon/mu + mu/2 // of the test below it
			for _, x := range at {
				remove += upper(c-x) / float64(tau)
				add += upper(x-d) / float64(tau)
			}
			remove -= math.Exp(epsilon) * upper(c)
			add = upper(-d) - math.Exp(epsilon)*add
			low := upper(epsilon/mu-mu/2) - math.Exp(epsilon)*upper(epsilon/mu+mu/2)
			if !(remove >= low-1e-15 && add >= low-1e-15) {
				t.Errorf("%v, ε = %v: %v and %v, at least %v", m, epsilon, remove, add, low)
			}
		}
	}
	for _, m := range []mechanism.AllocatedMatrix{
		{Coefficients: mechanism.NumbersOf(1, -0.5), Steps: 12, Period: 4},
		{Coefficients: mechanism.NumbersOf(1, 0.5), Steps: 3, Period: 4}, // perhaps in no step
	} {
		if mu := leastTogether(m); mu != 0 {
			t.Errorf("%v: %v, though nothing is known", m, mu)
		}
	}
}
