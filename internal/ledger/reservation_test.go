// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

func reserving(sequence uint64, events ...mechanism.Event) Request {
	return Request{Writer: Writer{"p", "w"}, Sequence: sequence, Action: Reserve{Events: events, Lifetime: time.Hour}}
}

// A ledger of ε = 1, in which reservation 1 holds 4 × 0.1 and 1 × 0.2, of which
// one 0.1 is committed.
func reservedBatch(t *testing.T) *Batch {
	t.Helper()
	b := NewBatch(NewState(resolved(t, filter(accountant.Budget{Guard: accountant.GuardBasic, Epsilon: 1}))))
	for _, r := range []Request{
		reserving(1, pure(0.1, 3), pure(0.2, 1), pure(0.1, 1)),
		{Writer: Writer{"p", "w"}, Sequence: 2,
			Action: Commit{Reservation: 1, Events: []mechanism.Event{pure(0.1, 1)}}},
	} {
		if d := b.Decide(r, Lane{}, noon); d.Outcome != Accepted {
			t.Fatal(d.Err)
		}
	}
	return b
}

func TestReservations(t *testing.T) {
	ask := func(v Action) Request { return Request{Writer: Writer{"p", "w"}, Sequence: 3, Action: v} }
	commit := func(events ...mechanism.Event) Action { return Commit{Reservation: 1, Events: events} }
	for _, c := range []struct {
		name   string
		action Action
		err    error // sentinel
		says   string
		left   []mechanism.Part // of reservation 1
		more   int              // how many 0.1 fit afterwards; of the ledger still open
	}{
		{name: "it counts as spent", action: Charge{Events: []mechanism.Event{pure(0.1, 5)}}, err: ErrBudget,
			says: "allowed: 4 × pure_dp(ε=0.1)",
			left: []mechanism.Part{{Mechanism: mechanism.PureDP{Epsilon: 0.1}, Count: 3},
				{Mechanism: mechanism.PureDP{Epsilon: 0.2}, Count: 1}}, more: 4},
		{name: "a part", action: commit(pure(0.2, 1), pure(0.1, 2)),
			left: []mechanism.Part{{Mechanism: mechanism.PureDP{Epsilon: 0.1}, Count: 1}}, more: 4},
		{name: "all of it", action: commit(pure(0.1, 2), pure(0.2, 1), pure(0.1, 1)), more: 4},
		{name: "too much", action: commit(pure(0.1, 2), pure(0.1, 2)), err: ErrReservation,
			says: "events[1]: 2 × pure_dp(ε=0.1); allowed: at most 1, what is left of reservation 1",
			left: []mechanism.Part{{Mechanism: mechanism.PureDP{Epsilon: 0.1}, Count: 3},
				{Mechanism: mechanism.PureDP{Epsilon: 0.2}, Count: 1}}, more: 4},
		{name: "what it does not hold", action: commit(pure(0.3, 1)), err: ErrReservation,
			says: "events[0]: 1 × pure_dp(ε=0.3); allowed: at most 0",
			left: []mechanism.Part{{Mechanism: mechanism.PureDP{Epsilon: 0.1}, Count: 3},
				{Mechanism: mechanism.PureDP{Epsilon: 0.2}, Count: 1}}, more: 4},
		{name: "released", action: Release{Reservation: 1}, more: 9},
		{name: "expired", action: Expire{Reservation: 1}, more: 4},
		{name: "unknown", action: Release{Reservation: 2}, err: ErrReservation,
			says: "reservation: 2; allowed: the position of one that is open",
			left: []mechanism.Part{{Mechanism: mechanism.PureDP{Epsilon: 0.1}, Count: 3},
				{Mechanism: mechanism.PureDP{Epsilon: 0.2}, Count: 1}}, more: 4},
		{name: "closed", action: Close{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := reservedBatch(t)
			if d := b.Decide(check(ask(c.action)), Lane{}, noon); (d.Err == nil) != (c.err == nil) {
				t.Errorf("asked: %+v", d)
			}
			d := b.Decide(ask(c.action), Lane{}, noon)
			if !errors.Is(d.Err, c.err) || (d.Err == nil) != (c.err == nil) ||
				c.err != nil && !strings.Contains(d.Err.Error(), c.says) {
				t.Fatalf("%+v; want %v, %s", d, c.err, c.says)
			}
			var left []mechanism.Part
			if open := b.held.sorted(); len(open) > 0 {
				left = open[0].Rest
			}
			if !slices.Equal(left, c.left) {
				t.Errorf("left: %v; want %v", left, c.left)
			}
			n := 0
			for b.Decide(request("v", uint64(n+1), pure(0.1, 1)), Lane{}, noon).Outcome == Accepted {
				n++
			}
			if n != c.more {
				t.Errorf("%d more fit; want %d", n, c.more)
			}
			if left == nil && !b.closed { // a second time
				sequence := b.Lane(Writer{"p", "w"}, Lane{}).Sequence + 1
				for _, v := range []Action{Release{Reservation: 1}, Expire{Reservation: 1}, commit(pure(0.1, 1))} {
					if d := b.Decide(Request{Writer: Writer{"p", "w"}, Sequence: sequence, Action: v}, Lane{},
						noon); !errors.Is(d.Err, ErrReservation) {
						t.Errorf("%T again: %+v", v, d)
					}
				}
			}
		})
	}
}

