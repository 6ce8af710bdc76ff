// SPDX-License-Identifier: Apache-2.0

package pld

import (
	"math"
	"testing"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/loss/losstest"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/pld/pldtest"
	"github.com/dpaccountant/accountant/internal/testaid"
)

// bestRow is the best of several runs, with what some order of the outputs reaches, and what the scores reach that
// prefer the smallest losses and then the largest.
type bestRow struct {
	losstest.Workload
	Truth []struct{ Epsilon, Low, Scores float64 }
}

// oracleGrid is by how much the oracle may miss what scores reach of several steps, whose losses it gathers to a grid.
const oracleGrid = 0.12

// No order of the outputs and no set of good ones costs more than is said, and what is said to be spent at least is
// what some scores reach, or nearly so (docs/math/best-of.md §1.6.9).
func TestBestOfAgainstOrders(t *testing.T) {
	t.Parallel()
	testaid.Long(t, "it composes many runs")
	var data struct{ Rows []bestRow }
	losstest.Read(t, "testdata/best.json", &data)
	if len(data.Rows) < 200 {
		t.Fatalf("%d rows", len(data.Rows))
	}
	for i := 0; i < len(data.Rows); i += testaid.Every(20) {
		row := data.Rows[i]
		c := pldtest.Workload(t, row.Workload)
		for _, u := range row.Truth {
			b, reason := LogDelta(c, u.Epsilon, Wanted{})
			if reason != "" || !(b.Upper >= math.Log(u.Low)) || b.Lower > b.Upper {
				t.Errorf("%s: δ(%v) in [%v, %v] %s, some order has %v", row.Name, u.Epsilon,
					math.Exp(b.Lower), math.Exp(b.Upper), reason, u.Low)
			}
			slack := 5e-3
			if c[0].Loss.(loss.Chosen).Runs()[0].Count > 1 {
				slack = oracleGrid
			}
			if low := math.Exp(b.Lower); !(low <= u.Scores*(1+slack) && low >= u.Scores*0.6) {
				t.Errorf("%s: δ(%v) ≥ %v, some scores reach %v", row.Name, u.Epsilon, low, u.Scores)
			}
		}
	}
}

// So far in the tail that nothing is attained by the scores' curve, what dominates is still the answer.
func TestBestOfFarInTheTail(t *testing.T) {
	run := mechanism.RepeatAndSelect{Mean: 10, Mechanism: mechanism.Gaussian{NoiseMultiplier: 1.1}}
	c := pldtest.Losses(t, mechanism.Event{Mechanism: run, Count: 1})
	near, _ := Epsilon(c, 1e-100, Wanted{})
	for _, delta := range []float64{1e-200, 1e-300, math.SmallestNonzeroFloat64} {
		e, reason := Epsilon(c, delta, Wanted{})
		if reason == "" && !(e.Lower <= e.Upper && e.Upper >= near.Lower) {
			t.Errorf("δ = %v: %+v, and %+v at 1e-100", delta, e, near)
		}
	}
}

// What is said to be attained of sampled runs is never above what dominates, however small δ is.
func TestBestOfSampledFarInTheTail(t *testing.T) {
	run := mechanism.RepeatAndSelect{Mean: 10, Mechanism: mechanism.DPSGD{NoiseMultiplier: 1.1, MaxGradNorm: 1,
		BatchSize: 256, DatasetSize: 60000, Epochs: 0.36}}
	c := pldtest.Losses(t, mechanism.Event{Mechanism: run, Count: 1})
	for _, delta := range []float64{1e-40, 1e-130} {
		if e, reason := Epsilon(c, delta, Wanted{}); reason != "" || !(e.Upper/2 < e.Lower && e.Lower <= e.Upper) {
			t.Errorf("δ = %v: %+v %s", delta, e, reason)
		}
	}
}

// What is attained is below what dominates, with other releases and when it is done twice, and close to it.
func TestBestOfFromBelow(t *testing.T) {
	run := mechanism.RepeatAndSelect{Mean: 10, Mechanism: mechanism.Gaussian{NoiseMultiplier: 4}}
	first := mechanism.RepeatAndSelect{Gamma: 0.1, FirstAboveThreshold: true,
		Mechanism: mechanism.Laplace{Scale: 5, Sensitivity: 1}}
	other := mechanism.Event{Mechanism: mechanism.Gaussian{NoiseMultiplier: 2}, Count: 1}
	for _, events := range [][]mechanism.Event{
		{{Mechanism: run, Count: 1}}, {{Mechanism: run, Count: 2}}, {{Mechanism: run, Count: 1}, other},
		{{Mechanism: first, Count: 1}}, {{Mechanism: first, Count: 3}, other},
	} {
		c := pldtest.Losses(t, events...)
		e, reason := Epsilon(c, 1e-6, Wanted{})
		if reason != "" || !(e.Lower <= e.Upper && e.Lower > 0.75*e.Upper) {
			t.Errorf("%v: %+v %s", events, e, reason)
		}
		d, reason := LogDelta(c, e.Lower, Wanted{})
		if reason != "" || !(d.Lower <= d.Upper && d.Lower > math.Log(1e-7)) {
			t.Errorf("%v: ln δ(%v) in %+v %s", events, e.Lower, d, reason)
		}
	}
}

// The corners that are made of points on a curve are below it, also where there are few of them.
func TestUnderACurve(t *testing.T) {
	for _, step := range []float64{0.05, 0.5, 2} {
		for _, mu := range []float64{0.1, 1, 3} {
			var points profile
			delta := func(e float64) float64 {
				b, _ := loss.GaussianLogDelta(mu, e)
				return b.Upper
			}
			for e := 0.0; e < 8*mu; e += step * mu {
				points = append(points, point{e, delta(e)})
			}
			o, ok := outcomesOf([2]profile{under(points, points, points), under(points, points, points)}, nil)
			if p, q := o.parts(); !ok || len(p) < 5 {
				t.Errorf("μ = %v, step %v: %v", mu, step, o)
			} else {
				for e := 0.0; e < 8*mu; e += step * mu / 7 {
					if low := hockey(p, q, e); !(low <= math.Exp(delta(e))) {
						t.Errorf("μ = %v, step %v: δ(%v) = %v, the curve has %v", mu, step, e, low, math.Exp(delta(e)))
					}
				}
				if low, of := hockey(p, q, mu), math.Exp(delta(mu)); step < 1 && !(low > 0.8*of) {
					t.Errorf("μ = %v, step %v: δ(μ) = %v of %v", mu, step, low, of)
				}
			}
		}
	}
}
