// SPDX-License-Identifier: Apache-2.0

package theorem_test

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/loss/losstest"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/theorem"
	"github.com/dpaccountant/accountant/internal/wire"
	"github.com/dpaccountant/accountant/internal/wire/wirejson"
	"pgregory.net/rapid"
)

// The tests of this file ask about every kind of mechanism: those of examples/mechanisms
// with their parameters, and random ones.

func examples(t *testing.T) []mechanism.Mechanism {
	files, err := filepath.Glob("../../examples/mechanisms/*.json")
	if err != nil || len(files) < 30 {
		t.Fatalf("%d examples, %v", len(files), err)
	}
	var all []mechanism.Mechanism
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var w accountantv1.Workload
		if err := wirejson.Unmarshal(text, &w); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, e := range w.GetEvents() {
			m, err := wire.ToMechanism(e.GetMechanism())
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			all = append(all, m)
		}
	}
	return all
}

// drawWorkload draws some events of any kinds, applied up to ten million times.
func drawWorkload(t *rapid.T, examples []mechanism.Mechanism) (mechanism.Adjacency, []mechanism.Event) {
	adj := rapid.SampledFrom([]mechanism.Adjacency{mechanism.AddOrRemoveOne, mechanism.ReplaceOne,
		mechanism.ZeroOut}).Draw(t, "adjacency")
	var defined []mechanism.Mechanism
	for _, m := range examples {
		if m.Check(adj) == nil {
			defined = append(defined, m)
		}
	}
	events := make([]mechanism.Event, rapid.SampledFrom([]int{1, 1, 2, 3}).Draw(t, "events"))
	for i := range events {
		events[i].Count = uint32(math.Exp(rapid.Float64Range(0, 16).Draw(t, "ln count")))
		if rapid.IntRange(0, 2).Draw(t, "example") == 0 {
			events[i].Mechanism = rapid.SampledFrom(defined).Draw(t, "mechanism")
		} else {
			events[i].Mechanism = losstest.Draw(t, adj)
		}
	}
	return adj, events
}

func drawQuestion(t *rapid.T) accountant.Question {
	if rapid.Bool().Draw(t, "asked by δ") {
		return accountant.AtDelta(math.Exp(-rapid.Float64Range(0.01, 40).Draw(t, "−ln δ")))
	}
	return accountant.AtEpsilon(math.Expm1(rapid.Float64Range(0, 4).Draw(t, "ln(1+ε)")))
}

