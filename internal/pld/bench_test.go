// SPDX-License-Identifier: Apache-2.0

package pld

import (
	"testing"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/pld/pldtest"
)

func benchmarkEpsilon(b *testing.B, l loss.Composition, delta float64) {
	b.ReportAllocs()
	for b.Loop() {
		if e, reason := Epsilon(l, delta, Wanted{}); reason != "" || e.Upper-e.Lower > 1e-6*max(1, e.Upper) {
			b.Fatalf("%+v %s", e, reason)
		}
	}
}

func BenchmarkColdDPSGD(b *testing.B) {
	benchmarkEpsilon(b, pldtest.Losses(b, pldtest.SampledSteps(0.01, 1, 1000)), 1e-5)
}

func BenchmarkColdDPSGDDelta1e30(b *testing.B) {
	benchmarkEpsilon(b, pldtest.Losses(b, pldtest.SampledSteps(0.01, 1, 1000)), 1e-30)
}

func BenchmarkColdDPSGDDelta1e100(b *testing.B) {
	benchmarkEpsilon(b, pldtest.Losses(b, pldtest.SampledSteps(0.01, 1, 1000)), 1e-100)
}

func BenchmarkColdTenMillionSteps(b *testing.B) {
	benchmarkEpsilon(b, pldtest.Losses(b, pldtest.SampledSteps(1e-5, 0.7, 1e7)), 1e-5)
}

func BenchmarkColdLittleNoise(b *testing.B) {
	benchmarkEpsilon(b, pldtest.Losses(b, pldtest.SampledSteps(0.1, 0.3, 100)), 1e-5)
}

func BenchmarkColdOneStep(b *testing.B) {
	benchmarkEpsilon(b, pldtest.Losses(b, pldtest.SampledSteps(1e-4, 1, 1)), 1e-5)
}

// The characteristic function of a few steps with a small q decays slowly.
func BenchmarkColdFewSteps(b *testing.B) {
	benchmarkEpsilon(b, pldtest.Losses(b, pldtest.SampledSteps(1e-3, 0.8, 100)), 1e-5)
}

func BenchmarkColdHundredPure(b *testing.B) {
	benchmarkEpsilon(b, pldtest.Losses(b, mechanism.Event{Mechanism: mechanism.PureDP{Epsilon: 1}, Count: 100}), 1e-5)
}

func thousandDistinct(b *testing.B) loss.Composition {
	var l loss.Composition
	for i := range 1000 {
		l = append(l, pldtest.Losses(b, pldtest.SampledSteps(0.005+1e-5*float64(i), 0.8+1e-3*float64(i), 10))...)
	}
	return l
}

func BenchmarkColdThousandDistinct(b *testing.B) { benchmarkEpsilon(b, thousandDistinct(b), 1e-5) }

// One more step of a known mechanism, then ε.
func BenchmarkCacheOneMoreStep(b *testing.B) {
	var cache Cache
	l := pldtest.Losses(b, pldtest.SampledSteps(0.01, 1, 1000))
	b.ReportAllocs()
	for b.Loop() {
		if l[0].Count++; l[0].Count > 2000 {
			l[0].Count = 1000
		}
		if e, reason := cache.Epsilon(l, 1e-5, Wanted{}); reason != "" || e.Upper-e.Lower > 2e-6 {
			b.Fatalf("%+v %s", e, reason)
		}
	}
}

// One more step of a mechanism among a thousand.
func BenchmarkCacheOneMoreStepOfAThousand(b *testing.B) {
	var cache Cache
	l := thousandDistinct(b)
	cache.Epsilon(l, 1e-5, Wanted{})
	for b.Loop() {
		l[7].Count++
		if _, reason := cache.Epsilon(l, 1e-5, Wanted{}); reason != "" {
			b.Fatal(reason)
		}
	}
}

// One step of a mechanism that is new, then ε.
func BenchmarkCacheNewDistinct(b *testing.B) {
	var cache Cache
	l := pldtest.Losses(b, pldtest.SampledSteps(0.01, 1, 1000))
	extra := 0
	for b.Loop() {
		extra++
		now := append(l[:1:1], pldtest.Losses(b, pldtest.SampledSteps(0.01, 1+1e-7*float64(extra), 1))...)
		if _, reason := cache.Epsilon(now, 1e-5, Wanted{}); reason != "" {
			b.Fatal(reason)
		}
	}
}