// A closing charges what is open, and no reservation is left.
func TestClosingCharges(t *testing.T) {
	b := reservedBatch(t)
	if d := b.Decide(closing("v", 1), Lane{}, noon); d.Outcome != Accepted {
		t.Fatal(d.Err)
	}
	p := b.Proposal()
	want := []CountChange{{0, mechanism.PureDP{Epsilon: 0.1}, 4}, {1, mechanism.PureDP{Epsilon: 0.2}, 1}}
	if !slices.Equal(p.Counts, want) || p.Total != 5 || !p.Closed || len(p.Open) != 0 { // it was opened in this batch
		t.Errorf("%+v", p)
	}
}

func TestReservationsNeedABudget(t *testing.T) {
	b := NewBatch(NewState(snapshot()))
	if d := b.Decide(reserving(1, pure(1, 1)), Lane{}, noon); !errors.Is(d.Err, ErrReservation) ||
		!strings.Contains(d.Err.Error(), "ledger: a has neither a plan nor budgets, so nothing can be set aside in "+
			"it; allowed: a ledger with the policy PLAN or FILTER") {
		t.Errorf("%+v", d)
	}
}

func TestReservationsAreBounded(t *testing.T) {
	full := resolved(t, filter(accountant.Budget{Guard: accountant.GuardBasic, Epsilon: 1e9}))
	for i := range MaxReservations {
		full.Open = append(full.Open,
			Reservation{Position: uint64(i + 1),
				Rest: []mechanism.Part{{Mechanism: mechanism.PureDP{Epsilon: 1}, Count: 1}}})
	}
	if d := NewBatch(NewState(full)).Decide(reserving(1, pure(1, 1)), Lane{}, noon); !errors.Is(d.Err,
		ErrOutOfRange) || !strings.Contains(d.Err.Error(), "open reservations: 1001; allowed: at most 1000") {
		t.Errorf("one too many: %+v", d)
	}
	var parts []mechanism.Part
	for i := range MaxReservedParts {
		parts = append(parts, mechanism.Part{Mechanism: mechanism.PureDP{Epsilon: 1 + float64(i)}, Count: 1})
	}
	full.Open = []Reservation{{Position: 1, Rest: parts}}
	if d := NewBatch(NewState(full)).Decide(reserving(1, pure(1, 1)), Lane{}, noon); !errors.Is(d.Err,
		ErrOutOfRange) || !strings.Contains(d.Err.Error(), "mechanisms in open reservations: 10001") {
		t.Errorf("too many mechanisms: %+v", d)
	}
	// What is reserved can always be charged: totals keep room for it.
	full.Open = []Reservation{{Position: 1,
		Rest: []mechanism.Part{{Mechanism: mechanism.PureDP{Epsilon: 1e-300}, Count: 1<<63 - 3}}}}
	b := NewBatch(NewState(full))
	if d := b.Decide(request("w", 1, pure(1e-300, 3)), Lane{}, noon); !errors.Is(d.Err, ErrOutOfRange) {
		t.Errorf("a total above 2^63 − 1: %+v", d)
	}
	if d := b.Decide(request("w", 1, pure(1e-300, 2)), Lane{}, noon); d.Outcome != Accepted {
		t.Errorf("a total of 2^63 − 1: %+v", d)
	}
	if d := b.Decide(closing("v", 1), Lane{}, noon); d.Outcome != Accepted || b.Proposal().Total != 1<<63-1 {
		t.Errorf("closed: %+v, %d", d, b.Proposal().Total)
	}
}

// stored is what a store gives to Check for p: of the open reservations those that p changes.
func stored(p Proposal, on Summary, totals []uint64, open []Reservation) Stored {
	s := Stored{Summary: on, Totals: totals}
	for _, r := range open {
		s.Held += r.Total()
		if slices.ContainsFunc(p.Open, func(changed Reservation) bool { return changed.Position == r.Position }) {
			s.Open = append(s.Open, r)
		}
	}
	return s
}

