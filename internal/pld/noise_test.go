// SPDX-License-Identifier: Apache-2.0

package pld

import (
	"math"
	"testing"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/loss/kinds"
	"github.com/dpaccountant/accountant/internal/loss/losstest"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/pld/pldtest"
	"pgregory.net/rapid"
)

// Noise on whole numbers and cut-off noise against the oracle's sums: enclosed, within what
// the lattice aims at. One kind of noise on whole numbers is on one grid.
func TestNoiseAgainstOracle(t *testing.T) {
	var data struct{ Rows []losstest.Workload }
	losstest.Read(t, "testdata/noise.json", &data)
	points, narrow := 0, 0
	for _, w := range data.Rows {
		c, err := w.Composition()
		if err != nil {
			t.Fatalf("%s: %v", w.Name, err)
		}
		l, err := kinds.Compose(c)
		if err != nil {
			t.Fatal(err)
		}
		logGap, gap, relative := 0.011, 1.1e-4, 0.0
		if pair, ok := loss.PairOf(l[0].Loss, loss.Remove, loss.Dominating, nil); ok && len(l) == 1 &&
			loss.SpanOf(pair) > 2e-3 {
			logGap, gap, relative = 1e-7, 1e-7, 1e-8
			narrow++
		}
		for _, r := range w.Truth {
			points++
			if r.AskedByEpsilon {
				b, reason := LogDelta(l, r.Epsilon.Value, Wanted{})
				encloses(t, b, r.LogDelta.Value, relative, logGap, "%s: ln δ(%v) %s", w.Name, r.Epsilon.Value, reason)
				continue
			}
			b, reason := Epsilon(l, r.Delta.Value, Wanted{})
			encloses(t, b, r.Epsilon.Value, relative, gap, "%s: ε(%v) %s", w.Name, r.Delta.Value, reason)
		}
	}
	if points < 150 || narrow < 10 {
		t.Errorf("%d points, %d compositions on a grid", points, narrow)
	}
}

// Fifty discrete Gaussians σ = 3 at δ = 1e−5, to as many digits as the figure has (as in
// testdata/noise.json).
func TestFiftyDiscreteGaussians(t *testing.T) {
	c := loss.Composition{{Loss: pldtest.Loss(t, mechanism.DiscreteGaussian{StandardDeviation: 3, Sensitivity: 1},
		mechanism.AddOrRemoveOne), Count: 50}}
	b, reason := Epsilon(c, 1e-5, Wanted{})
	encloses(t, b, 12.2633797824656, 0, 2e-8, "ε(1e−5) %s", reason)
}

// With σ the discrete curve tends to the Gaussian's, as their losses are 1/σ² apart.
func TestDiscreteTendsToGaussian(t *testing.T) {
	for _, sigma := range []float64{20, 511, 513, 1e4, 1e6} {
		d := sigma / 4
		g := pldtest.Loss(t, mechanism.Gaussian{StandardDeviation: sigma, Distance: math.Round(d)},
			mechanism.AddOrRemoveOne)
		l := pldtest.Loss(t, mechanism.DiscreteGaussian{StandardDeviation: sigma, Distance: math.Round(d)},
			mechanism.AddOrRemoveOne)
		for _, delta := range []float64{1e-12, 1e-5} {
			a, _ := Epsilon(loss.Composition{{Loss: g, Count: 9}}, delta, Wanted{})
			b, reason := Epsilon(loss.Composition{{Loss: l, Count: 9}}, delta, Wanted{})
			if reason != "" || math.Abs(a.Upper-b.Upper) > 2e-4+1/(sigma*sigma) {
				t.Errorf("σ=%v δ=%v: ε in [%v, %v] %s, Gaussian %v", sigma, delta, b.Lower, b.Upper, reason, a.Upper)
			}
		}
	}
}

// Of a class nothing is proven from below but what a member has: more than the answer for
// any one of them, less than the upper end.
func TestClassesFromBelow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		epsilon := math.Exp(rapid.Float64Range(-3, 1).Draw(t, "ln ε"))
		n := rapid.Uint64Range(1, 60).Draw(t, "n")
		delta := math.Exp(-rapid.Float64Range(1, 40).Draw(t, "−ln δ"))
		one := loss.Term{Loss: pldtest.Loss(t, mechanism.Exponential{Epsilon: epsilon}, mechanism.AddOrRemoveOne),
			Count: n}
		sparse := loss.Term{Loss: pldtest.Loss(t,
			mechanism.AboveThreshold{ThresholdEpsilon: epsilon / 2, QueryEpsilon: epsilon / 2},
			mechanism.AddOrRemoveOne), Count: 3}
		b, reason := Epsilon(loss.Composition{one, sparse}, delta, Wanted{})
		member := loss.Term{Loss: pldtest.Loss(t, mechanism.RandomizedResponse{Epsilon: epsilon / 2},
			mechanism.ReplaceOne), Count: n}
		least, _ := Epsilon(loss.Composition{member}, delta, Wanted{})
		if reason != "" || !(b.Lower <= least.Upper && b.Lower >= least.Lower-1e-9 && least.Lower <= b.Upper) {
			t.Fatalf("[%v, %v] %s, a member has [%v, %v]", b.Lower, b.Upper, reason, least.Lower, least.Upper)
		}
		if b, _ := Epsilon(loss.Composition{sparse}, delta, Wanted{}); b.Lower != 0 {
			t.Fatalf("three sparse vector runs have at least %v", b.Lower)
		}
		k := new(Cache)
		if c, reason := k.Epsilon(loss.Composition{one, sparse}, delta, Wanted{}); reason != "" ||
			c != b && c.Lower > least.Upper {
			t.Fatalf("the cache says [%v, %v] %s", c.Lower, c.Upper, reason)
		}
	})
}
