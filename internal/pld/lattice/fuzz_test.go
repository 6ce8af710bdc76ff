// SPDX-License-Identifier: Apache-2.0

package lattice

import (
	"math"
	"testing"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/pld/interval"
	"github.com/dpaccountant/accountant/internal/pld/pldtest"
)

// Over the whole range of parameters: never NaN, never empty, never above what
// Rényi's conversion proves, and it ends.
func FuzzLattice(f *testing.F) {
	f.Add(0.0, -4.6, uint64(1000), -11.5, uint8(0))
	f.Add(-6.9, -27.0, uint64(1), -690.0, uint8(1))
	f.Add(13.8, -0.001, uint64(1e9), -0.001, uint8(0))
	f.Add(-3.0, -9.0, uint64(5), -300.0, uint8(2))
	f.Add(2.0, -1.0, uint64(1e9), -20.0, uint8(3))
	f.Add(-0.3, -2.0, uint64(77), -1e-9, uint8(4))
	f.Fuzz(func(t *testing.T, lnSigma, lnRate float64, count uint64, lnDelta float64, kind uint8) {
		within := func(v, lo, hi float64) bool { return v >= lo && v <= hi }
		if !within(lnSigma, -6.91, 13.82) || !within(lnRate, -27.6, -1e-6) || !within(lnDelta, -690, -1e-3) ||
			count == 0 || count > 1e9 {
			t.Skip()
		}
		sigma, rate := math.Exp(lnSigma), math.Exp(lnRate)
		adj := mechanism.AddOrRemoveOne
		var m mechanism.Mechanism
		switch kind % 5 {
		case 0:
			m = mechanism.PoissonSampled{SamplingProbability: rate,
				Mechanism: mechanism.Gaussian{NoiseMultiplier: sigma}}
		case 1:
			adj = mechanism.ReplaceOne
			m = mechanism.PoissonSampled{SamplingProbability: rate,
				Mechanism: mechanism.Gaussian{NoiseMultiplier: sigma}}
		case 2:
			m = mechanism.Laplace{Scale: sigma, Sensitivity: 1}
		case 3:
			m = mechanism.Gaussian{NoiseMultiplier: sigma}
		case 4:
			m = mechanism.ApproximateDP{Epsilon: sigma, Delta: rate * 1e-3}
		}
		c := loss.Composition{
			{Loss: pldtest.Loss(t, m, adj), Count: count},
			{Loss: pldtest.Loss(t, mechanism.PureDP{Epsilon: 0.1}, adj), Count: 3},
		}
		delta := math.Exp(lnDelta)
		e, reason := Epsilon(c, delta, interval.Wanted{Gap: 1e-3})
		if reason != "" {
			return
		}
		if !(e.Lower >= 0 && e.Lower <= e.Upper) {
			t.Fatalf("%v × %d: ε(%v) in [%v, %v]", m, count, delta, e.Lower, e.Upper)
		}
		at := math.Min(e.Upper, 1e6)
		d, _ := LogDelta(c, at, interval.Wanted{Gap: 0.1})
		if !(d.Lower <= d.Upper && d.Upper <= 0) {
			t.Fatalf("%v × %d: ln δ(%v) in [%v, %v]", m, count, at, d.Lower, d.Upper)
		}
		low, high := c.InfinityMass()
		finite := loss.Finite(delta, high)
		if !(finite > 0) || delta < low*1.001 {
			return
		}
		var renyi float64
		for _, way := range []loss.Direction{loss.Remove, loss.Add} {
			r, _ := loss.LeastEpsilon(loss.CumulantBound{
				At:   func(s float64) loss.Value { return c.Cumulant(way, s, nil) },
				Last: c.Last()}, math.Log(finite), 0, nil)
			renyi = math.Max(renyi, r)
		}
		if !(e.Lower <= renyi) {
			t.Errorf("%v × %d: ε(%v) is at least %v, but Rényi proves %v", m, count, delta, e.Lower, renyi)
		}
	})
}
