// SPDX-License-Identifier: Apache-2.0

package audit_test

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"
	"pgregory.net/rapid"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/audit"
	"github.com/dpaccountant/accountant/internal/audit/audittest"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/persist/memory"
	"github.com/dpaccountant/accountant/internal/record"
	"github.com/dpaccountant/accountant/internal/wire"
	"github.com/dpaccountant/accountant/internal/wire/wirejson"
)

// log is a ledger as somebody could have it: a genesis and stored bytes.
type log struct {
	genesis []byte
	entries [][]byte
}

// read takes a ledger out of a store.
func read(t audittest.T, s ledger.Store, name string) (l log) {
	t.Helper()
	var err error
	if l.genesis, _, err = s.GenesisRecord(name); err != nil {
		t.Fatal(err)
	}
	records, err := s.Records(name, 1, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		l.entries = append(l.entries, r.Raw)
	}
	return l
}

// replay goes through a log, twice where that is needed.
func (l log) replay(kept ...audit.Witness) (*audit.Replay, error) {
	r, err := audit.Begin(l.genesis, audit.ByLedger(kept))
	if err != nil {
		return r, err
	}
	pass := func(r *audit.Replay) error {
		for _, raw := range l.entries {
			if _, err := r.NextRaw(raw); err != nil {
				return err
			}
		}
		return r.End()
	}
	if err := pass(r); err != nil {
		return r, err
	}
	if second := r.Again(); second != nil {
		return r, pass(second)
	}
	return r, nil
}

// What the store says follows from the stored bytes alone.
func TestReplayIsTheLedger(t *testing.T) {
	refunds := 0
	rapid.Check(t, func(rt *rapid.T) {
		s := memory.New(memory.Config{})
		spec := audittest.Spec("a", rapid.IntRange(0, audittest.Kinds-1).Draw(rt, "kind"))
		audittest.Fill(rt, s, spec, rapid.IntRange(0, 200).Draw(rt, "requests"), rapid.Uint64().Draw(rt, "seed"))
		snapshot, err := s.Load("a")
		if err != nil {
			rt.Fatal(err)
		}
		want := wire.FromView(ledger.NewState(snapshot).View())
		r, err := read(rt, s, "a").replay(audit.Witness{Ledger: "a", Position: snapshot.Head.Position,
			Hash: ledger.Hash(want.GetHeadHash())})
		if err != nil {
			rt.Fatal(err)
		}
		if err := r.ServedLedger(want); err != nil || r.Agreed() != 1 {
			rt.Fatalf("%v; %d agree", err, r.Agreed())
		}
		if r.Again() != nil {
			refunds++
		}
	})
	if refunds == 0 {
		t.Error("no ledger had refunds")
	}
}

// What a restore forbids is found.
func TestTamperedRestores(t *testing.T) {
	const other = "00000000-0000-4000-8000-000000000002"
	as := func(e ledger.Entry, principal, name string, sequence uint64) ledger.Entry {
		e.Writer, e.Sequence = ledger.Writer{Principal: principal, Name: name}, sequence
		return e
	}
	restored := ledger.Restored{From: writer, StoreID: other, Newest: noon}
	lost := ledger.Reconcile{Events: charge(0.1, 2).Events, Contribution: ledger.OverAll, Reason: "r"}
	restoring := as(entry(2, restored), ledger.Daemon, "request/restore", 1)
	reconciling := as(entry(3, lost), "p", other, 1)
	over := lost
	over.Over = true
	elsewhere := restored
	elsewhere.From = other
	for _, c := range []struct {
		name    string
		entries []ledger.Entry
		says    string
	}{
		{"honest", []ledger.Entry{restoring, reconciling, as(entry(4, charge(0.1, 1)), "p", other, 2)}, ""},
		{"by a user", []ledger.Entry{as(restoring, "p", "request/restore", 1)},
			"entry 2: action: cannot be reconciled"},
		{"of another store", []ledger.Entry{as(entry(2, elsewhere), ledger.Daemon, "request/restore", 1)},
			"entry 2: action: cannot be reconciled"},
		{"charged before it was reconciled",
			[]ledger.Entry{restoring, as(entry(3, charge(0.1, 1)), "p", other, 1)}, "entry 3: action: "},
		{"by an earlier writer", []ledger.Entry{restoring, as(reconciling, "p", writer, 2)}, "entry 3: writer: "},
		{"not restored", []ledger.Entry{as(entry(2, lost), "p", other, 1)}, "entry 2: action: cannot be reconciled"},
		{"over a budget that it is not",
			[]ledger.Entry{restoring, as(entry(3, over), "p", other, 1)}, "entry 3: action: "},
		{"without saying that it is over",
			[]ledger.Entry{restoring, as(entry(3,
				ledger.Reconcile{Events: charge(0.1, 20).Events, Contribution: ledger.OverAll}), "p", other, 1)},
			"entry 3: action: "},
	} {
		l := written(t, charge(0.1, 1))
		for _, e := range c.entries {
			l.entries = append(l.entries, encode(t, e))
		}
		_, err := l.replay()
		if (err == nil) != (c.says == "") || err != nil && !strings.HasPrefix(err.Error(), "ledger a: "+c.says) {
			t.Errorf("%s: %v; want %q", c.name, err, c.says)
		}
	}
}

