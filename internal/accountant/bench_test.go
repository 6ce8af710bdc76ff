// SPDX-License-Identifier: Apache-2.0

package accountant

import (
	"testing"

	"github.com/dpaccountant/accountant/internal/mechanism"
)

func sampledGaussian(q, sigma float64) mechanism.Mechanism {
	return mechanism.PoissonSampled{SamplingProbability: q, Mechanism: mechanism.Gaussian{NoiseMultiplier: sigma}}
}

func compose(t testing.TB, adj mechanism.Adjacency, events ...mechanism.Event) mechanism.Composition {
	t.Helper()
	c, err := mechanism.Compose(adj, events)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func benchmarkAsk(b *testing.B, c mechanism.Composition) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Ask(c, AtDelta(1e-5)); err != nil {
			b.Fatal(err)
		}
	}
}

// Every answer is computed cold: nothing is kept between calls.

func BenchmarkAskDPSGD(b *testing.B) {
	benchmarkAsk(b,
		compose(b, mechanism.AddOrRemoveOne, mechanism.Event{Mechanism: sampledGaussian(0.01, 1), Count: 1000}))
}

func BenchmarkAskThousandDistinct(b *testing.B) {
	var events []mechanism.Event
	for i := range 1000 {
		events = append(events,
			mechanism.Event{Mechanism: sampledGaussian(0.005+1e-5*float64(i), 0.8+1e-3*float64(i)), Count: 10})
	}
	benchmarkAsk(b, compose(b, mechanism.AddOrRemoveOne, events...))
}

func BenchmarkAskGaussian(b *testing.B) {
	benchmarkAsk(b,
		compose(b, mechanism.AddOrRemoveOne,
			mechanism.Event{Mechanism: mechanism.Gaussian{NoiseMultiplier: 2}, Count: 7}))
}

func BenchmarkAskTenThousandGaussians(b *testing.B) {
	var events []mechanism.Event
	for i := range 10000 {
		events = append(events,
			mechanism.Event{Mechanism: mechanism.Gaussian{NoiseMultiplier: 50 + float64(i)}, Count: 1})
	}
	benchmarkAsk(b, compose(b, mechanism.AddOrRemoveOne, events...))
}

func BenchmarkAskPure(b *testing.B) {
	benchmarkAsk(b,
		compose(b, mechanism.AddOrRemoveOne,
			mechanism.Event{Mechanism: mechanism.PureDP{Epsilon: 0.01}, Count: 100000}))
}

// A group of 255 records, each of which may be in every sample: a mixture of 256 Gaussians.
func BenchmarkAskSampledGroup(b *testing.B) {
	group := mechanism.Group{Size: 255, Mechanism: sampledGaussian(0.01, 20)}
	benchmarkAsk(b, compose(b, mechanism.AddOrRemoveOne, mechanism.Event{Mechanism: group, Count: 1000}))
}

func BenchmarkAskTwentyThousandDistinct(b *testing.B) {
	benchmarkAsk(b, compose(b, mechanism.AddOrRemoveOne, distinct(20000)...))
}

// One more step of a ledger with a thousand distinct mechanisms, by every analysis.
func BenchmarkSessionStepThousandDistinct(b *testing.B) {
	events := distinct(1000)
	var s Session
	if _, err := s.Ask(compose(b, mechanism.AddOrRemoveOne, events...), AtDelta(1e-5)); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		events[500].Count++
		if _, err := s.Ask(compose(b, mechanism.AddOrRemoveOne, events...), AtDelta(1e-5)); err != nil {
			b.Fatal(err)
		}
	}
}

// distinct is n sampled Gaussians with rates and noises of their own.
func distinct(n int) (events []mechanism.Event) {
	for i := range n {
		x := float64(i) / float64(n)
		events = append(events, mechanism.Event{Mechanism: sampledGaussian(0.001+0.001*x, 0.8+x), Count: 10})
	}
	return events
}
