// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"math"
	"math/cmplx"
	"testing"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"pgregory.net/rapid"
)

func never() bool { return false }

// Along's rotations agree with Line within both errors, and their own error is
// not much larger.
func TestAlongAgreesWithLine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sigma := math.Exp(rapid.Float64Range(math.Log(0.3), math.Log(1e3)).Draw(t, "ln σ"))
		q := math.Exp(rapid.Float64Range(math.Log(1e-12), math.Log(0.99)).Draw(t, "ln q"))
		adj := rapid.SampledFrom([]mechanism.Adjacency{mechanism.AddOrRemoveOne, mechanism.ReplaceOne}).Draw(t,
			"adjacency")
		d := rapid.SampledFrom([]loss.Direction{loss.Remove, loss.Add}).Draw(t, "direction")
		theta := rapid.SampledFrom([]float64{-0.9, -0.3, 0.01, 0.7, 3, 20, 300}).Draw(t, "θ")
		var m mechanism.Mechanism = mechanism.PoissonSampled{SamplingProbability: q,
			Mechanism: mechanism.Gaussian{NoiseMultiplier: sigma}}
		switch rapid.IntRange(0, 8).Draw(t, "kind") {
		case 0:
			m = mechanism.Laplace{Scale: sigma, Sensitivity: 1}
		case 1:
			m = mechanism.PureDP{Epsilon: 1 / sigma}
		}
		l, err := Of(m, adj)
		if err != nil {
			t.Fatal(err)
		}
		top := math.Exp(rapid.Float64Range(math.Log(0.001), math.Log(30)).Draw(t, "ln t"))
		const n = 40
		step := float64(float32(top / n))
		line, base := l.Line(d, theta, nil), l.Cumulant(d, theta, nil)
		for k, v := range loss.Tilt(l, d, theta, nil).Along(step, n, never) {
			want := line(float64(k) * step)
			if math.IsInf(v.Err, 1) && real(want.K)-base.K > -12 && !math.IsInf(want.Err, 1) {
				t.Fatalf("%v at %d: %+v, line %+v", l, k, v, want)
			}
			if math.IsInf(v.Err, 1) || k == 0 {
				continue
			}
			off := v.K - (want.K - complex(base.K, 0))
			// Logarithms may be of different branches.
			turns := math.Round(imag(off) / (2 * math.Pi))
			off -= complex(0, 2*math.Pi*turns)
			slack := v.Err + want.Err + base.Err + 1e-14*math.Abs(turns)
			if cmplx.Abs(off) > slack {
				t.Fatalf("%v %v θ=%v t=%v: %+v, line %+v", l, d, theta, float64(k)*step, v, want)
			}
			// An error e of a logarithm is one of |φ|·e/(1+e) of φ itself, which both compute: where φ is
			// hardly larger than its error, the logarithm's is large by that alone.
			ofPhi := func(e float64) float64 { return math.Exp(real(v.K)) * e / (1 + e) }
			if ofPhi(v.Err) > 1000*ofPhi(want.Err+base.Err)+1e-11*cmplx.Abs(cmplx.Exp(v.K)-1) {
				t.Fatalf("%v %v θ=%v t=%v: error %v, line's %v, K %v", l, d, theta,
					float64(k)*step, v.Err, want.Err, v.K)
			}
			if v.Upper < real(v.K)-v.Err {
				t.Fatalf("upper %v below %v", v.Upper, v.K)
			}
		}
	})
}
