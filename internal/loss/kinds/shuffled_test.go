// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"math"
	"testing"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/loss/pairs"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// An epoch costs as much as the batches that differ: one under ZERO_OUT and REPLACE_ONE
// and, under ADD_OR_REMOVE_ONE, one by 2Δ and the last by Δ (docs/math/shuffling.md §1.8.5), however
// many batches there are and whether or not the last is short.
func TestShuffledEpochCostsTheBatchesThatDiffer(t *testing.T) {
	squares := map[mechanism.Adjacency]float64{mechanism.ZeroOut: 1, mechanism.AddOrRemoveOne: 5,
		mechanism.ReplaceOne: 4}
	for _, batch := range []uint64{1, 10, 19, 40, 48} { // of 95 records: 95, 10, 5, 3 and 2 batches
		m := mechanism.Shuffled{BatchSize: batch, DatasetSize: 95, Mechanism: mechanism.Gaussian{NoiseMultiplier: 2}}
		for adj, want := range squares {
			l, err := Of(m, adj)
			if err != nil {
				t.Fatal(err)
			}
			want /= 4 // σ² of the noise multiplier
			if mu, _ := loss.MuOf(l); math.Abs(mu*mu-want) > 1e-12 || mu*mu < want || !l.Facts().Dominating {
				t.Errorf("batches of %d, %v: μ² = %v, want %v", batch, adj, mu*mu, want)
			}
		}
	}
	m := mechanism.Shuffled{BatchSize: 95, DatasetSize: 95, Mechanism: mechanism.Gaussian{NoiseMultiplier: 2}}
	if l, _ := Of(m, mechanism.AddOrRemoveOne); l != pairs.NewGaussian(0.5) { // the whole dataset
		t.Errorf("one batch: %+v", l)
	}
}