const writer = "00000000-0000-4000-8000-000000000001"

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func charge(epsilon float64, count uint32) ledger.Charge {
	return ledger.Charge{Events: []mechanism.Event{{Mechanism: mechanism.PureDP{Epsilon: epsilon}, Count: count}},
		Labels: []ledger.Label{{Key: "run", Value: "1"}}}
}

// written is a ledger of ε = 1 with these actions by one writer, whether or not it
// would have taken them.
func written(t *testing.T, actions ...ledger.Action) log {
	t.Helper()
	spec := audittest.Spec("a", 0)
	spec.Budgets[0].Epsilon = 1
	return writtenTo(t, spec, actions...)
}

func writtenTo(t *testing.T, spec ledger.Spec, actions ...ledger.Action) log {
	t.Helper()
	resolution, err := ledger.Resolve(spec, nil)
	if err != nil {
		t.Fatal(err)
	}
	genesis, err := record.MarshalGenesis(ledger.Genesis{Spec: spec, Resolution: resolution, StoreID: writer,
		Principal: "p", Time: noon})
	if err != nil {
		t.Fatal(err)
	}
	l := log{genesis: genesis}
	for i, v := range actions {
		l.entries = append(l.entries, encode(t, entry(uint64(i+1), v)))
	}
	return l
}

func entry(n uint64, v ledger.Action) ledger.Entry {
	return ledger.Entry{Position: n, Writer: ledger.Writer{Principal: "p", Name: writer}, Sequence: n,
		Digest: record.Digest(v), Time: noon, Action: v}
}

