// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/record"
)

// model is what a store must do, as plainly as it can be said: a list of
// entries per ledger, everything else counted anew each time.
type model struct {
	h       Harness
	t       *testing.T
	s       ledger.Store
	ledgers map[string]*modelLedger
}

type modelLedger struct {
	spec    ledger.Spec
	genesis ledger.Hash
	entries []ledger.Entry
	hashes  []ledger.Hash
}

const (
	restoredFrom = "00000000-0000-4000-8000-00000000000a"
	restoredTo   = "00000000-0000-4000-8000-00000000000b"
)

// The ledgers that users create, and those that there may be: a journal, too.
var (
	userNames  = []string{"a", "a/b", "a/bc", "b"}
	modelNames = append(slices.Clone(userNames), modelJournal)
)

// testModel runs random calls against a store and the model.
func testModel(t *testing.T, h Harness) {
	rapid.Check(t, func(rt *rapid.T) {
		m := &model{h: h, t: t, s: h.Open(t), ledgers: map[string]*modelLedger{}}
		defer func() {
			if err := m.s.Close(); err != nil {
				rt.Errorf("Close: %v", err)
			}
		}()
		rt.Repeat(map[string]func(*rapid.T){
			"create": m.create, "append": m.append, "append again": m.append, "append more": m.append, "set": m.set,
			"load": m.load, "list": m.list, "records": m.records, "lane": m.lane, "reopen": m.reopen,
		})
	})
}

func (m *model) reopen(*rapid.T) { m.s = m.h.Reopen(m.t, m.s) }

func (m *model) create(rt *rapid.T) {
	name := rapid.SampledFrom(userNames).Draw(rt, "name")
	g := Genesis(name)
	g.Spec.Owner = rapid.SampledFrom([]string{"team", "other"}).Draw(rt, "owner")
	sum, created, err := m.s.Create(g)
	l, exists := m.ledgers[name]
	switch {
	case exists && !l.spec.Equal(g.Spec):
		if !errors.Is(err, ledger.ErrExists) {
			rt.Fatalf("Create(%s) = %v, want ErrExists", name, err)
		}
		return
	case err != nil || created == exists:
		rt.Fatalf("Create(%s) = %v, %v; the ledger existed: %v", name, created, err, exists)
	case created:
		l = &modelLedger{spec: g.Spec, genesis: sum.Head.Hash}
		m.ledgers[name] = l
	}
	l.compare(rt, sum)
}

// names are the users' ledgers that there are.
func (m *model) names() (names []string) {
	for _, name := range userNames {
		if m.ledgers[name] != nil {
			names = append(names, name)
		}
	}
	return names
}

// append proposes entries for one to three ledgers, on the newest head or an
// older one.
func (m *model) append(rt *rapid.T) {
	names := m.names()
	if len(names) == 0 {
		return
	}
	chosen := rapid.SliceOfNDistinct(rapid.SampledFrom(names), 1, min(3, len(names)),
		rapid.ID[string]).Draw(rt, "ledgers")
	var batch []ledger.Proposal
	stale, closed := false, false
	for _, name := range chosen {
		l := m.ledgers[name]
		at := len(l.entries)
		if rapid.IntRange(0, 9).Draw(rt, "stale") == 0 && at > 0 {
			at, stale = rapid.IntRange(0, at-1).Draw(rt, "head"), true
		}
		closed = closed || l.after(at).Closed
		batch = append(batch, l.propose(rt, at))
	}
	hashes, err := m.s.Append(batch)
	switch {
	case m.h.MaxBatchBytes > 0 && errors.Is(err, ledger.ErrTooLarge):
		return
	case stale || closed:
		if err == nil || stale && !closed && !errors.Is(err, ledger.ErrConflict) {
			rt.Fatalf("Append = %v; on an old head: %v, on a closed ledger: %v", err, stale, closed)
		}
		return
	case err != nil || len(hashes) != len(batch):
		rt.Fatalf("Append = %d hash lists, %v", len(hashes), err)
	}
	for i, name := range chosen {
		m.ledgers[name].add(batch[i], hashes[i])
	}
}

