// SPDX-License-Identifier: Apache-2.0

package pld

import (
	"math"
	"testing"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/pld/pldtest"
)

// A test a theorem that this room rests on, as its paper states it.

// isDelta fails unless the curve's interval at ε holds want and is narrow.
func isDelta(t *testing.T, c loss.Composition, epsilon, want float64) {
	t.Helper()
	b, reason := LogDelta(c, epsilon, Wanted{})
	lower, upper := math.Exp(b.Lower), math.Exp(b.Upper)
	if reason != "" || lower > want*(1+1e-9)+1e-15 || upper < want*(1-1e-9)-1e-15 || upper > want*(1+1e-8)+1e-15 {
		t.Errorf("δ(%v) in [%v, %v], want %v; %s", epsilon, lower, upper, want, reason)
	}
}

// Balle–Barthe–Gaboardi 2018 (arXiv 1807.01647v2), Thm 3: of Laplace noise δ(ε) = [1 −
// e^{(ε − Δ/b)/2}]₊.
func TestBalleBartheGaboardi2018Theorem3(t *testing.T) {
	for _, e0 := range []float64{0.1, 1, 5} {
		for _, share := range []float64{0, 0.5, 0.99, 1, 2} {
			isDelta(t, pldtest.Losses(t,
				mechanism.Event{Mechanism: mechanism.Laplace{Scale: 1, Sensitivity: e0}, Count: 1}), share*e0,
				math.Max(0, 1-math.Exp((share-1)*e0/2)))
		}
	}
}

// Kairouz–Oh–Viswanath 2015 (arXiv 1311.0776), Thm 3.3: k mechanisms that are (ε, δ)-DP are
// ((k−2i)ε, 1 − (1−δ)^k(1−δ_i))-DP, and no less.
func TestKairouzOhViswanath2015Theorem33(t *testing.T) {
	const delta = 1e-4
	for _, e := range []float64{0.1, 1} {
		for _, k := range []int{1, 2, 7, 20} {
			choose := func(n, l int) float64 {
				c := 1.0
				for i := range l {
					c = c * float64(n-i) / float64(i+1)
				}
				return c
			}
			for i := 0; i <= k/2; i++ {
				var sum float64
				for l := range i {
					sum += choose(k, l) * (math.Exp(float64(k-l)*e) - math.Exp(float64(k-2*i+l)*e))
				}
				want := 1 - math.Pow(1-delta, float64(k))*(1-sum/math.Pow(1+math.Exp(e), float64(k)))
				isDelta(t, pldtest.Losses(t,
					mechanism.Event{Mechanism: mechanism.ApproximateDP{Epsilon: e, Delta: delta}, Count: uint32(k)}),
					float64(k-2*i)*e, want)
			}
		}
	}
}

// Zhu–Dong–Wang 2022 (arXiv 2106.08567), Thm 11: the pairs of Poisson sampling. Of one
// step of Gaussian noise, with x* where the loss is ε, δ_remove(ε) = (1−q)(N(0) > x*) +
// q(N(1) > x*) − e^ε(N(0) > x*) in units of Δ, and it is the larger one.
func TestZhuDongWang2022Theorem11(t *testing.T) {
	above := func(mean, sigma, x float64) float64 { return math.Erfc((x-mean)/sigma/math.Sqrt2) / 2 }
	for _, q := range []float64{0.01, 0.3} {
		for _, sigma := range []float64{0.7, 2} {
			for _, epsilon := range []float64{0.1, 0.5} {
				x := sigma*sigma*math.Log((math.Exp(epsilon)-1+q)/q) + 0.5
				want := (1-q)*above(0, sigma, x) + q*above(1, sigma, x) - math.Exp(epsilon)*above(0, sigma, x)
				isDelta(t, pldtest.Losses(t,
					mechanism.Event{Mechanism: mechanism.PoissonSampled{SamplingProbability: q,
						Mechanism: mechanism.Gaussian{NoiseMultiplier: sigma}}, Count: 1}), epsilon, want)
			}
		}
	}
}
