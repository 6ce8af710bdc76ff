// SPDX-License-Identifier: Apache-2.0

package theorem

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/loss/losstest"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"pgregory.net/rapid"
)

func compose(t interface{ Fatal(...any) }, adj mechanism.Adjacency, events ...mechanism.Event) mechanism.Composition {
	c, err := mechanism.Compose(adj, events)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func times(m mechanism.Mechanism, n uint32) mechanism.Event {
	return mechanism.Event{Mechanism: m, Count: n}
}

// by asks one theorem; the only result.
func by(t interface{ Fatal(...any) }, name string, c mechanism.Composition, q accountant.Question) accountant.Result {
	asked := Question{Question: q}
	if name == groupPrivacy {
		asked.GroupSize = 3
	}
	a, err := Ask(c, asked, name)
	if err != nil {
		t.Fatal(err)
	}
	return a.Analyses[0]
}

// Each theorem as its paper states it, from the oracle: never below, and above by
// rounding only.
func TestTheoremsAgainstOracle(t *testing.T) {
	var data struct {
		Rows []struct {
			Theorem                                           string
			K                                                 uint32
			Epsilon0, Delta0, Mu, Rho, Delta, Epsilon, Answer losstest.Number
		}
	}
	losstest.Read(t, "testdata/theorems.json", &data)
	if len(data.Rows) < 290 {
		t.Fatal("rows are missing")
	}
	names := map[string][]string{
		"advanced": {"advanced-composition"}, "mironov": {"mironov-composition"}, "optimal": {"optimal-composition"},
		"gaussian": {"classical-gaussian"}, "zcdp": {"classical-zcdp", "classical-rdp"},
	}
	for _, r := range data.Rows {
		var m mechanism.Mechanism = mechanism.PureDP{Epsilon: r.Epsilon0.Value}
		switch {
		case r.Mu.Given:
			m = mechanism.GaussianDP{Mu: r.Mu.Value}
		case r.Rho.Given:
			m = mechanism.ZeroConcentratedDP{Rho: r.Rho.Value}
		case r.Delta0.Value > 0:
			m = mechanism.ApproximateDP{Epsilon: r.Epsilon0.Value, Delta: r.Delta0.Value}
		}
		q := accountant.AtEpsilon(r.Epsilon.Value)
		if r.Delta.Given {
			q = accountant.AtDelta(r.Delta.Value)
		}
		for _, name := range names[r.Theorem] {
			got := by(t, name, compose(t, mechanism.AddOrRemoveOne, times(m, max(1, r.K))), q)
			if (got.Unsupported == "") != r.Answer.Given {
				t.Errorf("%s %+v: %q", name, r, got.Unsupported)
				continue
			}
			if !r.Answer.Given {
				continue
			}
			value, want := got.LogDelta, r.Answer.Value
			if r.Delta.Given {
				value = got.Epsilon
			}
			// The best order is found to 1e−6, where the bound is flat.
			tolerance := 1e-12
			if name == "classical-rdp" {
				tolerance = 1e-9
			}
			if value < want-0x1p-53*math.Abs(want) || value > want+tolerance*(1+math.Abs(want)) {
				t.Errorf("%s %+v: %v, want %v", name, r, value, want)
			}
		}
	}
}

func draw(t *rapid.T, adj mechanism.Adjacency) mechanism.Event {
	positive := func(name string, low, high float64) float64 {
		return math.Exp(rapid.Float64Range(math.Log(low), math.Log(high)).Draw(t, name))
	}
	noise := func() mechanism.Mechanism {
		if rapid.Bool().Draw(t, "gaussian") {
			return mechanism.Gaussian{NoiseMultiplier: positive("σ", 0.3, 300)}
		}
		return mechanism.Laplace{Scale: positive("b", 0.3, 300), Sensitivity: 1}
	}
	declared := func() mechanism.Mechanism {
		if rapid.Bool().Draw(t, "pure") {
			return mechanism.PureDP{Epsilon: positive("ε", 1e-3, 3)}
		}
		return mechanism.ApproximateDP{Epsilon: positive("ε", 1e-3, 3), Delta: positive("δ", 1e-15, 1e-5)}
	}
	all := []func() mechanism.Mechanism{
		noise, declared,
		func() mechanism.Mechanism {
			return mechanism.NameAndShame{Delta: positive("δ", 1e-12, 1e-3)}
		},
		func() mechanism.Mechanism {
			return mechanism.ZeroConcentratedDP{Rho: positive("ρ", 1e-5, 1), Delta: positive("δ", 1e-12, 1e-5)}
		},
		func() mechanism.Mechanism {
			return mechanism.RenyiDP{Orders: mechanism.NumbersOf(2, 8),
				Epsilons: mechanism.NumbersOf(positive("τ", 1e-4, 1), 2)}
		},
		func() mechanism.Mechanism {
			return mechanism.Composed{Events: mechanism.ListOf(times(noise(), 2), times(declared(), 1))}
		},
		func() mechanism.Mechanism { return mechanism.ZeroConcentratedDP{Rho: positive("ρ", 1e-5, 1)} },
		func() mechanism.Mechanism {
			p := mechanism.PoissonSampled{SamplingProbability: positive("q", 1e-4, 1), Mechanism: noise()}
			if adj == mechanism.AddOrRemoveOne && rapid.Bool().Draw(t, "declared") {
				p.Mechanism = declared()
			}
			return p
		},
		func() mechanism.Mechanism {
			return mechanism.RandomizedResponse{Epsilon: positive("ε", 1e-3, 3),
				Buckets: rapid.Uint64Range(2, 50).Draw(t, "k")}
		},
	}
	n := len(all)
	if adj == mechanism.AddOrRemoveOne {
		n--
	}
	return times(all[rapid.IntRange(0, n-1).Draw(t, "kind")](), uint32(positive("count", 1, 500)))
}

// No theorem is better than what the accountant proves nobody can beat; with one
// release or one kind of mechanism more of them apply.
func TestNoTheoremBeatsTheLowerBound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		adj := rapid.SampledFrom([]mechanism.Adjacency{mechanism.AddOrRemoveOne, mechanism.ReplaceOne,
			mechanism.ZeroOut}).Draw(t, "adjacency")
		events := make([]mechanism.Event, rapid.SampledFrom([]int{1, 1, 2, 3}).Draw(t, "events"))
		for i := range events {
			events[i] = draw(t, adj)
		}
		if rapid.Bool().Draw(t, "once") {
			events = events[:1]
			events[0].Count = 1
		}
		q := accountant.AtEpsilon(rapid.Float64Range(0, 5).Draw(t, "ε"))
		if rapid.Bool().Draw(t, "asked by δ") {
			q = accountant.AtDelta(math.Exp(-rapid.Float64Range(0.01, 40).Draw(t, "−ln δ")))
		}
		group := rapid.IntRange(0, 3).Draw(t, "group") == 0 // it asks for many points of the curve
		provenOf(t, compose(t, adj, events...), q, group)
	})
}

