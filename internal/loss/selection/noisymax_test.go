// SPDX-License-Identifier: Apache-2.0

package selection

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// wins is the probability that each candidate has the largest score plus noise of scale 1. Of
// exponential noise it is a_i·∫_0^1 Π_{j≠i} (1 − z·a_j) dz with a_j = e^{u_j − max u}, a
// polynomial. Of Laplace noise it is summed over a fine grid of the winner's noise.
func wins(scores []float64, noise mechanism.MaxNoise) []float64 {
	p := make([]float64, len(scores))
	if noise == mechanism.LaplaceMax {
		below := func(x float64) float64 {
			if x < 0 {
				return math.Exp(x) / 2
			}
			return 1 - math.Exp(-x)/2
		}
		const reach, step = 45.0, 1.0 / 256
		for i, u := range scores {
			for k := -reach / step; k < reach/step; k++ {
				z := (k + 0.5) * step
				one := math.Exp(-math.Abs(z)) / 2 * step
				for j, v := range scores {
					if j != i {
						one *= below(u + z - v)
					}
				}
				p[i] += one
			}
		}
		return p
	}
	top := math.Inf(-1)
	for _, u := range scores {
		top = math.Max(top, u)
	}
	for i, u := range scores {
		coefficients := []float64{1}
		for j, v := range scores {
			if j == i {
				continue
			}
			next := append(append([]float64{}, coefficients...), 0)
			for k, c := range coefficients {
				next[k+1] -= c * math.Exp(v-top)
			}
			coefficients = next
		}
		for k, c := range coefficients {
			p[i] += c / float64(k+1)
		}
		p[i] *= math.Exp(u - top)
	}
	return p
}

// No pair of scores passes the curve, whatever the candidates, and two candidates with
// exponential noise whose difference is the best one meet it (docs/math/noise.md §1.4.7.1).
func TestNoisyMaximumByEnumeration(t *testing.T) {
	delta := func(p, q []float64, epsilon float64) (sum float64) {
		for i := range p {
			sum += math.Max(0, p[i]-math.Exp(epsilon)*q[i])
		}
		return sum
	}
	rapid.Check(t, func(t *rapid.T) {
		noise := rapid.SampledFrom([]mechanism.MaxNoise{mechanism.LaplaceMax, mechanism.ExponentialMax}).
			Draw(t, "noise")
		e0 := math.Exp(rapid.Float64Range(-3, 2).Draw(t, "ln e0"))
		epsilon := e0 * rapid.Float64Range(0, 1).Draw(t, "ε")
		n := rapid.IntRange(2, 7).Draw(t, "n")
		u, v := make([]float64, n), make([]float64, n)
		for i := range u {
			u[i] = 3 * e0 * rapid.Float64Range(-1, 1).Draw(t, "score")
			v[i] = u[i] - e0*rapid.OneOf(rapid.Just(0.0), rapid.Just(1.0), rapid.Float64Range(0, 1)).Draw(t, "moved")
		}
		l := newNoisyMax(e0, noise)
		curve, _ := loss.CurveOf(l, nil)
		b, _ := curve.LogDelta(epsilon)
		got := math.Exp(b.Upper)
		p, q := wins(u, noise), wins(v, noise)
		slack := 1e-9
		if noise == mechanism.LaplaceMax {
			slack = 1e-5 // of the sum in wins
		}
		if some := math.Max(delta(p, q, epsilon), delta(q, p, epsilon)); some > got+slack {
			t.Fatalf("%v and %v: δ(%v) = %v, the bound is %v", u, v, epsilon, some, got)
		}
		// The best half line of the Laplace pair is where its loss is ε.
		gap := (e0 - epsilon) / 2
		some := delta(wins([]float64{gap, 0}, mechanism.ExponentialMax),
			wins([]float64{gap - e0, 0}, mechanism.ExponentialMax), epsilon)
		if noise == mechanism.ExponentialMax && math.Abs(some-got) > 1e-9 {
			t.Fatalf("two candidates have δ(%v) = %v, the bound is %v", epsilon, some, got)
		}
		// What is attained from below: the same two candidates, half of e0 apart.
		p = wins([]float64{e0 / 2, 0}, noise)
		member := l.(noisyMax).Attained().Facts().Epsilon
		if want := math.Log(p[0] / p[1]); math.Abs(member-want) > 2e-4*want+1e-9 || member > want*(1+2e-4) {
			t.Fatalf("two candidates are randomized response with %v, want %v", member, want)
		}
	})
}
