// SPDX-License-Identifier: Apache-2.0

package participation

import (
	"math"
	"math/big"
	"testing"

	"github.com/dpaccountant/accountant/internal/mechanism"
	"pgregory.net/rapid"
)

func generated(p, q []float64, exponent float64, run mechanism.Participation) mechanism.GeneralMatrix {
	return mechanism.GeneralMatrix{Coefficients: mechanism.NumbersOf(p...), Denominator: mechanism.NumbersOf(q...),
		Exponent: exponent, Participation: run}
}

// Sensitivities that have closed forms.
func TestKnownMatrices(t *testing.T) {
	once := func(n uint64) mechanism.Participation { return mechanism.Participation{Steps: n} }
	all := func(n uint64) mechanism.Participation { return mechanism.Participation{Steps: n, Participations: n} }
	harmonic := func(n int) (sum float64) { // Σ (binomial(2u, u)/4^u)²: the square root of prefix sums
		c := 1.0
		for u := range n {
			sum += c * c
			c *= (float64(u) + 0.5) / float64(u+1)
		}
		return sum
	}
	cube := func(n float64) float64 { return n * (n + 1) * (2*n + 1) / 6 } // 1² + … + n²
	for _, c := range []struct {
		name string
		m    mechanism.GeneralMatrix
		want float64
	}{
		{"the identity, once", generated([]float64{1}, nil, 0, once(100_000)), 1},
		{"the identity, every step", generated([]float64{1}, nil, 0, all(100_000)), 100_000},
		{"prefix sums, once", generated([]float64{1}, []float64{1, -1}, 0, once(100_000)), 100_000},
		{"prefix sums, every step", generated([]float64{1}, []float64{1, -1}, 0, all(100_000)), cube(100_000)},
		{"sums of prefix sums", generated([]float64{1}, []float64{1, -2, 1}, 0, once(1000)), cube(1000)},
		{"their square root", generated([]float64{1}, []float64{1, -1}, 0.5, once(100_000)), harmonic(100_000)},
		{"a geometric series", generated([]float64{3}, []float64{1, -0.5}, 0, once(100_000)), 12},
		{"a factor of 4", generated([]float64{2}, []float64{4}, 0, once(10)), 0.25},
		{"the identity as a quotient", generated([]float64{1, -1, .25}, []float64{1, -1, .25}, 0, all(500)), 500},
	} {
		b := Matrix(c.m, Of(c.m.Participation), nil)
		if !b.Exact || b.Squares < c.want*(1-1e-14) || b.Squares > c.want*(1+1e-9) {
			t.Errorf("%s: %v, want %v", c.name, b, c.want)
		}
	}
}

// What grows without end has no finite sensitivity, and nothing below the truth.
func TestWhatGrowsIsNotGuessed(t *testing.T) {
	for _, q := range [][]float64{{1, -2}, {1e-9, 1}, {1, -1.9, 0.9, 3}} {
		m := generated([]float64{1}, q, 0, mechanism.Participation{Steps: 100_000})
		if b := Matrix(m, Of(m.Participation), nil); !math.IsInf(b.Squares, 1) || b.Exact {
			t.Errorf("%v: %v", q, b)
		}
	}
	m := generated([]float64{1}, []float64{1, -2}, 0, mechanism.Participation{Steps: 60})
	if b, want := Matrix(m, Of(m.Participation), nil), (math.Pow(4, 60)-1)/3; b.Squares < want ||
		b.Squares > want*(1+1e-9) {
		t.Errorf("2^u for 60 steps: %v, want %v", b, want)
	}
}

// The coefficients are those of exact rational arithmetic, within the error that is said.
func TestSeriesAgainstRationals(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.Custom(func(t *rapid.T) float64 {
			return float64(rapid.IntRange(-64, 64).Draw(t, "64ths")) / 64
		})
		p := append([]float64{1}, rapid.SliceOfN(number, 0, 5).Draw(t, "p")...)
		q := append([]float64{1}, rapid.SliceOfN(number, 1, 3).Draw(t, "q")...)
		n := rapid.IntRange(1, 40).Draw(t, "steps")
		c, off := series(generated(p, q, 0, mechanism.Participation{Steps: uint64(n)}), nil)
		var want []*big.Rat
		var wrong float64
		for u := range n {
			sum := new(big.Rat)
			if u < len(p) {
				sum.SetFloat64(p[u])
			}
			for j := 1; j < len(q) && j <= u; j++ {
				sum.Sub(sum, new(big.Rat).Mul(new(big.Rat).SetFloat64(q[j]), want[u-j]))
			}
			want = append(want, sum)
			d, _ := new(big.Rat).Sub(sum, new(big.Rat).SetFloat64(c[u])).Float64()
			wrong += d * d
		}
		if math.Sqrt(wrong) > off {
			t.Fatalf("off by %v, said to be %v", math.Sqrt(wrong), off)
		}
	})
}

// A matrix given by its entries is the same as by its coefficients, in fixed epochs too.
func TestEntriesAgainstCoefficients(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := coefficients(t)
		n := rapid.IntRange(1, 16).Draw(t, "steps")
		var entries []float64
		for i := range n {
			for j := range i + 1 {
				v := 0.0
				if i-j < len(c) {
					v = c[i-j]
				}
				entries = append(entries, v)
			}
		}
		run := mechanism.Participation{Steps: uint64(n),
			Participations:    rapid.Uint64Range(1, uint64(n)).Draw(t, "most"),
			MinimumSeparation: rapid.Uint64Range(1, 5).Draw(t, "separation")}
		p := Of(run)
		if rapid.Bool().Draw(t, "periodic") {
			p = EveryPeriod(run.Steps, run.MinimumSeparation)
		}
		toeplitz := Matrix(generated(c, nil, 0, run), p, nil)
		dense := Matrix(mechanism.GeneralMatrix{Entries: mechanism.NumbersOf(entries...), Participation: run}, p, nil)
		if d := toeplitz.Squares / dense.Squares; d < 1-1e-11 || isNonnegative(c) && d > 1+1e-11 {
			t.Fatalf("%v by coefficients, %v by entries", toeplitz, dense)
		}
	})
}

func BenchmarkSeries(b *testing.B) {
	once := mechanism.Participation{Steps: 100_000}
	often := mechanism.Participation{Steps: 100_000, Participations: 50_000}
	one, sums := []float64{1}, []float64{1, -1}
	for name, m := range map[string]mechanism.GeneralMatrix{
		"prefix sums":    generated(one, sums, 0, once),
		"square root":    generated(one, sums, .5, once),
		"10 buffers":     generated(one, []float64{1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1}, 0, once),
		"prefix, 50,000": generated(one, sums, 0, often),
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				matrix(m, Of(m.Participation), nil)
			}
		})
	}
}
