// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/record"
)

// book writes to one ledger as package keeper does, and remembers everything.
type book struct {
	t       testing.TB
	s       ledger.Store
	name    string
	state   *ledger.State
	last    map[ledger.Writer]uint64
	records []ledger.Record // without Raw
}

// create makes a ledger.
func create(t testing.TB, s ledger.Store, name string) *book {
	t.Helper()
	sum, created, err := s.Create(Genesis(name))
	if err != nil || !created {
		t.Fatalf("Create(%s) = %v, %v; want it created", name, created, err)
	}
	return &book{t: t, s: s, name: name, state: ledger.NewState(ledger.Snapshot{Summary: sum}),
		last: map[ledger.Writer]uint64{}}
}

// Genesis is that of a ledger whose spec has every field set.
func Genesis(name string) ledger.Genesis {
	return ledger.Genesis{
		Spec: ledger.Spec{
			Name: name, Adjacency: mechanism.ReplaceOne, PrivacyUnit: "user", DatasetID: "digits", DatasetVersion: "3",
			Owner: "team", Labels: []ledger.Label{{Key: "a", Value: "1"}, {Key: "b", Value: ""}},
		},
		Principal: "unverified:test",
		Time:      timeOf(0),
	}
}

// timeOf is a time with nanoseconds.
func timeOf(i int) time.Time { return time.Unix(1_700_000_000, 7+int64(i)).UTC() }

// writer is the i-th lane.
func writer(i int) ledger.Writer {
	return ledger.Writer{Principal: fmt.Sprintf("unverified:p%d", i%2),
		Name: fmt.Sprintf("00000000-0000-4000-8000-%012x", i+1)}
}

// charge is a request with one event of mechanism m.
func (b *book) charge(w ledger.Writer, m int, count uint32) ledger.Request {
	return b.request(w, ledger.Charge{
		Events: []mechanism.Event{{Mechanism: mech(m), Count: count}},
		Labels: []ledger.Label{{Key: "step", Value: fmt.Sprint(m)}},
	})
}

// mech is the i-th of many distinct mechanisms.
func mech(i int) mechanism.Mechanism {
	return mechanism.Gaussian{NoiseMultiplier: 1 + float64(i)}
}

func (b *book) request(w ledger.Writer, v ledger.Action) ledger.Request {
	b.last[w]++ // undone by nobody: a test appends what it asks for
	return ledger.Request{Writer: w, Sequence: b.last[w], Digest: record.Digest(v), Action: v}
}

// lane is where the committed log has the lane of r's writer.
func (b *book) lane(r ledger.Request) (l ledger.Lane) {
	for _, record := range b.records {
		if e := record.Entry; e.Writer == r.Writer {
			l = ledger.Lane{Sequence: e.Sequence, Position: e.Position}
		}
	}
	return l
}

// decide makes a batch of requests that must all be accepted.
func (b *book) decide(requests ...ledger.Request) *ledger.Batch {
	b.t.Helper()
	batch := ledger.NewBatch(b.state)
	for _, r := range requests {
		d := batch.Decide(r, b.lane(r), timeOf(int(b.state.Summary().Head.Position)))
		if d.Outcome != ledger.Accepted {
			b.t.Fatalf("ledger %s: sequence %d of %s was not accepted: %v", b.name, r.Sequence, r.Writer.Name, d.Err)
		}
	}
	return batch
}

// append writes requests, in halves if they are too large together.
func (b *book) append(requests ...ledger.Request) {
	b.t.Helper()
	batch := b.decide(requests...)
	hashes, err := b.s.Append([]ledger.Proposal{batch.Proposal()})
	if errors.Is(err, ledger.ErrTooLarge) && len(requests) > 1 {
		n := len(requests) / 2
		b.append(requests[:n]...)
		b.append(requests[n:]...)
		return
	}
	if err != nil || len(hashes) != 1 {
		b.t.Fatalf("Append to %s: %d hash lists, %v", b.name, len(hashes), err)
	}
	b.apply(batch, hashes[0])
}

// apply takes note of what was appended.
func (b *book) apply(batch *ledger.Batch, hashes []ledger.Hash) {
	b.t.Helper()
	entries := batch.Entries()
	if len(hashes) != len(entries) {
		b.t.Fatalf("Append to %s: %d hashes for %d entries", b.name, len(hashes), len(entries))
	}
	for i, e := range entries {
		previous := b.state.Summary().Head.Hash
		if i > 0 {
			previous = hashes[i-1]
		}
		b.records = append(b.records, ledger.Record{Entry: e, Hash: hashes[i], Previous: previous})
	}
	b.state.Apply(batch, ledger.Head{Position: entries[len(entries)-1].Position, Hash: hashes[len(hashes)-1]})
}

