// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"errors"
	"fmt"
	"reflect"
	"sync"
	"testing"

	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/record"
)

func testCreate(t *testing.T, h Harness) {
	s := h.open(t)
	g := Genesis("a/b")
	sum, created, err := s.Create(g)
	if err != nil || !created {
		t.Fatalf("Create = %v, %v; want it created", created, err)
	}
	raw, hash, err := s.GenesisRecord("a/b")
	if err != nil {
		t.Fatal(err)
	}
	g.StoreID = s.ID()
	want := ledger.Summary{Genesis: g, Head: ledger.Head{Hash: hash}}
	if !reflect.DeepEqual(sum, want) {
		t.Errorf("Create =\n%+v, want\n%+v", sum, want)
	}
	if record.GenesisHash(raw) != hash {
		t.Errorf("the genesis hashes to %x, want %x", record.GenesisHash(raw), hash)
	}
	stored, err := record.UnmarshalGenesis(raw)
	if err != nil || !reflect.DeepEqual(stored, g) {
		t.Errorf("stored genesis = %+v, %v; want %+v", stored, err, g)
	}
	snapshot, err := s.Load("a/b")
	if err != nil || len(snapshot.Parts) != 0 || !reflect.DeepEqual(snapshot.Summary, want) {
		t.Errorf("Load = %+v, %v; want %+v", snapshot, err, want)
	}
	if records, err := s.Records("a/b", 1, 10); err != nil || len(records) != 0 {
		t.Errorf("Records of an empty ledger = %v, %v", records, err)
	}
	wrong := Genesis("UPPER")
	if _, _, err := s.Create(wrong); err == nil {
		t.Error("a genesis that could not be read again was taken")
	}
	if got, err := s.List("", "", 10); err != nil || len(got) != 1 {
		t.Errorf("List = %d ledgers, %v; want 1", len(got), err)
	}
}

func testCreateEqualSpec(t *testing.T, h Harness) {
	s := h.open(t)
	b := create(t, s, "l")
	b.append(b.charge(writer(0), 0, 5))
	again := Genesis("l")
	again.Principal, again.Time = "unverified:somebody-else", timeOf(99)
	sum, created, err := s.Create(again)
	if err != nil || created || !reflect.DeepEqual(sum, b.state.Summary()) {
		t.Errorf("Create with an equal spec = %+v, %v, %v; want the first: %+v", sum, created, err, b.state.Summary())
	}
	for field, change := range map[string]func(*ledger.Spec){
		"adjacency":       func(s *ledger.Spec) { s.Adjacency = mechanism.ZeroOut },
		"privacy unit":    func(s *ledger.Spec) { s.PrivacyUnit = "example" },
		"dataset id":      func(s *ledger.Spec) { s.DatasetID = "" },
		"dataset version": func(s *ledger.Spec) { s.DatasetVersion = "4" },
		"owner":           func(s *ledger.Spec) { s.Owner = "me" },
		"labels":          func(s *ledger.Spec) { s.Labels = s.Labels[:1] },
	} {
		g := Genesis("l")
		change(&g.Spec)
		if _, created, err := s.Create(g); created || !errors.Is(err, ledger.ErrExists) {
			t.Errorf("Create with another %s = %v, %v; want ErrExists", field, created, err)
		}
	}
	b.check()
}

func testCreateConcurrently(t *testing.T, h Harness) {
	s := h.open(t)
	const n = 8
	type result struct {
		sum     ledger.Summary
		created bool
		err     error
	}
	results := make([]result, n)
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			g := Genesis("l")
			g.Principal = fmt.Sprintf("unverified:p%d", i)
			if i%2 == 1 {
				g.Spec.Owner = "odd"
			}
			<-start
			r := &results[i]
			r.sum, r.created, r.err = s.Create(g)
		})
	}
	close(start)
	wg.Wait()
	winner := -1
	for i, r := range results {
		if r.created && winner >= 0 {
			t.Fatalf("both %d and %d created the ledger", winner, i)
		}
		if r.created {
			winner = i
		}
	}
	if winner < 0 {
		t.Fatal("nobody created the ledger")
	}
	for i, r := range results {
		switch {
		case i%2 != winner%2:
			if !errors.Is(r.err, ledger.ErrExists) {
				t.Errorf("Create with another spec = %v, want ErrExists", r.err)
			}
		case r.err != nil || !reflect.DeepEqual(r.sum, results[winner].sum):
			t.Errorf("Create with an equal spec = %+v, %v; want %+v", r.sum, r.err, results[winner].sum)
		}
	}
}

func testNotFound(t *testing.T, h Harness) {
	s := h.open(t)
	create(t, s, "present")
	for _, name := range []string{"absent", "presen", "present/x"} {
		_, load := s.Load(name)
		_, _, lane := s.Writer(name, writer(0))
		_, record := s.RecordOf(name, writer(0), 1)
		_, namesakes := s.Namesakes(name, writer(0))
		_, records := s.Records(name, 1, 1)
		_, _, genesis := s.GenesisRecord(name)
		_, write := s.Append([]ledger.Proposal{{Ledger: name}})
		for call, err := range map[string]error{
			"Load": load, "Writer": lane, "RecordOf": record, "Namesakes": namesakes, "Records": records,
			"GenesisRecord": genesis, "Append": write,
		} {
			if !errors.Is(err, ledger.ErrNotFound) {
				t.Errorf("%s(%s) = %v, want ErrNotFound", call, name, err)
			}
		}
	}
	if sequence, position, err := s.Writer("present", writer(0)); sequence != 0 || position != 0 || err != nil {
		t.Errorf("Writer of a new writer = %d, %d, %v; want zeros", sequence, position, err)
	}
}

