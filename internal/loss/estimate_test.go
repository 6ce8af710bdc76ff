package loss

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// Estimates are near the exact values wherever those are known, whatever the
// parameters.
func TestEstimatesAreNear(t *testing.T) {
	logRange := func(t *rapid.T, name string, lo, hi float64) float64 {
		return math.Exp(rapid.Float64Range(math.Log(lo), math.Log(hi)).Draw(t, name))
	}
	rapid.Check(t, func(t *rapid.T) {
		g := sampledGaussian{
			mu: logRange(t, "μ", 1e-7, 1e3), rate: logRange(t, "q", 1e-12, 0.999), replace: rapid.Bool().Draw(t, "replace"),
		}
		d := rapid.SampledFrom([]Direction{Remove, Add}).Draw(t, "direction")
		s := rapid.OneOf(rapid.Float64Range(-0.999, 0), rapid.Map(rapid.Float64Range(-18, 16), math.Exp)).Draw(t, "s")
		want := g.Cumulant(d, s)
		p := g.pair(d, false)
		for name, e := range map[string]struct {
			Estimate
			digits float64
		}{"of": {EstimateOf(g, d), 0.1}, "rough": {p.rough, 0.02}} {
			k, slope, curvature := e.Estimate(s)
			if math.IsNaN(k+slope) || !(curvature >= 0) {
				t.Fatalf("%+v %v K(%v) %s: %v %v %v", g, d, s, name, k, slope, curvature)
			}
			if !(want.Err <= 1e-6*math.Abs(want.K)) || want.K == 0 {
				continue // not known better
			}
			spread := math.Sqrt(math.Max(0, want.Curvature)) // of the tilted loss
			if math.Abs(k-want.K) > e.digits*math.Abs(want.K) || math.Abs(slope-want.Slope) > e.digits*math.Abs(want.Slope)+0.05*spread {
				t.Fatalf("%+v %v K(%v) %s: %v, K' %v; want %+v", g, d, s, name, k, slope, want)
			}
			// Where the tilted loss hardly varies, the difference that K″ is has no digits.
			if math.Abs(curvature-want.Curvature) > 0.2*want.Curvature+1e-4*slope*slope {
				t.Fatalf("%+v %v K″(%v) %s: %v, want %+v", g, d, s, name, curvature, want)
			}
		}
	})
}
