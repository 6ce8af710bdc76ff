// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"errors"
	"slices"
	"testing"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

var restoring = ledger.Writer{Principal: ledger.Daemon, Name: "request/restore"}

// restored is what a restore to the n-th store appends.
func (b *book) restored(n byte) ledger.Request {
	to := []byte("00000000-0000-4000-8000-000000000000")
	to[0] = 'a' + n
	return b.request(ledger.Writer{Principal: restoring.Principal, Name: restoring.Name + string(to[0])},
		ledger.Restored{
			From: b.state.StoreOf(b.state.Summary().Head.Position), StoreID: string(to),
			Copy: ledger.Hash{n}, Newest: timeOf(3)})
}

// testRestored: what a restore and reconciling make of a ledger is there after each
// reopening.
func testRestored(t *testing.T, h Harness) {
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
	l.append(l.charge(writer(0), 0, 5), l.reserve(writer(0), part(1, 6), part(2, 3)), l.reserve(writer(1), part(0, 2)))
	m.append(m.charge(writer(0), 0, 5))
	l.append(l.restored(0))
	m.append(m.restored(0))
	checkReserving(t, s)
	again()
	if sums, err := s.List("", "", 9); err != nil || len(sums) != 2 || !sums[0].Unreconciled || !sums[1].Unreconciled {
		t.Errorf("List = %+v, %v; want that both need reconciling", sums, err)
	}
	l.append(l.request(writer(2), ledger.Reconcile{Events: []mechanism.Event{part(0, 4), part(3, 1)},
		Contribution: ledger.OverAll, Reason: "found"}))
	m.append(m.request(writer(2), ledger.Reconcile{AcceptLoss: true, Reason: "nobody knows"}),
		m.charge(writer(2), 1, 1))
	again()
	if v := l.state.View(); v.Unreconciled || v.Total != 5+6+3+2+4+1 || len(v.Assumptions) != 2 ||
		v.Guarantee != "filter" {
		t.Errorf("%+v", v)
	}
	l.append(l.charge(writer(2), 0, 1), l.restored(1)) // within one Append
	again()
	l.append(l.request(writer(3), ledger.Reconcile{}), l.charge(writer(3), 0, 1))
	again()
	l.append(l.reserve(writer(3), part(0, 1)), l.request(writer(3), ledger.Close{}))
	again()
}

// testWrongRestores: no store takes a restore that leaves reservations, or the mark that
// reconciling is needed, as they were, nor what takes that mark away without reconciling.
func testWrongRestores(t *testing.T, h Harness) {
	s := h.open(t)
	b := reserving(t, s, "l")
	b.append(b.charge(writer(0), 0, 9), b.reserve(writer(0), part(1, 9)))
	refuse := func(what string, p ledger.Proposal) {
		t.Helper()
		if _, err := s.Append([]ledger.Proposal{p}); err == nil {
			t.Errorf("%s: was taken", what)
		} else if errors.Is(err, ledger.ErrConflict) || errors.Is(err, ledger.ErrUnknown) {
			t.Errorf("%s: %v; a wrong proposal must not look like something to try again", what, err)
		}
		b.check()
	}
	charging := b.decide(b.charge(writer(1), 0, 1)).Proposal()
	b.last[writer(1)]--
	for what, spoil := range map[string]func(*ledger.Proposal){
		"no mark":     func(p *ledger.Proposal) { p.Unreconciled = false },
		"reservation": func(p *ledger.Proposal) { p.Open = nil },
		"total":       func(p *ledger.Proposal) { p.Total = 9 },
		"a mark alone": func(p *ledger.Proposal) {
			*p = charging
			p.Unreconciled = true
		},
	} {
		r := b.restored(0)
		p := b.decide(r).Proposal()
		b.last[r.Writer]--
		spoil(&p)
		refuse(what, p)
	}
	b.append(b.restored(0))
	charging.Expected = b.state.Summary().Head
	charging.Entries = slices.Clone(charging.Entries)
	charging.Entries[0].Position = charging.Expected.Position + 1
	charging.Counts[0].Total, charging.Total, charging.Unreconciled = 10, 19, false
	refuse("a charge that takes the mark away", charging)
	b.append(b.request(writer(1), ledger.Reconcile{}))
	b.check()
}
