// SPDX-License-Identifier: Apache-2.0

package pld

import (
	"math"
	"testing"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/loss/kinds"
	"github.com/dpaccountant/accountant/internal/loss/losstest"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/pld/lattice"
	"github.com/dpaccountant/accountant/internal/pld/pldtest"
)

// renyi is what Rényi differential privacy proves of a composition.
func renyi(c loss.Composition, delta float64) float64 {
	epsilon := 0.0
	for _, d := range []loss.Direction{loss.Remove, loss.Add} {
		_, atom := c.InfinityMassOf(d)
		e, _ := loss.LeastEpsilon(loss.CumulantBound{At: func(s float64) loss.Value { return c.Cumulant(d, s, nil) },
			Last: c.Last()}, math.Log(loss.Finite(delta, atom)), 0, nil)
		epsilon = math.Max(epsilon, e)
	}
	return epsilon
}

// A guarantee in the composition costs at least what any mechanism with it does, at
// most what the Rényi analysis proves, and from below nothing.
func TestDeclaredBetweenTruthAndRenyi(t *testing.T) {
	sampled := func(m mechanism.Mechanism) mechanism.Mechanism {
		return mechanism.PoissonSampled{SamplingProbability: 0.05, Mechanism: m}
	}
	for _, rest := range []mechanism.Event{
		{Mechanism: mechanism.Gaussian{NoiseMultiplier: 0.7}, Count: 1},
		{Mechanism: mechanism.Laplace{Scale: 2, Sensitivity: 1}, Count: 3},
		{Mechanism: mechanism.ApproximateDP{Epsilon: 0.3, Delta: 1e-14}, Count: 2},
		{Mechanism: sampled(mechanism.Gaussian{NoiseMultiplier: 1}), Count: 100},
		{Mechanism: sampled(mechanism.Laplace{Scale: 1, Sensitivity: 1}), Count: 100},
	} {
		for _, c := range []struct {
			epsilon, delta float64
			n              uint32
		}{{0.02, 1e-5, 1}, {0.3, 1e-12, 20}, {2, 1e-3, 3}} {
			// Tight for pure DP (docs/math/conversions.md §4.5.4).
			rho := c.epsilon * math.Tanh(c.epsilon/2) * (1 + 1e-12)
			of := func(m mechanism.Mechanism) loss.Composition {
				return pldtest.Compose(t, mechanism.AddOrRemoveOne, rest, mechanism.Event{Mechanism: m, Count: c.n})
			}
			declared := of(mechanism.ZeroConcentratedDP{Rho: rho})
			got, reason := Epsilon(declared, c.delta, Wanted{})
			if reason != "" {
				t.Fatal(reason)
			}
			if most := renyi(declared, c.delta); got.Upper > most+2e-4*math.Max(1, most) {
				t.Errorf("ρ=%v ×%d and %v: ε(%v) ≤ %v, Rényi %v", rho, c.n, rest, c.delta, got.Upper, most)
			}
			alone, _ := Epsilon(pldtest.Compose(t, mechanism.AddOrRemoveOne, rest), c.delta, Wanted{})
			if got.Lower > alone.Upper || got.Lower < alone.Lower-1e-12 {
				t.Errorf("lower bound %v, the rest alone %+v", got.Lower, alone)
			}
			for _, m := range []mechanism.Mechanism{mechanism.GaussianDP{Mu: math.Sqrt(2 * rho)},
				mechanism.PureDP{Epsilon: c.epsilon}} {
				if one, reason := Epsilon(of(m), c.delta, Wanted{}); reason != "" || one.Lower > got.Upper {
					t.Errorf("%v ×%d and %v: ε(%v) ≥ %v, as ρ-zCDP ≤ %v (%s)", m, c.n, rest, c.delta,
						one.Lower, got.Upper, reason)
				}
			}
			log, reason := LogDelta(declared, got.Upper, Wanted{})
			if reason != "" || log.Upper > math.Log(c.delta)+0.05 || log.Lower > math.Log(c.delta) {
				t.Errorf("ln δ(%v) in %+v, want about %v (%s)", got.Upper, log, math.Log(c.delta), reason)
			}
		}
	}
}

// Any number of guarantees is one of the sum.
func TestDeclaredAddUp(t *testing.T) {
	g := mechanism.Event{Mechanism: mechanism.Gaussian{NoiseMultiplier: 3}, Count: 2}
	z := func(rho float64, n uint32) mechanism.Event {
		return mechanism.Event{Mechanism: mechanism.ZeroConcentratedDP{Rho: rho}, Count: n}
	}
	a, _ := Epsilon(pldtest.Compose(t, mechanism.AddOrRemoveOne, g, z(0.125, 4), z(0.5, 1)), 1e-6, Wanted{})
	b, _ := Epsilon(pldtest.Compose(t, mechanism.AddOrRemoveOne, g, z(1, 1)), 1e-6, Wanted{})
	if a != b || !(a.Upper < math.Inf(1)) {
		t.Errorf("%+v, %+v", a, b)
	}
}

func TestDeclaredRefusals(t *testing.T) {
	z := func(rho float64) mechanism.Event {
		return mechanism.Event{Mechanism: mechanism.ZeroConcentratedDP{Rho: rho}, Count: 1}
	}
	g := mechanism.Event{Mechanism: mechanism.Gaussian{NoiseMultiplier: 3}, Count: 2}
	for _, c := range []loss.Composition{pldtest.Compose(t, mechanism.ReplaceOne, z(1)),
		pldtest.Compose(t, mechanism.ReplaceOne, z(1e4), g)} {
		if _, reason := Epsilon(c, 1e-6, Wanted{}); reason == "" {
			t.Errorf("%v: no reason", c)
		}
		if _, reason := LogDelta(c, 1, Wanted{}); reason == "" {
			t.Errorf("%v: no reason", c)
		}
	}
}

// The curve of the sum, composed with the rest, against the oracle.
func TestDeclaredAgainstOracle(t *testing.T) {
	var data, tables struct{ Rows []losstest.Workload }
	losstest.Read(t, "testdata/declared.json", &data)
	losstest.Read(t, "testdata/renyi_tables.json", &tables)
	if len(data.Rows) < 5 || len(tables.Rows) < 3 {
		t.Fatalf("%d and %d rows", len(data.Rows), len(tables.Rows))
	}
	data.Rows = append(data.Rows, tables.Rows...)
	for _, w := range data.Rows {
		m, err := w.Composition()
		if err != nil {
			t.Fatal(err)
		}
		c, err := kinds.Compose(m)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range w.Truth {
			b, reason := LogDelta(c, r.Epsilon.Value, Wanted{})
			if want := r.LogDelta.Value; reason != "" || b.Upper < want-2e-9*(1-want) || b.Upper > want+lattice.LogGap {
				t.Errorf("%s: ln δ(%v) ≤ %v, the curve's is %v (%s)", w.Name, r.Epsilon.Value, b.Upper, want, reason)
			}
		}
	}
}
