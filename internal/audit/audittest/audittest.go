// Package audittest writes random ledgers, decided by package ledger, to stores.
package audittest

import (
	"fmt"
	"time"

	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/wire"
)

// T is what a test offers, or a property's.
type T interface {
	Helper()
	Fatal(args ...any)
}

// Kinds is how many kinds of specs there are.
const Kinds = 4

// Spec is of a FILTER ledger with reservations (kinds 0 and 1), a PLAN (2) or a
// DESCRIPTIVE one.
func Spec(name string, kind int) ledger.Spec {
	spec := ledger.Spec{Name: name, Adjacency: mechanism.AddOrRemoveOne, Owner: "team", Labels: []ledger.Label{{Key: "project", Value: "x"}}}
	switch kind {
	case 0:
		spec.Policy = ledger.Filtered
		spec.Budgets = []accountant.Budget{{Guard: accountant.GuardBasic, Epsilon: 1000}}
	case 1:
		spec.Policy = ledger.Filtered
		spec.Budgets = []accountant.Budget{{Guard: accountant.GuardRDP, Epsilon: 8, Delta: 1e-5, Order: 12}}
	case 2:
		spec.Policy = ledger.Planned
		for i := range 10 {
			spec.Plan.Events = append(spec.Plan.Events, mechanism.Event{Mechanism: Mechanism(i), Count: 50})
		}
	}
	return spec
}

// Mechanism is one of a list without end.
func Mechanism(i int) mechanism.Mechanism {
	if i%6 == 0 {
		return mechanism.Gaussian{NoiseMultiplier: 40 + float64(i)}
	}
	return mechanism.PureDP{Epsilon: 0.001 * float64(i)}
}

// Writer is one of a list without end; those from 1,000 on write once.
func Writer(i int) ledger.Writer {
	if i >= 1000 {
		return ledger.Writer{Principal: "unverified:p", Name: fmt.Sprint("request/r", i)}
	}
	return ledger.Writer{Principal: "unverified:p", Name: fmt.Sprintf("00000000-0000-4000-8000-%012d", i+1)}
}

// Time is when the i-th entry was taken; not in order, as clocks are.
func Time(i int) time.Time {
	return time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC).Add(time.Duration(i%7-3+i) * time.Second)
}

// Fill creates a ledger in the store and appends to it.
func Fill(t T, s ledger.Store, spec ledger.Spec, n int, seed uint64) {
	t.Helper()
	resolution, err := ledger.Resolve(spec, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Create(ledger.Genesis{Spec: spec, Resolution: resolution, Principal: "unverified:p", Time: Time(0)}); err != nil {
		t.Fatal(err)
	}
	Append(t, s, spec.Name, n, seed)
}

// Append writes up to n random requests to a ledger, in random batches; what the
// ledger refuses is not written. Seeds that 5 divides close it in the end.
func Append(t T, s ledger.Store, name string, n int, seed uint64) {
	t.Helper()
	snapshot, tail, err := s.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	state := ledger.NewState(snapshot, tail)
	draw := random(seed)
	for done := 0; done < n && !state.Summary().Closed; {
		b := ledger.NewBatch(state)
		for range min(n-done, 1+draw(12)) {
			v := verb(state, draw)
			if done++; done == n && seed%5 == 0 {
				v = ledger.Close{Reason: "done"}
			}
			decide(t, s, b, state, draw, v)
		}
		if len(b.Entries()) == 0 {
			continue
		}
		hashes, err := s.Append([]ledger.Proposal{b.Proposal()})
		if err != nil {
			t.Fatal(err)
		}
		entries := b.Entries()
		state.Apply(b, ledger.Head{Position: entries[len(entries)-1].Position, Hash: hashes[0][len(entries)-1]})
	}
}

// decide decides one request of a random writer.
func decide(t T, s ledger.Store, b *ledger.Batch, state *ledger.State, draw func(int) int, v ledger.Verb) {
	t.Helper()
	w := Writer(draw(4))
	if draw(10) == 0 {
		w = Writer(1000 + draw(1<<20))
	}
	last, _, err := s.Writer(state.Summary().Genesis.Spec.Name, w)
	if err != nil {
		t.Fatal(err)
	}
	sequence := last + 1
	for _, e := range b.Entries() {
		if e.Writer == w {
			sequence = e.Sequence + 1
		}
	}
	if sequence > 1 && wire.CheckStreamWriter(w) != nil {
		return
	}
	at := Time(int(state.Summary().Head.Position) + len(b.Entries()) + 1)
	b.Decide(ledger.Request{Writer: w, Sequence: sequence, Digest: wire.Digest(v), Verb: v}, last, at)
}

// verb is a random request; what it asks may have to be refused.
func verb(state *ledger.State, draw func(int) int) ledger.Verb {
	list := func() (events []mechanism.Event) {
		for range 1 + draw(3) {
			events = append(events, mechanism.Event{Mechanism: Mechanism(draw(24)), Count: uint32(1 + draw(2))})
		}
		return events
	}
	labels := []ledger.Label{{Key: "run", Value: fmt.Sprint(draw(3))}}
	open := state.Reservations()
	some := ledger.Reservation{Position: 1}
	if len(open) > 0 {
		some = open[draw(len(open))]
	}
	switch n := draw(20); {
	case n < 2:
		return ledger.Reserve{Events: list(), Lifetime: time.Hour, Labels: labels}
	case n < 4 && len(some.Rest) > 0:
		return ledger.Commit{Reservation: some.Position, Events: []mechanism.Event{{Mechanism: some.Rest[0].Mechanism, Count: 1}}, Labels: labels}
	case n < 5:
		return ledger.Release{Reservation: some.Position, Reason: "not needed"}
	case n < 6:
		return ledger.Expire{Reservation: some.Position}
	}
	return ledger.Charge{Events: list(), Labels: labels}
}

// random returns numbers below n from a seed.
func random(seed uint64) func(n int) int {
	return func(n int) int {
		seed = seed*6364136223846793005 + 1442695040888963407 // Knuth's MMIX generator
		return int((seed >> 33) % uint64(n))
	}
}
