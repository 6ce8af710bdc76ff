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
