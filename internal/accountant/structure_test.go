// SPDX-License-Identifier: Apache-2.0

package accountant

import (
	"math"
	"math/big"
	"strings"
	"testing"

	"github.com/dpaccountant/accountant/internal/mechanism"
	"pgregory.net/rapid"
)

func composed(events ...mechanism.Event) mechanism.Composed {
	return mechanism.Composed{Events: mechanism.ListOf(events...)}
}

func answered(t testing.TB, adj mechanism.Adjacency, q Question, events ...mechanism.Event) Answer {
	t.Helper()
	a, err := Ask(compose(t, adj, events...), q)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// The events of a composed mechanism cost what they cost one by one, to the last bit,
// however they are nested and counted.
func TestComposedCostsItsEvents(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		adj, events := drawEvents(t)
		n := rapid.Uint32Range(1, 5).Draw(t, "times")
		apart := append([]mechanism.Event(nil), events...)
		for i := range apart {
			apart[i].Count *= n
		}
		inner := composed(events[1:]...)
		together := mechanism.Event{Mechanism: composed(events[0]), Count: n}
		if len(events) > 1 {
			together.Mechanism = composed(events[0], mechanism.Event{Mechanism: inner, Count: 1})
		}
		one, err := mechanism.Compose(adj, []mechanism.Event{together})
		if err != nil {
			t.Fatal(err)
		}
		many, err := mechanism.Compose(adj, apart)
		if err != nil {
			t.Fatal(err)
		}
		q, late := AtDelta(1e-6), false // the same shortcuts: the long analyses are stopped at once
		q.Interim = func(Answer) { late = true }
		q.Stop = func() bool { return late }
		a, err := Ask(one, q)
		if err != nil {
			t.Fatal(err)
		}
		late = false
		b, err := Ask(many, q)
		if err != nil || a.Epsilon != b.Epsilon || a.Analysis != b.Analysis {
			t.Fatalf("%v: ε = %v by %s, apart %v by %s (%v)", together, a.Epsilon, a.Analysis,
				b.Epsilon, b.Analysis, err)
		}
	})
}

// A run of DP-SGD is its steps: MNIST, noise multiplier 1.1, batches of 256 of 60,000,
// ten epochs of 235 steps.
func TestDPSGDCostsItsSteps(t *testing.T) {
	run := mechanism.DPSGD{NoiseMultiplier: 1.1, MaxGradNorm: 3, BatchSize: 64, Accumulation: 4,
		DatasetSize: 60000, Epochs: 10}
	step := mechanism.PoissonSampled{BatchSize: 256, DatasetSize: 60000,
		Mechanism: mechanism.Gaussian{NoiseMultiplier: 1.1}}
	for _, adj := range []mechanism.Adjacency{mechanism.AddOrRemoveOne, mechanism.ReplaceOne, mechanism.ZeroOut} {
		a := answered(t, adj, AtDelta(1e-5), mechanism.Event{Mechanism: run, Count: 2})
		b := answered(t, adj, AtDelta(1e-5), mechanism.Event{Mechanism: step, Count: 4700})
		if a.Epsilon != b.Epsilon || *a.EpsilonLower != *b.EpsilonLower {
			t.Errorf("%v: ε = %v, of its steps %v", adj, a.Epsilon, b.Epsilon)
		}
	}
}

// k uses of one sample lose more than k samples, and as much as one use of √k times the
// signal.
func TestOneSampleUsedOften(t *testing.T) {
	g := mechanism.Gaussian{NoiseMultiplier: 2}
	sampled := func(m mechanism.Mechanism) mechanism.Mechanism {
		return mechanism.PoissonSampled{SamplingProbability: 0.01, Mechanism: m}
	}
	for _, adj := range []mechanism.Adjacency{mechanism.AddOrRemoveOne, mechanism.ReplaceOne} {
		once := answered(t, adj, AtDelta(1e-6),
			mechanism.Event{Mechanism: sampled(composed(mechanism.Event{Mechanism: g, Count: 4})), Count: 100})
		loud := answered(t, adj, AtDelta(1e-6),
			mechanism.Event{Mechanism: sampled(mechanism.Gaussian{NoiseMultiplier: 1}), Count: 100})
		fresh := answered(t, adj, AtDelta(1e-6), mechanism.Event{Mechanism: sampled(g), Count: 400})
		if math.Abs(once.Epsilon-loud.Epsilon) > 1e-6*loud.Epsilon || !(*once.EpsilonLower > fresh.Epsilon) {
			t.Errorf("%v: ε = %v, of one Gaussian %v, of fresh samples %v", adj, once.Epsilon,
				loud.Epsilon, fresh.Epsilon)
		}
	}
}