func testList(t *testing.T, h Harness) {
	s := h.open(t)
	names := []string{"a", "a-b", "a.b", "a/b", "a/b/c", "a/bb", "a0", "b", "b/a", "z"} // in the order of their bytes
	books := map[string]*book{}
	for _, i := range []int{5, 2, 9, 0, 7, 1, 8, 3, 6, 4} {
		books[names[i]] = create(t, s, names[i])
	}
	books["a/b"].append(books["a/b"].charge(writer(0), 0, 3))
	for _, c := range []struct {
		prefix, after string
		limit         int
		want          []string
	}{
		{"", "", 100, names},
		{"", "", 0, nil},
		{"", "", -1, nil},
		{"", "", 3, names[:3]},
		{"", "a.b", 2, names[3:5]},
		{"", "a.c", 2, names[3:5]},
		{"", "z", 100, nil},
		{"a/", "", 100, names[3:6]},
		{"a/b", "", 100, names[3:6]},
		{"a/b", "a/b", 100, names[4:6]},
		{"a/b/", "", 100, names[4:5]},
		{"b", "a", 100, names[7:9]},
		{"b", "c", 100, nil},
		{"c", "", 100, nil},
		{"a/b", "a/b/c", 1, names[5:6]},
	} {
		got, err := s.List(c.prefix, c.after, c.limit)
		if err != nil || len(got) != len(c.want) {
			t.Errorf("List(%q, %q, %d) = %d ledgers, %v; want %v", c.prefix, c.after, c.limit, len(got), err, c.want)
			continue
		}
		for i, sum := range got {
			if want := books[c.want[i]].state.Summary(); !reflect.DeepEqual(sum, want) {
				t.Errorf("List(%q, %q, %d)[%d] =\n%+v, want\n%+v", c.prefix, c.after, c.limit, i, sum, want)
			}
		}
	}
}

// testBudgets: what a spec with budgets came to is kept with it, and found again
// with an equal spec that is not resolved.
func testBudgets(t *testing.T, h Harness) {
	s := h.Open(t)
	defer func() { // for the newest one, also where the test ends early
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	plan, filter := Genesis("plan"), Genesis("filter")
	plan.Spec.Policy, filter.Spec.Policy = ledger.Planned, ledger.Filtered
	plan.Spec.Plan = ledger.Workload{Name: "train", Events: []mechanism.Event{{Mechanism: mech(0), Count: 0}}}
	plan.Spec.Budgets = []accountant.Budget{{Rho: 2}} // of ρ = 2 a step, with REPLACE_ONE
	filter.Spec.Budgets = []accountant.Budget{{Guard: accountant.GuardZCDP, Rho: 4},
		{Guard: accountant.GuardRDP, Epsilon: 50, Delta: 1e-5, Order: 4}}
	for _, g := range []ledger.Genesis{plan, filter} {
		var err error
		if g.Resolution, err = ledger.Resolve(g.Spec, nil); err != nil {
			t.Fatal(err)
		}
		first, created, err := s.Create(g)
		if err != nil || !created || !first.Genesis.Resolution.Equal(g.Resolution) {
			t.Fatalf("Create = %+v, %v, %v; want %+v", first, created, err, g)
		}
		s = h.Reopen(t, s)
		g.Resolution = ledger.Resolution{}
		again, created, err := s.Create(g)
		if err != nil || created || !reflect.DeepEqual(again, first) {
			t.Errorf("Create again = %+v, %v, %v; want %+v", again, created, err, first)
		}
		b := &book{t: t, s: s, name: g.Spec.Name, state: ledger.NewState(ledger.Snapshot{Summary: first}),
			last: map[ledger.Writer]uint64{}}
		b.append(b.charge(writer(0), 0, 1))
		snapshot, err := s.Load(g.Spec.Name)
		if err != nil {
			t.Fatal(err)
		}
		for _, state := range []*ledger.State{b.state, ledger.NewState(snapshot)} {
			d := ledger.NewBatch(state).Decide(ledger.Request{Writer: writer(1), Sequence: 1, Action: ledger.Charge{
				Events: []mechanism.Event{{Mechanism: mech(0), Count: 2}}}}, ledger.Lane{}, timeOf(0))
			if !errors.Is(d.Err, ledger.ErrBudget) {
				t.Errorf("%s: two more were decided as %+v", g.Spec.Name, d)
			}
		}
		other := g
		other.Spec.Budgets = other.Spec.Budgets[1:]
		if _, created, err := s.Create(other); created || !errors.Is(err, ledger.ErrExists) {
			t.Errorf("Create with other budgets = %v, %v; want ErrExists", created, err)
		}
	}
}
