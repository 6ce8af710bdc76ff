// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// Every field of a Spec counts when two requests are compared: a field that is
// added and forgotten there would let a different spec pass as the same.
func TestSpecEqual(t *testing.T) {
	full := func() Spec {
		return Spec{"a", mechanism.ZeroOut, "user", "d", "1", "me", []Label{{"k", "v"}}, Filtered,
			Workload{"plan", []mechanism.Event{event(1, 2)}}, []accountant.Budget{{Guard: accountant.GuardGDP, Mu: 1}},
			Workload{"run", []mechanism.Event{event(2, 1)}}, "parent", &Dataset{Title: "t", MaxRecords: 1},
			true}
	}
	if !full().Equal(full()) {
		t.Error("equal specs differ")
	}
	empty, none := full(), full()
	empty.Labels, none.Labels = []Label{}, nil
	if !empty.Equal(none) {
		t.Error("no labels and an empty list differ")
	}
	for i := range reflect.TypeFor[Spec]().NumField() {
		other := full()
		field := reflect.ValueOf(&other).Elem().Field(i)
		if field.IsZero() {
			t.Fatalf("%s: not set in this test", reflect.TypeFor[Spec]().Field(i).Name)
		}
		field.SetZero()
		if other.Equal(full()) || full().Equal(other) {
			t.Errorf("%s: specs that differ in it are equal", reflect.TypeFor[Spec]().Field(i).Name)
		}
		name := strings.ToLower(reflect.TypeFor[Spec]().Field(i).Name)
		err := Conflict(full(), other)
		if field, _, _ := full().difference(other); strings.ReplaceAll(field, "_", "") != name ||
			!errors.Is(err, ErrExists) || !strings.Contains(err.Error(), field+": ") {
			t.Errorf("%s: the difference is said to be in %q: %v", name, field, err)
		}
	}
	more := full()
	more.Plan = Workload{Name: "week", Events: []mechanism.Event{{Mechanism: mechanism.PureDP{Epsilon: 1}, Count: 7}}}
	if err := Conflict(full(), more); !strings.Contains(err.Error(), `plan: "week": 7 × pure_dp(ε=1); allowed: `) {
		t.Errorf("a plan is not described in the reader's words: %v", err)
	}
	twin := full()
	twin.DatasetID += "\u3164" // a filler, which nobody sees
	if err := Conflict(full(), twin); !strings.Contains(err.Error(), `\u3164"; allowed: "`) {
		t.Errorf("two identifiers that look alike are shown alike: %v", err)
	}
	for _, change := range []func(*Spec){
		func(s *Spec) { s.Plan.Name = "other" }, func(s *Spec) { s.Plan.Events[0].Count++ },
		func(s *Spec) { s.ExpectedRun.Events = nil }, func(s *Spec) { s.Budgets[0].Mu = 2 },
		func(s *Spec) { s.Budgets = append(s.Budgets, s.Budgets[0]) },
	} {
		other := full()
		change(&other)
		if other.Equal(full()) {
			t.Errorf("%+v equals %+v", other, full())
		}
	}
	for _, labels := range [][]Label{{{"k", "w"}}, {{"j", "v"}}, {{"k", "v"}, {"l", ""}}} {
		other := full()
		other.Labels = labels
		if other.Equal(full()) {
			t.Errorf("labels %v equal %v", labels, full().Labels)
		}
	}
}

func TestReceipt(t *testing.T) {
	e := Entry{Position: 3, Writer: Writer{"p", "w"}, Sequence: 2, Digest: Digest{9}, Time: noon, Action: Close{}}
	want := Receipt{StoreID: "s", Ledger: "a", Writer: e.Writer, Sequence: 2, Position: 3, Head: Hash{5}, Time: noon}
	if got := e.Receipt("s", "a", Hash{5}); got != want {
		t.Errorf("of an entry: %+v; want %+v", got, want)
	}
	if got := (Record{Entry: e, Hash: Hash{5}, Previous: Hash{4}}).Receipt("s", "a"); got != want {
		t.Errorf("of a record: %+v; want %+v", got, want)
	}
}