func encode(t *testing.T, e ledger.Entry) []byte {
	t.Helper()
	raw, err := record.MarshalEntry(e, 7) // the store's links are the store's matter
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// Every way to tamper with a log, the chain of hashes made anew, is named with its
// position: what the rules of a ledger forbid by themselves, and what they do not
// by a hash that was kept.
func TestTamperedLogs(t *testing.T) {
	whole := written(t, charge(0.1, 1), charge(0.1, 2),
		ledger.Reserve{Events: charge(0.1, 3).Events, Lifetime: time.Hour},
		ledger.Commit{Reservation: 3, Events: charge(0.1, 1).Events}, ledger.Release{Reservation: 3},
		ledger.Close{Reason: "done"})
	honest, err := whole.replay()
	if err != nil {
		t.Fatal(err)
	}
	head := audit.Witness{Source: "receipt r.json", Ledger: "a", Position: 6, Hash: honest.Head().Hash, StoreID: writer}
	edit := func(n int, change func(e *ledger.Entry)) func(l *log) {
		return func(l *log) {
			e, _, err := record.UnmarshalEntry(l.entries[n-1])
			if err != nil {
				t.Fatal(err)
			}
			change(&e)
			l.entries[n-1] = encode(t, e)
		}
	}
	action := func(n int, v ledger.Action) func(l *log) {
		return edit(n, func(e *ledger.Entry) { e.Action, e.Digest = v, record.Digest(v) })
	}
	const kept = "ledger a: entry 6: receipt r.json: "
	for _, c := range []struct {
		name   string
		change func(l *log)
		says   string
	}{
		{"position", edit(2, func(e *ledger.Entry) { e.Position = 9 }), "ledger a: entry 2: position: 9; expected: 2"},
		{"principal", edit(2, func(e *ledger.Entry) { e.Writer.Principal = "q" }),
			"ledger a: entry 2: sequence of writer " + writer + ": 2; expected: 1"},
		{"writer", edit(2, func(e *ledger.Entry) { e.Writer.Name = "request/x"; e.Sequence = 1 }),
			"ledger a: entry 3: sequence of writer " + writer + ": 3; expected: 2"},
		{"sequence repeated", edit(2, func(e *ledger.Entry) { e.Sequence = 1 }),
			"ledger a: entry 2: sequence of writer " + writer + ": 1; expected: 2"},
		{"sequence with a gap", edit(2, func(e *ledger.Entry) { e.Sequence = 3 }),
			"ledger a: entry 2: sequence of writer " + writer + ": 3; expected: 2"},
		{"time", edit(2, func(e *ledger.Entry) { e.Time = noon.Add(1) }), kept},
		{"labels", action(2, ledger.Charge{Events: charge(0.1, 2).Events}), kept},
		{"count", action(2, charge(0.1, 1)), kept},
		{"mechanism", action(2, charge(0.05, 2)), kept},
		{"over the budget", action(2, charge(0.1, 7)), "ledger a: entry 3: budget: "},
		{"no such reservation", action(3, charge(0.1, 3)), "ledger a: entry 4: action: not in the reservation"},
		{"more than is reserved", action(4, ledger.Commit{Reservation: 3, Events: charge(0.1, 4).Events}),
			"ledger a: entry 4: action: not in the reservation"},
		{"dropped", func(l *log) { l.entries = slices.Delete(l.entries, 1, 2) },
			"ledger a: entry 2: position: 3; expected: 2"},
		{"first dropped", func(l *log) { l.entries = l.entries[1:] }, "ledger a: entry 1: position: 2; expected: 1"},
		{"last dropped", func(l *log) { l.entries = l.entries[:5] },
			kept + "no entry after 5: the ledger was edited or rolled back"},
		{"all dropped", func(l *log) { l.entries = nil },
			kept + "no entry after 0: the ledger was edited or rolled back"},
		{"duplicated", func(l *log) { l.entries = slices.Insert(l.entries, 2, l.entries[1]) },
			"ledger a: entry 3: position: 2; expected: 3"},
		{"reordered", func(l *log) { l.entries[0], l.entries[1] = l.entries[1], l.entries[0] },
			"ledger a: entry 1: position: 2; expected: 1"},
		{"after the closing", func(l *log) { l.entries = append(l.entries, encode(t, entry(7, charge(0.1, 1)))) },
			"ledger a: entry 7: position: an entry; expected: no entry after the closing"},
		{"closed earlier", action(2, ledger.Close{}),
			"ledger a: entry 3: position: an entry; expected: no entry after the closing"},
		{"no longer closed", action(6, charge(0.1, 1)), kept + "hash "},
		{"cut short", func(l *log) { l.entries[1] = l.entries[1][:20] }, "ledger a: entry 2: stored bytes: "},
		{"no entry", func(l *log) { l.entries[1] = []byte("garbage") }, "ledger a: entry 2: stored bytes: "},
		{"no genesis", func(l *log) { l.genesis = l.genesis[1:] }, "genesis: "},
		{"another budget", func(l *log) { l.genesis = written(t).genesis; l.genesis = doubled(t, l.genesis) }, kept},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := log{bytes.Clone(whole.genesis), slices.Clone(whole.entries)}
			c.change(&l)
			_, err := l.replay(head)
			var finding *audit.Finding
			if !errors.As(err, &finding) || !strings.HasPrefix(err.Error(), c.says) {
				t.Errorf("found: %v\nwant:  %s", err, c.says)
			}
			if err != nil && finding != nil && finding.Message().GetWhat() != finding.What {
				t.Errorf("message: %v", finding.Message())
			}
		})
	}
}