// Each theorem applies to one of these at least, and is no better there either.
func TestEveryTheoremApplies(t *testing.T) {
	proven := map[string]bool{}
	for _, e := range []mechanism.Event{
		times(mechanism.Gaussian{NoiseMultiplier: 10}, 1),
		times(mechanism.PureDP{Epsilon: 0.01}, 100),
		times(mechanism.PoissonSampled{SamplingProbability: 0.1, Mechanism: mechanism.PureDP{Epsilon: 1}}, 1),
	} {
		for _, name := range provenOf(t, compose(t, mechanism.AddOrRemoveOne, e), accountant.AtDelta(1e-5), true) {
			proven[name] = true
		}
	}
	for _, name := range names() {
		if !proven[name] {
			t.Errorf("%s never applied", name)
		}
	}
}

// provenOf asks every theorem, group privacy only with group, and compares with the
// accountant's lower bound. It returns the names of those that apply.
func provenOf(t rapid.TB, c mechanism.Composition, q accountant.Question, group bool) (proven []string) {
	t.Helper()
	a, err := accountant.Ask(c, q)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names() {
		if name == groupPrivacy && !group {
			continue
		}
		r := by(t, name, c, q)
		if r.Unsupported != "" {
			continue
		}
		proven = append(proven, name)
		if math.IsNaN(r.Epsilon) || r.Epsilon < 0 || math.IsNaN(r.LogDelta) || r.LogDelta > 0 ||
			r.Delta < 0 || r.Delta > 1 {
			t.Fatalf("%s: %+v", name, r)
		}
		if a.EpsilonLower != nil && r.Epsilon < *a.EpsilonLower {
			t.Fatalf("%s: ε = %v, below the proven %v of %+v", name, r.Epsilon, *a.EpsilonLower, c)
		}
		if a.LogDeltaLower != nil && r.LogDelta < *a.LogDeltaLower {
			t.Fatalf("%s: ln δ = %v, below the proven %v of %+v", name, r.LogDelta, *a.LogDeltaLower, c)
		}
	}
	return proven
}

