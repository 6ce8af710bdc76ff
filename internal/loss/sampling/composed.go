// SPDX-License-Identifier: Apache-2.0

package sampling

import (
	"math"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/loss/pairs"
	"github.com/dpaccountant/accountant/internal/num"
)

// oneOf is a single loss for all that runs on one sample. Gaussians together are one with
// μ² = Σ n_j·μ_j² (Dong–Roth–Su 2022, Cor. 3.3), whose pair is what is sampled
// (docs/math/cumulant.md §1.1.6).
func oneOf(terms []loss.Term) (loss.Loss, bool) {
	if len(terms) == 1 && terms[0].Count == 1 {
		return terms[0].Loss, true
	}
	for _, t := range terms {
		if _, ok := loss.MuOf(t.Loss); !ok {
			return nil, false
		}
	}
	return pairs.NewGaussian(rootOfSquares(terms)), true
}

// rootOfSquares is √(Σ n_j·μ_j²) of Gaussians, rounded up by a relative 2⁻⁵⁰ at most.
func rootOfSquares(terms []loss.Term) float64 {
	mu := func(l loss.Loss) float64 { v, _ := loss.MuOf(l); return v }
	var most float64
	for _, t := range terms {
		most = math.Max(most, mu(t.Loss))
	}
	if most == 0 || math.IsInf(most, 1) {
		return most
	}
	var sum num.Sum
	for _, t := range terms {
		r := mu(t.Loss) / most
		sum.Add(num.Count(t.Count) * r * r)
	}
	if len(terms) == 1 && terms[0].Count == 1 {
		return most
	}
	return num.Up(most * math.Sqrt(sum.Value()) * (1 + 8*num.Ulp))
}
