// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"testing"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

func sampledAt(tb testing.TB, q, sigma float64, adj mechanism.Adjacency) loss.Loss {
	tb.Helper()
	l, err := Of(mechanism.PoissonSampled{SamplingProbability: q,
		Mechanism: mechanism.Gaussian{NoiseMultiplier: sigma}}, adj)
	if err != nil {
		tb.Fatal(err)
	}
	return l
}

func BenchmarkCumulantReal(b *testing.B) {
	l := sampledAt(b, 0.01, 1, mechanism.AddOrRemoveOne)
	for b.Loop() {
		l.Cumulant(loss.Remove, 9.3, nil)
	}
}

// A new mechanism on a line of 32 nodes, t up to 20.
func BenchmarkCumulantLine(b *testing.B) {
	l := sampledAt(b, 0.01, 1, mechanism.AddOrRemoveOne)
	for b.Loop() {
		line := l.Line(loss.Remove, 9.3, nil)
		for i := range 32 {
			line(float64(i) * 0.625)
		}
	}
}
