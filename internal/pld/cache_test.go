// SPDX-License-Identifier: Apache-2.0

package pld

import (
	"math"
	"testing"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/loss/kinds"
	"github.com/dpaccountant/accountant/internal/loss/losstest"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/pld/pldtest"
	"pgregory.net/rapid"
)

// One cache asked about every reference workload in turn, twice: what it keeps of
// one composition never spoils the answer to another.
func TestCacheAgainstReference(t *testing.T) {
	var workloads []losstest.Workload
	losstest.Read(t, "../accountant/testdata/workloads.json", &workloads)
	const tolerance = 2e-10 // the reference's
	var cache Cache
	for range 2 {
		for _, w := range workloads {
			l := pldtest.Workload(t, w)
			for _, r := range w.Truth {
				var b loss.Bounds
				var want float64
				if r.AskedByEpsilon {
					want = math.Log(r.Delta.Value)
					b, _ = cache.LogDelta(l, r.Epsilon.Value, Wanted{})
				} else {
					want = r.Epsilon.Value
					b, _ = cache.Epsilon(l, r.Delta.Value, Wanted{})
				}
				slack := tolerance * math.Max(1, math.Abs(want))
				if !(b.Lower <= want+slack && want-slack <= b.Upper) {
					t.Errorf("%s at %+v: [%v, %v] does not hold %v", w.Name, r, b.Lower, b.Upper, want)
				}
			}
		}
	}
}

// A ledger that grows, and now and then is replaced by a smaller one: the cache's
// intervals meet those computed from nothing and are as narrow as wanted.
func TestCacheAgreesWithNone(t *testing.T) {
	mechanisms := []mechanism.Mechanism{
		mechanism.PoissonSampled{SamplingProbability: 0.01, Mechanism: mechanism.Gaussian{NoiseMultiplier: 1}},
		mechanism.PoissonSampled{SamplingProbability: 0.02, Mechanism: mechanism.Gaussian{NoiseMultiplier: 0.8}},
		mechanism.PoissonSampled{SamplingProbability: 0.3, Mechanism: mechanism.Gaussian{NoiseMultiplier: 3}},
		mechanism.Gaussian{NoiseMultiplier: 20},
		mechanism.Laplace{Scale: 50, Sensitivity: 1},
		mechanism.ApproximateDP{Epsilon: 0.01, Delta: 1e-9},
	}
	rapid.Check(t, func(t *rapid.T) {
		var cache Cache
		counts := make([]uint32, len(mechanisms))
		counts[0] = rapid.Uint32Range(200, 2000).Draw(t, "first")
		delta := math.Pow(10, -rapid.Float64Range(3, 12).Draw(t, "−lg δ"))
		for range rapid.IntRange(2, 4).Draw(t, "steps") {
			k := rapid.IntRange(0, len(mechanisms)-1).Draw(t, "kind")
			if rapid.IntRange(0, 4).Draw(t, "shrink") == 0 {
				counts[k] /= 2
			} else {
				counts[k] += rapid.Uint32Range(1, 300).Draw(t, "more")
			}
			var events []mechanism.Event
			for i, n := range counts {
				if n > 0 {
					events = append(events, mechanism.Event{Mechanism: mechanisms[i], Count: n})
				}
			}
			c, err := mechanism.Compose(mechanism.AddOrRemoveOne, events)
			if err != nil {
				t.Fatal(err)
			}
			l, err := kinds.Compose(c)
			if err != nil {
				t.Fatal(err)
			}
			got, reason := cache.Epsilon(l, delta, Wanted{})
			want, cold := Epsilon(l, delta, Wanted{})
			if reason != cold || got.Lower > want.Upper || got.Upper < want.Lower {
				t.Fatalf("%v at δ=%v: cache [%v, %v] %q, without [%v, %v] %q", counts, delta, got.Lower, got.Upper,
					reason, want.Lower, want.Upper, cold)
			}
			if gap := 1e-6 * math.Max(1, want.Upper); want.Upper-want.Lower <= gap && !(got.Upper-got.Lower <= gap) {
				t.Fatalf("%v at δ=%v: [%v, %v] is wide", counts, delta, got.Lower, got.Upper)
			}
			at := want.Upper
			gotD, _ := cache.LogDelta(l, at, Wanted{})
			if wantD, _ := LogDelta(l, at, Wanted{}); gotD.Lower > wantD.Upper || gotD.Upper < wantD.Lower {
				t.Fatalf("%v at ε=%v: cache [%v, %v], without [%v, %v]", counts, at, gotD.Lower, gotD.Upper,
					wantD.Lower, wantD.Upper)
			}
		}
	})
}
