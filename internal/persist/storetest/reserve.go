// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// reserving makes a ledger with a large budget.
func reserving(t *testing.T, s ledger.Store, name string) *book {
	t.Helper()
	sum, _, err := s.Create(limited(name))
	if err != nil {
		t.Fatal(err)
	}
	return &book{t: t, s: s, name: name, state: ledger.NewState(ledger.Snapshot{Summary: sum}),
		last: map[ledger.Writer]uint64{}}
}

// limited is the genesis of a ledger with a large budget.
func limited(name string) ledger.Genesis {
	g := Genesis(name)
	g.Spec.Policy = ledger.Filtered
	g.Spec.Budgets = []accountant.Budget{{Guard: accountant.GuardZCDP, Rho: 1e12}}
	g.Resolution = resolved(g.Spec)
	return g
}

// resolved is what a spec of these tests comes to.
func resolved(spec ledger.Spec) ledger.Resolution {
	r, err := ledger.Resolve(spec, nil)
	if err != nil {
		panic(err)
	}
	return r
}

func (b *book) reserve(w ledger.Writer, parts ...mechanism.Event) ledger.Request {
	return b.request(w, ledger.Reserve{Events: parts, Lifetime: time.Hour})
}

func (b *book) commit(w ledger.Writer, reservation uint64, parts ...mechanism.Event) ledger.Request {
	return b.request(w, ledger.Commit{Reservation: reservation, Events: parts})
}

func part(m int, count uint32) mechanism.Event {
	return mechanism.Event{Mechanism: mech(m), Count: count}
}

// checkReserving: the store names exactly the ledgers with open reservations.
func checkReserving(t *testing.T, s ledger.Store, want ...string) {
	t.Helper()
	got, err := s.Reserving()
	slices.Sort(got)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("Reserving = %v, %v; want %v", got, err, want)
	}
}

func testReservations(t *testing.T, h Harness) {
	s := h.Open(t)
	defer func() { // for the newest one, also where the test ends early
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	create(t, s, "a")
	checkReserving(t, s)
	l, m := reserving(t, s, "l"), reserving(t, s, "m")
	again := func() {
		s = h.Reopen(t, s)
		l.s, m.s = s, s
		l.check()
		m.check()
	}
	l.append(l.reserve(writer(0), part(0, 5), part(1, 4294967295), part(0, 2))) // 1: 7 of 0, and 1
	l.append(l.reserve(writer(1), part(2, 3)), l.charge(writer(0), 9, 1))       // 2, 3
	m.append(m.charge(writer(0), 1, 1), m.reserve(writer(0), part(3, 1)))       // 2
	checkReserving(t, s, "l", "m")
	again()
	l.append(l.commit(writer(2), 1, part(1, 1), part(0, 7)))
	again()
	l.append(l.commit(writer(2), 1, part(1, 4294967294)), l.reserve(writer(0), part(0, 1))) // 5 ends 1; 6
	m.append(m.request(writer(2), ledger.Release{Reservation: 2, Reason: "r"}))
	checkReserving(t, s, "l")
	again()
	// Opened and closed in one Append, and one that expires.
	l.append(l.reserve(writer(2), part(4, 2)), l.commit(writer(2), 7, part(4, 2)),
		l.request(writer(2), ledger.Expire{Reservation: 2}))
	again()
	if open := l.state.Reservations(); len(open) != 1 || open[0].Position != 6 {
		t.Fatalf("open: %+v; want the one of position 6", open)
	}
	l.append(l.reserve(writer(0), part(5, 8)), l.request(writer(0), ledger.Close{}))
	checkReserving(t, s)
	again()
	if sum := l.state.Summary(); sum.Total != 7+4294967295+1+3+1+2+8 || !sum.Closed {
		t.Errorf("%+v", sum)
	}
}

// testWrongReservations: no store takes a proposal that loses or makes a part of
// a reservation, or is not about one of its own.
func testWrongReservations(t *testing.T, h Harness) {
	s := h.open(t)
	b, other := reserving(t, s, "l"), reserving(t, s, "m")
	b.append(b.reserve(writer(0), part(0, 9)), b.reserve(writer(0), part(1, 9)), b.charge(writer(0), 7, 1))
	other.append(other.charge(writer(0), 7, 1), other.charge(writer(0), 7, 1), other.reserve(writer(0), part(0, 9)))
	for what, spoil := range map[string]func(*ledger.Proposal){
		"one is missing": func(p *ledger.Proposal) { p.Open = p.Open[1:] },
		"more is left": func(p *ledger.Proposal) {
			p.Open[0].Rest = []mechanism.Part{{Mechanism: mech(0),
				Count: 6}}
		},
		"less is left":      func(p *ledger.Proposal) { p.Open[0].Rest = nil },
		"a new one is lost": func(p *ledger.Proposal) { p.Open[len(p.Open)-1].Rest = nil },
		"another's":         func(p *ledger.Proposal) { p.Entries[1].Action = ledger.Expire{Reservation: 3} },
		"freed in part": func(p *ledger.Proposal) {
			p.Entries[1].Action = ledger.Free{Reservation: 2, Events: []mechanism.Event{part(0, 1)}}
		},
		"a closed one": func(p *ledger.Proposal) { p.Entries[1].Action = ledger.Release{Reservation: 9} },
		"total":        func(p *ledger.Proposal) { p.Total++ },
	} {
		p := b.decide(b.commit(writer(0), 1, part(0, 4)), b.request(writer(0), ledger.Release{Reservation: 2}),
			b.reserve(writer(0), part(2, 1))).Proposal()
		b.last[writer(0)] -= 3
		p.Open = slices.Clone(p.Open)
		spoil(&p)
		if _, err := s.Append([]ledger.Proposal{p}); err == nil {
			t.Errorf("%s: was taken", what)
		} else if errors.Is(err, ledger.ErrConflict) || errors.Is(err, ledger.ErrUnknown) {
			t.Errorf("%s: %v; a wrong proposal must not look like something to try again", what, err)
		}
		b.check()
	}
	closing := b.decide(b.request(writer(0), ledger.Close{})).Proposal()
	b.last[writer(0)]--
	closing.Open = closing.Open[:1]
	if _, err := s.Append([]ledger.Proposal{closing}); err == nil {
		t.Error("a ledger was closed with an open reservation")
	}
	b.check()
	checkReserving(t, s, "l", "m")
}

// checkOpen: the store has the open reservations of the book.
func (b *book) checkOpen(snapshot ledger.Snapshot) {
	b.t.Helper()
	got, want := ledger.NewState(snapshot).Reservations(), b.state.Reservations()
	if !reflect.DeepEqual(got, want) {
		b.t.Errorf("open reservations of %s are\n%+v, want\n%+v", b.name, got, want)
	}
}
