// SPDX-License-Identifier: Apache-2.0

package pld

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/loss/kinds"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/pld/pldtest"
)

// Whoever chooses after each answer which coordinates move reaches the bound, and nobody more.
func TestVectorsAgainstOracle(t *testing.T) {
	attacked(t, "testdata/vectors.json", 10, 1e-9, 1e-9, func(r reached) {
		if !(r.lower >= r.some*(1-1e-7)) {
			t.Errorf("%s ≥ %v, reached %v", r.about, r.lower, r.some)
		}
	})
}

// On a Poisson sample, too, nobody who chooses after each answer what moves, in either direction, reaches more than
// the sampled pair, or than what is nearly sampled Gaussian noise. The usual grid is coarse for two releases of
// which most lose 0.01 or less; the pair of one is as wide as chords between two ways are.
func TestSampledVectorsAgainstOracle(t *testing.T) {
	nearlyKnown, want := 0, 5
	if testing.Short() { // with fewer rows
		want = 2
	}
	attacked(t, "testdata/sampled_vectors.json", 8, 1e-9, 0.3, func(r reached) {
		if r.composed[0].Count == 1 && !(r.upper <= r.some*1.02) {
			t.Errorf("%s ≤ %v of the pair, reached %v", r.about, r.upper, r.some)
		}
		if !(r.lower <= r.some*(1+1e-9) && r.lower >= 0.5*r.some) {
			t.Errorf("%s ≥ %v, reached %v", r.about, r.lower, r.some)
		}
		b, none := nearlyLogDelta(r.composed, r.epsilon, Wanted{}, loss.Bounds{}, "nothing else is known")
		if none == "" {
			nearlyKnown++
			if !(math.Exp(b.Upper) >= r.some*(1-1e-9)) {
				t.Errorf("%s ≤ %v by sampled Gaussian noise, reached %v", r.about, math.Exp(b.Upper), r.some)
			}
		}
	})
	if nearlyKnown < want {
		t.Errorf("%d rows are nearly sampled Gaussian noise", nearlyKnown)
	}
}

// vectorOf is n releases of discrete Gaussian noise on four coordinates at the distance 2.
func vectorOf(t interface{ Fatal(...any) }, sigma float64, n uint64) loss.Composition {
	l, err := kinds.Of(mechanism.DiscreteGaussian{StandardDeviation: sigma, Distance: 2, Coordinates: 4},
		mechanism.AddOrRemoveOne)
	if err != nil {
		t.Fatal(err)
	}
	return loss.Composition{{Loss: l, Count: n}}
}

// The pair that stands in where other mechanisms were released, too, is above every choice at every ε, also between
// the losses; and with few releases it is not far above.
func TestVectorPairDominates(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sigma := math.Exp(rapid.Float64Range(-1, 1).Draw(t, "ln σ"))
		n := rapid.IntRange(1, 3).Draw(t, "n")
		epsilon := float64(n) * 4 / (sigma * sigma) * rapid.Float64Range(0, 1).Draw(t, "ε")
		c := vectorOf(t, sigma, uint64(n))
		pair, reason := logDeltaNarrowed(c, epsilon, true, Wanted{})
		worst := math.Log(worstOfChoices(sigma, n, epsilon))
		if reason != "" || !(pair.Upper >= worst-1e-9) {
			t.Fatalf("ln δ(%v) ≤ %v of the pair, choices reach %v %s", epsilon, pair.Upper, worst, reason)
		}
		if n == 1 && pair.Upper > worst+1 {
			t.Fatalf("ln δ(%v) ≤ %v of the pair, choices reach %v", epsilon, pair.Upper, worst)
		}
		b, reason := LogDelta(c, epsilon, Wanted{})
		if reason != "" || !(math.Abs(b.Lower-worst) <= 1e-8*(1-worst) && math.Abs(b.Upper-worst) <= 1e-8*(1-worst)) {
			t.Fatalf("ln δ(%v) in [%v, %v], choices reach %v %s", epsilon, b.Lower, b.Upper, worst, reason)
		}
	})
}

// Beside other releases a vector has a bound from above and from below.
func TestVectorsBesideOthers(t *testing.T) {
	g, err := kinds.Of(mechanism.Gaussian{NoiseMultiplier: 1}, mechanism.AddOrRemoveOne)
	if err != nil {
		t.Fatal(err)
	}
	for _, sigma := range []float64{0.5, 1, 1.6} {
		c := append(vectorOf(t, sigma, 2), loss.Term{Loss: g, Count: 1})
		alone, _ := Epsilon(vectorOf(t, sigma, 2), 1e-6, Wanted{})
		b, reason := Epsilon(c, 1e-6, Wanted{})
		zcdp, _ := loss.LeastEpsilon(loss.ConcentratedBound(4/(sigma*sigma)+0.5), math.Log(1e-6), 0, nil)
		if reason != "" || !(b.Lower > 0 && b.Upper >= b.Lower && b.Upper >= alone.Lower && b.Upper <= zcdp) {
			t.Errorf("σ = %v: ε in [%v, %v] %s, alone %v, by zCDP %v", sigma, b.Lower, b.Upper, reason, alone, zcdp)
		}
	}
}

// A vector whose ways to move are not listed costs at least what one coordinate does, alone and beside others, there
// also with so little noise that only zCDP bounds it.
func TestUnlistedVectorsFromBelow(t *testing.T) {
	for _, sigma := range []float64{0.8, 5} {
		vector := mechanism.DiscreteGaussian{StandardDeviation: sigma, Distance: 20.5, Coordinates: 1000}
		one := mechanism.DiscreteGaussian{StandardDeviation: sigma, Distance: 20}
		beside := mechanism.Event{Mechanism: mechanism.Gaussian{NoiseMultiplier: 1}, Count: 1}
		for _, others := range [][]mechanism.Event{nil, {beside}} {
			if sigma < 1 && others == nil {
				continue // its sum is converted by rdp
			}
			of := func(m mechanism.Mechanism) loss.Composition {
				return pldtest.Losses(t, append([]mechanism.Event{{Mechanism: m, Count: 1}}, others...)...)
			}
			e, reason := Epsilon(of(vector), 1e-6, Wanted{})
			least, _ := Epsilon(of(one), 1e-6, Wanted{})
			if reason != "" || !(e.Lower > 0.9*least.Lower && e.Lower <= least.Upper && least.Lower <= e.Upper) {
				t.Errorf("σ = %v: ε in %+v %s, of one coordinate %+v", sigma, e, reason, least)
			}
			d, reason := LogDelta(of(vector), e.Lower, Wanted{})
			if reason != "" || !(d.Lower > math.Log(1e-7) && d.Lower <= d.Upper) {
				t.Errorf("σ = %v: ln δ(%v) in %+v %s", sigma, e.Lower, d, reason)
			}
		}
	}
}
