// SPDX-License-Identifier: Apache-2.0

package sampling

import (
	"fmt"
	"math"
	"slices"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/loss/pairs"
	"github.com/dpaccountant/accountant/internal/loss/participation"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/num"
)

// ofSampledMatrix is the loss of a run in which each group has one turn.
func ofSampledMatrix(m mechanism.SampledMatrix, x loss.Maker) (loss.Loss, error) {
	terms, err := ofSampledMatrices(m, x, 1)
	if l, ok := oneOf(terms); err == nil && ok {
		return l, nil
	}
	return nil, fmt.Errorf("sampled_matrix: no single privacy loss is known for several turns of a group")
}

// ofSampledMatrices are the losses of all turns of the first group: a Gaussian on a Poisson sample
// each, whose distance is the norm of a column. The last one may be cut. Later groups have no
// more turns, and no larger columns (docs/math/matrices.md §1.8.8).
func ofSampledMatrices(m mechanism.SampledMatrix, x loss.Maker, records uint64) ([]loss.Term, error) {
	if records > 1 {
		return nil, nil
	}
	q := m.SamplingProbability
	inside := x.Adjacency
	if q < 1 {
		inside = mechanism.ZeroOut
	}
	sigma, distance := m.Ratio(inside)
	c, before := m.Coefficients.Values(), (m.Steps-1)/m.Turns()
	turn := func(rows uint64) (loss.Loss, error) {
		b := participation.Toeplitz(c, participation.Of(mechanism.Participation{Steps: rows}))
		inner := pairs.TimesNorm(num.DivUp(distance, sigma), b.Squares, b.Exact)
		if q == 1 {
			return inner, nil
		}
		return poissonSampled(inner, q, x.Adjacency)
	}
	last, err := turn(m.Steps - before*m.Turns())
	if err != nil || before == 0 {
		return []loss.Term{{Loss: last, Count: 1}}, err
	}
	first, err := turn(m.Steps)
	return loss.Composition{{Loss: first, Count: before}, {Loss: last, Count: 1}}.Merged(), err
}

// ofAllocatedMatrix is random allocation to steps whose columns do not meet, several uses of each
// being one of √uses times the distance. For more than one band that dominates what was
// reported (docs/math/matrices.md §1.8.9).
func ofAllocatedMatrix(m mechanism.AllocatedMatrix, x loss.Maker) (loss.Loss, error) {
	sigma, distance := m.Ratio(x.Adjacency)
	b := participation.Toeplitz(m.Coefficients.Values(),
		participation.Pattern{Steps: m.Steps, Most: m.Uses(), Separation: m.Period})
	known := m.Coefficients.Len() == 1 && m.Steps%m.Period == 0
	mu, least := num.DivUp(distance, sigma), 0.0
	if !known {
		least = num.Down(leastTogether(m) * (distance / sigma) * (1 - 8*num.Ulp))
	}
	switch {
	case m.Choices() > 1:
		return allocated{inner: pairs.TimesNorm(mu, b.Squares, known), steps: m.Choices(), width: 1, lost: outOfReach,
			class: !known, least: least}, nil
	case least > 0:
		return pairs.AtMostTimesNorm(mu, b.Squares, pairs.NewGaussian(least)), nil
	}
	return pairs.TimesNorm(mu, b.Squares, known), nil
}

// mostLeastWork bounds the products that leastTogether takes.
const mostLeastWork = 1 << 24

// leastTogether is how far every choice moves the sum of all outputs at least, with the mean of all choices as
// weights, in units of the noise of the sum for a distance of 1; 0 where that is not computed. It is rounded down
// (docs/math/matrices.md §1.8.10).
func leastTogether(m mechanism.AllocatedMatrix) float64 {
	c := m.Coefficients.Values()
	if m.Steps < m.Period || slices.Min(c) < 0 || float64(m.Steps) > mostLeastWork/float64(len(c)) {
		return 0
	}
	n, period := int(m.Steps), int(m.Period)
	weight, sum, squares := make([]float64, n), 0.0, 0.0
	for row := range weight {
		if row < len(c) {
			sum += c[row]
		}
		weight[row] = sum
		squares += sum * sum
	}
	least := math.Inf(1)
	for first := range period {
		moved := 0.0
		for step := first; step < n; step += period {
			for i, row := range weight[step:min(step+len(c), n)] {
				moved += c[i] * row
			}
		}
		least = math.Min(least, moved)
	}
	return least / math.Sqrt(squares) * (1 - 2*float64(n+2*len(c))*num.Ulp)
}