// (0, δ)-DP: nothing at δ or above, everything below; its δ adds to what else is lost.
func TestNameAndShame(t *testing.T) {
	shame := mechanism.Event{Mechanism: mechanism.NameAndShame{Delta: 1e-6}, Count: 3}
	all := -math.Expm1(3 * math.Log1p(-1e-6))
	for _, c := range []struct{ delta, want float64 }{{all * (1 + 1e-12), 0},
		{all * (1 - 1e-12), math.Inf(1)}, {0.5, 0}} {
		a := answered(t, mechanism.ZeroOut, AtDelta(c.delta), shame)
		if a.Epsilon != c.want || a.EpsilonLower == nil || *a.EpsilonLower != c.want {
			t.Errorf("ε(%v) = %v ≥ %v, want %v", c.delta, a.Epsilon, a.EpsilonLower, c.want)
		}
	}
	if a := answered(t, mechanism.ZeroOut, AtEpsilon(7), shame); math.Abs(a.Delta/all-1) > 1e-13 ||
		a.Delta < all || *a.DeltaLower > all {
		t.Errorf("δ(7) in [%v, %v], want %v", *a.DeltaLower, a.Delta, all)
	}
	for _, with := range []mechanism.Mechanism{
		mechanism.Gaussian{NoiseMultiplier: 1}, mechanism.PureDP{Epsilon: 0.5}, mechanism.ZeroConcentratedDP{Rho: 0.3},
		mechanism.PoissonSampled{SamplingProbability: 0.1, Mechanism: mechanism.Gaussian{NoiseMultiplier: 1}},
	} {
		e := mechanism.Event{Mechanism: with, Count: 5}
		a := answered(t, mechanism.AddOrRemoveOne, AtDelta(1e-5), e, shame)
		b := answered(t, mechanism.AddOrRemoveOne, AtDelta((1e-5-all)/(1-all)), e)
		if math.Abs(a.Epsilon-b.Epsilon) > 1e-6*b.Epsilon {
			t.Errorf("%v and failures: ε = %v, want %v", with, a.Epsilon, b.Epsilon)
		}
	}
}

// δ-approximate ρ-zCDP is ρ-zCDP at (δ_total − δ)/(1 − δ) (Bun–Steinke 2016, Lemma
// 8.8), alone and beside a pair, and its parts add up (Lemma 8.2).
func TestApproximateZCDP(t *testing.T) {
	const rho, part = 0.1, 2e-7
	all := -math.Expm1(4 * math.Log1p(-part))
	z := mechanism.Event{Mechanism: mechanism.ZeroConcentratedDP{Rho: rho, Delta: part}, Count: 4}
	plain := mechanism.Event{Mechanism: mechanism.ZeroConcentratedDP{Rho: 4 * rho}, Count: 1}
	for _, beside := range [][]mechanism.Event{nil,
		{{Mechanism: mechanism.Laplace{Scale: 2, Sensitivity: 1}, Count: 3}}} {
		for _, delta := range []float64{1e-6, 1e-3, 0.3} {
			a := answered(t, mechanism.ReplaceOne, AtDelta(delta), append(beside, z)...)
			b := answered(t, mechanism.ReplaceOne, AtDelta((delta-all)/(1-all)), append(beside, plain)...)
			if math.Abs(a.Epsilon-b.Epsilon) > 1e-4*math.Max(1, b.Epsilon) {
				t.Errorf("ε(%v) = %v by %s, want %v by %s", delta, a.Epsilon, a.Analysis, b.Epsilon, b.Analysis)
			}
		}
	}
	if a := answered(t, mechanism.ReplaceOne, AtDelta(all*(1-1e-12)), z); !math.IsInf(a.Epsilon, 1) {
		t.Errorf("ε = %v below what fails", a.Epsilon)
	}
}

