package sampling

import (
	"fmt"

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
	inner := pairs.TimesNorm(num.DivUp(distance, sigma), b.Squares, known)
	if m.Choices() == 1 {
		return inner, nil
	}
	return allocated{inner: inner, steps: m.Choices(), width: 1, lost: outOfReach, class: !known}, nil
}
