// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"math"
	"testing"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"pgregory.net/rapid"
)

// dumb is K by Simpson's rule from the definition, 40,000 panels, no care.
func dumb(s float64, logP, logQ func(x float64) float64, lo, hi float64) float64 {
	const n = 40000
	h := (hi - lo) / n
	sum := 0.0
	for i := 0; i <= n; i++ {
		x := lo + float64(i)*h
		w := 2.0 + 2*float64(i%2)
		if i == 0 || i == n {
			w = 1
		}
		sum += w * math.Exp((1+s)*logP(x)-s*logQ(x))
	}
	return math.Log(sum * h / 3)
}

func logNormal(x, mean float64) float64 {
	return -(x-mean)*(x-mean)/2 - math.Log(2*math.Pi)/2
}

// The clever quadrature against the dumb one, outputs in units of the noise.
func TestSampledGaussianAgainstDumbIntegral(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := rapid.Float64Range(0.001, 0.999).Draw(t, "q")
		mu := rapid.Float64Range(0.1, 2).Draw(t, "μ")
		s := rapid.Float64Range(-3, 4).Draw(t, "s")
		replace := rapid.Bool().Draw(t, "replace")
		d := drawDirection(t)
		mix := func(x, mean float64) float64 {
			return math.Log((1-q)*math.Exp(logNormal(x, 0)) + q*math.Exp(logNormal(x, mean)))
		}
		p := func(x float64) float64 { return mix(x, mu) }
		w := func(x float64) float64 { return logNormal(x, 0) }
		if replace {
			w = func(x float64) float64 { return mix(x, -mu) }
		}
		if d == loss.Add {
			p, w = w, p
		}
		l := sampledGaussianOf(t, mu, q, replace)
		got, want := l.Cumulant(d, s, nil), dumb(s, p, w, -25, 25)
		if math.Abs(got.K-want) > got.Err+1e-10 {
			t.Fatalf("K = %v ± %v, dumb %v", got.K, got.Err, want)
		}
	})
}

// Laplace's K is compared with such an integral, too. The corners of its loss are grid points.
func TestLaplaceAgainstDumbIntegral(t *testing.T) {
	for _, e0 := range []float64{0.125, 1, 4} {
		l, err := Of(mechanism.Laplace{Scale: 1, Distance: e0}, mechanism.AddOrRemoveOne)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range []float64{-2, -0.75, -0.5000001, -0.5, -0.49, -0.2, 0.3, 2.5} {
			p := func(x float64) float64 { return -math.Abs(x-e0) - math.Ln2 }
			w := func(x float64) float64 { return -math.Abs(x) - math.Ln2 }
			got, want := l.Cumulant(loss.Remove, s, nil), dumb(s, p, w, -50, 50)
			if math.Abs(got.K-want) > got.Err+1e-7 {
				t.Errorf("e0=%v s=%v: K = %v, dumb %v", e0, s, got.K, want)
			}
		}
	}
}

// Randomized response by its table of probabilities.
func TestResponseAgainstTable(t *testing.T) {
	for _, k := range []uint64{2, 3, 10, 1000} {
		for _, noiseOf := range []float64{0.01, 0.5, 0.999} {
			l, err := Of(mechanism.RandomizedResponse{Noise: noiseOf, Buckets: k}, mechanism.ReplaceOne)
			if err != nil {
				t.Fatal(err)
			}
			n := float64(k)
			truth, other := 1-noiseOf+noiseOf/n, noiseOf/n
			for _, s := range []float64{-3, -0.6, -0.5, -0.1, 0.2, 1, 30} {
				m := math.Pow(truth, 1+s)*math.Pow(other, -s) + math.Pow(other, 1+s)*math.Pow(truth, -s) + (n-2)*other
				got := l.Cumulant(loss.Add, s, nil)
				if math.Abs(got.K-math.Log(m)) > got.Err+1e-12*(1+math.Abs(got.K)) {
					t.Errorf("k=%d ν=%v s=%v: K = %v, table %v", k, noiseOf, s, got.K, math.Log(m))
				}
			}
		}
	}
}
