// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"fmt"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// processorTime is what the calling thread has used of a processor, in nanoseconds.
func processorTime() int64 {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t) // a thread has this clock
	return t.Nano()
}

// How much of a processor's time finding a price takes, in units of the work that is declared for
// it, for mechanisms whose prices count (LeastWork). MaxPriceWork is what it says where this is
// about 1 or less.
func BenchmarkPriceWork(b *testing.B) {
	gaussian := func(sigma float64) mechanism.Mechanism { return mechanism.Gaussian{NoiseMultiplier: sigma} }
	sampled := func(q float64, m mechanism.Mechanism) mechanism.Mechanism {
		return mechanism.PoissonSampled{SamplingProbability: q, Mechanism: m}
	}
	var losses, masses []float64
	for i := range 1024 {
		losses, masses = append(losses, float64(i-512)/1000), append(masses, 1./1024)
	}
	table := mechanism.PrivacyLossTable{Losses: mechanism.NumbersOf(losses...), Masses: mechanism.NumbersOf(masses...)}
	wide := []float64{0.3, 0.5, 0.7, 0.9, 1}
	for name, m := range map[string]mechanism.Mechanism{
		"sampled Gaussian, little noise": sampled(0.01, gaussian(0.3)),
		"sampled Gaussian":               sampled(0.01, gaussian(1)),
		"sampled Gaussian, much noise":   sampled(0.003, gaussian(30)),
		"sampled Gaussian, large sample": sampled(0.5, gaussian(2)),
		"sampled Laplace":                sampled(0.01, mechanism.Laplace{Scale: 1, Sensitivity: 1}),
		"sampled table":                  sampled(0.01, table),
		"table":                          table,
		"sampled discrete Gaussian": sampled(0.01, mechanism.DiscreteGaussian{StandardDeviation: 100,
			Sensitivity: 10}),
		"group of 2":   mechanism.Group{Size: 2, Mechanism: sampled(0.01, gaussian(1))},
		"group of 255": mechanism.Group{Size: 255, Mechanism: sampled(0.003, gaussian(30))},
		"mixture": mechanism.MixtureOfGaussians{StandardDeviation: 2, Sensitivities: mechanism.NumbersOf(wide...),
			Probabilities: mechanism.NumbersOf(0.2, 0.2, 0.2, 0.2, 0.2)},
		"truncated": mechanism.TruncatedPoissonSampled{SamplingProbability: 0.01, DatasetSize: 10_000,
			MaximumBatchSize: 120, Mechanism: gaussian(1)},
		"fixed size": mechanism.FixedSizeSampled{BatchSize: 100, DatasetSize: 10_000, Mechanism: gaussian(1)},
		"best of":    mechanism.RepeatAndSelect{Gamma: 0.1, Eta: 1, Mechanism: sampled(0.01, gaussian(1))},
	} {
		for _, order := range []float64{1.5, 3.5, 40} {
			for _, adj := range []mechanism.Adjacency{mechanism.AddOrRemoveOne, mechanism.ReplaceOne} {
				if m.Check(adj) != nil {
					continue
				}
				limits := []accountant.Limit{{Guard: accountant.GuardRDP, Value: 1e6, Delta: 1e-6, Order: order}}
				b.Run(fmt.Sprint(name, "/", order, "/", adj), func(b *testing.B) {
					runtime.LockOSThread()
					defer runtime.UnlockOSThread()
					began, work := processorTime(), 0
					for b.Loop() {
						work += NewFinder(limits, adj).Find(m, nil).Work
					}
					if work > 0 {
						b.ReportMetric(float64(processorTime()-began)/float64(work), "declared")
					}
				})
			}
		}
	}
}
