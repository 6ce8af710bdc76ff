// SPDX-License-Identifier: Apache-2.0

package quadrature_test

import (
	"math"
	"testing"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/loss/kinds"
	"github.com/dpaccountant/accountant/internal/loss/quadrature"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/num"
	"pgregory.net/rapid"
)

// Estimates are near the exact values wherever those are known, whatever the
// parameters.
func TestEstimatesAreNear(t *testing.T) {
	logRange := func(t *rapid.T, name string, lo, hi float64) float64 {
		return math.Exp(rapid.Float64Range(math.Log(lo), math.Log(hi)).Draw(t, name))
	}
	rapid.Check(t, func(t *rapid.T) {
		mu, q := logRange(t, "μ", 1e-7, 1e3), logRange(t, "q", 1e-12, 0.999)
		replace := rapid.Bool().Draw(t, "replace")
		adj := mechanism.AddOrRemoveOne
		if replace {
			adj = mechanism.ReplaceOne
		}
		g, err := kinds.Of(mechanism.PoissonSampled{SamplingProbability: q, Mechanism: mechanism.GaussianDP{Mu: mu}},
			adj)
		if err != nil {
			t.Fatal(err)
		}
		d := rapid.SampledFrom([]loss.Direction{loss.Remove, loss.Add}).Draw(t, "direction")
		s := rapid.OneOf(rapid.Float64Range(-0.999, 0), rapid.Map(rapid.Float64Range(-18, 16), math.Exp)).Draw(t, "s")
		want := g.Cumulant(d, s, nil)
		p := quadrature.Pair{Mu: mu, Rate: q, LogRate: num.Log(q), Odds: (1 - q) / q, Kind: quadrature.RemovePair}
		switch {
		case replace:
			p.Kind = quadrature.ReplacePair
		case d == loss.Add:
			p.Kind = quadrature.AddPair
		}
		for name, e := range map[string]struct {
			loss.Estimate
			digits float64
		}{"of": {loss.EstimateOf(g, d, nil), 0.1}, "rough": {p.Rough, 0.02}} {
			k, slope, curvature := e.Estimate(s)
			if math.IsNaN(k+slope) || !(curvature >= 0) {
				t.Fatalf("%+v %v K(%v) %s: %v %v %v", g, d, s, name, k, slope, curvature)
			}
			if !(want.Err <= 1e-6*math.Abs(want.K)) || want.K == 0 {
				continue // not known better
			}
			spread := math.Sqrt(math.Max(0, want.Curvature)) // of the tilted loss
			if math.Abs(k-want.K) > e.digits*math.Abs(want.K) ||
				math.Abs(slope-want.Slope) > e.digits*math.Abs(want.Slope)+0.05*spread {
				t.Fatalf("%+v %v K(%v) %s: %v, K' %v; want %+v", g, d, s, name, k, slope, want)
			}
			// Where the tilted loss hardly varies, the difference that K″ is has no digits.
			if math.Abs(curvature-want.Curvature) > 0.2*want.Curvature+1e-4*slope*slope {
				t.Fatalf("%+v %v K″(%v) %s: %v, want %+v", g, d, s, name, curvature, want)
			}
		}
	})
}
