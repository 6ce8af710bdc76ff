// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"errors"
	"slices"
	"testing"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/record"
)

// shelf has all ledgers of a store, and writes to several of them together, as package keeper does.
type shelf struct {
	t     testing.TB
	s     ledger.Store
	look  ledger.Store // to read what s keeps; nil: s
	books []*book      // in the order in which they were made
}

// write is what is decided in several ledgers and written together.
type write struct {
	books   []*book
	batches []*ledger.Batch // of each
	made    *ledger.Genesis // of the last one, where it is not there yet
}

// reads is the handle for everything but writes.
func (f *shelf) reads() ledger.Store {
	if f.look != nil {
		return f.look
	}
	return f.s
}

func (f *shelf) add(books ...*book) { f.books = append(f.books, books...) }

// book returns a ledger by its name, or nil.
func (f *shelf) book(name string) *book {
	if i := slices.IndexFunc(f.books, func(b *book) bool { return b.name == name }); i >= 0 {
		return f.books[i]
	}
	return nil
}

// unmade returns the book of a ledger that is not there yet. It joins the shelf when its write is kept.
func (f *shelf) unmade(g *ledger.Genesis) *book {
	return &book{t: f.t, s: f.reads(), name: g.Spec.Name, last: map[ledger.Writer]uint64{},
		state: ledger.NewState(ledger.Snapshot{Summary: ledger.Summary{Genesis: *g}})}
}

// write has requests decided in one ledger.
func (b *book) write(requests ...ledger.Request) write {
	b.t.Helper()
	return write{books: []*book{b}, batches: []*ledger.Batch{b.decide(requests...)}}
}

// making is the write that also makes a ledger.
func (w write) making(f *shelf, g ledger.Genesis) write {
	b := f.unmade(&g)
	return write{append(w.books, b), append(w.batches, ledger.NewBatch(b.state)), &g}
}

func (w write) proposals() (list []ledger.Proposal) {
	for i, b := range w.batches {
		p := b.Proposal()
		if i == len(w.batches)-1 {
			p.Genesis = w.made
		}
		list = append(list, p)
	}
	return list
}

// put has the store write it.
func (f *shelf) put(w write) (hashes [][]ledger.Hash, err error) {
	if len(w.books) > 1 || w.made == nil {
		return f.s.Append(w.proposals())
	}
	_, created, err := f.s.Create(*w.made)
	if err == nil && !created {
		err = errors.New("it was there already")
	}
	return [][]ledger.Hash{nil}, err
}

// lost takes back that something was decided.
func (w write) lost() {
	for i, b := range w.books {
		for _, e := range w.batches[i].Entries() {
			b.last[e.Writer]--
		}
	}
}

// kept takes note of what was written. It asks the store for the hashes, which no answer may have brought.
func (f *shelf) kept(w write) {
	f.t.Helper()
	for i, b := range w.books {
		if b.s = f.reads(); i == len(w.books)-1 && w.made != nil {
			f.add(b)
			w.batches[i] = b.again(w.batches[i].Entries())
		}
		var hashes []ledger.Hash
		for _, e := range w.batches[i].Entries() {
			found, err := b.s.Records(b.name, e.Position, 1)
			if err != nil || len(found) != 1 {
				f.t.Fatalf("%s: entry %d: %d records, %v", b.name, e.Position, len(found), err)
			}
			hashes = append(hashes, found[0].Hash)
		}
		if len(hashes) > 0 {
			b.apply(w.batches[i], hashes)
		}
	}
}

// again decides the first entries of a ledger once more on the genesis that the store has made of what it was
// given.
func (b *book) again(entries []ledger.Entry) *ledger.Batch {
	b.t.Helper()
	raw, hash, err := b.s.GenesisRecord(b.name)
	if err != nil {
		b.t.Fatal(err)
	}
	g, err := record.UnmarshalGenesis(raw)
	if err != nil {
		b.t.Fatal(err)
	}
	b.state = ledger.NewState(ledger.Snapshot{Summary: ledger.Summary{Genesis: g, Head: ledger.Head{Hash: hash}}})
	var requests []ledger.Request
	for _, e := range entries {
		b.last[e.Writer]--
		requests = append(requests, b.request(e.Writer, e.Action))
	}
	return b.decide(requests...)
}

// check compares the store with all that was written: it has these ledgers and no other.
func (f *shelf) check() {
	f.t.Helper()
	var want, names []string
	for _, b := range f.books {
		b.s = f.reads()
		b.check()
		want = append(want, b.name)
	}
	found, err := f.reads().List("", "", len(want)+1)
	for _, sum := range found {
		names = append(names, sum.Genesis.Spec.Name)
	}
	if slices.Sort(want); err != nil || !slices.Equal(names, want) {
		f.t.Errorf("the store has ledgers %v, %v; want %v", names, err, want)
	}
}
