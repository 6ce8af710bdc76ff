// SPDX-License-Identifier: Apache-2.0

package pld

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/pld/lattice"
	"github.com/dpaccountant/accountant/internal/pld/pldtest"
)

// The upper ends that a default question gets where the lattice answers, against the truth. The first two
// truths are sums over the number of releases whose loss is an atom, in 28 digits
// (bench/peers/exact.py); the third is mpmath's integral over the one outcome of δ of the other.
func TestUpperEndsAreSharp(t *testing.T) {
	laplace := func(scale float64, n uint32) mechanism.Event {
		return mechanism.Event{Count: n, Mechanism: mechanism.Laplace{Scale: scale, Sensitivity: 1}}
	}
	for _, c := range []struct {
		event mechanism.Event
		delta float64
		truth float64
	}{
		{laplace(5, 10), 1e-3, 1.5779903942076452},
		{laplace(20, 40), 1e-4, 0.97774387524308418},
	} {
		// Their sum is exact (docs/math/curves.md §4.2.1), so the grid is asked alone.
		l := pldtest.Compose(t, mechanism.AddOrRemoveOne, c.event)
		b, reason := lattice.Epsilon(l, c.delta, Wanted{Closely: true})
		if reason != "" || !(b.Lower <= c.truth && c.truth <= b.Upper && b.Upper-c.truth <= 2e-9) {
			t.Errorf("%+v: ε in %v %s, the truth is %v", c.event, b, reason, c.truth)
		}
	}
	sampled := mechanism.Event{Count: 2, Mechanism: mechanism.PoissonSampled{SamplingProbability: 0.01,
		Mechanism: mechanism.Gaussian{StandardDeviation: 1, Sensitivity: 1}}}
	b, reason := LogDelta(pldtest.Compose(t, mechanism.AddOrRemoveOne, sampled), 0.01, Wanted{Closely: true})
	truth := math.Log(0.003447297350466543818689195)
	if reason != "" || !(b.Lower <= truth && truth <= b.Upper && b.Upper-truth <= 2e-6) {
		t.Errorf("ln δ in %v %s, the truth is %v", b, reason, truth)
	}
}

// Sharpening only lowers upper ends, and never below a lower end that other grids prove.
func TestSharpenedBoundsHold(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 7)) //nolint:gosec // the test's own
	for range 6 {                       // sixty of them take minutes
		var events []mechanism.Event
		for range 1 + rng.IntN(3) {
			var m mechanism.Mechanism
			size := math.Exp(rng.Float64()*5 - 1) // scale over sensitivity, from 0.37 to 55
			switch rng.IntN(4) {
			case 0:
				m = mechanism.Laplace{Scale: size, Sensitivity: 1}
			case 1:
				m = mechanism.PoissonSampled{SamplingProbability: math.Exp(-5 * rng.Float64()),
					Mechanism: mechanism.Laplace{Scale: size, Sensitivity: 1}}
			case 2:
				m = mechanism.DiscreteGaussian{StandardDeviation: 0.5 + size, Sensitivity: 1}
			default:
				m = mechanism.PureDP{Epsilon: 1 / size}
			}
			events = append(events, mechanism.Event{Count: 1 + uint32(rng.IntN(40)), Mechanism: m})
		}
		c := pldtest.Compose(t, mechanism.AddOrRemoveOne, events...)
		delta := math.Exp(-25 * rng.Float64())
		usual, none := Epsilon(c, delta, Wanted{})
		sharp, noneSharp := Epsilon(c, delta, Wanted{Closely: true})
		finer, noneFiner := Epsilon(c, delta, Wanted{Gap: 1e-7})
		if none+noneSharp+noneFiner != "" {
			t.Fatalf("%+v: %s %s %s", events, none, noneSharp, noneFiner)
		}
		if !(sharp.Upper <= usual.Upper && usual.Lower <= sharp.Lower && finer.Lower <= sharp.Upper) {
			t.Errorf("%+v: ε at %v in %v, sharpened %v, by narrower grids %v", events, delta, usual, sharp, finer)
		}
		epsilon := 0.5 * usual.Upper
		logUsual, _ := LogDelta(c, epsilon, Wanted{})
		logSharp, _ := LogDelta(c, epsilon, Wanted{Closely: true})
		logFiner, _ := LogDelta(c, epsilon, Wanted{Gap: 1e-6})
		if !(logSharp.Upper <= logUsual.Upper && logUsual.Lower <= logSharp.Lower && logFiner.Lower <= logSharp.Upper) {
			t.Errorf("%+v: ln δ at %v in %v, sharpened %v, by narrower grids %v", events, epsilon, logUsual, logSharp,
				logFiner)
		}
	}
}