func answer(t *rapid.T, adj mechanism.Adjacency, events []mechanism.Event, q accountant.Question) accountant.Answer {
	a, err := accountant.Ask(compose(t, adj, events), q)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func compose(t *rapid.T, adj mechanism.Adjacency, events []mechanism.Event) mechanism.Composition {
	c, err := mechanism.Compose(adj, events)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// upper is what was asked for, on a scale on which more is worse, and how far the answer
// may be above a better one: the gap that it states. Where it states none, that is what
// the search for the best order leaves, or a hundredth of a declared guarantee's lattice.
func upper(a accountant.Answer, q accountant.Question) (value, gap float64) {
	value = a.LogDelta
	lower := a.LogDeltaLower
	if q.Delta != nil {
		value, lower = a.Epsilon, a.EpsilonLower
	}
	gap = 1e-9 * (1 + math.Abs(value))
	switch {
	case math.IsInf(value, 0):
		gap = 0
	case lower != nil:
		gap = math.Max(gap, value-*lower)
	case a.Analysis == accountant.PLD:
		gap = 1e-2 * (1 + math.Abs(value))
	}
	return value, gap
}

// More of the same, and one event more, never lower the answer.
func TestAnswerRisesWithTheWorkload(t *testing.T) {
	known := examples(t)
	rapid.Check(t, func(t *rapid.T) {
		adj, events := drawWorkload(t, known)
		q := drawQuestion(t)
		before, gap := upper(answer(t, adj, events, q), q)
		more := append([]mechanism.Event(nil), events...)
		if rapid.Bool().Draw(t, "of the same") {
			i := rapid.IntRange(0, len(more)-1).Draw(t, "which")
			more[i].Count += 1 + uint32(float64(more[i].Count)*
				(math.Expm1(rapid.Float64Range(0, 4).Draw(t, "ln factor"))))
		} else {
			_, others := drawWorkload(t, known)
			more = append(more, others[0])
			if others[0].Check(adj) != nil {
				t.Skip("of another adjacency")
			}
		}
		if after, _ := upper(answer(t, adj, more, q), q); !(after >= before-gap) {
			t.Fatalf("%v costs %v, within %v; %v costs %v", events, before, gap, more, after)
		}
	})
}

// A smaller δ never costs a smaller ε, and a larger ε never leaves a larger δ.
func TestAnswerFallsWithTheQuestion(t *testing.T) {
	known := examples(t)
	rapid.Check(t, func(t *rapid.T) {
		adj, events := drawWorkload(t, known)
		q := drawQuestion(t)
		before, gap := upper(answer(t, adj, events, q), q)
		factor := rapid.Float64Range(1e-9, 1).Draw(t, "factor")
		var stricter accountant.Question
		if q.Delta != nil {
			stricter = accountant.AtDelta(*q.Delta * factor)
		} else {
			stricter = accountant.AtEpsilon(*q.Epsilon * factor)
		}
		if after, _ := upper(answer(t, adj, events, stricter), q); !(after >= before-gap) {
			t.Fatalf("%v: %v within %v; %v where less is allowed", events, before, gap, after)
		}
	})
}

// No classical theorem is below the answer.
func TestAnswerIsBelowEveryTheorem(t *testing.T) {
	known := examples(t)
	rapid.Check(t, func(t *rapid.T) {
		adj, events := drawWorkload(t, known)
		q := drawQuestion(t)
		best, bounds, err := theorem.Compare(compose(t, adj, events), q)
		if err != nil {
			t.Fatal(err)
		}
		value, gap := upper(best, q)
		for _, b := range bounds {
			theirs := b.LogDelta
			if q.Delta != nil {
				theirs = b.Epsilon
			}
			if b.Unsupported == "" && !(value <= theirs+gap) {
				t.Fatalf("%v: %v by %s within %v; %v by %s", events, value, best.Analysis, gap, theirs, b.Name)
			}
		}
	})
}

// A finer request never gives a looser answer, on either side: neither the default nor any
// gap after another, asked anew or of a session, whose shortcuts depend on what it was
// asked before.
func TestFinerIsNeverLooser(t *testing.T) {
	known := examples(t)
	rapid.Check(t, func(t *rapid.T) {
		adj, events := drawWorkload(t, known)
		c, q := compose(t, adj, events), drawQuestion(t)
		var session accountant.Session
		ask := func(q accountant.Question) (accountant.Answer, error) { return accountant.Ask(c, q) }
		if rapid.Bool().Draw(t, "session") {
			ask = func(q accountant.Question) (accountant.Answer, error) { return session.Ask(c, q) }
		}
		before := math.Inf(1)
		least := math.Inf(-1)
		gap := math.Exp(rapid.Float64Range(-7, 1).Draw(t, "ln gap"))
		for i := range 4 {
			if i > 0 {
				q.MaxGap = &gap
			}
			a, err := ask(q)
			if err != nil {
				t.Fatal(err)
			}
			value, lower := a.LogDelta, a.LogDeltaLower
			if q.Delta != nil {
				value, lower = a.Epsilon, a.EpsilonLower
			}
			if value > before || lower != nil && *lower < least {
				t.Fatalf("%v: at most %v within %v, %v before", events, value, gap, before)
			}
			before = value
			if lower != nil {
				least = *lower
			}
			gap *= math.Exp(-rapid.Float64Range(0, 10).Draw(t, "finer by"))
		}
	})
}
