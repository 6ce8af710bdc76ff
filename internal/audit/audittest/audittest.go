// SPDX-License-Identifier: Apache-2.0

// Package audittest writes random ledgers, decided by package ledger, to stores.
package audittest

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/record"
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
	spec := ledger.Spec{Name: name, Adjacency: mechanism.AddOrRemoveOne, Owner: "team",
		Labels: []ledger.Label{{Key: "project", Value: "x"}}}
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
	if _, _, err := s.Create(ledger.Genesis{Spec: spec, Resolution: resolution, Principal: "unverified:p",
		Time: Time(0)}); err != nil {
		t.Fatal(err)
	}
	Append(t, s, spec.Name, n, seed)
}

// Append writes up to n random requests to a ledger, in random batches; what the
// ledger refuses is not written. Seeds that 5 divides close it in the end; those that
// leave 2 when divided by 3 restore it now and then.
func Append(t T, s ledger.Store, name string, n int, seed uint64) {
	t.Helper()
	snapshot, err := s.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	w := &writing{T: t, store: s, state: ledger.NewState(snapshot), draw: random(seed), restored: seed%3 == 2,
		charged: map[uint64][]mechanism.Event{}}
	for done := 0; done < n && !w.state.Summary().Closed; {
		w.batch = ledger.NewBatch(w.state)
		for range min(n-done, 1+w.draw(12)) {
			v := w.action()
			if done++; done == n && seed%5 == 0 {
				v = ledger.Close{Reason: "done"}
			}
			w.decide(v)
		}
		entries := w.batch.Entries()
		if len(entries) == 0 {
			continue
		}
		hashes, err := s.Append([]ledger.Proposal{w.batch.Proposal()})
		if err != nil {
			t.Fatal(err)
		}
		w.state.Apply(w.batch, ledger.Head{Position: entries[len(entries)-1].Position, Hash: hashes[0][len(entries)-1]})
	}
}

// writing is one Append.
type writing struct {
	T
	store   ledger.Store
	state   *ledger.State
	batch   *ledger.Batch
	draw    func(n int) int
	charged map[uint64][]mechanism.Event // by entries that were not refunded
	raises  int

	restored bool // now and then
}

// decide decides one request of a random writer.
func (w *writing) decide(v ledger.Action) {
	w.Helper()
	by := Writer(w.draw(4)*w.draw(2) + 10*w.restores()) // most of them by the first; each restore ends all
	_, restoring := v.(ledger.Restored)
	switch made, ok := w.reservation(v); {
	case ok: // only who made it
		by = made.Writer
	case restoring:
		by = ledger.Writer{Principal: ledger.Daemon, Name: fmt.Sprint("request/restore-", w.restores())}
	case w.draw(10) == 0:
		by = Writer(1000 + w.draw(1<<20))
	}
	summary := w.state.Summary()
	last, at, err := w.store.Writer(summary.Genesis.Spec.Name, by)
	if err != nil {
		w.Fatal(err)
	}
	sequence := last + 1
	for _, e := range w.batch.Entries() {
		if e.Writer == by {
			sequence = e.Sequence + 1
		}
	}
	if sequence > 1 && wire.CheckStreamWriter(by) != nil {
		return
	}
	position := summary.Head.Position + uint64(len(w.batch.Entries())) + 1
	charged := w.willCharge(v)
	d := w.batch.Decide(ledger.Request{Writer: by, Sequence: sequence, Digest: record.Digest(v), Action: v},
		ledger.Lane{Sequence: last, Position: at}, Time(int(position)))
	if d.Outcome != ledger.Accepted {
		return
	}
	switch v := v.(type) {
	case ledger.Refund:
		delete(w.charged, v.Position)
	case ledger.Refundable:
		w.charged[position] = charged
	}
}

// willCharge is what v will charge, if it can be refunded.
func (w *writing) willCharge(v ledger.Action) (events []mechanism.Event) {
	if v, ok := v.(ledger.Refundable); ok {
		events, _ = v.Charged(func(reservation uint64) ([]mechanism.Event, error) { // which never fails
			for _, r := range w.state.Reservations() {
				if r.Position == reservation {
					return mechanism.EventsOf(r.Rest), nil
				}
			}
			return nil, nil
		})
	}
	return events
}

