// SPDX-License-Identifier: Apache-2.0

package accountant

import (
	"math"
	"testing"

	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/testaid"
)

// FuzzAsk: whatever passes the checks gets an answer that is a number, in
// range, above its lower bound and no larger than any analysis's. The lower
// bounds are exact curves, so a bound of any analysis that dipped under the
// truth would show here.
func FuzzAsk(f *testing.F) {
	edges := []float64{0x1p-1022, 1e-300, 1e-150, 1e-12, 1e-3, 0.3, 1, 40, 1e6, 1e150, 1e300}
	for i := 0; i < len(edges); i += testaid.Every(3) {
		a, b := edges[i], edges[(5*i+2)%len(edges)]
		f.Add(uint8(i), uint8(i+1), a, b, 0.01, uint32(1), 1e-5, 1.0)
		f.Add(uint8(i+4), uint8(i+4), a, 1.0, 1e-12, uint32(math.MaxUint32), 0.999, 0.0)
		f.Add(uint8(i+2), uint8(i+6), 1.0, a, 0x1p-1022, uint32(1e9), 1e-300, 1e300)
		f.Add(uint8(i+7), uint8(0), a, a, 1-0x1p-53, uint32(3), 0x1p-1074, 1e-9)
		for k := range uint8(8) { // mixtures, groups and batches
			if i%5 == 4 {
				f.Add(15+k, uint8(i), a, b, 0.01, uint32(1+i*i), 1e-5, 1.0)
				f.Add(15+k, 15+(k+3)%8, 1.0, a, 0.1, uint32(3), 1e-9, 0.1)
			}
		}
	}
	f.Fuzz(func(t *testing.T, first, second uint8, a, b, q float64, count uint32, delta, epsilon float64) {
		g := mechanism.Gaussian{StandardDeviation: a, Sensitivity: b}
		ms := []mechanism.Mechanism{
			g, mechanism.Laplace{Scale: a, Sensitivity: b}, mechanism.PureDP{Epsilon: a},
			mechanism.ApproximateDP{Epsilon: a, Delta: q}, mechanism.ZeroConcentratedDP{Rho: b},
			mechanism.GaussianDP{Mu: b},
			mechanism.PoissonSampled{SamplingProbability: q, Mechanism: g},
			mechanism.RandomizedResponse{Noise: q, Buckets: 2 + uint64(math.Abs(b))%(1<<40)},
			mechanism.DiscreteGaussian{StandardDeviation: a, Distance: math.Ceil(b)},
			mechanism.DiscreteLaplace{Scale: a, Distance: math.Ceil(b)},
			mechanism.TruncatedLaplace{Scale: a, Bound: b, Distance: q},
			mechanism.Exponential{Scale: a, Sensitivity: b},
			mechanism.AboveThreshold{ThresholdScale: a, QueryScale: b, Sensitivity: q, Positives: 3},
			mechanism.Histogram{LaplaceScale: a},
			mechanism.CountingQueries{Queries: 3, Rho: a},
			mechanism.MixtureOfGaussians{StandardDeviation: a, Sensitivities: mechanism.NumbersOf(0, b, b/3),
				Probabilities: mechanism.NumbersOf(1-q, q/2, q/2)},
			mechanism.Group{Size: 3, Mechanism: mechanism.PoissonSampled{SamplingProbability: q, Mechanism: g}},
			mechanism.Group{Size: 1000, Mechanism: mechanism.ApproximateDP{Epsilon: a, Delta: q}},
			mechanism.TruncatedPoissonSampled{SamplingProbability: q, DatasetSize: 1000,
				MaximumBatchSize: 1 + uint64(math.Abs(b))%1000, Mechanism: g},
			mechanism.TruncatedPoissonSampled{SamplingProbability: q, DatasetSize: 10, MaximumBatchSize: 9,
				Mechanism: mechanism.Laplace{Scale: a, Sensitivity: b}},
			mechanism.FixedSizeSampled{BatchSize: 3, DatasetSize: 100, Mechanism: g},
			mechanism.FixedSizeSampled{BatchSize: 3, DatasetSize: 100,
				Mechanism: mechanism.ApproximateDP{Epsilon: a, Delta: q}},
			mechanism.BandedMatrix{StandardDeviation: a, Sensitivity: b, Coefficients: mechanism.NumbersOf(1, q),
				Participation: mechanism.Participation{Steps: 1 << 53, Participations: 1 << 50}},
		}
		for _, adj := range []mechanism.Adjacency{mechanism.AddOrRemoveOne, mechanism.ReplaceOne} {
			var events []mechanism.Event
			for i, k := range []uint8{first, second} {
				e := mechanism.Event{Mechanism: ms[int(k)%len(ms)], Count: count}
				if i == 1 {
					e.Count = 1
				}
				if e.Check(adj) == nil && (i == 0 || k != 0) {
					events = append(events, e)
				}
			}
			c, err := mechanism.Compose(adj, events)
			if err != nil {
				t.Fatal(err)
			}
			for _, question := range []Question{AtDelta(delta), AtEpsilon(epsilon)} {
				if question.Check() != nil {
					continue
				}
				check(t, c, question)
			}
		}
	})
}

func check(t *testing.T, c mechanism.Composition, q Question) {
	t.Helper()
	a, err := Ask(c, q)
	if err != nil {
		t.Fatal(err)
	}
	if !(a.Epsilon >= 0) || !(a.Delta >= 0 && a.Delta <= 1) || math.IsNaN(a.LogDelta) || a.LogDelta > 0 {
		t.Fatalf("%+v: %+v", c, a)
	}
	if a.EpsilonLower != nil && !(*a.EpsilonLower <= a.Epsilon) || a.DeltaLower != nil && !(*a.DeltaLower <= a.Delta) {
		t.Fatalf("%+v: lower bounds %v %v above %+v", c, a.EpsilonLower, a.DeltaLower, a)
	}
	for _, r := range a.Analyses {
		if r.Unsupported == "" &&
			(q.Delta != nil && !(r.Epsilon >= a.Epsilon) ||
				q.Epsilon != nil && !(r.Delta >= a.Delta && r.LogDelta >= a.LogDelta)) {
			t.Fatalf("%+v: %+v below %+v", c, r, a)
		}
	}
}
