// SPDX-License-Identifier: Apache-2.0

package mechanism

import (
	"fmt"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"github.com/dpaccountant/accountant/internal/num"
)

func TestParametersHaveSixDigits(t *testing.T) {
	t.Parallel()
	third := 1.0 / 3
	for _, c := range []struct {
		of   Mechanism
		want string
	}{
		{Gaussian{NoiseMultiplier: 1.1}, "gaussian(noise multiplier 1.1)"},
		{Gaussian{NoiseMultiplier: 1.1000000000000001e-7}, "gaussian(noise multiplier 1.1e-07)"},
		{Gaussian{StandardDeviation: 1.23456789, Sensitivity: third}, "gaussian(σ=1.23456, Δ=0.333334)"},
		{Laplace{Scale: 2. / 3, Sensitivity: 1}, "laplace(b=0.666666, Δ=1)"},
		{PoissonSampled{BatchSize: 256, DatasetSize: 60000, Mechanism: Gaussian{NoiseMultiplier: 1}},
			"poisson_sampled(q=0.00426667, gaussian(noise multiplier 1))"},
		{PoissonSampled{SamplingProbability: third, Mechanism: Gaussian{NoiseMultiplier: 1}},
			"poisson_sampled(q=0.333334, gaussian(noise multiplier 1))"},
		{ApproximateDP{Epsilon: 0.30000000000000004, Delta: 1e-5}, "approximate_dp(ε=0.300001, δ=1e-05)"},
		{PureDP{Epsilon: 1234567}, "pure_dp(ε=1234570)"},
	} {
		if got := fmt.Sprint(c.of); got != c.want {
			t.Errorf("%s; want %s", got, c.want)
		}
	}
}

// A text never says that a parameter is on the cheap side of what it is, and says what six digits can say.
func TestParametersAreRoundedToTheDearSide(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.Float64Range(1e-300, 1e300).Draw(t, "x")
		read := func(text string) *big.Rat {
			r, ok := new(big.Rat).SetString(text)
			if !ok {
				t.Fatalf("%q is no number", text)
			}
			return r
		}
		given := num.Decimal(x)
		most, least := read(atMost(x)), read(atLeast(x))
		width := new(big.Rat).Mul(given, big.NewRat(1, 100_000))
		if most.Cmp(given) < 0 || least.Cmp(given) > 0 || most.Sub(most, least).Cmp(width) > 0 {
			t.Fatalf("%v: at most %s, at least %s", x, atMost(x), atLeast(x))
		}
	})
}
