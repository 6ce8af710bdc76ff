// SPDX-License-Identifier: Apache-2.0

package accountant

import (
	"testing"

	"github.com/dpaccountant/accountant/internal/loss/losstest"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// One session over all reference workloads answers as Ask does: never below the
// reference, its lower bound never above (tolerance as in TestReferenceWorkloads).
func TestSessionAgainstReference(t *testing.T) {
	var workloads []losstest.Workload
	losstest.Read(t, "testdata/workloads.json", &workloads)
	var s Session
	for _, w := range workloads {
		c, err := w.Composition()
		if err != nil {
			t.Fatalf("%s: %v", w.Name, err)
		}
		for _, r := range w.Truth {
			q, want := AtDelta(r.Delta.Value), r.Epsilon.Value
			if r.AskedByEpsilon {
				q, want = AtEpsilon(r.Epsilon.Value), r.Delta.Value
			}
			for name, ask := range map[string]func(mechanism.Composition, Question) (Answer, error){"Ask": s.Ask,
				"Tightest": s.Tightest} {
				a, err := ask(c, q)
				if err != nil {
					t.Fatalf("%s: %v", w.Name, err)
				}
				got, lower := a.Epsilon, a.EpsilonLower
				if r.AskedByEpsilon {
					got, lower = a.Delta, a.DeltaLower
				}
				if got < want*(1-tolerance) {
					t.Errorf("%s of %s at %+v: %v is below the truth %v", name, w.Name, r, got, want)
				}
				if lower != nil && *lower > want*(1+tolerance) {
					t.Errorf("%s of %s at %+v: lower bound %v is above the truth %v", name, w.Name, r, *lower, want)
				}
			}
		}
	}
}

// Tightest leaves out the others only where pld has an interval of its own.
func TestTightestAsksTheOthersWherePLDDoesNot(t *testing.T) {
	var s Session
	declared := compose(t, mechanism.AddOrRemoveOne,
		mechanism.Event{Mechanism: mechanism.ZeroConcentratedDP{Rho: 0.1}, Count: 1})
	a, err := s.Tightest(declared, AtDelta(1e-5))
	if err != nil {
		t.Fatal(err)
	}
	if want, _ := Ask(declared, AtDelta(1e-5)); a.Epsilon != want.Epsilon || len(a.Analyses) != len(want.Analyses) {
		t.Errorf("%+v, Ask says %+v", a, want)
	}
	steps := compose(t, mechanism.AddOrRemoveOne, mechanism.Event{Mechanism: sampledGaussian(0.01, 1), Count: 1000})
	if a, err = s.Tightest(steps, AtDelta(1e-5)); err != nil || a.Analysis != PLD ||
		len(a.Analyses) != 1 || a.EpsilonLower == nil {
		t.Errorf("%+v %v", a, err)
	}
	if _, err := s.Tightest(steps, Question{}); err == nil {
		t.Error("a question without delta and epsilon was answered")
	}
}

// As a ledger grows a session's rdp analysis keeps its order: its bounds stay as near to those of a
// new search as rdp.Cache says, whatever is asked, and above the lower bound of the truth.
func TestSessionKeepsTheOrderWhileItIsGood(t *testing.T) {
	var s Session
	count := uint32(100)
	for step := range 60 {
		count += 1 + count/20
		c := compose(t, mechanism.AddOrRemoveOne,
			mechanism.Event{Mechanism: sampledGaussian(0.01, 1), Count: count},
			mechanism.Event{Mechanism: sampledGaussian(0.02, 1.5), Count: uint32(1 + step)},
			mechanism.Event{Mechanism: mechanism.PureDP{Epsilon: 0.01}, Count: uint32(1 + step/2)})
		for _, q := range []Question{AtDelta(1e-6), AtEpsilon(2)} {
			got, err := s.Ask(c, q)
			if err != nil {
				t.Fatal(err)
			}
			want, err := Ask(c, q)
			if err != nil {
				t.Fatal(err)
			}
			kept, best := got.Analyses[2], want.Analyses[2]
			if kept.Analysis != RDP || kept.Epsilon > best.Epsilon*(1+1e-5) || kept.LogDelta > best.LogDelta*(1-1e-5) {
				t.Errorf("after %d steps rdp of the session says %+v, of a new one %+v", count, kept, best)
			}
			if q.Delta != nil && kept.Epsilon < *want.EpsilonLower {
				t.Errorf("after %d steps rdp's ε %v is below %v", count, kept.Epsilon, *want.EpsilonLower)
			}
			if q.Epsilon != nil && kept.LogDelta < *want.LogDeltaLower {
				t.Errorf("after %d steps rdp's ln δ %v is below %v", count, kept.LogDelta, *want.LogDeltaLower)
			}
		}
	}
}

// One more step of a known mechanism, then ε, from the composition on.
func BenchmarkSessionOneMoreStep(b *testing.B) {
	var s Session
	count := uint32(1000)
	b.ReportAllocs()
	for b.Loop() {
		if count++; count > 2000 {
			count = 1000
		}
		c := compose(b, mechanism.AddOrRemoveOne, mechanism.Event{Mechanism: sampledGaussian(0.01, 1), Count: count})
		if _, err := s.Tightest(c, AtDelta(1e-5)); err != nil {
			b.Fatal(err)
		}
	}
}

// The same with every analysis listed.
func BenchmarkSessionOneMoreStepAllAnalyses(b *testing.B) {
	var s Session
	count := uint32(1000)
	for b.Loop() {
		if count++; count > 2000 {
			count = 1000
		}
		c := compose(b, mechanism.AddOrRemoveOne, mechanism.Event{Mechanism: sampledGaussian(0.01, 1), Count: count})
		if _, err := s.Ask(c, AtDelta(1e-5)); err != nil {
			b.Fatal(err)
		}
	}
}

// What is told on the way is sound, and no wider than what was told before.
func TestInterim(t *testing.T) {
	c := compose(t, mechanism.AddOrRemoveOne, mechanism.Event{Mechanism: sampledGaussian(0.01, 1), Count: 1000},
		mechanism.Event{Mechanism: mechanism.Gaussian{NoiseMultiplier: 30}, Count: 2})
	for _, q := range []Question{AtDelta(1e-5), AtEpsilon(1)} {
		var told []Answer
		q.Interim = func(a Answer) { told = append(told, a) }
		var s Session
		last, err := s.Ask(c, q)
		if err != nil {
			t.Fatal(err)
		}
		told = append(told, last)
		for i, a := range told {
			if len(a.Analyses) != len(last.Analyses) ||
				i > 0 && (a.Epsilon > told[i-1].Epsilon || a.LogDelta > told[i-1].LogDelta) {
				t.Errorf("%d of %d: %+v", i, len(told), a)
			}
			if q.Delta != nil && (a.EpsilonLower == nil || *a.EpsilonLower > last.Epsilon) {
				t.Errorf("%d: lower bound %v; ε = %v", i, a.EpsilonLower, last.Epsilon)
			}
		}
		if len(told) < 3 || told[len(told)-2].Analysis != RDP || last.Analysis != PLD {
			t.Errorf("%d told: %+v", len(told), told)
		}
	}
}
