// SPDX-License-Identifier: Apache-2.0

package pld

import (
	"math"
	"testing"

	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/pld/pldtest"
)

// Two Laplace releases with ε = 1 on samples of 1 %: δ(0.01) = 0.00186518530267, by mpmath's
// integral over both outcomes.
func TestTwoSampledLaplace(t *testing.T) {
	c := pldtest.Compose(t, mechanism.AddOrRemoveOne, mechanism.Event{Count: 2, Mechanism: mechanism.PoissonSampled{
		SamplingProbability: 0.01, Mechanism: mechanism.Laplace{Scale: 1, Sensitivity: 1}}})
	b, reason := LogDelta(c, 0.01, Wanted{Closely: true})
	truth := math.Log(0.001865185302671617)
	if reason != "" || !(b.Lower <= truth && truth <= b.Upper && b.Upper-truth <= fewLogGap) {
		t.Errorf("%v %s, the truth is %v", b, reason, truth)
	}
}

// Two releases of discrete noise on samples against the sum over all pairs of outcomes: no bound from
// above is far from it, though those from below are.
func TestTwoReleasesByEnumeration(t *testing.T) {
	for _, c := range []struct {
		width, rate, epsilon float64
		gaussian             bool
	}{
		{1, 0.01, 0.1, true}, {1.734405517578125, 0.03779535940839196, 1e-3, true}, {2.5, 0.3, 0.5, true},
		{1, 0.01, 1e-3, false}, {2.5, 0.3, 0.1, false},
	} {
		var m mechanism.Mechanism = mechanism.DiscreteLaplace{Scale: c.width, Sensitivity: 1}
		density := func(x float64) float64 { return math.Exp(-math.Abs(x) / c.width) }
		if c.gaussian {
			m = mechanism.DiscreteGaussian{StandardDeviation: c.width, Sensitivity: 1}
			density = func(x float64) float64 { return math.Exp(-x * x / (2 * c.width * c.width)) }
		}
		const far = 100
		var p, q [2*far + 1]float64
		whole := 0.0
		for i := range q {
			q[i] = density(float64(i - far))
			whole += q[i]
		}
		for i := range q {
			p[i] = ((1-c.rate)*q[i] + c.rate*density(float64(i-far-1))) / whole
			q[i] /= whole
		}
		remove, add := 0.0, 0.0
		for i := range p {
			for j := range p {
				with, without := p[i]*p[j], q[i]*q[j]
				remove += math.Max(0, with-math.Exp(c.epsilon)*without)
				add += math.Max(0, without-math.Exp(c.epsilon)*with)
			}
		}
		want := math.Max(remove, add)
		b, reason := LogDelta(pldtest.Compose(t, mechanism.AddOrRemoveOne, mechanism.Event{Count: 2,
			Mechanism: mechanism.PoissonSampled{SamplingProbability: c.rate, Mechanism: m}}), c.epsilon,
			Wanted{Closely: true})
		low, high := math.Exp(b.Lower), math.Exp(b.Upper)
		if reason != "" || !(low <= want+1e-12 && want-1e-12 <= high && high-want <= 1e-4*want) {
			t.Errorf("%+v: δ in [%v, %v], %s; the sum is %v", c, low, high, reason, want)
		}
	}
}