// propose makes random entries after the first at ones.
func (l *modelLedger) propose(rt *rapid.T, at int) ledger.Proposal {
	before := l.after(at)
	after := &modelLedger{spec: l.spec, genesis: l.genesis, entries: slices.Clone(l.entries[:at])}
	for i := range rapid.IntRange(1, 5).Draw(rt, "entries") {
		w := writer(rapid.IntRange(0, 3).Draw(rt, "writer"))
		sequence, _ := after.last(w)
		e := ledger.Entry{Position: uint64(at+i) + 1, Writer: w, Sequence: sequence + 1, Time: timeOf(at + i)}
		charge := ledger.Charge{}
		for range rapid.IntRange(1, 3).Draw(rt, "events") {
			charge.Events = append(charge.Events, mechanism.Event{
				Mechanism: mech(rapid.IntRange(0, 14).Draw(rt, "mechanism")),
				Count:     rapid.Uint32Min(1).Draw(rt, "count")})
		}
		e.Action = charge
		if some := after.refundable(); len(some) > 0 && rapid.IntRange(0, 6).Draw(rt, "refund") == 0 {
			position := rapid.SampledFrom(some).Draw(rt, "refunded")
			e.Action = ledger.Refund{Position: position,
				Events: after.entries[position-1].Action.(ledger.Charge).Events, Reason: "r"}
		}
		last := rapid.IntRange(0, 60).Draw(rt, "close") == 0
		switch {
		case after.after(len(after.entries)).Unreconciled:
			e.Action, last = ledger.Reconcile{Events: charge.Events, Contribution: ledger.OverAll}, false
		case last:
			e.Action = ledger.Close{Reason: "r"}
		case rapid.IntRange(0, 12).Draw(rt, "restore") == 0:
			e.Action = ledger.Restored{From: restoredFrom, StoreID: restoredTo, Newest: timeOf(3)}
		}
		e.Digest = record.Digest(e.Action)
		after.entries = append(after.entries, e)
		if last {
			break
		}
	}
	now := after.after(len(after.entries))
	p := ledger.Proposal{
		Ledger: l.spec.Name, Expected: before.Head, Entries: after.entries[at:], Total: now.Total, Closed: now.Closed,
		Unreconciled: now.Unreconciled}
	refunded := map[mechanism.Mechanism]bool{} // their counts are listed though they may not change
	for _, e := range after.entries[at:] {
		if v, ok := e.Action.(ledger.Refund); ok {
			for _, event := range v.Events {
				refunded[event.Mechanism] = true
			}
		}
	}
	for i, part := range now.Parts {
		if i >= len(before.Parts) || part != before.Parts[i] || refunded[part.Mechanism] {
			p.Counts = append(p.Counts, ledger.CountChange{Index: i, Mechanism: part.Mechanism, Total: part.Count})
		}
	}
	return p
}

// after counts the state after the first n entries.
func (l *modelLedger) after(n int) ledger.Snapshot {
	var s ledger.Snapshot
	s.Genesis.Spec = l.spec
	s.Head.Hash = l.genesis
	if n > 0 && n <= len(l.hashes) {
		s.Head = ledger.Head{Position: uint64(n), Hash: l.hashes[n-1]}
	}
	for _, e := range l.entries[:n] {
		charge, _ := e.Action.(ledger.Charge)
		switch v := e.Action.(type) {
		case ledger.Close:
			s.Closed = true
		case ledger.Restored:
			s.Unreconciled = true
			s.Amended = append(s.Amended, e)
		case ledger.Reconcile:
			s.Unreconciled = false
			s.Amended = append(s.Amended, e)
			charge.Events = v.Events
		case ledger.Refund:
			for _, event := range v.Events {
				i := slices.IndexFunc(s.Parts, func(p mechanism.Part) bool { return p.Mechanism == event.Mechanism })
				s.Parts[i].Count -= uint64(event.Count)
				s.Total -= uint64(event.Count)
			}
			s.Amended = append(s.Amended, e)
		}
		for _, event := range charge.Events {
			i := slices.IndexFunc(s.Parts, func(p mechanism.Part) bool { return p.Mechanism == event.Mechanism })
			if i < 0 {
				i = len(s.Parts)
				s.Parts = append(s.Parts, mechanism.Part{Mechanism: event.Mechanism})
			}
			s.Parts[i].Count += uint64(event.Count)
			s.Total += uint64(event.Count)
		}
	}
	s.Distinct = len(s.Parts)
	return s
}

// refundable lists the charges that were not refunded.
func (l *modelLedger) refundable() (positions []uint64) {
	refunded := map[uint64]bool{}
	for _, e := range l.entries {
		if v, ok := e.Action.(ledger.Refund); ok {
			refunded[v.Position] = true
		}
	}
	for _, e := range l.entries {
		if _, ok := e.Action.(ledger.Charge); ok && !refunded[e.Position] {
			positions = append(positions, e.Position)
		}
	}
	return positions
}

func (l *modelLedger) last(w ledger.Writer) (sequence, position uint64) {
	for _, e := range l.entries {
		if e.Writer == w {
			sequence, position = e.Sequence, e.Position
		}
	}
	return sequence, position
}

func (l *modelLedger) compare(rt *rapid.T, got ledger.Summary) {
	rt.Helper()
	want := l.after(len(l.entries)).Summary
	if !got.Genesis.Spec.Equal(l.spec) || got.Head != want.Head || got.Closed != want.Closed ||
		got.Unreconciled != want.Unreconciled || got.Distinct != want.Distinct || got.Total != want.Total {
		rt.Fatalf("summary of %s is\n%+v, want\n%+v", l.spec.Name, got, want)
	}
}

// draw picks a ledger; nil if it does not exist.
func (m *model) draw(rt *rapid.T) (string, *modelLedger) {
	name := rapid.SampledFrom(modelNames).Draw(rt, "name")
	return name, m.ledgers[name]
}

