// SPDX-License-Identifier: Apache-2.0

package lattice

import (
	"testing"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/pld/pldtest"
)

// A cell of a mixture costs as much as its parts: an attempt may have fewer of them,
// and a group of 255 in Poisson samples takes no minutes.
func TestMixtureCellsShareTheWork(t *testing.T) {
	for _, adj := range []mechanism.Adjacency{mechanism.AddOrRemoveOne, mechanism.ReplaceOne} {
		for _, size := range []uint64{2, 16, 255} {
			l := pldtest.Loss(t, mechanism.Group{Size: size, Mechanism: mechanism.PoissonSampled{
				SamplingProbability: 1e-9, Mechanism: mechanism.Gaussian{NoiseMultiplier: 0.01},
			}}, adj)
			pair, ok := loss.PairOf(l, loss.Remove, loss.Dominating, nil)
			if !ok {
				t.Fatal("no pair")
			}
			p := problem{left: questionWork}
			p.add(pair, pair, 1000)
			ends := []window{{lo: 0, hi: 1}}
			cells := 1 / p.leastStep(1e-9, ends, 1)
			if parts := float64(loss.PartsOf(pair)); parts < float64(size) ||
				cells*parts*cellWork > partsPerPrice*questionWork {
				t.Errorf("%v, group of %d: %.0f cells of %v parts", adj, size, cells, parts)
			}
			if p.setup > 2*roughWork*mostRough {
				t.Errorf("%v, group of %d: the first look takes %.3g", adj, size, p.setup)
			}
		}
	}
}

// The points of a truncated Poisson sample cost what its samples do: two, and under
// ADD_OR_REMOVE_ONE a third one for the neighbour that has a record more.
func TestTruncatedSampleCounts(t *testing.T) {
	const q, step, n = 0.033, 1.25, 64
	cost := func(m mechanism.Mechanism) (spent, work float64) {
		line := loss.Tilt(pldtest.Loss(t, m, mechanism.AddOrRemoveOne), loss.Remove, 2, nil)
		line.Along(step, n, func() bool { return false })
		return line.Spent(), line.Work(step, n)
	}
	g := mechanism.Gaussian{NoiseMultiplier: 1.4}
	whole, wholeWork := cost(mechanism.PoissonSampled{SamplingProbability: q, Mechanism: g})
	cut, cutWork := cost(mechanism.TruncatedPoissonSampled{
		SamplingProbability: q, DatasetSize: 3, MaximumBatchSize: 1, Mechanism: g})
	if whole < 500*n || cut < 2*whole || cut > 8*whole || cutWork < 2*wholeWork || cutWork > 8*wholeWork {
		t.Errorf("spent %.3g of %.3g, a whole sample %.3g of %.3g, for %d points", cut, cutWork, whole, wholeWork, n)
	}
}
