// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

const setPrincipal = "unverified:p0"

// journalGenesis is that of a journal.
func journalGenesis(name string) *ledger.Genesis {
	return &ledger.Genesis{Principal: ledger.Daemon, Time: timeOf(0),
		Spec: ledger.Spec{Name: name, Adjacency: mechanism.AddOrRemoveOne}}
}

// decideSet has an action decided in the first ledgers of a shelf under a request's key. A commit or a release is
// about what the set made has reserved.
func (f *shelf) decideSet(members int, key string, v ledger.Action, made *ledger.Entry) write {
	f.t.Helper()
	w := ledger.Writer{Principal: setPrincipal, Name: "request/" + key}
	name := ledger.JournalName(ledger.JournalOf(w.Name))
	var out write
	journal := f.book(name)
	if journal == nil {
		out.made = journalGenesis(name)
		journal = f.unmade(out.made)
	}
	together := ledger.Together{Action: v, Contribution: ledger.OverAll}
	if made != nil {
		together.Journal = ledger.JournalName(made.Set.Journal)
	}
	for _, b := range f.books[:members] {
		m := ledger.Member{Ledger: b.name, Position: b.state.Summary().Head.Position + 1}
		if made != nil {
			m.Reservation = b.reservation(made)
		}
		together.Members = append(together.Members, m)
	}
	part := &ledger.SetPart{Contribution: ledger.OverAll, Journal: ledger.JournalOf(w.Name),
		Position: journal.state.Summary().Head.Position + 1,
		Members:  uint32(members), Names: ledger.NamesHash(together.Members)}
	for i, b := range f.books[:members] {
		r := b.request(ledger.SetWriter(setPrincipal), together.In(together.Members[i]))
		r.Set = part
		out.books, out.batches = append(out.books, b), append(out.batches, b.decide(r))
	}
	out.books = append(out.books, journal)
	out.batches = append(out.batches, journal.decide(journal.request(w, together)))
	return out
}

// reservation finds where a ledger has what a set has reserved.
func (b *book) reservation(made *ledger.Entry) uint64 {
	b.t.Helper()
	for _, r := range b.records {
		if _, is := r.Entry.Action.(ledger.Reserve); is && reflect.DeepEqual(r.Entry.Set, made.Set) {
			return r.Entry.Position
		}
	}
	b.t.Fatalf("%s has no part of the reservation %+v", b.name, made.Set)
	return 0
}

// setSteps are what is done with sets, one after the other.
var setSteps = []struct {
	key string
	do  func(made *ledger.Entry) (ledger.Action, *ledger.Entry)
}{
	{"charge", func(*ledger.Entry) (ledger.Action, *ledger.Entry) {
		return ledger.Charge{Events: []mechanism.Event{part(0, 3)}}, nil
	}},
	{"reserve", func(*ledger.Entry) (ledger.Action, *ledger.Entry) {
		return ledger.Reserve{Events: []mechanism.Event{part(1, 5)}, Lifetime: time.Hour}, nil
	}},
	{"commit", func(made *ledger.Entry) (ledger.Action, *ledger.Entry) {
		return ledger.Commit{Reservation: made.Set.Position, Events: []mechanism.Event{part(1, 2)}}, made
	}},
	{"release", func(made *ledger.Entry) (ledger.Action, *ledger.Entry) {
		return ledger.Release{Reservation: made.Set.Position, Reason: "r"}, made
	}},
}

// setStep is the k-th of them in the first three ledgers of a shelf.
func (f *shelf) setStep(k int) write {
	f.t.Helper()
	var made *ledger.Entry
	for i := range f.books[0].records {
		if e := &f.books[0].records[i].Entry; e.Action.Kind() == "reserve" {
			made = e
		}
	}
	v, of := setSteps[k].do(made)
	return f.decideSet(3, setSteps[k].key, v, of)
}

// testSets: what is done in several ledgers is there in all of them and in its journal, which the first of them
// makes; and in none of them if one ledger does not take it.
func testSets(t *testing.T, h Harness) {
	s := h.Open(t)
	f := &shelf{t: t, s: s}
	f.add(reserving(t, s, "a"), reserving(t, s, "b"), reserving(t, s, "c"))
	defer func() {
		if err := f.s.Close(); err != nil {
			t.Error(err)
		}
	}()
	for k := range setSteps {
		for i := range 4 { // the last one is the journal
			for what, spoil := range map[string]func(*ledger.Proposal){
				"on another head": func(p *ledger.Proposal) { p.Expected.Hash[0] ^= 1 },
				"a wrong total":   func(p *ledger.Proposal) { p.Total++ },
				"out of sequence": func(p *ledger.Proposal) { p.Entries[0].Sequence++ },
				"a user's lane": func(p *ledger.Proposal) {
					p.Entries[0].Writer.Name = "request/x"
					if i == 3 {
						p.Entries[0].Writer.Name = ledger.SetLane
					}
				},
			} {
				o := f.setStep(k)
				o.lost()
				batch := o.proposals()
				if spoil(&batch[i]); i == 3 && o.made != nil && what == "on another head" {
					continue // it has none
				}
				if _, err := f.s.Append(batch); err == nil {
					t.Fatalf("%s: with %s in proposal %d it was taken", setSteps[k].key, what, i)
				}
				f.check()
			}
		}
		o := f.setStep(k)
		batch := o.proposals()
		if _, err := f.s.Append(batch); err != nil {
			t.Fatalf("%s: %v", setSteps[k].key, err)
		}
		f.kept(o)
		f.check()
		f.s = h.Reopen(t, f.s)
		f.check()
		// Again it is decided on heads that have moved on.
		if _, err := f.s.Append(batch); !errors.Is(err, ledger.ErrConflict) {
			t.Errorf("%s again: %v, want ErrConflict", setSteps[k].key, err)
		}
		f.check()
	}
}
