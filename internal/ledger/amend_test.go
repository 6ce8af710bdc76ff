// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// accept decides actions of one writer, each of which must be accepted.
func accept(t *testing.T, b *Batch, actions ...Action) {
	t.Helper()
	for _, v := range actions {
		w := Writer{"p", "w"}
		if d := b.Decide(Request{Writer: w, Sequence: b.Lane(w, Lane{}).Sequence + 1, Action: v}, Lane{},
			noon); d.Outcome != Accepted {
			t.Fatalf("%+v: %v", v, d.Err)
		}
	}
}

// applied makes a batch part of its state and starts the next.
func applied(b *Batch) *Batch {
	s := b.state
	s.Apply(b, Head{s.summary.Head.Position + uint64(len(b.entries)), Hash{9}})
	return NewBatch(s)
}

func charge(events ...mechanism.Event) Action { return Charge{Events: events} }

// A refund gives back all that its entry charged, once, and is told.
func TestRefund(t *testing.T) {
	basic := accountant.Budget{Guard: accountant.GuardBasic, Epsilon: 1}
	for name, spec := range map[string]Spec{"filter": filter(basic),
		"plan": plan(pure(0.1, 8), pure(0.2, 1)), "descriptive": {}} {
		t.Run(name, func(t *testing.T) {
			b := NewBatch(NewState(resolved(t, spec)))
			accept(t, b, charge(pure(0.1, 7)), charge(pure(0.2, 1), pure(0.1, 1)))
			b = applied(b)
			accept(t, b, Refund{Position: 1, Events: []mechanism.Event{pure(0.1, 7)}, Reason: "it never ran"},
				charge(pure(0.1, 5)))
			for _, c := range []struct {
				v    Refund
				says string
			}{
				{Refund{Position: 1, Events: []mechanism.Event{pure(0.1, 7)}},
					"position: 1 was refunded; allowed: an entry that was not"},
				{Refund{Position: 9, Events: []mechanism.Event{pure(0.1, 1)}},
					"position: 9; allowed: that of an earlier"},
				{Refund{Position: 2}, "position: 2; allowed"},
				{Refund{Position: 2, Events: []mechanism.Event{pure(0.2, 2)}},
					"position: 2: 2 × pure_dp(ε=0.2); allowed: at most 1"},
				{Refund{Position: 2, Events: []mechanism.Event{pure(0.3, 1)}}, "allowed: at most 0"},
			} {
				if d := b.Decide(Request{Writer: Writer{"q", "w"}, Sequence: 1, Action: c.v}, Lane{},
					noon); !errors.Is(d.Err, ErrRefund) || !strings.Contains(d.Err.Error(), c.says) {
					t.Errorf("%+v: %v; want %s", c.v, d.Err, c.says)
				}
			}
			b = applied(b)
			v := b.state.View()
			want := []Assumption{{3, "refund", "entry 1, of 7 × pure_dp(ε=0.1), is not counted: nothing computed for " +
				"it was, or will be, released (reason given: it never ran)", true}}
			if v.Guarantee != "descriptive" || !slices.Equal(v.Assumptions, want) || v.Total != 7 {
				t.Errorf("%+v", v)
			}
			accept(t, b, Close{})
			if d := b.Decide(Request{Writer: Writer{"q", "w"}, Sequence: 1,
				Action: Refund{Position: 2, Events: []mechanism.Event{pure(0.2, 1)}}}, Lane{},
				noon); !errors.Is(d.Err, ErrClosed) {
				t.Errorf("after closing: %v", d.Err)
			}
		})
	}
}

// A mechanism of which all is refunded keeps its index and is not in the composition.
func TestRefundOfAll(t *testing.T) {
	b := NewBatch(NewState(resolved(t, Spec{})))
	accept(t, b, charge(pure(1, 2), pure(2, 3)))
	b = applied(b)
	accept(t, b, Refund{Position: 1, Events: []mechanism.Event{pure(1, 2), pure(2, 3)}, Reason: "r"},
		charge(pure(3, 1)))
	p := b.Proposal()
	slices.SortFunc(p.Counts, func(a, b CountChange) int { return a.Index - b.Index })
	if want := []CountChange{{0, mechanism.PureDP{Epsilon: 1}, 0}, {1, mechanism.PureDP{Epsilon: 2}, 0},
		{2, mechanism.PureDP{Epsilon: 3}, 1}}; p.Total != 1 || !slices.Equal(p.Counts, want) {
		t.Errorf("%+v", p)
	}
	if err := p.Check(Stored{Summary: b.state.Summary(), Totals: []uint64{2, 3, 0}}); err != nil {
		t.Error(err)
	}
	s := applied(b).state
	if got := s.Composition().Parts; len(got) != 1 || got[0].Count != 1 ||
		s.Summary().Distinct != 3 || len(s.Parts()) != 3 {
		t.Errorf("%v, %+v", got, s.Summary())
	}
}

