// SPDX-License-Identifier: Apache-2.0

package sampling

import (
	"cmp"
	"math"
	"slices"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/loss/declared"
	"github.com/dpaccountant/accountant/internal/loss/pairs"
	"github.com/dpaccountant/accountant/internal/num"
)

// largestBatch is the loss of an attacker who sees the largest of all batches' answers, in cells:
// with the record one of them is at 2μ, without it one is at μ, and all others are at 0 (Chua et al.
// 2024, arXiv 2403.17673, and 2024b, arXiv 2411.04205; docs/math/shuffling.md §1.8.5.4). Every map of
// the answers is post-processing, so it is below the loss of all of them.
func largestBatch(mu float64, batches uint64, in *num.Interrupt) loss.Loss {
	type key struct {
		mu      float64
		batches uint64
	}
	return loss.Recall(allocations, key{mu, batches}, in, func(in *num.Interrupt) loss.Loss {
		if !(mu < 40) {
			return pairs.NewGaussian(0)
		}
		in.Spend(largestCells * largestWork)
		rest := num.Count(batches - 1)
		low, high := -9.0, 2*mu+9
		if usual := math.Sqrt(2 * math.Log(rest+1)); usual > 0 {
			low, high = math.Min(low+usual, 0), math.Max(high, usual+9)
		}
		logCDF := func(x, shift float64) float64 { return num.LogNormalCDF(x-shift) + rest*num.LogNormalCDF(x) }
		type cell struct{ loss, mass float64 }
		var cells []cell
		atP, atQ := math.Inf(-1), math.Inf(-1)
		for i := range largestCells {
			toP, toQ := 0.0, 0.0 // ln of the distribution functions at the cell's end
			if x := low + (high-low)*float64(i)/(largestCells-1); i < largestCells-1 {
				toP, toQ = logCDF(x, 2*mu), logCDF(x, mu)
			}
			p, okP := between(atP, toP)
			q, okQ := between(atQ, toQ)
			if atP, atQ = toP, toQ; okP && okQ {
				cells = append(cells, cell{math.Log(p) - math.Log(q), p})
			}
		}
		slices.SortFunc(cells, func(a, b cell) int { return cmp.Compare(a.loss, b.loss) })
		var losses, masses []float64
		for _, c := range cells {
			losses, masses = append(losses, c.loss), append(masses, c.mass)
		}
		if len(cells) == 0 {
			return pairs.NewGaussian(0)
		}
		return declared.Computed("largest of shuffled batches", losses, masses, 0, 0, cellErr, 2*cellErr)
	})
}

// largestCells is the number of cells, largestWork about what one takes in nanoseconds, and cellErr a
// bound on the relative errors of their probabilities.
const largestCells, largestWork, cellErr = 2000, 500, 1e-9

// between is e^b − e^a for logarithms of distribution functions a ≤ b, within cellErr of its value; false
// where the difference is too small to be known so well, or next to nothing. A cell that is left out is
// nothing that an attacker uses.
func between(a, b float64) (p float64, ok bool) {
	if b > -0.5 { // by the complements
		p = math.Expm1(b) - math.Expm1(a)
		return p, p > 1e-290 && p > 1e-5*-math.Expm1(a)
	}
	p = -math.Exp(b) * math.Expm1(a-b)
	return p, p > 1e-290 && b-a > 1e-5*-b
}

// moreOf is the one of two losses from below that is larger at the order 2; either is a bound.
func moreOf(a, b loss.Loss, in *num.Interrupt) loss.Loss {
	if b.Cumulant(loss.Remove, 1, in).K > a.Cumulant(loss.Remove, 1, in).K {
		return b
	}
	return a
}