// doubled is a genesis with twice its budget.
func doubled(t *testing.T, genesis []byte) []byte {
	t.Helper()
	g, err := record.UnmarshalGenesis(genesis)
	if err != nil {
		t.Fatal(err)
	}
	g.Spec.Budgets[0].Epsilon *= 2
	if g.Resolution, err = ledger.Resolve(g.Spec, nil); err != nil {
		t.Fatal(err)
	}
	if genesis, err = record.MarshalGenesis(g); err != nil {
		t.Fatal(err)
	}
	return genesis
}

// A refund gives back what its entry has charged, whatever that was.
func TestTamperedRefunds(t *testing.T) {
	refund := func(position uint64, events ...mechanism.Event) ledger.Refund {
		return ledger.Refund{Position: position, Events: events, Reason: "crashed"}
	}
	e := func(epsilon float64, count uint32) mechanism.Event { return charge(epsilon, count).Events[0] }
	reserve := ledger.Reserve{Events: []mechanism.Event{e(0.1, 2)}, Lifetime: time.Hour}
	for _, c := range []struct {
		name    string
		actions []ledger.Action
		says    string
	}{
		{"a charge", []ledger.Action{charge(0.1, 2), refund(1, e(0.1, 2))}, ""},
		{"in parts", []ledger.Action{charge(0.1, 2), refund(1, e(0.1, 1), e(0.1, 1))}, ""},
		{"a commit", []ledger.Action{reserve, ledger.Commit{Reservation: 1, Events: []mechanism.Event{e(0.1, 1)}},
			refund(2, e(0.1, 1))}, ""},
		{"an expiry", []ledger.Action{reserve, ledger.Commit{Reservation: 1, Events: []mechanism.Event{e(0.1, 1)}},
			ledger.Expire{Reservation: 1}, refund(3, e(0.1, 1))}, ""},
		{"more than an expiry",
			[]ledger.Action{reserve, ledger.Commit{Reservation: 1, Events: []mechanism.Event{e(0.1, 1)}},
				ledger.Expire{Reservation: 1}, refund(3, e(0.1, 2))},
			"ledger a: entry 4: refund of entry 3: 2; expected: 1 × pure_dp(ε=0.1), what that entry charged"},
		{"too much", []ledger.Action{charge(0.1, 2), charge(0.1, 3), refund(1, e(0.1, 4))},
			"ledger a: entry 3: refund of entry 1: 4; expected: 2 × pure_dp(ε=0.1), what that entry charged"},
		{"too little", []ledger.Action{charge(0.1, 2), refund(1, e(0.1, 1))},
			"ledger a: entry 2: refund of entry 1: 1; expected: 2"},
		{"another mechanism", []ledger.Action{charge(0.1, 1), charge(0.2, 1), refund(1, e(0.2, 1))},
			"ledger a: entry 3: refund of entry 1: "},
		{"a release", []ledger.Action{charge(0.1, 1), reserve, ledger.Release{Reservation: 2}, refund(3, e(0.1, 1))},
			"ledger a: entry 4: refund of entry 3: 1; expected: 0"},
		{"twice", []ledger.Action{charge(0.1, 1), charge(0.1, 1), refund(1, e(0.1, 1)), refund(1, e(0.1, 1))},
			"ledger a: entry 4: action: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := written(t, c.actions...).replay()
			if c.says == "" && err != nil || c.says != "" && (err == nil || !strings.HasPrefix(err.Error(), c.says)) {
				t.Errorf("found: %v\nwant:  %s", err, c.says)
			}
		})
	}
}