func raiseOf(t *testing.T, s *State, v Raise) Raise {
	t.Helper()
	r, err := s.Raising(v).Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	v.Resolution = r
	return v
}

// A raise is enforced from then on, in the same batch too, and is told once there
// may have been outputs.
func TestRaise(t *testing.T) {
	old := accountant.Budget{Guard: accountant.GuardBasic, Epsilon: 1}
	larger := Raise{Budgets: []accountant.Budget{{Guard: accountant.GuardBasic, Epsilon: 2}}, Reason: "more data"}
	for _, c := range []struct {
		name      string
		before    []Action
		assert    bool
		guarantee string
		told      string
	}{
		{"before any output", nil, false, "filter", ""},
		{"after", []Action{charge(pure(0.1, 1))}, false, "descriptive",
			"budgets were made larger by entry 2, after something was charged or set aside, by a decision which may " +
				"have depended on outputs (reason given: more data)"},
		{"after, not because of them", []Action{charge(pure(0.1, 1))}, true, "filter",
			"by a decision which did not depend on outputs (reason given: more data)"},
		{"after a reservation", []Action{Reserve{Events: []mechanism.Event{pure(0.1, 1)}, Lifetime: 1}}, false,
			"descriptive", "larger by entry 2"},
		{"after a refund",
			[]Action{charge(pure(0.1, 1)), Refund{Position: 1, Events: []mechanism.Event{pure(0.1, 1)}, Reason: "r"}},
			true, "descriptive", "larger by entry 3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := NewBatch(NewState(resolved(t, filter(old))))
			accept(t, b, c.before...)
			v := larger
			v.Independent = c.assert
			accept(t, b, raiseOf(t, b.state, v), charge(pure(0.1, 19)))
			if d := b.Decide(request("v", 1, pure(0.1, 2)), Lane{}, noon); !errors.Is(d.Err, ErrBudget) ||
				!strings.Contains(d.Err.Error(), "budgets[0] (ε = 2 by BASIC)") {
				t.Errorf("above the new budget: %+v", d)
			}
			view := applied(b).state.View()
			told := ""
			if n := len(view.Assumptions); n > 0 {
				told = view.Assumptions[n-1].Text
			}
			if view.Guarantee != c.guarantee || !strings.Contains(told, c.told) || (told == "") != (c.told == "") {
				t.Errorf("%s, %q; want %s, %q", view.Guarantee, told, c.guarantee, c.told)
			}
		})
	}
}