// A proposal whose reservations do not follow from its entries is refused.
func TestProposalsWithReservations(t *testing.T) {
	on := snapshot().Summary
	open := []Reservation{{Position: 2, Rest: []mechanism.Part{{Mechanism: noise(1), Count: 5}}},
		{Position: 4, Rest: []mechanism.Part{{Mechanism: noise(9), Count: 1}}}}
	good := func() Proposal {
		return Proposal{
			Ledger: "a", Expected: on.Head, Total: 60 + 2 + 1,
			Entries: []Entry{
				{Position: 8, Action: Reserve{Events: []mechanism.Event{event(3, 7)}}},
				{Position: 9, Action: Commit{Reservation: 2, Events: []mechanism.Event{event(1, 2)}}},
				{Position: 10, Action: Expire{Reservation: 4}},
			},
			Counts: []CountChange{{0, noise(1), 12}, {3, noise(9), 1}},
			Open: []Reservation{
				{Position: 2, Rest: []mechanism.Part{{Mechanism: noise(1), Count: 3}}}, {Position: 4},
				{Position: 8, Rest: []mechanism.Part{{Mechanism: noise(3), Count: 7}}},
			},
		}
	}
	if err := good().Check(stored(good(), on, []uint64{10, 0}, open)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, says string
		spoil      func(*Proposal)
	}{
		{"more than is left", "entries[1]: 6 of reservation 2; allowed: at most 5", func(p *Proposal) {
			p.Entries[1].Action = Commit{Reservation: 2, Events: []mechanism.Event{event(1, 6)}}
		}},
		{"unknown commit", "entries[1]: reservation 3",
			func(p *Proposal) { p.Entries[1].Action = Commit{Reservation: 3} }},
		{"unknown release", "entries[1]: reservation 3",
			func(p *Proposal) { p.Entries[1].Action = Release{Reservation: 3} }},
		{"unknown expiry", "entries[2]: reservation 3",
			func(p *Proposal) { p.Entries[2].Action = Expire{Reservation: 3} }},
		{"expired and released", "entries[2]: reservation 2", func(p *Proposal) {
			p.Entries[1].Action, p.Entries[2].Action = Release{Reservation: 2}, Expire{Reservation: 2}
		}},
		{"order", "open[1].position: 2; allowed: increasing positions",
			func(p *Proposal) { p.Open[0], p.Open[1] = p.Open[1], p.Open[0] }},
		{"too much left", "open[0]: 4 left; allowed: 3", func(p *Proposal) { p.Open[0].Rest[0].Count = 4 }},
		{"nothing left", "open[2]: 0 left; allowed: 7", func(p *Proposal) { p.Open[2].Rest = nil }},
		{"an empty mechanism", "open[2]: nothing left of a mechanism",
			func(p *Proposal) { p.Open[2].Rest = append(p.Open[2].Rest, mechanism.Part{Mechanism: noise(5)}) }},
		{"a new one is missing", "open: 3 altogether; allowed: 10, with all that change",
			func(p *Proposal) { p.Open = p.Open[:2] }},
		{"an expired one is missing",
			"entries[2]: reservation 4; allowed: an open reservation that is among the changed",
			func(p *Proposal) { p.Open = slices.Delete(p.Open, 1, 2) }},
		{"a committed one is missing", "entries[1]: reservation 2", func(p *Proposal) { p.Open = p.Open[1:] }},
		{"total", "total: 64; allowed: 63", func(p *Proposal) { p.Total++ }},
		{"closed with some open", "total: 63; allowed: 73", func(p *Proposal) {
			p.Entries = append(p.Entries, Entry{Position: 11, Action: Close{}})
			p.Closed = true
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := good()
			c.spoil(&p)
			if err := p.Check(stored(p, on, []uint64{10, 0}, open)); err == nil ||
				!strings.Contains(err.Error(), c.says) {
				t.Errorf("%v; want %s", err, c.says)
			}
		})
	}
}

// What children hold may be released already; users' reservations have no outputs.
func TestChildrenCountAsCharged(t *testing.T) {
	b := NewBatch(NewState(resolved(t, filter(accountant.Budget{Guard: accountant.GuardBasic, Epsilon: 10}))))
	accept(t, b, charge(pure(0.1, 5)), Reserve{Events: []mechanism.Event{pure(0.1, 9)}, Lifetime: 1})
	b.Decide(Request{Writer: Writer{Daemon, "w"}, Sequence: 1,
		Action: Reserve{Events: []mechanism.Event{pure(0.1, 2), pure(1, 1)}, Child: "c"}}, Lane{}, noon)
	v := applied(b).state.View()
	want := []mechanism.Part{{Mechanism: mechanism.PureDP{Epsilon: 0.1}, Count: 7},
		{Mechanism: mechanism.PureDP{Epsilon: 1}, Count: 1}}
	if got := v.Charged; !slices.Equal(got.Parts, want) || v.Total != 5 || got.Adjacency != mechanism.AddOrRemoveOne {
		t.Errorf("%+v; want %v", got, want)
	}
}