// A theorem outside its conditions refuses, by name and with the reason.
func TestConditions(t *testing.T) {
	pure := func(epsilon float64) mechanism.Mechanism { return mechanism.PureDP{Epsilon: epsilon} }
	sampled := mechanism.PoissonSampled{SamplingProbability: 0.1,
		Mechanism: mechanism.Laplace{Scale: 1, Sensitivity: 1}}
	gaussian := mechanism.Gaussian{NoiseMultiplier: 1}
	for _, test := range []struct {
		theorem string
		adj     mechanism.Adjacency
		event   mechanism.Event
		q       accountant.Question
		reason  string // "" where it applies
	}{
		{"advanced-composition", mechanism.AddOrRemoveOne, times(gaussian, 1), accountant.AtDelta(1e-5),
			"a Gaussian has no single (ε, δ)"},
		// ln 1e5 = 11.51
		{"mironov-composition", mechanism.AddOrRemoveOne, times(pure(1), 12), accountant.AtDelta(1e-5), "below kε²"},
		{"mironov-composition", mechanism.AddOrRemoveOne, times(pure(1), 11), accountant.AtDelta(1e-5), ""},
		// 4√2·10 = 56.57
		{"mironov-composition", mechanism.AddOrRemoveOne, times(pure(1), 10), accountant.AtEpsilon(56), "below kε²"},
		{"mironov-composition", mechanism.AddOrRemoveOne, times(pure(1), 10), accountant.AtEpsilon(57), ""},
		{"mironov-composition", mechanism.AddOrRemoveOne, times(mechanism.ApproximateDP{Epsilon: 1, Delta: 1e-9}, 2),
			accountant.AtDelta(1e-5), "pure DP"},
		{"optimal-composition", mechanism.AddOrRemoveOne, times(gaussian, 1),
			accountant.AtDelta(1e-5), "no single (ε, δ)"},
		// √(2 ln 1.25e5) = 4.84
		{"classical-gaussian", mechanism.AddOrRemoveOne, times(gaussian, 1),
			accountant.AtDelta(1e-5), "proven for ε < 1"},
		{"classical-gaussian", mechanism.AddOrRemoveOne, times(mechanism.Gaussian{NoiseMultiplier: 5}, 1),
			accountant.AtDelta(1e-5), ""},
		{"classical-gaussian", mechanism.AddOrRemoveOne, times(gaussian, 1),
			accountant.AtEpsilon(1), "proven for ε < 1"},
		{"classical-gaussian", mechanism.AddOrRemoveOne, times(gaussian, 2), accountant.AtEpsilon(0.5),
			"more than one release"},
		{"classical-gaussian", mechanism.AddOrRemoveOne, times(pure(1), 1), accountant.AtEpsilon(0.5), "no Gaussian"},
		{"classical-zcdp", mechanism.AddOrRemoveOne, times(gaussian, 1), accountant.AtDelta(1e-5), ""},
		{"amplification", mechanism.AddOrRemoveOne, times(sampled, 1), accountant.AtDelta(1e-5), ""},
		{"amplification", mechanism.ReplaceOne, times(sampled, 1), accountant.AtDelta(1e-5), "adjacency REPLACE_ONE"},
		{"amplification", mechanism.AddOrRemoveOne, times(pure(1), 1), accountant.AtDelta(1e-5),
			"nothing is Poisson-sampled"},
	} {
		r := by(t, test.theorem, compose(t, test.adj, test.event), test.q)
		if test.reason == "" && r.Unsupported != "" || !strings.Contains(r.Unsupported, test.reason) {
			t.Errorf("%s of %v: %q, want %q", test.theorem, test.event, r.Unsupported, test.reason)
		}
	}
}

// Nothing costs nothing, by every theorem.
func TestNothing(t *testing.T) {
	for _, name := range names() {
		for _, q := range []accountant.Question{accountant.AtDelta(1e-5), accountant.AtEpsilon(0)} {
			if r := by(t, name, compose(t, mechanism.ReplaceOne), q); r.Unsupported != "" ||
				r.Epsilon != 0 || r.Delta != 0 {
				t.Errorf("%s: %+v", name, r)
			}
		}
	}
}