func TestRaiseRefusals(t *testing.T) {
	basic := func(epsilon float64) accountant.Budget {
		return accountant.Budget{Guard: accountant.GuardBasic, Epsilon: epsilon}
	}
	rdp := accountant.Budget{Guard: accountant.GuardRDP, Epsilon: 4, Delta: 1e-5, Order: 8}
	planned := plan(pure(0.1, 8), pure(0.2, 1))
	planned.Budgets = []accountant.Budget{{Epsilon: 1, Delta: 1e-6}}
	child := filter(basic(1))
	child.Parent = "p"
	events := func(events ...mechanism.Event) Workload { return Workload{Events: events} }
	for _, c := range []struct {
		name string
		spec Spec
		v    Raise
		says string
	}{
		{"descriptive", Spec{}, Raise{Budgets: []accountant.Budget{basic(2)}},
			"a has no budget; allowed: a ledger with the policy PLAN or FILTER"},
		{"a child", child, Raise{Budgets: []accountant.Budget{basic(2)}},
			"a has a parent, which has set aside what it may spend; allowed: a ledger without, or a new child"},
		{"a missing budget", filter(basic(1), rdp), Raise{Budgets: []accountant.Budget{basic(2)}},
			"budgets: 1; allowed: 2, all of them in their order"},
		{"no budgets", filter(basic(1)), Raise{}, "budgets: 0; allowed: 1"},
		{"a smaller one", filter(basic(1), rdp), Raise{Budgets: []accountant.Budget{basic(0.5), rdp}},
			"budgets[0].epsilon: 0.5; allowed: at least 1, as before"},
		{"another guard", filter(basic(1)), Raise{Budgets: []accountant.Budget{rdp}},
			"budgets[0].guard: RDP; allowed: BASIC, as before"},
		{"another order", filter(rdp),
			Raise{Budgets: []accountant.Budget{{Guard: accountant.GuardRDP, Epsilon: 5, Delta: 1e-5, Order: 9}}},
			"budgets[0].order: 9; allowed: 8, as before"},
		{"nothing larger", filter(basic(1)), Raise{Budgets: []accountant.Budget{basic(1)}},
			"budgets: as before; allowed: a larger one"},
		{"a plan for a filter", filter(basic(1)),
			Raise{Budgets: []accountant.Budget{basic(2)}, Plan: events(pure(1, 1))},
			"plan: given; allowed: budgets only"},
		{"no plan", planned, Raise{Budgets: planned.Budgets}, "plan: missing; allowed: the whole new plan"},
		{"a smaller count", planned, Raise{Plan: events(pure(0.1, 7), pure(0.2, 1), pure(0.01, 1))},
			"plan: 7 × pure_dp(ε=0.1); allowed: at least 8, as before"},
		{"a mechanism less", planned, Raise{Plan: events(pure(0.1, 9))},
			"plan: 1 mechanisms; allowed: at least the 2 before"},
		{"another mechanism", planned, Raise{Plan: events(pure(0.1, 8), pure(0.01, 1))},
			"plan: 0 × pure_dp(ε=0.2); allowed: at least 1"},
		{"the same plan", planned, Raise{Plan: events(pure(0.1, 8), pure(0.2, 1))}, "budgets: as before"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := NewState(resolved(t, c.spec))
			v := c.v
			r, err := s.Raising(v).Resolve(nil)
			if err == nil { // only the decision sees it
				v.Resolution = r
				err = NewBatch(s).Decide(Request{Writer: Writer{"p", "w"}, Sequence: 1, Action: v}, Lane{}, noon).Err
			} else if d := NewBatch(s).Decide(Request{Writer: Writer{"p", "w"}, Sequence: 1, Action: v}, Lane{},
				noon); !errors.Is(d.Err, ErrRaise) {
				t.Errorf("the decision: %+v", d)
			}
			if !errors.Is(err, ErrRaise) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v; want %s", err, c.says)
			}
		})
	}
	// The plan must keep within the budgets, as at creation.
	s := NewState(resolved(t, planned))
	var pe *mechanism.ParameterError
	if _, err := s.Raising(Raise{Plan: events(pure(0.1, 80), pure(0.2, 1))}).Resolve(nil); !errors.As(err, &pe) ||
		pe.Field != "plan" {
		t.Errorf("above its budgets: %v", err)
	}
	v := raiseOf(t, s,
		Raise{Plan: events(pure(0.1, 80), pure(0.2, 1)), Budgets: []accountant.Budget{{Epsilon: 9, Delta: 1e-6}}})
	b := NewBatch(s)
	accept(t, b, v, charge(pure(0.1, 80)))
	if got := applied(b).state.View(); got.Guarantee != "plan" || got.Plan[0].Remaining != 0 ||
		got.Plan[0].Planned != 80 {
		t.Errorf("%+v", got)
	}
	// A raise that nobody has resolved is none.
	if d := NewBatch(NewState(resolved(t, filter(basic(1))))).Decide(Request{Writer: Writer{"p", "w"}, Sequence: 1,
		Action: Raise{Budgets: []accountant.Budget{basic(2)}}}, Lane{}, noon); !errors.Is(d.Err, ErrRaise) {
		t.Errorf("without a resolution: %+v", d)
	}
}