// A Gaussian's Rényi divergences at every order are no less than the Gaussian, and with
// many orders little more than its Rényi bound.
func TestRenyiTable(t *testing.T) {
	const mu = 0.8
	var orders, epsilons []float64
	for s := 0.01; s < 1000; s *= 1.02 {
		orders = append(orders, 1+s)
		epsilons = append(epsilons, (1+s)*mu*mu/2)
	}
	table := mechanism.Event{Mechanism: mechanism.RenyiDP{Orders: mechanism.NumbersOf(orders...),
		Epsilons: mechanism.NumbersOf(epsilons...)}, Count: 3}
	same := mechanism.Event{Mechanism: mechanism.ZeroConcentratedDP{Rho: mu * mu / 2}, Count: 3}
	g := mechanism.Event{Mechanism: mechanism.GaussianDP{Mu: mu}, Count: 3}
	for _, beside := range [][]mechanism.Event{nil, {{Mechanism: mechanism.PureDP{Epsilon: 0.2}, Count: 5}}} {
		for _, delta := range []float64{1e-9, 1e-3, 0.2, 0.6} {
			a := answered(t, mechanism.AddOrRemoveOne, AtDelta(delta), append(beside, table)...)
			b := answered(t, mechanism.AddOrRemoveOne, AtDelta(delta), append(beside, same)...)
			c := answered(t, mechanism.AddOrRemoveOne, AtDelta(delta), append(beside, g)...)
			if !(a.Epsilon >= *c.EpsilonLower) || math.Abs(a.Epsilon-b.Epsilon) > 1e-3*math.Max(0.1, b.Epsilon) {
				t.Errorf("ε(%v) = %v by %s, by ρ %v, Gaussian %v", delta, a.Epsilon, a.Analysis, b.Epsilon, c.Epsilon)
			}
		}
	}
}

// Shares of a composed mechanism are those of its events together, of a run those of
// its steps.
func TestComposedShares(t *testing.T) {
	const adj = mechanism.AddOrRemoveOne
	p, a := mechanism.PureDP{Epsilon: 0.1}, mechanism.ApproximateDP{Epsilon: 0.3, Delta: 1e-7}
	l := Limit{Guard: GuardBasic, Value: 3, Delta: 1e-5}
	cost, reason := l.Cost(composed(mechanism.Event{Mechanism: p, Count: 3}, mechanism.Event{Mechanism: a, Count: 2}),
		adj)
	if reason != "" || cost != (Cost{Value: Whole / 10 * 3, Delta: Whole / 50}) {
		t.Errorf("%+v %s", cost, reason)
	}
	if cost, reason := l.Cost(mechanism.NameAndShame{Delta: 1e-6}, adj); reason != "" ||
		cost != (Cost{Value: 1, Delta: Whole / 10}) {
		t.Errorf("%+v %s", cost, reason)
	}
	step := mechanism.PoissonSampled{BatchSize: 256, DatasetSize: 60000,
		Mechanism: mechanism.Gaussian{NoiseMultiplier: 1.1}}
	run := mechanism.DPSGD{NoiseMultiplier: 1.1, BatchSize: 256, DatasetSize: 60000, Steps: 1000}
	for _, l := range []Limit{{Guard: GuardRDP, Value: 2, Order: 12}, {Guard: GuardZCDP, Value: 2000},
		{Guard: GuardGDP, Value: 2000}} {
		one, _, _ := l.Shares(step, adj, nil)
		all, _, reason := l.Shares(run, adj, nil)
		off := new(big.Int).Sub(one.Mul(one, big.NewInt(1000)), all)
		if reason != "" || off.Sign() < 0 || off.Cmp(big.NewInt(1000)) > 0 {
			t.Errorf("%v: the run is %v shares less than its steps %s", l.Guard, off, reason)
		}
	}
	parts := mechanism.Parallel{Parts: mechanism.ListOf[mechanism.Mechanism](p,
		composed(mechanism.Event{Mechanism: a, Count: 2}), mechanism.PureDP{Epsilon: 0.9})}
	if cost, reason := l.Cost(parts, adj); reason != "" || cost != (Cost{Value: Whole / 10 * 3, Delta: Whole / 50}) {
		t.Errorf("%+v %s", cost, reason) // the largest ε of the one, the largest δ of another part
	}
	if _, reason := (Limit{Guard: GuardGDP, Value: 1}).Cost(parts,
		adj); !strings.Contains(reason, "a pure_dp has no μ") {
		t.Error(reason)
	}
	twice := mechanism.PoissonSampled{SamplingProbability: 0.1,
		Mechanism: composed(mechanism.Event{Mechanism: mechanism.Gaussian{NoiseMultiplier: 2}, Count: 8})}
	if cost, reason := (Limit{Guard: GuardGDP, Value: 4}).Cost(twice, adj); reason != "" || cost.Value != Whole/2 {
		t.Errorf("%+v %s", cost, reason)
	}
	table := mechanism.RenyiDP{Orders: mechanism.NumbersOf(2, 8), Epsilons: mechanism.NumbersOf(0.25, 1)}
	if cost, reason := (Limit{Guard: GuardRDP, Value: 4, Order: 8}).Cost(table, adj); reason != "" ||
		cost.Value != Whole/4 {
		t.Errorf("%+v %s", cost, reason)
	}
	for l, want := range map[Limit]string{
		{Guard: GuardRDP, Value: 4, Order: 9}: "says nothing of the order 9", {Guard: GuardZCDP, Value: 4}: "has no ρ",
		{Guard: GuardGDP, Value: 4}: "has no μ", {Guard: GuardBasic, Value: 4}: "no finite ε of a renyi_dp",
	} {
		if _, reason := l.Cost(table, adj); !strings.Contains(reason, want) {
			t.Errorf("%v: %q, want %q", l.Guard, reason, want)
		}
	}
}

