package pld

import (
	"testing"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/loss/kinds"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// Discrete Gaussian vectors cost little more than Gaussian noise, and at least what every way to move their
// coordinates costs.
func TestDiscreteVectors(t *testing.T) {
	times := func(m mechanism.Mechanism, n uint64) loss.Composition {
		l, err := kinds.Of(m, mechanism.AddOrRemoveOne)
		if err != nil {
			t.Fatal(err)
		}
		return loss.Composition{{Loss: l, Count: n}}
	}
	for _, sigma := range []float64{4, 10, 50} {
		for _, n := range []uint64{1, 30} {
			vector := mechanism.DiscreteGaussian{StandardDeviation: sigma, Sensitivity: 2, Coordinates: 9}
			// Moved by (2, 0, …), by (1, 1, 1, 1, 0, …) and, mixed, each in turn.
			whole := mechanism.DiscreteGaussian{StandardDeviation: sigma, Sensitivity: 2}
			one := mechanism.DiscreteGaussian{StandardDeviation: sigma, Sensitivity: 1}
			splits := []loss.Composition{
				times(whole, n), times(one, 4*n), append(times(whole, n/2), times(one, 4*(n-n/2))...),
			}
			if n == 1 {
				splits = splits[:2]
			}
			for _, delta := range []float64{1e-3, 1e-6, 1e-10} {
				b, reason := Epsilon(times(vector, n), delta, Wanted{})
				if reason != "" {
					t.Fatal(reason)
				}
				gauss, _ := Epsilon(times(mechanism.Gaussian{NoiseMultiplier: sigma / 2}, n), delta, Wanted{})
				if !(b.Upper >= gauss.Lower && b.Upper <= gauss.Upper*(1+2.5/(sigma*sigma))+1e-9) {
					t.Errorf("σ = %v, %d times, δ = %v: ε ≤ %v, of Gaussian noise %v",
						sigma, n, delta, b.Upper, gauss.Upper)
				}
				for i, split := range splits {
					least, reason := Epsilon(split, delta, Wanted{})
					if reason != "" || !(b.Upper >= least.Lower) {
						t.Errorf("σ = %v, %d times, δ = %v, split %d: ε ≤ %v, for at least %v %s",
							sigma, n, delta, i, b.Upper, least.Lower, reason)
					}
				}
				d, reason := LogDelta(times(vector, n), b.Upper, Wanted{})
				if reason != "" || !(d.Lower <= d.Upper && d.Upper >= -24) {
					t.Errorf("σ = %v, %d times: ln δ(%v) in [%v, %v] %s", sigma, n, b.Upper, d.Lower, d.Upper, reason)
				}
			}
		}
	}
}
