// SPDX-License-Identifier: Apache-2.0

package accountant

import (
	"math"
	"testing"

	"github.com/dpaccountant/accountant/internal/mechanism"
)

// FuzzAskSampled is FuzzAsk with everything that can be sampled, next to something
// else: zCDP guarantees, a Gaussian or nothing.
func FuzzAskSampled(f *testing.F) {
	edges := []float64{0x1p-1022, 1e-300, 1e-12, 1e-3, 0.3, 1, 40, 1e6, 1e300}
	for i, a := range edges {
		b := edges[(4*i+2)%len(edges)]
		f.Add(uint8(i), uint8(i+1), a, b, 0.01, uint32(1), 1e-5, 1.0)
		f.Add(uint8(i+1), uint8(i), 1.0, a, 1e-12, uint32(math.MaxUint32), 0.999, 0.0)
		f.Add(uint8(i+2), uint8(2), 0.5, b, 0x1p-1022, uint32(1e9), 1e-300, 1e300)
		f.Add(uint8(i+3), uint8(i), a, a, 1-0x1p-53, uint32(30), 0x1p-1074, 1e-9)
	}
	f.Fuzz(func(t *testing.T, first, second uint8, a, b, q float64, count uint32, delta, epsilon float64) {
		inner := []mechanism.Mechanism{
			mechanism.Laplace{Scale: a, Sensitivity: b}, mechanism.PureDP{Epsilon: a},
			mechanism.ApproximateDP{Epsilon: a, Delta: q},
			mechanism.GaussianDP{Mu: a},
			mechanism.RandomizedResponse{Epsilon: a, Buckets: 2 + uint64(math.Abs(b))%(1<<40)},
		}
		beside := []mechanism.Mechanism{nil, mechanism.ZeroConcentratedDP{Rho: b},
			mechanism.Gaussian{NoiseMultiplier: b}}
		events := []mechanism.Event{
			{Mechanism: mechanism.PoissonSampled{SamplingProbability: q, Mechanism: inner[int(first)%len(inner)]},
				Count: count},
			{Mechanism: beside[int(second)%len(beside)], Count: 1},
		}
		for _, adj := range []mechanism.Adjacency{mechanism.AddOrRemoveOne, mechanism.ReplaceOne} {
			var allowed []mechanism.Event
			for _, e := range events {
				if e.Check(adj) == nil {
					allowed = append(allowed, e)
				}
			}
			c, err := mechanism.Compose(adj, allowed)
			if err != nil {
				t.Fatal(err)
			}
			for _, question := range []Question{AtDelta(delta), AtEpsilon(epsilon)} {
				if question.Check() == nil {
					check(t, c, question)
				}
			}
		}
	})
}
