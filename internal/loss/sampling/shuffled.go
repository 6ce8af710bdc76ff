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
	return pairs.TimesNorm(mu, num.Count(m.Squares(x.Adjacency)), false), nil
}
