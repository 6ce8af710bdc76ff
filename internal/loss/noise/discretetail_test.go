// SPDX-License-Identifier: Apache-2.0

package noise

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/dpaccountant/accountant/internal/loss"
)

func drawDiscrete(t *rapid.T) (g discreteGaussian, n uint64) {
	g = discreteGaussian{
		sigma: math.Exp(rapid.Float64Range(-3, 8).Draw(t, "ln σ")),
		d:     math.Floor(math.Exp(rapid.Float64Range(0, 6).Draw(t, "ln d"))),
	}
	return g, uint64(math.Exp(rapid.Float64Range(0, 9).Draw(t, "ln n")))
}

// μ lies between bounds that are near to each other, rises with counts and distances, and falls with σ. It is never
// below √n·d/σ, and a sum of releases costs no more than the releases one by one.
func TestNormalMuOfDiscreteGaussians(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g, n := drawDiscrete(t)
		m := g.NormalMu(n)
		if !(m.Tail > 0 && m.Tail <= m.Lower && m.Lower <= m.Upper && m.Upper < math.Inf(1)) {
			t.Fatalf("%d × %+v: %+v", n, g, m)
		}
		if g.sigma >= 1 && !(m.Upper <= m.Tail*1.05) {
			t.Errorf("%d × %+v: %+v is wide", n, g, m)
		}
		for what, worse := range map[string]loss.NormalMu{
			"more releases":  g.NormalMu(n + 1 + n/100),
			"farther":        discreteGaussian{sigma: g.sigma, d: g.d + 1}.NormalMu(n),
			"less noise":     discreteGaussian{sigma: g.sigma * 0.99, d: g.d}.NormalMu(n),
			"one by one":     loss.NormalMuOfTail(g.NormalMu(1).Upper, 0, n),
			"a vector":       discreteVector{sigma: g.sigma, d: g.d, coordinates: 9}.NormalMu(n),
			"a vector again": discreteVector{sigma: g.sigma, d: g.d, coordinates: 2}.NormalMu(n),
		} {
			if worse.Upper < m.Upper*(1-1e-4) || worse.Upper < m.Lower {
				t.Errorf("%d × %+v has %+v; %s: %+v", n, g, m, what, worse)
			}
		}
	})
}

// The scores of a sum are those of its probabilities, added up directly, for as far as float64 reaches.
func TestScoresAgainstProbabilities(t *testing.T) {
	for _, test := range []struct {
		sigma float64
		n     int
	}{{1, 1}, {0.4, 3}, {0.7, 5}, {3, 2}} {
		const far = 60
		law := map[int]float64{0: 1}
		for range test.n {
			next := map[int]float64{}
			for at, p := range law {
				for x := -far; x <= far; x++ {
					next[at+x] += p * math.Exp(-float64(x*x)/(2*test.sigma*test.sigma))
				}
			}
			law = next
		}
		var all float64
		for _, p := range law {
			all += p
		}
		sum, ok := sumOf(test.sigma, test.n)
		if !ok {
			t.Fatalf("no sum of %+v", test)
		}
		z := sum.scores(12)
		for at := -11; at <= 12; at++ {
			var tail float64
			for x, p := range law {
				if x >= at {
					tail += p
				}
			}
			if tail = tail / all; tail > 0.5 {
				continue
			}
			score, err := z.at(at)
			if got := math.Erfc(score/math.Sqrt2) / 2; math.Abs(got-tail) > 1e-11*tail || !(err < 1e-11) {
				t.Errorf("%+v at %d: %v with an error of %v has the tail %v, want %v", test, at, score, err, got, tail)
			}
		}
	}
}

// Where both ways to bound μ are possible, neither contradicts the other: the sum's bounds are those of the truth.
func TestRoundedMuIsAboveTheSum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sigma := math.Exp(rapid.Float64Range(0.7, 4).Draw(t, "ln σ"))
		n := rapid.IntRange(1, 20).Draw(t, "n")
		d := float64(rapid.IntRange(1, 5).Draw(t, "d"))
		sum, ok := sumOf(sigma, n)
		if !ok {
			t.Fatal("no sum")
		}
		rounded := discreteVector{sigma: sigma, d: d, coordinates: 1}.roundedMu(float64(n))
		if exact := sum.mu(d); !(exact.Lower <= exact.Upper && exact.Lower <= rounded) {
			t.Errorf("%d of σ = %v, d = %v: %+v as a sum, %v rounded", n, sigma, d, exact, rounded)
		}
	})
}
