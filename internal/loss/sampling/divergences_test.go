// SPDX-License-Identifier: Apache-2.0

package sampling_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/loss/kinds"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/num"
)

func sampledOf(t interface{ Fatal(...any) }, q float64, m mechanism.Mechanism) loss.Loss {
	l, err := kinds.Of(mechanism.PoissonSampled{SamplingProbability: q, Mechanism: m}, mechanism.AddOrRemoveOne)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// divergence is K(s) of two distributions with a few outcomes, as a sum over them.
func divergence(p, q []float64, s float64) float64 {
	var sum num.LogSum
	for i := range p {
		sum.Add((1+s)*math.Log(p[i]) - s*math.Log(q[i]))
	}
	return sum.Log()
}

// Any two distributions, with their divergences declared at whole orders: the sampled one's divergences,
// added up outcome by outcome in both directions and at any order, are below the bound.
func TestSampledDivergences(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 4).Draw(t, "outcomes")
		draw := func(name string, width float64) []float64 {
			out, sum := make([]float64, n), 0.0
			for i := range out {
				out[i] = math.Exp(rapid.Float64Range(-width, 0).Draw(t, name))
				sum += out[i]
			}
			for i := range out {
				out[i] /= sum
			}
			return out
		}
		width := rapid.SampledFrom([]float64{0.1, 1, 6}).Draw(t, "width")
		with, without := draw("ln p", width), draw("ln q", width)
		rate := rapid.SampledFrom([]float64{1e-3, 0.05, 0.4, 0.95}).Draw(t, "q")
		var orders, epsilons []float64
		for s := 1.0; s <= 60; s++ {
			k := math.Max(divergence(with, without, s), divergence(without, with, s))
			orders, epsilons = append(orders, 1+s), append(epsilons, k/s*(1+1e-9)+1e-12)
		}
		l := sampledOf(t, rate,
			mechanism.RenyiDP{Orders: mechanism.NumbersOf(orders...), Epsilons: mechanism.NumbersOf(epsilons...)})
		mixed := make([]float64, n)
		for i := range mixed {
			mixed[i] = (1-rate)*without[i] + rate*with[i]
		}
		s := math.Exp(rapid.Float64Range(-3, math.Log(50)).Draw(t, "ln s"))
		for d, exact := range map[loss.Direction]float64{
			loss.Remove: divergence(mixed, without, s), loss.Add: divergence(without, mixed, s),
		} {
			if bound := l.Cumulant(d, s, nil).Upper(); !(exact <= bound+1e-10*(1+s)) {
				t.Fatalf("%v and %v, q = %v, direction %v: K(%v) = %v, the bound is %v", with, without, rate, d, s,
					exact, bound)
			}
		}
	})
}

// ρ-zCDP on a sample: Gaussian noise with ρ = μ²/2 is such a mechanism, which has the bound at whole
// orders, but for a relative 2q of the add direction.
func TestSampledConcentrated(t *testing.T) {
	for _, sigma := range []float64{0.7, 2, 10} {
		for _, q := range []float64{1e-3, 0.01, 0.2, 0.9} {
			g := sampledOf(t, q, mechanism.Gaussian{NoiseMultiplier: sigma})
			z := sampledOf(t, q, mechanism.ZeroConcentratedDP{Rho: 1 / (2 * sigma * sigma)})
			v := sampledOf(t, q,
				mechanism.DiscreteGaussian{StandardDeviation: sigma, Sensitivity: 1, Coordinates: 9})
			for _, s := range []float64{0.3, 1, 2, 7, 7.5, 32, 100} {
				exact := math.Max(g.Cumulant(loss.Remove, s, nil).K, g.Cumulant(loss.Add, s, nil).K)
				bound := z.Cumulant(loss.Remove, s, nil).Upper()
				if !(exact <= bound*(1+1e-12)) {
					t.Errorf("σ = %v, q = %v: K(%v) = %v of Gaussian noise, of zCDP %v", sigma, q, s, exact, bound)
				}
				if s == 1 && sigma >= 2 && q <= 0.01 && !(bound <= exact*(1+2*q)) {
					t.Errorf("σ = %v, q = %v: K(1) = %v of Gaussian noise, of zCDP %v", sigma, q, exact, bound)
				}
				if got := loss.Renyi(v, loss.Remove, s, nil).Upper(); !(got >= exact*(1-1e-9)) || got > bound*(1+1e-9) {
					t.Errorf("σ = %v, q = %v: K(%v) = %v of a discrete vector, of zCDP %v", sigma, q, s, got, bound)
				}
			}
		}
	}
}