func absentOr(rt *rapid.T, l *modelLedger, err error) bool {
	rt.Helper()
	if l == nil && !errors.Is(err, ledger.ErrNotFound) || l != nil && err != nil {
		rt.Fatalf("got %v; the ledger exists: %v", err, l != nil)
	}
	return l == nil
}

func (m *model) load(rt *rapid.T) {
	name, l := m.draw(rt)
	snapshot, err := m.s.Load(name)
	if absentOr(rt, l, err) {
		return
	}
	got := ledger.NewState(snapshot)
	l.compare(rt, got.Summary())
	want := l.after(len(l.entries))
	if !slices.Equal(got.Parts(), want.Parts) {
		rt.Fatalf("Load(%s) = %v, want %v", name, got.Parts(), want.Parts)
	}
	told := got.View().Assumptions
	for i, e := range want.Amended {
		if len(told) != len(want.Amended) || told[i].Position != e.Position {
			rt.Fatalf("Load(%s) tells %v, want %v", name, told, want.Amended)
		}
	}
}

func (m *model) list(rt *rapid.T) {
	prefix := rapid.SampledFrom([]string{"", "a", "a/", "a/b", "c"}).Draw(rt, "prefix")
	after := rapid.SampledFrom([]string{"", "a", "a/b", "aa", "b"}).Draw(rt, "after")
	limit := rapid.IntRange(0, 5).Draw(rt, "limit")
	got, err := m.s.List(prefix, after, limit)
	if err != nil {
		rt.Fatal(err)
	}
	var want []string
	for _, name := range modelNames {
		if m.ledgers[name] != nil && strings.HasPrefix(name, prefix) && name > after && len(want) < limit {
			want = append(want, name)
		}
	}
	if len(got) != len(want) {
		rt.Fatalf("List(%q, %q, %d) = %d ledgers, want %v", prefix, after, limit, len(got), want)
	}
	for i, name := range want {
		m.ledgers[name].compare(rt, got[i])
	}
}

func (m *model) records(rt *rapid.T) {
	name, l := m.draw(rt)
	from, limit := rapid.IntRange(1, 40).Draw(rt, "from"), rapid.IntRange(0, 40).Draw(rt, "limit")
	got, err := m.s.Records(name, uint64(from), limit)
	if absentOr(rt, l, err) {
		return
	}
	first := min(from-1, len(l.entries))
	want := l.entries[first:min(first+limit, len(l.entries))]
	if len(got) != len(want) {
		rt.Fatalf("Records(%s, %d, %d) = %d records, want %d", name, from, limit, len(got), len(want))
	}
	for i, r := range got {
		if err := l.same(r, want[i]); err != nil {
			rt.Fatalf("Records(%s, %d, %d): %v", name, from, limit, err)
		}
	}
}

func (m *model) lane(rt *rapid.T) {
	name, l := m.draw(rt)
	w := rapid.SampledFrom(append([]ledger.Writer{writer(0), writer(1), writer(2), writer(3), writer(4),
		ledger.SetWriter(setPrincipal)}, journalWriters...)).Draw(rt, "writer")
	sequence, position, err := m.s.Writer(name, w)
	if absentOr(rt, l, err) {
		return
	}
	if s, p := l.last(w); s != sequence || p != position {
		rt.Fatalf("Writer(%s, %s) = %d, %d; want %d, %d", name, w.Name, sequence, position, s, p)
	}
	ask := rapid.Uint64Range(0, sequence+1).Draw(rt, "sequence")
	r, err := m.s.RecordOf(name, w, ask)
	if ask == 0 || ask > sequence {
		if !errors.Is(err, ledger.ErrNotFound) {
			rt.Fatalf("RecordOf(%s, %s, %d) = %v, want ErrNotFound", name, w.Name, ask, err)
		}
		return
	}
	if err != nil || r.Entry.Writer != w || r.Entry.Sequence != ask {
		rt.Fatalf("RecordOf(%s, %s, %d) = %+v, %v", name, w.Name, ask, r.Entry, err)
	}
	if err := l.same(r, l.entries[r.Entry.Position-1]); err != nil {
		rt.Fatalf("RecordOf(%s, %s, %d): %v", name, w.Name, ask, err)
	}
}

// same compares a record with an entry of the model and its place in the chain.
func (l *modelLedger) same(r ledger.Record, e ledger.Entry) error {
	previous := l.genesis
	if e.Position > 1 {
		previous = l.hashes[e.Position-2]
	}
	switch {
	case !reflect.DeepEqual(r.Entry, e):
		return fmt.Errorf("entry %+v, want %+v", r.Entry, e)
	case r.Previous != previous || r.Hash != l.hashes[e.Position-1]:
		return fmt.Errorf("record %d: hash %x after %x, want %x after %x", e.Position, r.Hash, r.Previous,
			l.hashes[e.Position-1], previous)
	case record.EntryHash(r.Previous, r.Raw) != r.Hash:
		return fmt.Errorf("record %d: the bytes do not match the hash", e.Position)
	}
	return nil
}
