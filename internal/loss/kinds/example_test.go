// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"slices"
	"testing"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/loss/losstest"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/num"
	"pgregory.net/rapid"
)

// examplePairs are the losses of every kind's example that have a pair, by the kind. Whatever the tests
// of masses ask of losses, they ask of these: a new kind is among them without being named.
func examplePairs(t testing.TB) map[string]loss.Loss {
	t.Helper()
	list := map[string]loss.Loss{}
	for _, e := range losstest.Examples(t, "../../..") {
		if e.Kind.Name == "parallel" { // its pair is above the largest of several; package compound tests it
			continue
		}
		for _, term := range mustTerms(t, e.Mechanism, e.Adjacency) {
			if _, ok := loss.PairOf(term.Loss, loss.Remove, loss.Dominating, nil); ok {
				list[e.Kind.Name] = term.Loss
			}
		}
	}
	return list
}

func mustTerms(t testing.TB, m mechanism.Mechanism, adj mechanism.Adjacency) []loss.Term {
	t.Helper()
	var all []loss.Term
	for _, p := range mechanism.Expand(m) {
		terms, err := TermsWithin(p.Mechanism, adj, nil)
		if err != nil {
			t.Fatalf("%v: %v", m, err)
		}
		all = append(all, terms...)
	}
	return all
}

// A loss is a value: two that are made of the same facts are equal, whichever question each was
// made for. An analysis that keeps what it computed of a loss finds it again.
func TestLossesOfTwoQuestionsAreEqual(t *testing.T) {
	question := func() *num.Interrupt { return num.NewInterrupt(func() bool { return false }) }
	compose := func(c mechanism.Composition) loss.Composition {
		losses, err := ComposeWithin(c, question())
		if err != nil {
			t.Fatal(err)
		}
		return losses
	}
	for _, e := range losstest.Examples(t, "../../..") {
		c, err := mechanism.Compose(e.Adjacency, []mechanism.Event{{Mechanism: e.Mechanism, Count: 1}})
		if err != nil {
			t.Fatal(err)
		}
		if a, b := compose(c), compose(c); !slices.Equal(a, b) {
			t.Errorf("%s: the loss of one question is not that of another: %v, %v", e.Kind.Name, a, b)
		}
	}
}

// Wherever a kind says that it may stand inside another one, the two have a loss: a ledger that took a
// charge of them could otherwise never be answered about again.
func TestWhatMayStandInsideHasALoss(t *testing.T) {
	examples := losstest.Examples(t, "../../..")
	var other mechanism.Mechanism = mechanism.PureDP{Epsilon: 1}
	for _, e := range examples {
		m := e.Mechanism
		for _, around := range []mechanism.Mechanism{
			m,
			mechanism.PoissonSampled{SamplingProbability: 0.1, Mechanism: m},
			mechanism.PoissonSampled{SamplingProbability: 0.1,
				Mechanism: mechanism.Composed{Events: mechanism.ListOf(mechanism.Event{Mechanism: m, Count: 2})}},
			mechanism.FixedSizeSampled{BatchSize: 10, DatasetSize: 1000, Mechanism: m},
			mechanism.TruncatedPoissonSampled{SamplingProbability: 0.1, DatasetSize: 1000, MaximumBatchSize: 150,
				Mechanism: m},
			mechanism.Shuffled{BatchSize: 10, DatasetSize: 1000, Mechanism: m},
			mechanism.Group{Size: 2, Mechanism: m},
			mechanism.Group{Size: 2, Mechanism: mechanism.PoissonSampled{SamplingProbability: 0.1, Mechanism: m}},
			mechanism.RepeatAndSelect{Gamma: 0.5, Eta: 1, Mechanism: m},
			mechanism.Parallel{Parts: mechanism.ListOf(m, other)},
			mechanism.Parallel{Parts: mechanism.ListOf(m, other), PartitionFixedInAdvance: true},
			mechanism.Composed{Events: mechanism.ListOf(mechanism.Event{Mechanism: m, Count: 2})},
		} {
			for adj := mechanism.AddOrRemoveOne; adj.Valid(); adj++ {
				if around.Check(adj) != nil {
					continue
				}
				c, err := mechanism.Compose(adj, []mechanism.Event{{Mechanism: around, Count: 1}})
				if err != nil {
					t.Fatal(err)
				}
				if _, err := Compose(c); err != nil {
					t.Errorf("%v passes Check under %v, and has no loss: %v", around, adj, err)
				}
			}
		}
	}
}

// Every kind is drawn by the generator that the property tests of all rooms share, apart from those
// that consist of others, which are composed where they are needed.
func TestEveryKindIsDrawn(t *testing.T) {
	drawn := map[string]bool{}
	var note func(m mechanism.Mechanism)
	note = func(m mechanism.Mechanism) {
		drawn[m.Kind()] = true
		for _, inside := range mechanism.Inside(m) {
			note(inside)
		}
	}
	for _, adj := range []mechanism.Adjacency{mechanism.AddOrRemoveOne, mechanism.ReplaceOne} {
		draw := rapid.Custom(func(t *rapid.T) mechanism.Mechanism { return losstest.Draw(t, adj) })
		for seed := range 2000 {
			note(draw.Example(seed))
		}
	}
	for _, k := range mechanism.Kinds() {
		if !drawn[k.Name] && !apart[k.Name] && notDrawn[k.Name] == "" {
			t.Errorf("losstest.Draw never draws a %s: add a function for it to internal/loss/losstest/draw.go", k.Name)
		}
	}
}

// notDrawn are kinds that other tests draw, with the reason.
var notDrawn = map[string]string{"parallel": "the tests of packages compound and accountant draw partitions"}
