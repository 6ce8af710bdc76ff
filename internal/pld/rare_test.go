// SPDX-License-Identifier: Apache-2.0

package pld

import (
	"testing"

	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/pld/lattice"
	"github.com/dpaccountant/accountant/internal/pld/pldtest"
)

// Rare large losses decide δ here: the saddle of all losses says e^{−21} and that of small
// ones e^{−1230}. Between them is the truth, and the best Rényi order proves e^{−13.5} only.
// It is no less than δ of one step alone, which has a closed form.
func TestLatticeFindsTheSaddleOfRareLosses(t *testing.T) {
	const q, sigma = 1e-6, 1.0076832767148427
	one, all := pldtest.Losses(t, pldtest.SampledSteps(q, sigma, 1)),
		pldtest.Losses(t, pldtest.SampledSteps(q, sigma, 8886110))
	for _, epsilon := range []float64{0.155, 0.2, 0.25, 0.3, 0.3466723342314878, 0.4, 0.6, 1, 2} {
		b, reason := LogDelta(all, epsilon, Wanted{})
		single, _ := LogDelta(one, epsilon, Wanted{})
		if reason != "" || !(b.Upper < -50) || !(b.Upper >= single.Lower) {
			t.Errorf("at ε = %v ln δ is in %v, %q; that of one step is in %v", epsilon, b, reason, single)
		}
	}
}

// The add direction of a sampled approximate-DP guarantee beside a narrow Gaussian is
// far too deep to resolve at these ε (ln δ = −1650 to −2330), and beyond the rough
// outcomes that steer: its bound must not hide the remove direction's. The truth is a
// sum over the atoms of the exact Gaussian curve, in multiprecision.
func TestDirectionTooDeepDoesNotHideTheOther(t *testing.T) {
	c := pldtest.Compose(t, mechanism.AddOrRemoveOne,
		mechanism.Event{Count: 3, Mechanism: mechanism.PoissonSampled{SamplingProbability: 0.0709893,
			Mechanism: mechanism.ApproximateDP{Epsilon: 3.7252, Delta: 5.84646e-08}}},
		mechanism.Event{Count: 1, Mechanism: mechanism.Gaussian{StandardDeviation: 17.9985, Sensitivity: 1}})
	for epsilon, want := range map[float64]float64{
		3.4:     -7.9091658808695895,
		3.65123: -8.271433309871185,
		4:       -9.930712965713631,
	} {
		b, reason := LogDelta(c, epsilon, Wanted{})
		if reason != "" {
			t.Fatal(reason)
		}
		if !(b.Lower <= want && want <= b.Upper && b.Upper-b.Lower <= lattice.LogGap) {
			t.Errorf("ln δ(%v) in [%v, %v], want %v in at most %v", epsilon, b.Lower, b.Upper, want, lattice.LogGap)
		}
	}
}
