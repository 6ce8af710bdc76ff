// SPDX-License-Identifier: Apache-2.0

package pld

import (
	"math"
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
				if !(b.Upper <= gauss.Upper*(1+2.5/(sigma*sigma))+1e-9) { // it may be less: masses are atoms
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

// Whoever chooses at every release which coordinates move, knowing the loss so far, does no better than the bound.
func TestDiscreteVectorsAgainstEveryChoice(t *testing.T) {
	for _, sigma := range []float64{1.85, 2, 3} {
		for _, n := range []uint64{1, 2, 3} {
			l, err := kinds.Of(mechanism.DiscreteGaussian{StandardDeviation: sigma, Sensitivity: 2, Coordinates: 4},
				mechanism.AddOrRemoveOne)
			if err != nil {
				t.Fatal(err)
			}
			for _, epsilon := range []float64{0, 1, 3, 6} {
				b, reason := LogDelta(loss.Composition{{Loss: l, Count: n}}, epsilon, Wanted{})
				if worst := math.Log(worstOfChoices(sigma, int(n), epsilon)); reason != "" || !(b.Upper >= worst-1e-9) {
					t.Errorf("σ = %v, %d times: ln δ(%v) ≤ %v, and choices reach %v %s",
						sigma, n, epsilon, b.Upper, worst, reason)
				}
			}
		}
	}
}

// worstOfChoices is δ(ε) of n releases of which each moves coordinates by one of the ways of the ℓ2 norm 2 or
// less, whichever is worst after the losses before. Losses are whole multiples of 1/2σ².
func worstOfChoices(sigma float64, n int, epsilon float64) float64 {
	unit := 1 / (2 * sigma * sigma)
	noise, total := make(map[int]float64), 0.0
	for z := -30; z <= 30; z++ {
		noise[z] = math.Exp(-float64(z*z) * unit)
		total += noise[z]
	}
	var ways []map[int]float64 // the laws of the loss under P: Σ 2·s_i·z_i + s_i²
	for _, moves := range [][]int{{1}, {1, 1}, {1, 1, 1}, {1, 1, 1, 1}, {2}} {
		law := map[int]float64{0: 1}
		for _, s := range moves {
			next := make(map[int]float64)
			for x, p := range law {
				for z, q := range noise {
					next[x+2*s*z+s*s] += p * q / total
				}
			}
			law = next
		}
		ways = append(ways, law)
	}
	known := make([]map[int]float64, n+1)
	var worst func(left, lost int) float64
	worst = func(left, lost int) float64 {
		if left == 0 {
			return max(0, -math.Expm1(epsilon-float64(lost)*unit))
		}
		if known[left] == nil {
			known[left] = make(map[int]float64)
		}
		most, ok := known[left][lost]
		if ok {
			return most
		}
		for _, law := range ways {
			var sum float64
			for x, p := range law {
				sum += p * worst(left-1, lost+x)
			}
			most = max(most, sum)
		}
		known[left][lost] = most
		return most
	}
	return worst(n, 0)
}