// reservation is the entry that made what v, which only its owner may do, is about.
func (w *writing) reservation(v ledger.Action) (ledger.Entry, bool) {
	switch v.(type) {
	case ledger.Commit, ledger.Release:
	default:
		return ledger.Entry{}, false
	}
	records, err := w.store.Records(w.state.Summary().Genesis.Spec.Name, v.Details().About, 1)
	if err != nil || len(records) == 0 {
		return ledger.Entry{}, false
	}
	return records[0].Entry, true
}

// action is a random request; what it asks may have to be refused. What depends on
// the state alone comes first in a batch only.
func (w *writing) action() ledger.Action {
	list := func() (events []mechanism.Event) {
		for range 1 + w.draw(3) {
			events = append(events, mechanism.Event{Mechanism: Mechanism(w.draw(24)), Count: uint32(1 + w.draw(2))})
		}
		return events
	}
	labels := []ledger.Label{{Key: "run", Value: fmt.Sprint(w.draw(3))}}
	open := w.state.Reservations()
	some := ledger.Reservation{Position: 1}
	if len(open) > 0 {
		some = open[w.draw(len(open))]
	}
	first := len(w.batch.Entries()) == 0
	if w.state.Summary().Unreconciled {
		return w.reconcile(list())
	}
	switch n := w.draw(20); {
	case n < 2:
		return ledger.Reserve{Events: list(), Lifetime: time.Hour, Labels: labels}
	case n < 4 && len(some.Rest) > 0:
		return ledger.Commit{Reservation: some.Position,
			Events: []mechanism.Event{{Mechanism: some.Rest[0].Mechanism, Count: 1}}, Labels: labels}
	case n < 5 && w.draw(2) == 0:
		return ledger.Free{Reservation: some.Position, Reason: "the job died"}
	case n < 5:
		return ledger.Release{Reservation: some.Position, Reason: "not needed"}
	case n < 6 && first:
		return ledger.Expire{Reservation: some.Position}
	case n < 7:
		for _, position := range slices.Sorted(maps.Keys(w.charged)) {
			if w.draw(4) == 0 {
				return ledger.Refund{Position: position, Events: w.charged[position], Reason: "crashed"}
			}
		}
	case n < 8 && first && w.raises < 3:
		if v, ok := w.raise(); ok {
			w.raises++
			return v
		}
	case n < 9 && first && w.restored && w.draw(3) == 0:
		from := w.state.StoreOf(w.state.Summary().Head.Position)
		to := fmt.Sprintf("00000000-0000-4000-9000-%012d", w.restores()+1)
		return ledger.Restored{From: from, StoreID: to, Copy: ledger.Hash{1}, Newest: Time(3)}
	}
	return ledger.Charge{Events: list(), Labels: labels}
}

// restores is how many there were.
func (w *writing) restores() (n int) {
	for _, a := range w.state.View().Assumptions {
		if a.Kind == "restored" {
			n++
		}
	}
	return n
}

// reconcile charges something, nothing, or accepts the loss.
func (w *writing) reconcile(lost []mechanism.Event) ledger.Action {
	switch w.draw(3) {
	case 0:
		return ledger.Reconcile{AcceptLoss: true, Reason: "nobody knows"}
	case 1:
		return ledger.Reconcile{}
	}
	return ledger.Reconcile{Events: lost, Contribution: ledger.OverAll, Reason: "from a log"}
}

// raise makes the budgets, or the plan, larger by a half.
func (w *writing) raise() (v ledger.Raise, ok bool) {
	v = ledger.Raise{Reason: "more is needed", Independent: w.draw(2) == 0}
	now := w.state.View()
	for _, b := range now.Budgets {
		b.Budget.Epsilon *= 1.5
		v.Budgets = append(v.Budgets, b.Budget)
	}
	for _, p := range now.Resolution.Plan {
		v.Plan.Events = append(v.Plan.Events,
			mechanism.Event{Mechanism: p.Mechanism, Count: uint32(p.Count + p.Count/2)})
	}
	var err error
	v.Resolution, err = w.state.Raising(v).Resolve(nil)
	return v, err == nil
}

// random returns numbers below n from a seed.
func random(seed uint64) func(n int) int {
	return func(n int) int {
		seed = seed*6364136223846793005 + 1442695040888963407 // Knuth's MMIX generator
		return int((seed >> 33) % uint64(n))
	}
}