// 100 epochs of 235 shuffled batches at σ = 4 under REPLACE_ONE are one Gaussian release
// of μ = √100·2/4 = 5, by the closed curve of Balle and Wang 2018, Thm 8, as math.Erfc
// has it. They are not 23,500 steps, which is ε = 3263 (docs/math/shuffling.md §1.8.5).
func TestShuffledEpochs(t *testing.T) {
	const delta = 1e-5
	normal := func(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }
	epsilonOf := func(mu float64) float64 {
		low, high := 0.0, 1000.0
		for range 100 {
			e := (low + high) / 2
			if normal(mu/2-e/mu)-math.Exp(e)*normal(-mu/2-e/mu) > delta {
				low = e
			} else {
				high = e
			}
		}
		return high
	}
	m := mechanism.Shuffled{BatchSize: 256, DatasetSize: 60_000, Mechanism: mechanism.Gaussian{NoiseMultiplier: 4}}
	for adj, square := range map[mechanism.Adjacency]float64{mechanism.ReplaceOne: 4,
		mechanism.AddOrRemoveOne: 5, mechanism.ZeroOut: 1} {
		a := ask(t, compose(t, adj, mechanism.Event{Mechanism: m, Count: 100}), AtDelta(delta))
		if want := epsilonOf(math.Sqrt(100*square) / 4); math.Abs(a.Epsilon-want) > 1e-9*want {
			t.Errorf("%v: ε = %v, want %v", adj, a.Epsilon, want)
		}
	}
	// The bound δ ≤ Φ(μ/2 − ε/μ) alone gives μ²/2 + μ·Φ⁻¹(1 − δ) = 33.8245 for μ = 5.
	if want := epsilonOf(5); want > 33.8245 || want < 33 {
		t.Errorf("ε of μ = 5 is %v", want)
	}
}

// A guard charges what an epoch costs, to the last digit that was written.
func TestShuffledShares(t *testing.T) {
	m := mechanism.Shuffled{BatchSize: 256, DatasetSize: 60_000, Mechanism: mechanism.Gaussian{NoiseMultiplier: 5}}
	for adj, rho := range map[mechanism.Adjacency]float64{mechanism.ReplaceOne: 0.08, mechanism.AddOrRemoveOne: 0.1,
		mechanism.ZeroOut: 0.02} {
		cost, reason := Limit{Guard: GuardZCDP, Value: 10 * rho}.Cost(m, adj)
		if reason != "" || cost.Value != Whole/10 {
			t.Errorf("%v: %d shares, %s; want %d", adj, cost.Value, reason, Whole/10)
		}
	}
}
