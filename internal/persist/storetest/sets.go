package storetest

import (
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/ledger/journals"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/record"
)

// shelf writes to several ledgers together, as package keeper does.
type shelf struct {
	t        testing.TB
	s        ledger.Store
	members  []*book
	journals map[string]*book
}

// set is what is done in several ledgers: a batch for each of them, and last one for the journal.
type set struct {
	books   []*book
	batches []*ledger.Batch
	made    *ledger.Genesis // of the journal, where it is not there yet
}

func newShelf(t *testing.T, s ledger.Store, names ...string) *shelf {
	t.Helper()
	f := &shelf{t: t, s: s, journals: map[string]*book{}}
	for _, name := range names {
		f.members = append(f.members, reserving(t, s, name))
	}
	return f
}

const setPrincipal = "unverified:p0"

// journalGenesis is that of a journal.
func journalGenesis(name string) *ledger.Genesis {
	return &ledger.Genesis{Principal: ledger.Daemon, Time: timeOf(0),
		Spec: ledger.Spec{Name: name, Adjacency: mechanism.AddOrRemoveOne}}
}

// decide has an action decided in all members under a request's key. A commit or a release is about what the set
// made has reserved.
func (f *shelf) decide(key string, v ledger.Action, made *ledger.Entry) set {
	f.t.Helper()
	w := ledger.Writer{Principal: setPrincipal, Name: "request/" + key}
	name := journals.Name(journals.Of(w.Name))
	journal, known := f.journals[name]
	var out set
	if !known {
		out.made = journalGenesis(name)
		journal = &book{t: f.t, s: f.s, name: name, last: map[ledger.Writer]uint64{},
			state: ledger.NewState(ledger.Snapshot{Summary: ledger.Summary{Genesis: *out.made}}, nil)}
	}
	together := ledger.Together{Action: v}
	if made != nil {
		together.Journal = journals.Name(made.Set.Journal)
	}
	for i, b := range f.members {
		m := ledger.Member{Ledger: b.name, Position: b.state.Summary().Head.Position + 1}
		if made != nil {
			m.Reservation = f.reservation(i, made)
		}
		together.Members = append(together.Members, m)
	}
	part := &ledger.SetPart{Journal: journals.Of(w.Name), Position: journal.state.Summary().Head.Position + 1,
		Members: uint32(len(f.members)), Names: ledger.NamesHash(together.Members)}
	for i, b := range f.members {
		r := b.request(ledger.SetWriter(setPrincipal), together.In(together.Members[i]))
		r.Set = part
		out.books, out.batches = append(out.books, b), append(out.batches, b.decide(r))
	}
	out.books = append(out.books, journal)
	out.batches = append(out.batches, journal.decide(journal.request(w, together)))
	return out
}

// reservation finds where a member has what a set has reserved.
func (f *shelf) reservation(member int, made *ledger.Entry) uint64 {
	f.t.Helper()
	for _, r := range f.members[member].records {
		if _, is := r.Entry.Action.(ledger.Reserve); is && reflect.DeepEqual(r.Entry.Set, made.Set) {
			return r.Entry.Position
		}
	}
	f.t.Fatalf("%s has no part of the reservation %+v", f.members[member].name, made.Set)
	return 0
}

func (o set) proposals() (list []ledger.Proposal) {
	for i, b := range o.batches {
		p := b.Proposal()
		if i == len(o.batches)-1 {
			p.Genesis = o.made
		}
		list = append(list, p)
	}
	return list
}

// lost takes back that a set was decided.
func (o set) lost() {
	for i, b := range o.books {
		for _, e := range o.batches[i].Entries() {
			b.last[e.Writer]--
		}
	}
}

// kept takes note of a set that was written. It asks the store for its hashes, which no answer may have brought.
func (f *shelf) kept(o set) {
	f.t.Helper()
	for i, b := range o.books {
		if b.s = f.s; i == len(o.books)-1 && o.made != nil {
			f.journals[b.name] = b
			genesis, hash, err := f.s.GenesisRecord(b.name)
			if err != nil {
				f.t.Fatal(err)
			}
			g, err := record.UnmarshalGenesis(genesis)
			if err != nil {
				f.t.Fatal(err)
			}
			b.state = ledger.NewState(ledger.Snapshot{Summary: ledger.Summary{Genesis: g,
				Head: ledger.Head{Hash: hash}}}, nil)
			e := o.batches[i].Entries()[0]
			b.last[e.Writer]--
			r := b.request(e.Writer, e.Action)
			o.batches[i] = b.decide(r)
		}
		var hashes []ledger.Hash
		for _, e := range o.batches[i].Entries() {
			found, err := f.s.Records(b.name, e.Position, 1)
			if err != nil || len(found) != 1 {
				f.t.Fatalf("%s: entry %d: %d records, %v", b.name, e.Position, len(found), err)
			}
			hashes = append(hashes, found[0].Hash)
		}
		b.apply(o.batches[i], hashes)
	}
}