// What was freed is what was left, of an open reservation with a time.
func TestTamperedFrees(t *testing.T) {
	e := charge(0.1, 1).Events[0]
	reserve := ledger.Reserve{Events: charge(0.1, 3).Events, Lifetime: time.Hour}
	commit := ledger.Commit{Reservation: 1, Events: []mechanism.Event{e}}
	free := func(count uint32) ledger.Action {
		return ledger.Free{Reservation: 1, Events: charge(0.1, count).Events, Reason: "it died"}
	}
	for _, c := range []struct {
		name    string
		actions []ledger.Action
		says    string
	}{
		{"what is left", []ledger.Action{reserve, commit, free(2)}, ""},
		{"by another's expiry", []ledger.Action{reserve, commit, ledger.Expire{Reservation: 1}}, ""},
		{"all again", []ledger.Action{reserve, commit, free(3)}, "ledger a: entry 3: action: "},
		{"too little", []ledger.Action{reserve, commit, free(1)}, "ledger a: entry 3: action: "},
		{"twice", []ledger.Action{reserve, commit, free(2), free(2)},
			"ledger a: entry 4: action: not in the reservation"},
		{"and used", []ledger.Action{reserve, free(3), commit}, "ledger a: entry 3: action: not in the reservation"},
		{"and refunded",
			[]ledger.Action{reserve, free(3), ledger.Refund{Position: 2, Events: charge(0.1, 3).Events, Reason: "r"}},
			"ledger a: entry 3: action: cannot be refunded"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := written(t, c.actions...).replay()
			if c.says == "" && err != nil || c.says != "" && (err == nil || !strings.HasPrefix(err.Error(), c.says)) {
				t.Errorf("found: %v\nwant:  %s", err, c.says)
			}
		})
	}
}

// A plan holds, and events are defined for the ledger's adjacency.
func TestTamperedPlans(t *testing.T) {
	spec := ledger.Spec{Name: "a", Adjacency: mechanism.AddOrRemoveOne, Policy: ledger.Planned,
		Plan: ledger.Workload{Events: charge(0.1, 3).Events}}
	for _, c := range []struct {
		actions []ledger.Action
		says    string
	}{
		{[]ledger.Action{charge(0.1, 2), charge(0.1, 1)}, ""},
		{[]ledger.Action{charge(0.1, 2), charge(0.1, 2)}, "ledger a: entry 2: budget: budget exceeded"},
		{[]ledger.Action{charge(0.2, 1)}, "ledger a: entry 1: budget: budget exceeded"},
	} {
		if _, err := writtenTo(t, spec, c.actions...).replay(); c.says == "" && err != nil ||
			c.says != "" && (err == nil || !strings.HasPrefix(err.Error(), c.says)) {
			t.Errorf("found: %v\nwant:  %s", err, c.says)
		}
	}
}

// A receipt says when its entry was written. The hash covers the entry's own time, so
// another one in the receipt shows that the receipt was edited.
func TestReceiptsTime(t *testing.T) {
	l := written(t, charge(0.1, 1), charge(0.1, 2))
	honest, err := l.replay()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		time time.Time
		says string
	}{
		{noon, ""},
		{noon.Add(time.Nanosecond), "time 2026-01-02T12:00:00Z: the receipt itself was edited, its hash agrees; " +
			"expected: time 2026-01-02T12:00:00.000000001Z, as was kept"},
		{noon.AddDate(-1, 0, 0), "expected: time 2025-01-02T12:00:00Z, as was kept"},
	} {
		b, err := wirejson.Marshal(&pb.Receipt{StoreId: writer, Ledger: "a", Writer: writer, Sequence: 2, Position: 2,
			HeadHash: honestHash(honest), Time: timestamppb.New(c.time)})
		if err != nil {
			t.Fatal(err)
		}
		kept, err := audit.ReadReceipt("receipt r.json", b)
		if err != nil {
			t.Fatal(err)
		}
		_, err = l.replay(kept)
		if c.says == "" && err != nil || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%v: %v; want %q", c.time, err, c.says)
		}
	}
}

func honestHash(r *audit.Replay) []byte {
	hash := r.Head().Hash
	return hash[:]
}
