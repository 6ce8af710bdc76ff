// SPDX-License-Identifier: Apache-2.0

package sampling

import (
	"fmt"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/loss/pairs"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/num"
)

// ofShuffled is one epoch of a shuffled pass. The Gaussian at the distance between
// neighbours' sums of all batches dominates it, also where a batch's query depends on
// earlier outputs; the order hides nothing here (docs/math/matrices.md §1.8.3).
func ofShuffled(m mechanism.Shuffled, x loss.Maker) (loss.Loss, error) {
	one, err := x.Loss(m.Mechanism)
	if err != nil || m.Steps() == 1 {
		return one, err
	}
	mu, ok := loss.MuOf(one)
	if !ok {
		return nil, fmt.Errorf("shuffled: no privacy loss is known for a shuffled %s", m.Mechanism.Kind())
	}
	return pairs.AtMostTimesNorm(mu, num.Count(m.Squares(x.Adjacency)), ofSomeShuffled(m, mu, x.Adjacency)), nil
}

// coarse is how much wider the cells of a bound are that has only one side.
const coarse = 4

// ofSomeShuffled is below the loss of one mechanism that is meant by m: the record moves its batch
// against all others (docs/math/shuffling.md §1.8.5.4). mu is of one batch.
func ofSomeShuffled(m mechanism.Shuffled, mu float64, adj mechanism.Adjacency) loss.Loss {
	a := allocated{steps: m.Steps(), below: true, width: coarse, lost: outOfReach}
	switch adj {
	case mechanism.ReplaceOne: // mu is the distance of two records
		a.inner = pairs.NewGaussian(num.DownBy(mu, 8*num.Ulp*mu))
	case mechanism.AddOrRemoveOne: // without the record the last batch has one less
		a.steps--
		a.last = num.Count(m.DatasetSize-a.steps*m.BatchSize) / num.Count(m.DatasetSize)
		a.inner = pairs.NewGaussian(num.DownBy(2*mu, 16*num.Ulp*mu))
	default:
		a.inner, a.against = pairs.NewGaussian(num.DownBy(mu, 8*num.Ulp*mu)), true
	}
	return a
}