func TestQuestionsThatAreRefused(t *testing.T) {
	c := compose(t, mechanism.AddOrRemoveOne)
	for _, test := range []struct {
		name  string
		q     Question
		field string
	}{
		{"advanced", Question{Question: accountant.AtDelta(0.1)}, "analysis"},
		{"advanced-composition", Question{Question: accountant.AtDelta(1)}, "delta"},
		{"pld", Question{Question: accountant.AtDelta(1)}, "delta"},
		{"basic", Question{Question: accountant.AtDelta(0.1), GroupSize: 2}, "group_size"},
		{groupPrivacy, Question{Question: accountant.AtDelta(0.1)}, "group_size"},
		{groupPrivacy, Question{Question: accountant.AtDelta(0.1), GroupSize: 1<<32 + 1}, "group_size"},
	} {
		_, err := Ask(c, test.q, test.name)
		var parameter *mechanism.ParameterError
		if !errors.As(err, &parameter) || parameter.Field != test.field {
			t.Errorf("%s %+v: %v, want field %s", test.name, test.q, err, test.field)
		}
	}
}

// Group privacy is the pure guarantee times k, never below what k·μ costs exactly,
// and the answer itself for k = 1.
func TestGroups(t *testing.T) {
	ask := func(m mechanism.Mechanism, q accountant.Question, k uint64) accountant.Answer {
		a, err := Ask(compose(t, mechanism.AddOrRemoveOne, times(m, 1)), Question{q, k}, groupPrivacy)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	if e := ask(mechanism.PureDP{Epsilon: 0.5}, accountant.AtDelta(1e-300), 7).Epsilon; e < 3.5 || e > 3.5*(1+1e-6) {
		t.Errorf("7 records of a 0.5-DP mechanism: ε = %v, want 3.5", e)
	}
	for _, k := range []uint64{1, 2, 5} {
		exact, err := accountant.Ask(compose(t, mechanism.AddOrRemoveOne,
			times(mechanism.GaussianDP{Mu: 0.5 * float64(k)}, 1)), accountant.AtDelta(1e-5))
		if err != nil {
			t.Fatal(err)
		}
		if e := ask(mechanism.GaussianDP{Mu: 0.5}, accountant.AtDelta(1e-5), k).Epsilon; e < exact.Epsilon ||
			k == 1 && e > exact.Epsilon*(1+1e-6) {
			t.Errorf("%d records: ε = %v, exactly %v", k, e, exact.Epsilon)
		}
		exact, err = accountant.Ask(compose(t, mechanism.AddOrRemoveOne,
			times(mechanism.GaussianDP{Mu: 0.5 * float64(k)}, 1)), accountant.AtEpsilon(2))
		if err != nil {
			t.Fatal(err)
		}
		if d := ask(mechanism.GaussianDP{Mu: 0.5}, accountant.AtEpsilon(2), k).LogDelta; d < *exact.LogDeltaLower ||
			k == 1 && d > exact.LogDelta+1e-9 {
			t.Errorf("%d records: ln δ = %v, exactly %v", k, d, exact.LogDelta)
		}
	}
}

// The bounds beside an answer: the answer's own first, no other below it, and what
// does not apply at the end.
func TestCompare(t *testing.T) {
	for _, m := range []mechanism.Mechanism{mechanism.Gaussian{NoiseMultiplier: 7}, mechanism.PureDP{Epsilon: 0.1},
		mechanism.ApproximateDP{Epsilon: 0.1, Delta: 1e-4}} {
		for _, q := range []accountant.Question{accountant.AtDelta(1e-5), accountant.AtEpsilon(0.5)} {
			answer, bounds, err := Compare(compose(t, mechanism.AddOrRemoveOne, times(m, 1)), q)
			if err != nil {
				t.Fatal(err)
			}
			if len(bounds) != len(All())-1 || bounds[0].Result.Epsilon != answer.Epsilon && q.Delta != nil ||
				bounds[0].LogDelta != answer.LogDelta {
				t.Errorf("%v: %+v first of %d, answer %+v", m, bounds[0], len(bounds), answer)
			}
			for i, b := range bounds[1:] {
				if b.Unsupported == "" &&
					(bounds[i].Unsupported != "" || b.Epsilon < bounds[i].Epsilon || b.LogDelta < bounds[i].LogDelta) {
					t.Errorf("%v: %+v after %+v", m, b, bounds[i])
				}
				least := 0.0 // of differences
				if q.Delta != nil {
					least = 1 // of quotients
				}
				if b.Unsupported == "" && !(b.Loose >= least) {
					t.Errorf("%v: %+v looser by %v", m, b.Result, b.Loose)
				}
			}
		}
	}
}