// An order that the server chose stays, whether it is given or not.
func TestRaiseKeepsTheOrder(t *testing.T) {
	spec := filter(accountant.Budget{Guard: accountant.GuardRDP, Epsilon: 4, Delta: 1e-5})
	spec.ExpectedRun = Workload{Events: []mechanism.Event{event(20, 10)}}
	snapshot := resolved(t, spec)
	order := snapshot.Genesis.Resolution.Limits[0].Order
	for _, given := range []float64{0, order} {
		s := NewState(snapshot)
		v := raiseOf(t, s,
			Raise{Budgets: []accountant.Budget{{Guard: accountant.GuardRDP, Epsilon: 5, Delta: 1e-5, Order: given}},
				Reason: "r"})
		b := NewBatch(s)
		accept(t, b, v)
		b = applied(b)
		accept(t, b, raiseOf(t, b.state,
			Raise{Budgets: []accountant.Budget{{Guard: accountant.GuardRDP, Epsilon: 6, Delta: 1e-5}}, Reason: "r"}))
		got := applied(b).state.View().Budgets[0]
		if got.Limit.Order != order || got.Budget.Order != order || got.Budget.Epsilon != 6 ||
			got.Limit.Value <= snapshot.Genesis.Resolution.Limits[0].Value {
			t.Errorf("%+v; want order %g", got, order)
		}
	}
}

func TestAmendmentsAreBounded(t *testing.T) {
	b := NewBatch(NewState(resolved(t, Spec{})))
	for i := range uint64(MaxAmendments) {
		accept(t, b, charge(pure(1, 1)), Refund{Position: 2*i + 1, Events: []mechanism.Event{pure(1, 1)}, Reason: "r"})
	}
	accept(t, b, charge(pure(1, 1)))
	d := b.Decide(Request{Writer: Writer{"q", "w"}, Sequence: 1,
		Action: Refund{Position: 2*MaxAmendments + 1, Events: []mechanism.Event{pure(1, 1)}}}, Lane{}, noon)
	if !errors.Is(d.Err, ErrOutOfRange) ||
		!strings.Contains(d.Err.Error(), "refunds, raises and freed reservations: 1001; allowed: at most 1000") {
		t.Errorf("%+v", d)
	}
	// A restore cannot be refused, nor what makes the ledger usable again.
	from := Restored{StoreID: secondStore}
	if d := b.Decide(Request{Writer: Writer{Daemon, "request/r"}, Sequence: 1, Action: from}, Lane{},
		noon); d.Outcome != Accepted {
		t.Errorf("%+v", d)
	}
	lost := Reconcile{Events: []mechanism.Event{pure(1, 1)}}
	if d := b.Decide(Request{Writer: Writer{"q", "v"}, Sequence: 1, Action: lost}, Lane{},
		noon); d.Outcome != Accepted {
		t.Errorf("%+v", d)
	}
	if d := b.Decide(Request{Writer: Writer{"q", "v"}, Sequence: 2, Action: lost}, Lane{},
		noon); !errors.Is(d.Err, ErrOutOfRange) {
		t.Errorf("once more: %+v", d)
	}
	if err := b.Proposal().Check(Stored{Summary: b.state.summary, Totals: make([]uint64, 1)}); err != nil {
		t.Error(err)
	}
}

// Events and what entries leave of a reservation take apart what merged put together.
func TestEvents(t *testing.T) {
	parts := []mechanism.Part{{Mechanism: noise(1), Count: 2*math.MaxUint32 + 5}, {Mechanism: noise(2), Count: 1}}
	events := mechanism.EventsOf(parts)
	if len(events) != 4 || !slices.Equal(mechanism.Merge(events), parts) {
		t.Errorf("%v", events)
	}
	made := Entry{Position: 1, Action: Reserve{Events: events, Lifetime: time.Hour}}
	commit := func(e mechanism.Event) Entry {
		return Entry{Action: Commit{Events: []mechanism.Event{e}, Reservation: 1}}
	}
	x, ok := Made(made)
	if err := errors.Join(x.Follow(commit(event(1, 5))), x.Follow(commit(event(2, 1)))); !ok || err != nil ||
		len(x.Left()) != 2 || countOf(x.Left()) != 2*math.MaxUint32 {
		t.Errorf("%v, %v, %v", x.Left(), ok, err)
	}
	if err := x.Follow(commit(event(2, 2))); !errors.Is(err, ErrDamaged) {
		t.Errorf("more than it held: %v", err)
	}
	if _, ok := Made(commit(event(1, 5))); ok {
		t.Error("what a commit holds")
	}
}
