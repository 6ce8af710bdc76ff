// SPDX-License-Identifier: Apache-2.0

package rdp

import (
	"math"
	"testing"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/loss/losstest"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"pgregory.net/rapid"
)

// Where orders end, the search against a dumb scan of all orders up to the end and of
// every order of a table: alone and beside what has every order, inside a selection and on
// one of several parts of the data.
func TestSearchEndsWithTheTable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table := losstest.Table(t)
		var m mechanism.Mechanism = table
		switch rapid.IntRange(0, 3).Draw(t, "inside") {
		case 0:
			m = mechanism.RepeatAndSelect{Mechanism: table, Gamma: 0.5, Eta: 1}
		case 1:
			m = mechanism.Parallel{Parts: mechanism.ListOf[mechanism.Mechanism](table, losstest.Table(t))}
		}
		count := uint32(math.Exp(rapid.Float64Range(0, 20).Draw(t, "ln count")))
		events := []mechanism.Event{{Mechanism: m, Count: count}}
		if rapid.Bool().Draw(t, "more") {
			events = append(events, mechanism.Event{Mechanism: losstest.Table(t), Count: 3}, sampled(0.01, 1, 10))
		}
		c := compose(t, mechanism.AddOrRemoveOne, events...)
		var all []float64
		for _, term := range c {
			for _, s := range []float64{1e-3, 0.1, 1, 10, 100, loss.Composition{term}.Last()} {
				all = append(all, c.Knots(s)...)
			}
		}
		for i := range table.Orders.Len() {
			all = append(all, table.Orders.At(i)-1)
		}
		for i := range 120 {
			all = append(all, c.Last()*math.Exp(-0.2*float64(i)))
		}
		scan := func(at func(d loss.Direction, s float64) float64) float64 {
			worst := math.Inf(-1)
			for _, d := range []loss.Direction{loss.Remove, loss.Add} {
				best := math.Inf(1)
				for _, s := range all {
					best = math.Min(best, at(d, s))
				}
				worst = math.Max(worst, best)
			}
			return worst
		}
		logDelta := -rapid.Float64Range(0.01, 100).Draw(t, "−ln δ")
		epsilon := scan(func(d loss.Direction,
			s float64) float64 {
			return loss.EpsilonAt(s, c.Renyi(d, s, nil).Upper(), logDelta)
		})
		if got, order := Epsilon(c, math.Exp(logDelta), nil); !(got <= epsilon*(1+1e-9)+1e-12) {
			t.Fatalf("ε = %v at order %v, a scan finds %v", got, order, epsilon)
		}
		at := rapid.Float64Range(0, 2).Draw(t, "ε") * math.Min(epsilon, 1e3)
		least := scan(func(d loss.Direction,
			s float64) float64 {
			return loss.LogDeltaAt(s, c.Renyi(d, s, nil).Upper(), at)
		})
		if got, order := LogDelta(c, at, nil); !(got <= least+1e-9*(1+math.Abs(least))) {
			t.Fatalf("ln δ(%v) = %v at order %v, a scan finds %v", at, got, order, least)
		}
	})
}

// A million times fewer steps cost no more: the first guess at the best order of few small
// steps is far beyond the last order at which anything is known of them.
func TestFewStepsOfATableCostNoMore(t *testing.T) {
	m := mechanism.FixedSizeSampled{BatchSize: 16, DatasetSize: 6_000_000,
		Mechanism: mechanism.Gaussian{NoiseMultiplier: 1.1}}
	before := 0.0
	for _, n := range []uint32{1, 100, 10_000, 1_000_000} {
		e, order := Epsilon(compose(t, mechanism.ReplaceOne, mechanism.Event{Mechanism: m, Count: n}), 1e-5, nil)
		if e < before || e > 1.645 { // what order 7.9 proves of one step
			t.Errorf("%d steps: ε = %v at order %v, fewer %v", n, e, order, before)
		}
		before = e
	}
}