// check compares the store with everything that was written.
func (b *book) check() {
	b.t.Helper()
	b.checkState()
	_, hash, err := b.s.GenesisRecord(b.name)
	if err != nil {
		b.t.Fatalf("GenesisRecord(%s): %v", b.name, err)
	}
	for from := 0; from <= len(b.records); from += 1000 {
		page, err := b.s.Records(b.name, uint64(from)+1, 1000)
		if err != nil {
			b.t.Fatalf("Records(%s, %d): %v", b.name, from+1, err)
		}
		want := b.records[from:min(from+1000, len(b.records))]
		if len(page) != len(want) {
			b.t.Fatalf("Records(%s, %d) = %d records, want %d", b.name, from+1, len(page), len(want))
		}
		for i, r := range page {
			b.checkRecord(r, want[i])
			if r.Previous != hash {
				b.t.Fatalf("ledger %s: record %d follows %x, want %x", b.name, r.Entry.Position, r.Previous, hash)
			}
			hash = r.Hash
		}
	}
	if head := b.state.Summary().Head.Hash; hash != head {
		b.t.Fatalf("ledger %s: the chain ends at %x, want the head %x", b.name, hash, head)
	}
	for w, last := range b.last {
		b.checkWriter(w, last)
	}
}

func (b *book) checkState() {
	b.t.Helper()
	snapshot, err := b.s.Load(b.name)
	if err != nil {
		b.t.Fatalf("Load(%s): %v", b.name, err)
	}
	got := ledger.NewState(snapshot)
	if !reflect.DeepEqual(got.Summary(), b.state.Summary()) {
		b.t.Fatalf("Load(%s) gives summary\n%+v, want\n%+v", b.name, got.Summary(), b.state.Summary())
	}
	if !slices.Equal(got.Parts(), b.state.Parts()) {
		b.t.Fatalf("Load(%s) gives\n%v, want\n%v", b.name, got.Parts(), b.state.Parts())
	}
	if got, want := got.View(),
		b.state.View(); !reflect.DeepEqual(got.Balance, want.Balance) || got.Guarantee != want.Guarantee ||
		!got.Resolution.Equal(want.Resolution) {
		b.t.Fatalf("Load(%s) gives\n%+v, want\n%+v", b.name, got, want)
	}
	b.checkOpen(snapshot)
}

// checkRecord compares a record and recomputes its hash.
func (b *book) checkRecord(got, want ledger.Record) {
	b.t.Helper()
	if hash := record.EntryHash(got.Previous, got.Raw); hash != got.Hash {
		b.t.Fatalf("ledger %s: record %d: its bytes hash to %x, it says %x", b.name, got.Entry.Position, hash, got.Hash)
	}
	e, _, err := record.UnmarshalEntry(got.Raw)
	if err != nil || !reflect.DeepEqual(e, got.Entry) {
		b.t.Fatalf("ledger %s: record %d: its bytes say %+v (%v), it says %+v", b.name,
			got.Entry.Position, e, err, got.Entry)
	}
	got.Raw = nil
	if !reflect.DeepEqual(got, want) {
		b.t.Fatalf("ledger %s: record\n%+v, want\n%+v", b.name, got, want)
	}
}

func (b *book) checkWriter(w ledger.Writer, last uint64) {
	b.t.Helper()
	sequence, position, err := b.s.Writer(b.name, w)
	var want uint64
	for _, r := range b.records {
		if r.Entry.Writer == w {
			want = r.Entry.Position
		}
	}
	if err != nil || sequence != last || position != want {
		b.t.Fatalf("Writer(%s, %s) = sequence %d, position %d, %v; want %d, %d", b.name, w.Name, sequence,
			position, err, last, want)
	}
}

// checkNamesakes asks for the lanes with w's name and with another one, of all
// principals, and of one that has none.
func (b *book) checkNamesakes(w ledger.Writer) {
	b.t.Helper()
	for _, w := range []ledger.Writer{w, {Principal: w.Principal + "x", Name: w.Name}, {Principal: "p", Name: w.Name},
		{Principal: w.Principal, Name: w.Name + "x"}} {
		found, err := b.s.Namesakes(b.name, w)
		if err != nil {
			b.t.Fatalf("Namesakes(%s, %v): %v", b.name, w, err)
		}
		got := map[uint64]ledger.Record{}
		for _, r := range found {
			got[r.Entry.Position] = r
		}
		for _, r := range b.records {
			if e := r.Entry; e.Sequence == 1 && e.Writer.Name == w.Name && e.Writer.Principal != w.Principal {
				b.checkRecord(got[e.Position], r)
				delete(got, e.Position)
			}
		}
		if len(got) > 0 {
			b.t.Errorf("Namesakes(%s, %v) has %v too", b.name, w, got)
		}
	}
}

// checkRecordOf asks for one sequence number of a lane.
func (b *book) checkRecordOf(w ledger.Writer, sequence uint64) {
	b.t.Helper()
	got, err := b.s.RecordOf(b.name, w, sequence)
	for _, r := range b.records {
		if r.Entry.Writer == w && r.Entry.Sequence == sequence {
			if err != nil {
				b.t.Fatalf("RecordOf(%s, %s, %d): %v", b.name, w.Name, sequence, err)
			}
			b.checkRecord(got, r)
			return
		}
	}
	if !errors.Is(err, ledger.ErrNotFound) {
		b.t.Fatalf("RecordOf(%s, %s, %d) = %v, want ErrNotFound", b.name, w.Name, sequence, err)
	}
}
