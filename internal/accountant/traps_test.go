// SPDX-License-Identifier: Apache-2.0

package accountant

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/dpaccountant/accountant/internal/mechanism"
)

func ask(t testing.TB, c mechanism.Composition, q Question) Answer {
	t.Helper()
	a, err := Ask(c, q)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func result(t testing.TB, a Answer, name Analysis) Result {
	t.Helper()
	for _, r := range a.Analyses {
		if r.Analysis == name {
			return r
		}
	}
	t.Fatalf("no %s in %+v", name, a)
	return Result{}
}

// The traps of docs/math/traps.md §6 that are this room's, by their numbers there.

// 1: every repetition counts.
func TestTrapRepetitionsCount(t *testing.T) {
	c := compose(t, mechanism.ReplaceOne,
		mechanism.Event{Mechanism: mechanism.RandomizedResponse{Noise: 0.5, Buckets: 2}, Count: 100})
	a := ask(t, c, AtDelta(1e-6))
	if a.Analysis != PLD || math.Abs(a.Epsilon-94.29) > 5e-3 {
		t.Errorf("ε = %v by %s, want 94.29 by pld", a.Epsilon, a.Analysis)
	}
	// docs/math/cumulant.md §1.1.3: the k-ary pair has its own atom at 0.
	c = compose(t, mechanism.ReplaceOne,
		mechanism.Event{Mechanism: mechanism.RandomizedResponse{Noise: 0.5, Buckets: 10}, Count: 20})
	if a := ask(t, c, AtDelta(1e-5)); math.Abs(a.Epsilon-45.5146) > 5e-5 {
		t.Errorf("k = 10: ε = %v, want 45.5146", a.Epsilon)
	}
}

// 2: tiny δ has an answer, finite and growing.
func TestTrapTinyDelta(t *testing.T) {
	for _, m := range []mechanism.Mechanism{mechanism.Gaussian{NoiseMultiplier: 5}, sampledGaussian(0.01, 1),
		mechanism.Laplace{Scale: 9, Sensitivity: 1}, mechanism.PureDP{Epsilon: 0.1}} {
		c := compose(t, mechanism.AddOrRemoveOne, mechanism.Event{Mechanism: m, Count: 40})
		last := 0.0
		for _, delta := range []float64{1e-12, 1e-14, 1e-15, 1e-16, 1e-30, 1e-100, 1e-300,
			math.SmallestNonzeroFloat64} {
			a := ask(t, c, AtDelta(delta))
			if !(a.Epsilon >= last) || math.IsInf(a.Epsilon, 0) {
				t.Errorf("%v: ε(%v) = %v after %v", m, delta, a.Epsilon, last)
			}
			last = a.Epsilon
		}
	}
}

// 3: an ε whose exponential overflows is not δ = 0.
func TestTrapLargeEpsilon(t *testing.T) {
	c := compose(t, mechanism.AddOrRemoveOne,
		mechanism.Event{Mechanism: mechanism.Gaussian{StandardDeviation: 0.01, Sensitivity: 1}, Count: 1})
	a := ask(t, c, AtEpsilon(800))
	if a.Delta < 0.999999 || a.DeltaLower == nil || *a.DeltaLower < 0.999999 {
		t.Errorf("δ(800) = %v, want almost 1", a.Delta)
	}
	for _, m := range []mechanism.Mechanism{sampledGaussian(0.5, 0.01), mechanism.PureDP{Epsilon: 5000},
		mechanism.Laplace{Scale: 1e-4, Sensitivity: 1}} {
		c := compose(t, mechanism.AddOrRemoveOne, mechanism.Event{Mechanism: m, Count: 1})
		if a := ask(t, c, AtEpsilon(800)); a.Delta < 0.49 { // q·δ_Gauss ≈ 0.5; the others almost 1
			t.Errorf("%v: δ(800) = %v", m, a.Delta)
		}
	}
}

// 5: the central limit theorem is no bound. It says 1.6177 here, below what is proven
// to be the least (mechanism.GaussianDP with its μ, Bu–Dong–Long–Su 2020, Cor. 5.4).
func TestTrapNoCentralLimit(t *testing.T) {
	const q, n = 0.01, 1000
	a := ask(t, compose(t, mechanism.AddOrRemoveOne, mechanism.Event{Mechanism: sampledGaussian(q, 1), Count: n}),
		AtDelta(1e-5))
	limit := mechanism.GaussianDP{Mu: math.Sqrt(n * q * q * math.Expm1(1))}
	clt := ask(t, compose(t, mechanism.AddOrRemoveOne, mechanism.Event{Mechanism: limit, Count: 1}), AtDelta(1e-5))
	if a.EpsilonLower == nil || !(*a.EpsilonLower > clt.Epsilon+0.1) || !(a.Epsilon >= *a.EpsilonLower) {
		t.Errorf("%+v, the central limit theorem says %v", a, clt.Epsilon)
	}
}

// 6: zero steps cost nothing, and say so.
func TestTrapZeroSteps(t *testing.T) {
	c := compose(t, mechanism.AddOrRemoveOne)
	a := ask(t, c, AtDelta(1e-5))
	if a.Epsilon != 0 || a.EpsilonLower == nil || *a.EpsilonLower != 0 || a.Analysis != GDP || a.Delta != 1e-5 {
		t.Errorf("%+v", a)
	}
	b := ask(t, c, AtEpsilon(0))
	if b.Delta != 0 || !math.IsInf(b.LogDelta, -1) || b.DeltaLower == nil || *b.DeltaLower != 0 {
		t.Errorf("%+v", b)
	}
	for _, r := range append(a.Analyses, b.Analyses...) {
		if r.Unsupported != "" || r.Epsilon != 0 || r.Delta != 0 {
			t.Errorf("%+v", r)
		}
	}
}

// 7: counts beyond 32 bits, and sums of many terms.
func TestTrapLargeCounts(t *testing.T) {
	m := mechanism.Gaussian{NoiseMultiplier: 1e6}
	events := make([]mechanism.Event, 4)
	for i := range events {
		events[i] = mechanism.Event{Mechanism: m, Count: math.MaxUint32}
	}
	n := 4 * float64(math.MaxUint32)
	got := ask(t, compose(t, mechanism.AddOrRemoveOne, events...), AtDelta(1e-5))
	one := mechanism.Gaussian{StandardDeviation: 1e6 / math.Sqrt(n), Sensitivity: 1}
	want := ask(t, compose(t, mechanism.AddOrRemoveOne, mechanism.Event{Mechanism: one, Count: 1}), AtDelta(1e-5))
	if math.Abs(got.Epsilon/want.Epsilon-1) > 1e-13 {
		t.Errorf("ε = %v, want %v", got.Epsilon, want.Epsilon)
	}
}

// 9: the larger of both directions. At δ = 0.4 one step of q = ½, σ = ½ costs
// more when the record is added than when it is removed.
func TestTrapBothDirections(t *testing.T) {
	// Remove and add by their formulas on the Gaussian curve, for small ε.
	c := compose(t, mechanism.AddOrRemoveOne, mechanism.Event{Mechanism: sampledGaussian(0.5, 0.5), Count: 1})
	phi := func(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }
	g := func(u float64) float64 { return phi(1-u/2) - math.Exp(u)*phi(-1-u/2) } // μ = 2
	for _, epsilon := range []float64{0, 0.05, 0.2, 0.5, 1, 3} {
		remove := 0.5 * g(math.Log(1+(math.Exp(epsilon)-1)/0.5))
		add := 0.0
		if w := 0.5 - 1 + math.Exp(-epsilon); w > 0 {
			add = math.Exp(epsilon) * w * g(math.Log(0.5/w))
		}
		a := ask(t, c, AtEpsilon(epsilon))
		if want := math.Max(remove, add); math.Abs(a.Delta-want) > 1e-13 {
			t.Errorf("δ(%v) = %v, want %v (remove %v, add %v)", epsilon, a.Delta, want, remove, add)
		}
	}
}

// 10: atoms far below the last place of 1 add up.
func TestTrapTinyAtoms(t *testing.T) {
	c := compose(t, mechanism.AddOrRemoveOne,
		mechanism.Event{Mechanism: mechanism.ApproximateDP{Epsilon: 1e-12, Delta: 1e-18}, Count: 1e9})
	a := ask(t, c, AtEpsilon(50))
	if math.Abs(a.Delta/1e-9-1) > 1e-9 || a.Delta < 1e-9*(1-1e-9) {
		t.Errorf("δ = %v, want 1e−9", a.Delta)
	}
	if a := ask(t, c, AtDelta(0.9e-9)); !math.IsInf(a.Epsilon, 1) || a.EpsilonLower == nil ||
		!math.IsInf(*a.EpsilonLower, 1) {
		t.Errorf("ε below δ_∞ = %v", a.Epsilon)
	}
}

// Factors of two (docs/math/README.md §0.1): σ = Δ, δ = 1e−5, once.
func TestAdjacencyFactors(t *testing.T) {
	for adj, want := range map[mechanism.Adjacency]float64{
		mechanism.AddOrRemoveOne: 4.377178, mechanism.ZeroOut: 4.377178, mechanism.ReplaceOne: 9.997256,
	} {
		for _, m := range []mechanism.Mechanism{mechanism.Gaussian{StandardDeviation: 3, Sensitivity: 3},
			sampledGaussian(1, 1)} {
			a := ask(t, compose(t, adj, mechanism.Event{Mechanism: m, Count: 1}), AtDelta(1e-5))
			if math.Abs(a.Epsilon-want) > 5e-7 {
				t.Errorf("%v %v: ε = %v, want %v", m, adj, a.Epsilon, want)
			}
		}
	}
	// A distance is used as it is.
	d := mechanism.Gaussian{StandardDeviation: 3, Distance: 3}
	a := ask(t, compose(t, mechanism.ReplaceOne, mechanism.Event{Mechanism: d, Count: 1}), AtDelta(1e-5))
	if math.Abs(a.Epsilon-4.377178) > 5e-7 {
		t.Errorf("distance: ε = %v", a.Epsilon)
	}
}

// A mixture is refused by what has no answer for it, with the reason.
func TestReasons(t *testing.T) {
	c := compose(t, mechanism.AddOrRemoveOne,
		mechanism.Event{Mechanism: mechanism.Gaussian{NoiseMultiplier: 5}, Count: 1},
		mechanism.Event{Mechanism: mechanism.ZeroConcentratedDP{Rho: 0.01}, Count: 2},
		mechanism.Event{Mechanism: mechanism.PureDP{Epsilon: 1}, Count: 3})
	a := ask(t, c, AtDelta(1e-5))
	for name, word := range map[Analysis]string{GDP: "guarantee", Basic: "Gaussian"} {
		if r := result(t, a, name); !strings.Contains(r.Unsupported, word) || r.Epsilon != 0 {
			t.Errorf("%+v: want a reason with %q and no numbers", r, word)
		}
	}
	if a.Analysis != PLD || a.EpsilonLower == nil || !(a.Epsilon <= result(t, a, RDP).Epsilon) {
		t.Errorf("%+v", a)
	}
	alone := compose(t, mechanism.AddOrRemoveOne,
		mechanism.Event{Mechanism: mechanism.ZeroConcentratedDP{Rho: 0.01}, Count: 2})
	if r := result(t, ask(t, alone, AtDelta(1e-5)), PLD); !strings.Contains(r.Unsupported, "Rényi") || r.Epsilon != 0 {
		t.Errorf("%+v", r)
	}
	var order []Analysis
	for _, r := range a.Analyses {
		order = append(order, r.Analysis)
	}
	if len(order) != 5 || order[0] != GDP || order[1] != PLD || order[2] != RDP ||
		order[3] != ZCDP || order[4] != Basic {
		t.Errorf("listed as %v", order)
	}
}

func TestQuestionCheck(t *testing.T) {
	c := compose(t, mechanism.AddOrRemoveOne)
	both := AtDelta(0.5)
	both.Epsilon = AtEpsilon(1).Epsilon
	for name, q := range map[string]Question{
		"nothing": {}, "both": both, "δ 1": AtDelta(1), "δ < 0": AtDelta(-1e-9),
		"δ NaN": AtDelta(math.NaN()),
		"δ Inf": AtDelta(math.Inf(1)), "ε < 0": AtEpsilon(-1e-300), "ε NaN": AtEpsilon(math.NaN()),
		"ε Inf": AtEpsilon(math.Inf(1)),
	} {
		_, err := Ask(c, q)
		var bad *mechanism.ParameterError
		if !errors.As(err, &bad) || bad.Field == "" || bad.Value == "" || bad.Allowed == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A stop that has come already still leaves a sound answer.
func TestStop(t *testing.T) {
	c := compose(t, mechanism.AddOrRemoveOne, mechanism.Event{Mechanism: sampledGaussian(0.01, 1), Count: 1000})
	best := ask(t, c, AtDelta(1e-5)).Epsilon
	q := AtDelta(1e-5)
	q.Stop = func() bool { return true }
	if a := ask(t, c, q); a.Epsilon < best || math.IsInf(a.Epsilon, 1) {
		t.Errorf("ε = %v, at leisure %v", a.Epsilon, best)
	}
}

// ε = −0 is asked as 0, and shown so.
func TestNegativeZero(t *testing.T) {
	c := compose(t, mechanism.AddOrRemoveOne,
		mechanism.Event{Mechanism: mechanism.Gaussian{NoiseMultiplier: 5}, Count: 1})
	if a := ask(t, c, AtEpsilon(math.Copysign(0, -1))); math.Signbit(a.Epsilon) || !(a.Delta > 0) {
		t.Errorf("%+v", a)
	}
}