// check compares all members and journals with what was written.
func (f *shelf) check() {
	f.t.Helper()
	for _, b := range f.members {
		b.s = f.s
		b.check()
	}
	for _, b := range f.journals {
		b.s = f.s
		b.check()
	}
}

// absent checks that there is no journal but those that were written.
func (f *shelf) absent() {
	f.t.Helper()
	found, err := f.s.List("system:sets/", "", journals.Count+1)
	if err != nil || len(found) != len(f.journals) {
		f.t.Errorf("%d journals, %v; want %d", len(found), err, len(f.journals))
	}
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

// next is the k-th step.
func (f *shelf) next(k int) set {
	f.t.Helper()
	var made *ledger.Entry
	for i := range f.members[0].records {
		if e := &f.members[0].records[i].Entry; e.Action.Kind() == "reserve" {
			made = e
		}
	}
	v, of := setSteps[k].do(made)
	return f.decide(setSteps[k].key, v, of)
}

// testSets: what is done in several ledgers is there in all of them and in its journal, which the first of them
// makes; and in none of them if one ledger does not take it.
func testSets(t *testing.T, h Harness) {
	s := h.Open(t)
	f := newShelf(t, s, "a", "b", "c")
	defer func() {
		if err := f.s.Close(); err != nil {
			t.Error(err)
		}
	}()
	for k := range setSteps {
		for i := range len(f.members) + 1 {
			for what, spoil := range map[string]func(*ledger.Proposal){
				"on another head": func(p *ledger.Proposal) { p.Expected.Hash[0] ^= 1 },
				"a wrong total":   func(p *ledger.Proposal) { p.Total++ },
				"out of sequence": func(p *ledger.Proposal) { p.Entries[0].Sequence++ },
				"a user's lane": func(p *ledger.Proposal) {
					p.Entries[0].Writer.Name = "request/x"
					if i == len(f.members) {
						p.Entries[0].Writer.Name = journals.Lane
					}
				},
			} {
				o := f.next(k)
				o.lost()
				batch := o.proposals()
				if spoil(&batch[i]); i == len(f.members) && o.made != nil && what == "on another head" {
					continue // it has none
				}
				if _, err := f.s.Append(batch); err == nil {
					t.Fatalf("%s: with %s in proposal %d it was taken", setSteps[k].key, what, i)
				}
				f.check()
				f.absent()
			}
		}
		o := f.next(k)
		batch := o.proposals()
		if _, err := f.s.Append(batch); err != nil {
			t.Fatalf("%s: %v", setSteps[k].key, err)
		}
		f.kept(o)
		f.check()
		f.s = h.Reopen(t, f.s)
		f.check()
		f.absent()
		// Again it is decided on heads that have moved on.
		if _, err := f.s.Append(batch); !errors.Is(err, ledger.ErrConflict) {
			t.Errorf("%s again: %v, want ErrConflict", setSteps[k].key, err)
		}
		f.check()
	}
}

// testSetFaults: the write of a set fails at each step, and is there afterwards, or is not: in all of its
// ledgers or in none.
func testSetFaults(t *testing.T, h Harness) {
	if h.Fail == nil {
		t.Skip("this store's writes cannot be made to fail")
	}
	for k := range setSteps {
		for _, keep := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, kept: %v", setSteps[k].key, keep), func(t *testing.T) {
				f := newShelf(t, h.Open(t), "a", "b", "c")
				defer func() {
					if err := f.s.Close(); err != nil {
						t.Error(err)
					}
				}()
				write := func(o set) {
					t.Helper()
					if _, err := f.s.Append(o.proposals()); err != nil {
						t.Fatal(err)
					}
					f.kept(o)
				}
				for before := range k {
					write(f.next(before))
				}
				o := f.next(k)
				h.Fail(t, f.s, keep)
				if _, err := f.s.Append(o.proposals()); !errors.Is(err, ledger.ErrUnknown) {
					t.Fatalf("a write that fails: %v; want ErrUnknown", err)
				}
				f.s = h.Reopen(t, f.s)
				if keep {
					f.kept(o)
				} else {
					o.lost()
				}
				f.check()
				f.absent()
				if !keep {
					write(f.next(k))
				}
				for after := k + 1; after < len(setSteps); after++ {
					write(f.next(after))
				}
				f.check()
			})
		}
	}
}
