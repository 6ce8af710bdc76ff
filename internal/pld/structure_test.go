// SPDX-License-Identifier: Apache-2.0

package pld

import (
	"math"
	"testing"

	"github.com/dpaccountant/accountant/internal/loss/losstest"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/pld/lattice"
	"github.com/dpaccountant/accountant/internal/pld/pldtest"
)

// δ of n releases of a table, in both directions, by listing all outcomes.
func listed(m mechanism.PrivacyLossTable, n int, epsilon float64) (delta float64) {
	l, p := m.Losses.Values(), m.Masses.Values()
	for _, add := range []bool{false, true} {
		type outcome struct{ p, q float64 }
		all := []outcome{{1, 1}}
		finite := 0.0
		for i := range l {
			if q := p[i] * math.Exp(-l[i]); add {
				finite += q
			} else {
				finite += p[i]
			}
		}
		for range n {
			var next []outcome
			for _, o := range all {
				for i := range l {
					x, y := p[i], p[i]*math.Exp(-l[i])
					if add {
						x, y = y, x
					}
					next = append(next, outcome{o.p * x, o.q * y})
				}
			}
			all = next
		}
		sum := 1 - math.Pow(finite, float64(n))
		for _, o := range all {
			sum += math.Max(0, o.p-math.Exp(epsilon)*o.q)
		}
		delta = math.Max(delta, sum)
	}
	return delta
}

// Trap 11: both directions of a loss table count. The first table loses more, and all,
// where the record is added.
func TestLossTableBothDirections(t *testing.T) {
	tables := []mechanism.PrivacyLossTable{
		{Losses: mechanism.NumbersOf(-2, 0.5), Masses: mechanism.NumbersOf(0.05, 0.95)},
		{Losses: mechanism.NumbersOf(-0.5, 0.25, 1), Masses: mechanism.NumbersOf(0.3, 0.4, 0.3)},
		{Losses: mechanism.NumbersOf(-0.5, 0, 0.7), Masses: mechanism.NumbersOf(0.2, 0.4, 0.3), InfiniteMass: 0.1},
	}
	for _, m := range tables {
		for n := 1; n <= 6; n++ {
			c := pldtest.Compose(t, mechanism.ReplaceOne, mechanism.Event{Mechanism: m, Count: uint32(n)})
			for _, epsilon := range []float64{0, 0.3, 0.99, 2, 5} {
				b, reason := LogDelta(c, epsilon, Wanted{})
				want := math.Log(listed(m, n, epsilon))
				if reason != "" || b.Lower > want+1e-9 || b.Upper < want-1e-9*(1-want) && want > -30 ||
					want > -30 && b.Upper > want+2*lattice.LogGap {
					t.Errorf("%v ×%d: ln δ(%v) in %+v, want %v (%s)", m, n, epsilon, b, want, reason)
				}
			}
		}
	}
}

// A table of randomized response is randomized response, at every δ above rounding.
func TestLossTableOfResponse(t *testing.T) {
	p := 1 / (1 + math.Exp(-0.7))
	m := mechanism.PrivacyLossTable{Losses: mechanism.NumbersOf(-0.7, 0.7), Masses: mechanism.NumbersOf(1-p, p)}
	for _, n := range []uint32{1, 30, 1000} {
		for _, delta := range []float64{1e-9, 1e-3, 0.5} {
			a, _ := Epsilon(pldtest.Compose(t, mechanism.ReplaceOne, mechanism.Event{Mechanism: m, Count: n}),
				delta, Wanted{})
			b, _ := Epsilon(pldtest.Compose(t, mechanism.ReplaceOne,
				mechanism.Event{Mechanism: mechanism.PureDP{Epsilon: 0.7}, Count: n}), delta, Wanted{})
			if a.Upper < b.Lower || a.Lower > b.Upper || a.Upper > b.Upper+2*lattice.EpsilonGap*math.Max(1, b.Upper) {
				t.Errorf("×%d: ε(%v) in %+v, randomized response %+v", n, delta, a, b)
			}
		}
	}
}

// Tables of losses against the oracle's list of all outcomes.
func TestLossTablesAgainstOracle(t *testing.T) {
	var data struct{ Rows []losstest.Workload }
	losstest.Read(t, "testdata/loss_tables.json", &data)
	points := 0
	for _, w := range data.Rows {
		c := pldtest.Workload(t, w)
		for _, r := range w.Truth {
			points++
			b, reason := LogDelta(c, r.Epsilon.Value, Wanted{})
			want := r.LogDelta.Value
			if slack := 1e-14 * (1 - want); reason != "" || b.Lower > want+slack || b.Upper < want-slack ||
				b.Upper-b.Lower > lattice.LogGap {
				t.Errorf("%s: ln δ(%v) in %+v, want %v (%s)", w.Name, r.Epsilon.Value, b, want, reason)
			}
		}
	}
	if points < 10 {
		t.Errorf("%d points", points)
	}
}
