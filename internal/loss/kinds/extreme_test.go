// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"math"
	"math/cmplx"
	"testing"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// FuzzCumulant: whatever passes the checks gives sound, finite-time values:
// never NaN, error bounds never negative, and bounds in the right order.
func FuzzCumulant(f *testing.F) {
	edges := []float64{0x1p-1022, 1e-300, 1e-150, 1e-12, 1e-3, 0.3, 1, 40, 1e6, 1e150, 1e300}
	for i, a := range edges {
		f.Add(uint8(i), a, edges[(3*i+1)%len(edges)], 0.01, 1.5, 2.0)
		f.Add(uint8(i+3), a, 1.0, 1e-12, 1e6, 1e3)
		f.Add(uint8(i+5), 1.0, a, 0x1p-1022, 1e-9, 1e-9)
		f.Add(uint8(i+6), a, a, 1-0x1p-53, -0.4, 1e9)
		for k := range uint8(12) { // mixtures, groups, batches and sampled noise
			f.Add(15+k, a, edges[(3*i+int(k))%len(edges)], []float64{0.01, 1e-12, 1 - 0x1p-53}[i%3], 1.5, 2.0)
			f.Add(15+k, 1.0, a, 0.1, -0.4, 30.0)
		}
	}
	f.Fuzz(func(t *testing.T, kind uint8, a, b, q, s, im float64) {
		g := mechanism.Gaussian{StandardDeviation: a, Sensitivity: b}
		ms := []mechanism.Mechanism{
			g, mechanism.Laplace{Scale: a, Sensitivity: b}, mechanism.PureDP{Epsilon: a},
			mechanism.ApproximateDP{Epsilon: a, Delta: q}, mechanism.ZeroConcentratedDP{Rho: a},
			mechanism.GaussianDP{Mu: a},
			mechanism.PoissonSampled{SamplingProbability: q, Mechanism: g},
			mechanism.RandomizedResponse{Noise: q, Buckets: 2 + uint64(math.Abs(b))%(1<<40)},
			mechanism.ZeroConcentratedDP{Rho: a, Delta: q}, mechanism.NameAndShame{Delta: q},
			mechanism.RenyiDP{Orders: mechanism.NumbersOf(1+q, 2, 2+b), Epsilons: mechanism.NumbersOf(a, b, a)},
			mechanism.DiscreteGaussian{StandardDeviation: a, Distance: math.Ceil(b)},
			mechanism.DiscreteLaplace{Scale: a, Distance: math.Ceil(b)},
			mechanism.TruncatedLaplace{Scale: a, Bound: b, Distance: q},
			mechanism.Exponential{Epsilon: a},
			mechanism.MixtureOfGaussians{StandardDeviation: a, Sensitivities: mechanism.NumbersOf(0, b, b/3),
				Probabilities: mechanism.NumbersOf(1-q, q/2, q/2)},
			mechanism.MixtureOfGaussians{StandardDeviation: a, Sensitivities: mechanism.NumbersOf(1, b, a),
				Probabilities: mechanism.NumbersOf(1-q, q/2, q/2)},
			mechanism.Group{Size: 3, Mechanism: mechanism.PoissonSampled{SamplingProbability: q, Mechanism: g}},
			mechanism.Group{Size: 1000, Mechanism: mechanism.ApproximateDP{Epsilon: a, Delta: q}},
			mechanism.TruncatedPoissonSampled{SamplingProbability: q, DatasetSize: 1000,
				MaximumBatchSize: 1 + uint64(math.Abs(b))%1000, Mechanism: g},
			mechanism.TruncatedPoissonSampled{SamplingProbability: q, DatasetSize: 10, MaximumBatchSize: 9,
				Mechanism: mechanism.Laplace{Scale: a, Sensitivity: b}},
			mechanism.FixedSizeSampled{BatchSize: 3, DatasetSize: 100, Mechanism: g},
			mechanism.FixedSizeSampled{BatchSize: 3, DatasetSize: 100,
				Mechanism: mechanism.Laplace{Scale: a, Sensitivity: b}},
			mechanism.BandedMatrix{StandardDeviation: a, Sensitivity: b, Coefficients: mechanism.NumbersOf(1, q),
				Participation: mechanism.Participation{Steps: 1 << 53, Participations: 1 << 50}},
			mechanism.PoissonSampled{SamplingProbability: q,
				Mechanism: mechanism.DiscreteGaussian{StandardDeviation: a, Sensitivity: math.Ceil(b)}},
			mechanism.PoissonSampled{SamplingProbability: q,
				Mechanism: mechanism.TruncatedLaplace{Scale: a, Bound: b, Sensitivity: q}},
			mechanism.PoissonSampled{SamplingProbability: q,
				Mechanism: mechanism.PrivacyLossTable{Losses: mechanism.NumbersOf(-b, a),
					Masses: mechanism.NumbersOf(0.01, 0.49), InfiniteMass: 0.5}},
		}
		m := ms[int(kind)%len(ms)]
		for _, adj := range []mechanism.Adjacency{mechanism.AddOrRemoveOne, mechanism.ReplaceOne} {
			if m.Check(adj) != nil || math.IsNaN(s) || math.Abs(s) > 1e12 || !(math.Abs(im) <= 1e12) {
				continue
			}
			l, err := Of(m, adj)
			if err != nil {
				t.Fatal(err)
			}
			fact := l.Facts()
			if !(fact.Rho >= 0) || !(fact.Epsilon >= 0) || !(fact.InfinityMass >= 0 && fact.InfinityMass < 1) {
				t.Fatalf("%v: %+v", m, fact)
			}
			for _, d := range []loss.Direction{loss.Remove, loss.Add} {
				v := l.Cumulant(d, s, nil)
				if math.IsNaN(v.K) || !(v.Err >= 0) {
					t.Fatalf("%v %v %v: K(%v) = %v ± %v", m, adj, d, s, v.K, v.Err)
				}
				// K is convex, 0 at 0 and ln((1−n)/(1−m)) at −1.
				chord := s * (math.Log1p(-fact.InfinityMassIn(d)) -
					math.Log1p(-fact.InfinityMassIn(loss.Remove+loss.Add-d)))
				slack := 1e-12 * math.Abs(chord)
				if (s >= 0 || s <= -1) && v.Upper() < chord-slack ||
					s > -1 && s < 0 && !fact.BoundOnly && v.Lower() > chord+slack {
					t.Fatalf("%v %v %v: K(%v) = %v ± %v is on the wrong side of %v", m, adj, d, s, v.K, v.Err, chord)
				}
				if s > 0 && v.Lower() > s*l.MaxLoss(d)*(1+1e-12) {
					t.Fatalf("%v %v %v: K(%v) ≥ %v, losses up to %v", m, adj, d, s, v.Lower(), l.MaxLoss(d))
				}
				if fact.BoundOnly {
					continue
				}
				c := l.Line(d, s, nil)(im)
				if !(c.Err >= 0) || math.IsNaN(c.Upper) || cmplx.IsNaN(c.K) && !math.IsInf(c.Err, 1) {
					t.Fatalf("%v %v %v: K(%v+%vi) = %+v", m, adj, d, s, im, c)
				}
			}
		}
	})
}
