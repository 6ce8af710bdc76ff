// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"errors"
	"slices"
	"testing"

	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

func refund(position uint64, parts ...mechanism.Event) ledger.Refund {
	return ledger.Refund{Position: position, Events: parts, Reason: "r"}
}

// zCDP is a budget of this much ρ.
func zCDP(rho float64) []accountant.Budget {
	return []accountant.Budget{{Guard: accountant.GuardZCDP, Rho: rho}}
}

// raise makes the ledger's budget larger.
func (b *book) raise(w ledger.Writer, rho float64) ledger.Request {
	b.t.Helper()
	return b.raising(w, ledger.Raise{Budgets: zCDP(rho), Reason: "r"})
}

// raising is a request to raise as v says.
func (b *book) raising(w ledger.Writer, v ledger.Raise) ledger.Request {
	b.t.Helper()
	var err error
	if v.Resolution, err = b.state.Raising(v).Resolve(nil); err != nil {
		b.t.Fatal(err)
	}
	v.Late = b.state.Summary().Total > 0 // what the decision finds
	return b.request(w, v)
}

// testAmendments: refunds and raises are there after each reopening, also in ledgers
// with many mechanisms and without budgets.
func testAmendments(t *testing.T, h Harness) {
	s := h.Open(t)
	defer func() { // for the newest one, also where the test ends early
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	l, m := reserving(t, s, "l"), create(t, s, "m")
	again := func() {
		s = h.Reopen(t, s)
		l.s, m.s = s, s
		l.check()
		m.check()
	}
	l.append(l.raise(writer(0), 2e12)) // 1: before anything was charged
	l.append(l.charge(writer(0), 0, 5), l.charge(writer(1), 1, 6), l.charge(writer(0), 0, 7))
	for i := range 12 { // totals in rows of their own too
		m.append(m.charge(writer(i%2), i, uint32(i+1)))
	}
	again()
	l.append(l.request(writer(0), refund(2, part(0, 5))))
	// nothing is left of two
	m.append(m.request(writer(0), refund(1, part(0, 1))), m.request(writer(1), refund(12, part(11, 12))))
	again()
	l.append(l.raise(writer(1), 3e12))
	l.append(l.request(writer(0), refund(4, part(0, 7))), l.charge(writer(0), 0, 1), l.charge(writer(0), 2, 1),
		l.request(writer(0), refund(3, part(1, 6))))
	m.append(m.charge(writer(0), 11, 4), m.charge(writer(0), 20, 1), m.request(writer(0), refund(16, part(20, 1))))
	again()
	// What is freed is gone, and told, after each reopening too.
	f := reserving(t, s, "f")
	f.append(f.reserve(writer(0), part(0, 5), part(1, 2)), f.reserve(writer(1), part(1, 7)))
	f.append(f.commit(writer(0), 1, part(0, 4)), f.request(writer(1), ledger.Free{Reservation: 1, Reason: "r"}),
		f.request(writer(1), ledger.Expire{Reservation: 2}))
	again()
	f.s = s
	f.check()
	if v := f.state.View(); v.Total != 11 || len(v.Reservations) != 0 || len(v.Assumptions) != 1 ||
		v.Assumptions[0].Kind != "freed" || v.Guarantee != "descriptive" {
		t.Errorf("freed: %+v", v)
	}
	// So are warnings that were acknowledged, in one ledger and not in the others.
	f.append(f.request(writer(1), ledger.Acknowledge{Warning: "w", Reason: "r"}), f.charge(writer(0), 0, 1),
		f.request(writer(0), ledger.Acknowledge{Warning: "x", Reason: "r"}))
	again()
	f.s = s
	f.check()
	if a := f.state.View().Acknowledged; len(a) != 2 || a[0].Warning != "w" || a[0].Principal != writer(1).Principal ||
		a[1].Position != 8 || len(l.state.View().Acknowledged) != 0 {
		t.Errorf("acknowledged: %+v", a)
	}
	v := l.state.View()
	if v.Total != 2 || len(v.Assumptions) != 4 || v.Resolution.Limits[0].Value != 3e12 || v.Guarantee != "descriptive" {
		t.Errorf("%+v", v)
	}
	l.append(l.request(writer(0), ledger.Close{}))
	again()
}

// testWrongAmendments: no store takes a refund of more than there is, or totals that do
// not follow. What the rules forbid but the sums allow, such as a second refund, is found
// by package audit.
func testWrongAmendments(t *testing.T, h Harness) {
	s := h.open(t)
	b, other := reserving(t, s, "l"), reserving(t, s, "m")
	b.append(b.charge(writer(0), 0, 9), b.charge(writer(0), 1, 9), b.charge(writer(0), 2, 9))
	b.append(b.request(writer(1), refund(1, part(0, 9))))
	// the other's refunds are not its own
	other.append(other.charge(writer(0), 0, 9), other.request(writer(0), refund(1, part(0, 9))))
	for what, spoil := range map[string]func(*ledger.Proposal){
		"of nothing":      func(p *ledger.Proposal) { p.Entries[0].Action = refund(2) },
		"of more":         func(p *ledger.Proposal) { p.Entries[0].Action = refund(2, part(1, 10)) },
		"no count":        func(p *ledger.Proposal) { p.Counts = p.Counts[1:] },
		"a smaller count": func(p *ledger.Proposal) { p.Counts[len(p.Counts)-1].Total-- },
		"a larger count":  func(p *ledger.Proposal) { p.Counts[0].Total++ },
		"the same counts": func(p *ledger.Proposal) { p.Counts[0].Total, p.Counts[1].Total = 9, 9 },
		"total":           func(p *ledger.Proposal) { p.Total = 18 },
	} {
		p := b.decide(b.request(writer(0), refund(2, part(1, 9))), b.request(writer(0), refund(3, part(2, 9))),
			b.charge(writer(0), 0, 1)).Proposal()
		b.last[writer(0)] -= 3
		p.Entries, p.Counts = slices.Clone(p.Entries), slices.Clone(p.Counts)
		// mechanisms 2, 1 and 0: 0, 0 and 1
		slices.SortFunc(p.Counts, func(x, y ledger.CountChange) int { return y.Index - x.Index })
		spoil(&p)
		if _, err := s.Append([]ledger.Proposal{p}); err == nil {
			t.Errorf("%s: was taken", what)
		} else if errors.Is(err, ledger.ErrConflict) || errors.Is(err, ledger.ErrUnknown) {
			t.Errorf("%s: %v; a wrong proposal must not look like something to try again", what, err)
		}
		b.check()
	}
	b.append(b.request(writer(0), refund(2, part(1, 9))), b.request(writer(0), refund(3, part(2, 9))),
		b.charge(writer(0), 0, 1))
}