// What a state gives away is the caller's: changing it changes nothing.
func TestCompositionIsACopy(t *testing.T) {
	snap := snapshot()
	s := NewState(snap)
	s.Composition().Parts[0].Count = 99
	snap.Parts[1].Count = 99
	if c := s.Composition(); c.Parts[0].Count != 10 || c.Parts[1].Count != 20 ||
		c.Adjacency != mechanism.AddOrRemoveOne {
		t.Errorf("composition: %+v", c)
	}
}

// A store refuses every proposal that does not follow from its state.
func TestProposalCheck(t *testing.T) {
	on := snapshot().Summary
	good := func() (Proposal, []uint64) {
		return Proposal{
			Ledger: "a", Expected: on.Head,
			Entries: []Entry{
				{Position: 8, Action: Charge{Events: []mechanism.Event{event(1, 2), event(9, 3)}}},
				{Position: 9, Action: Charge{Events: []mechanism.Event{event(8, 1)}}},
				{Position: 10, Action: Close{}},
			},
			Counts: []CountChange{{0, noise(1), 12}, {3, noise(9), 3}, {4, noise(8), 1}},
			Total:  66, Closed: true,
		}, []uint64{10, 0, 0}
	}
	p, before := good()
	if err := p.Check(Stored{Summary: on, Totals: before}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		spoil  func(p *Proposal, on *Summary, before []uint64)
		expect string
	}{
		{"no entries", func(p *Proposal, _ *Summary, _ []uint64) { p.Entries = nil }, "entries: 0"},
		{"closed before", func(_ *Proposal, on *Summary, _ []uint64) { on.Closed = true }, "the ledger is closed"},
		{"first position", func(p *Proposal, _ *Summary, _ []uint64) { p.Entries[0].Position = 9 },
			"entries[0].position: 9; allowed: 8"},
		{"later position",
			func(p *Proposal, _ *Summary, _ []uint64) { p.Entries[2].Position = 9 }, "entries[2].position"},
		{"after a close", func(p *Proposal, _ *Summary, _ []uint64) { p.Entries[1].Action = Close{} },
			"entries[1]: a closing"},
		{"total", func(p *Proposal, _ *Summary, _ []uint64) { p.Total++ }, "total: 67; allowed: 66"},
		{"overflow", func(_ *Proposal, on *Summary, _ []uint64) { on.Total = 1<<63 - 5 }, "2^63"},
		{"not closed", func(p *Proposal, _ *Summary, _ []uint64) { p.Closed = false }, "closed: false; allowed: true"},
		{"closed without a close", func(p *Proposal, _ *Summary, _ []uint64) {
			p.Entries = p.Entries[:2]
		}, "closed: true; allowed: false"},
		{"negative index", func(p *Proposal, _ *Summary, _ []uint64) { p.Counts[0].Index = -1 }, "counts[0].index"},
		{"index with a gap", func(p *Proposal, _ *Summary, _ []uint64) { p.Counts[1].Index = 4 }, "counts[1].index"},
		{"index twice", func(p *Proposal, _ *Summary, _ []uint64) { p.Counts[2].Index = 3 }, "counts[2].index"},
		{"no mechanism", func(p *Proposal, _ *Summary, _ []uint64) { p.Counts[1].Mechanism = nil },
			"counts[1].mechanism: missing"},
		{"count that does not grow", func(p *Proposal, _ *Summary, _ []uint64) { p.Counts[0].Total = 10 },
			"counts: 64 altogether"},
		{"count that shrinks", func(_ *Proposal, _ *Summary, before []uint64) { before[0] = 50 },
			"counts: 26 altogether"},
		{"count too small", func(p *Proposal, _ *Summary, _ []uint64) { p.Counts[0].Total-- },
			"counts: 65 altogether; allowed: 66"},
		{"count too large", func(p *Proposal, _ *Summary, _ []uint64) { p.Counts[2].Total++ }, "counts: 67 altogether"},
		{"count above the total",
			func(p *Proposal, _ *Summary, _ []uint64) { p.Counts[2].Total = 1 << 63 }, "counts[2].total"},
		{"count missing", func(p *Proposal, _ *Summary, _ []uint64) { p.Counts = p.Counts[:2] },
			"counts: 65 altogether"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, before := good()
			on := on
			c.spoil(&p, &on, before)
			if err := p.Check(Stored{Summary: on, Totals: before}); err == nil ||
				!strings.Contains(err.Error(), c.expect) {
				t.Errorf("error: %v; want %q in it", err, c.expect)
			}
		})
	}
}
