package ledger

import (
	"errors"
	"maps"
	"math/big"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// resolved is an empty ledger of a spec.
func resolved(t rapid.TB, s Spec) Snapshot {
	t.Helper()
	s.Name, s.Adjacency = "a", mechanism.AddOrRemoveOne
	r, err := Resolve(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	return Snapshot{Summary: Summary{Genesis: Genesis{Spec: s, Resolution: r}, Head: Head{Hash: Hash{1}}}}
}

func filter(budgets ...accountant.Budget) Spec { return Spec{Policy: Filtered, Budgets: budgets} }

func plan(events ...mechanism.Event) Spec {
	return Spec{Policy: Planned, Plan: Workload{Events: events}}
}

func pure(epsilon float64, count uint32) mechanism.Event {
	return mechanism.Event{Mechanism: mechanism.PureDP{Epsilon: epsilon}, Count: count}
}

// steps charges events one after the other, and says which one is refused.
func steps(t *testing.T, s Snapshot, events ...mechanism.Event) (int, error) {
	t.Helper()
	b := NewBatch(NewState(s, nil))
	for i, e := range events {
		if d := b.Decide(request("w", uint64(i+1), e), 0, noon); d.Outcome != Accepted {
			return i, d.Err
		}
	}
	return len(events), nil
}

// What people write divides without a rest: no budget ends one step early.
func TestBudgetsEndExactly(t *testing.T) {
	for _, c := range []struct {
		budget accountant.Budget
		event  mechanism.Event // as often as it fits
		fits   int
	}{
		{accountant.Budget{Guard: accountant.GuardBasic, Epsilon: 1}, pure(0.1, 1), 10},
		{accountant.Budget{Guard: accountant.GuardBasic, Epsilon: 3}, pure(0.1, 1), 30},
		{accountant.Budget{Guard: accountant.GuardBasic, Epsilon: 0.7}, pure(0.01, 1), 70},
		{accountant.Budget{Guard: accountant.GuardBasic, Epsilon: 1}, pure(0.3, 1), 3},
		{accountant.Budget{Guard: accountant.GuardBasic, Epsilon: 9, Delta: 1e-5},
			mechanism.Event{Mechanism: mechanism.ApproximateDP{Epsilon: 0.1, Delta: 1e-6}, Count: 1}, 10},
		{accountant.Budget{Guard: accountant.GuardZCDP, Rho: 0.5}, event(10, 1), 100}, // ρ = 1/200
		{accountant.Budget{Guard: accountant.GuardGDP, Mu: 0.3}, event(10, 1), 9},     // μ² = 1/100
		{accountant.Budget{Guard: accountant.GuardGDP, Mu: 1}, event(2, 1), 4},
		{accountant.Budget{Guard: accountant.GuardApproximateZCDP, Rho: 0.1, Delta: 3e-6},
			mechanism.Event{Mechanism: mechanism.ApproximateDP{Epsilon: 0.001, Delta: 1e-6}, Count: 1}, 3},
	} {
		events := slices.Repeat([]mechanism.Event{c.event}, c.fits+1)
		n, err := steps(t, resolved(t, filter(c.budget)), events...)
		if n != c.fits || !errors.Is(err, ErrBudget) {
			t.Errorf("%v: %d × %v fit, then %v; want %d", c.budget, n, c.event.Mechanism, err, c.fits)
		}
	}
}

// A refusal lists every budget it breaks, the shortfall, and what would still fit.
func TestRefusalsSayWhatIsMissing(t *testing.T) {
	two := filter(accountant.Budget{Guard: accountant.GuardBasic, Epsilon: 1}, accountant.Budget{Guard: accountant.GuardZCDP, Rho: 0.01})
	dp := mechanism.ApproximateDP{Epsilon: 0.1, Delta: 1e-6}
	for _, c := range []struct {
		name   string
		spec   Spec
		events []mechanism.Event // the last one is refused
		says   []string
	}{
		{"one of two", two, []mechanism.Event{pure(0.05, 5), pure(0.05, 5)}, []string{
			"budget exceeded: budgets[1] (ρ = 0.01 by ZCDP): needs 0.00624", "is left, short by", "; allowed: 3 × pure_dp(ε=0.05)"}},
		{"both", two, []mechanism.Event{pure(0.7, 2)}, []string{
			"budgets[0] (ε = 1 by BASIC): needs 1.4 of ε, 1 is left, short by 0.4; budgets[1]", "allowed: 0 × pure_dp(ε=0.7)"}},
		{"a guard that cannot charge it", two, []mechanism.Event{event(50, 1)}, []string{
			"budgets[0] (ε = 1 by BASIC): a gaussian has no single (ε, δ), which the guard BASIC adds up; allowed: 0"}},
		{"δ", filter(accountant.Budget{Guard: accountant.GuardBasic, Epsilon: 9, Delta: 1e-6}), []mechanism.Event{{Mechanism: dp, Count: 3}}, []string{
			"needs 3e-06 of δ, 1e-06 is left, short by 2e-06; allowed: 1 × approximate_dp"}},
		{"no δ", filter(accountant.Budget{Guard: accountant.GuardZCDP, Rho: 1}), []mechanism.Event{{Mechanism: dp, Count: 1}}, []string{
			"leaves δ = 1e-06 to failures, of which the guard ZCDP of this budget allows none"}},
		{"not in the plan", plan(event(1, 3)), []mechanism.Event{event(2, 1)}, []string{"plan: gaussian(σ=2, Δ=1) is not in it; allowed: 0 ×"}},
		{"more than the plan", plan(event(1, 3), event(2, 9)), []mechanism.Event{event(1, 1), event(1, 3)}, []string{
			"plan: needs 3 of gaussian(σ=1, Δ=1), 2 is left, short by 1; allowed: 2 × gaussian(σ=1, Δ=1)"}},
	} {
		n, err := steps(t, resolved(t, c.spec), c.events...)
		if n != len(c.events)-1 || !errors.Is(err, ErrBudget) {
			t.Errorf("%s: %d fit, %v", c.name, n, err)
			continue
		}
		for _, says := range c.says {
			if !strings.Contains(err.Error(), says) {
				t.Errorf("%s: %q; want %q in it", c.name, err, says)
			}
		}
	}
}

// Asking and refusals use up nothing, neither budget nor sequence number.
func TestRefusalsUseUpNothing(t *testing.T) {
	b := NewBatch(NewState(resolved(t, filter(accountant.Budget{Guard: accountant.GuardBasic, Epsilon: 1})), nil))
	for range 3 {
		if d := b.Decide(check(request("w", 1, pure(1, 1))), 0, noon); d.Outcome != Accepted {
			t.Fatal(d.Err)
		}
		if d := b.Decide(request("w", 1, pure(0.5, 1), pure(0.25, 1), pure(0.5, 1)), 0, noon); !errors.Is(d.Err, ErrBudget) {
			t.Fatalf("%+v", d)
		}
	}
	if d := b.Decide(request("w", 1, pure(1, 1)), 0, noon); d.Outcome != Accepted {
		t.Fatal(d.Err)
	}
	if d := b.Decide(request("w", 1, pure(1, 1)), 0, noon); d.Outcome != Duplicate {
		t.Errorf("a retry of what used up the budget: %+v", d)
	}
}

// Lines of mechanisms that are only asked for do not stay forever.
func TestIdleLinesAreBounded(t *testing.T) {
	s := NewState(resolved(t, filter(accountant.Budget{Guard: accountant.GuardBasic, Epsilon: 1})), nil)
	for i := range 4 * maxIdleLines {
		b := NewBatch(s)
		if d := b.Decide(request("w", 1, pure(2+float64(i), 1)), 0, noon); !errors.Is(d.Err, ErrBudget) {
			t.Fatal(d)
		}
	}
	if n := len(s.account.lines); n > maxIdleLines+1 {
		t.Errorf("%d lines", n)
	}
}

// budgetModel is the dumb account: all that was accepted, gone through anew for
// each question.
type budgetModel struct {
	genesis            Genesis
	committed, pending []Verb // entry i has position i + 1
	costs              map[int]map[mechanism.Mechanism]accountant.Cost
}

// cost is the cost of a limit by its index; they are slow to find.
func (m *budgetModel) cost(limit int, of mechanism.Mechanism) (accountant.Cost, bool) {
	if m.costs == nil {
		m.costs = map[int]map[mechanism.Mechanism]accountant.Cost{}
	}
	if m.costs[limit] == nil {
		m.costs[limit] = map[mechanism.Mechanism]accountant.Cost{}
	}
	c, ok := m.costs[limit][of]
	if !ok {
		c, _ = m.genesis.Resolution.Limits[limit].Cost(of, m.genesis.Spec.Adjacency)
		m.costs[limit][of] = c
	}
	return c, c.Value > 0
}

// multiset is counts by mechanism.
type multiset map[mechanism.Mechanism]uint64

func (s multiset) add(o multiset) {
	for m, n := range o {
		s[m] += n
	}
}

func setOf(events []mechanism.Event) multiset {
	s := multiset{}
	for _, e := range events {
		s[e.Mechanism] += uint64(e.Count)
	}
	return s
}

// state is what verbs have charged, and what is open.
func (m *budgetModel) state(verbs []Verb) (spent multiset, open map[uint64]multiset, closed bool) {
	spent, open = multiset{}, map[uint64]multiset{}
	for i, v := range verbs {
		switch v := v.(type) {
		case Charge:
			spent.add(setOf(v.Events))
		case Reserve:
			open[uint64(i)+1] = setOf(v.Events)
		case Commit:
			spent.add(setOf(v.Events))
			rest := 0
			for mech, n := range setOf(v.Events) {
				open[v.Reservation][mech] -= n
			}
			for mech, n := range open[v.Reservation] {
				if n == 0 {
					delete(open[v.Reservation], mech)
				}
				rest += int(n)
			}
			if rest == 0 {
				delete(open, v.Reservation)
			}
		case Release:
			delete(open, v.Reservation)
		case Expire:
			spent.add(open[v.Reservation])
			delete(open, v.Reservation)
		case Close:
			for _, rest := range open {
				spent.add(rest)
			}
			clear(open)
			closed = true
		}
	}
	return spent, open, closed
}

// allows is the sentinel that a verb is refused with, nil if it is not.
func (m *budgetModel) allows(v Verb) error {
	_, open, closed := m.state(slices.Concat(m.committed, m.pending))
	if closed {
		return ErrClosed
	}
	held := func(position uint64, events []mechanism.Event) error {
		rest, ok := open[position]
		for mech, n := range setOf(events) {
			ok = ok && rest[mech] >= n
		}
		if !ok {
			return ErrReservation
		}
		return nil
	}
	switch v := v.(type) {
	case Charge:
		return m.fits(v.Events)
	case Reserve:
		return m.fits(v.Events)
	case Commit:
		return held(v.Reservation, v.Events)
	case Release:
		return held(v.Reservation, nil)
	case Expire:
		return held(v.Reservation, nil)
	}
	return nil
}

// fits adds up what is charged, open and asked for: of a plan counts, of a limit
// Σ n·ceil(cost·Whole/limit).
func (m *budgetModel) fits(events []mechanism.Event) error {
	all, open, _ := m.state(slices.Concat(m.committed, m.pending))
	for _, rest := range open {
		all.add(rest)
	}
	all.add(setOf(events))
	if m.genesis.Spec.Policy == Planned {
		planned := multiset{}
		for _, p := range m.genesis.Resolution.Plan {
			planned[p.Mechanism] = p.Count
		}
		for mech, n := range all {
			if n > planned[mech] {
				return ErrBudget
			}
		}
		return nil
	}
	for i := range m.genesis.Resolution.Limits {
		var value, delta big.Int
		for mech, count := range all {
			cost, chargeable := m.cost(i, mech)
			if !chargeable {
				return ErrBudget
			}
			n := new(big.Int).SetUint64(count)
			value.Add(&value, new(big.Int).Mul(n, new(big.Int).SetUint64(cost.Value)))
			delta.Add(&delta, new(big.Int).Mul(n, new(big.Int).SetUint64(cost.Delta)))
		}
		whole := new(big.Int).SetUint64(accountant.Whole)
		if value.Cmp(whole) > 0 || delta.Cmp(whole) > 0 {
			return ErrBudget
		}
	}
	return nil
}

func drawBudgetSpec(rt *rapid.T) Spec {
	if rapid.Bool().Draw(rt, "plan") {
		return plan(pure(0.1, 20), event(2, rapid.Uint32Range(1, 40).Draw(rt, "planned")), pure(0.1, 5))
	}
	return filter(rapid.SliceOfN(rapid.SampledFrom([]accountant.Budget{
		{Guard: accountant.GuardBasic, Epsilon: 3}, {Guard: accountant.GuardBasic, Epsilon: 3, Delta: 1e-5},
		{Guard: accountant.GuardZCDP, Rho: 1}, {Guard: accountant.GuardZCDP, Epsilon: 4, Delta: 1e-6},
		{Guard: accountant.GuardApproximateZCDP, Epsilon: 4, Delta: 1e-5},
		{Guard: accountant.GuardGDP, Mu: 2}, {Guard: accountant.GuardRDP, Epsilon: 4, Delta: 1e-5, Order: 8},
	}), 1, 3).Draw(rt, "budgets")...)
}

func drawBudgetEvents(rt *rapid.T) []mechanism.Event {
	return rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) mechanism.Event {
		count := rapid.OneOf(rapid.Uint32Range(1, 9), rapid.Uint32Min(1)).Draw(rt, "count")
		return mechanism.Event{Count: count, Mechanism: rapid.SampledFrom([]mechanism.Mechanism{
			mechanism.PureDP{Epsilon: 0.1}, noise(2), noise(9), mechanism.ApproximateDP{Epsilon: 0.1, Delta: 1e-6},
			mechanism.ZeroConcentratedDP{Rho: 0.01},
		}).Draw(rt, "mechanism")}
	}), 1, 3).Draw(rt, "events")
}

func (m *budgetModel) drawVerb(rt *rapid.T) Verb {
	_, open, _ := m.state(slices.Concat(m.committed, m.pending))
	some := append(slices.Sorted(maps.Keys(open)), 1, 99)
	position := rapid.SampledFrom(some).Draw(rt, "reservation")
	switch rapid.IntRange(0, 19).Draw(rt, "verb") {
	case 0:
		return Release{Reservation: position}
	case 1:
		return Expire{Reservation: position}
	case 2:
		if rapid.IntRange(0, 9).Draw(rt, "close") == 0 {
			return Close{}
		}
	case 3, 4, 5, 6:
		return Reserve{Events: drawBudgetEvents(rt), Lifetime: time.Second}
	case 7, 8, 9, 10, 11:
		events := drawBudgetEvents(rt)
		if rapid.Bool().Draw(rt, "all of it") {
			events = nil
			for mech, n := range open[position] {
				events = append(events, mechanism.Event{Mechanism: mech, Count: uint32(n)})
			}
		}
		if len(events) > 0 {
			return Commit{Reservation: position, Events: events}
		}
	}
	return Charge{Events: drawBudgetEvents(rt)}
}

// Whatever is charged, reserved, committed, released, expired, asked, applied,
// discarded and read again, exactly what the dumb account allows is accepted.
func TestBudgetsAgainstModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		base := resolved(rt, drawBudgetSpec(rt))
		m := &budgetModel{genesis: base.Genesis}
		state := NewState(base, nil)
		batch := NewBatch(state)
		var records []Record
		rt.Repeat(map[string]func(*rapid.T){
			"decide": func(rt *rapid.T) {
				r := Request{Writer: Writer{"p", "w"}, Sequence: uint64(len(m.committed)+len(m.pending)) + 1, Verb: m.drawVerb(rt)}
				r.CheckOnly = rapid.IntRange(0, 3).Draw(rt, "check only") == 0
				want := m.allows(r.Verb)
				d := batch.Decide(r, uint64(len(m.committed)), noon)
				if !errors.Is(d.Err, want) || (want == nil) != (d.Outcome == Accepted) {
					rt.Fatalf("%+v: %+v; the model says %v", r.Verb, d, want)
				}
				if d.Outcome == Accepted && !r.CheckOnly {
					m.pending = append(m.pending, r.Verb)
				}
				m.checkFits(rt, d)
			},
			"apply": func(*rapid.T) {
				m.checkProposal(rt, batch.Proposal(), state)
				for _, e := range batch.Entries() {
					records = append(records, Record{Entry: e, Hash: Hash{2}})
				}
				if len(m.pending) > 0 {
					state.Apply(batch, Head{uint64(len(records)), Hash{2}})
				}
				m.committed, m.pending = append(m.committed, m.pending...), nil
				batch = NewBatch(state)
			},
			"discard and read again": func(rt *rapid.T) {
				m.pending = nil
				cut := rapid.IntRange(0, len(records)).Draw(rt, "snapshot after")
				old := NewState(base, records[:cut])
				state = NewState(Snapshot{Summary: old.Summary(), Parts: old.Parts(), Open: old.Reservations()}, records[cut:])
				batch = NewBatch(state)
			},
			"": func(rt *rapid.T) { m.checkState(rt, state) },
		})
	})
}

func (m *budgetModel) checkState(rt *rapid.T, s *State) {
	spent, open, closed := m.state(m.committed)
	got, total := multiset{}, uint64(0)
	for _, p := range s.Composition().Parts {
		got[p.Mechanism] += p.Count
		total += p.Count
	}
	left := map[uint64]multiset{}
	for _, r := range s.Reservations() {
		left[r.Position] = multiset{}
		for _, p := range r.Rest {
			left[r.Position][p.Mechanism] += p.Count
		}
		if !r.Deadline.Equal(noon.Add(time.Second)) {
			rt.Fatalf("deadline of %+v", r)
		}
	}
	sum := s.Summary()
	if !maps.Equal(got, spent) || !reflect.DeepEqual(left, open) || sum.Closed != closed || sum.Total != total {
		rt.Fatalf("state: %v, open %v, %+v; want %v, open %v, closed %v", got, left, sum, spent, open, closed)
	}
}

// checkProposal: a store takes what a batch proposes, and not without any of the
// reservations it changes.
func (m *budgetModel) checkProposal(rt *rapid.T, p Proposal, state *State) {
	if len(p.Entries) == 0 {
		return
	}
	parts, open := state.Composition().Parts, state.Reservations()
	before := make([]uint64, len(p.Counts))
	for i, c := range p.Counts {
		if c.Index < len(parts) {
			before[i] = parts[c.Index].Count
		}
	}
	if err := p.Check(state.Summary(), before, open, nil); err != nil {
		rt.Fatal(err)
	}
	for i, r := range p.Open {
		spoilt := p
		spoilt.Open = slices.Delete(slices.Clone(p.Open), i, i+1)
		if spoilt.Check(state.Summary(), before, open, nil) == nil {
			rt.Fatalf("a proposal without the change of reservation %d was taken", r.Position)
		}
		if len(r.Rest) > 0 {
			spoilt.Open = slices.Clone(p.Open)
			spoilt.Open[i].Rest = slices.Clone(r.Rest)
			spoilt.Open[i].Rest[0].Count++
			if spoilt.Check(state.Summary(), before, open, nil) == nil {
				rt.Fatalf("a proposal that leaves too much of reservation %d was taken", r.Position)
			}
		}
	}
}

// checkFits: what a refusal says would fit does, and one more does not.
func (m *budgetModel) checkFits(rt *rapid.T, d Decision) {
	var e *BudgetError
	if !errors.As(d.Err, &e) {
		return
	}
	if len(e.Broken) == 0 {
		rt.Fatalf("%v: breaks nothing", d.Err)
	}
	for _, f := range e.Fits {
		of := func(n uint64) []mechanism.Event {
			if n == 0 {
				return nil
			}
			return []mechanism.Event{{Mechanism: f.Mechanism, Count: uint32(n)}}
		}
		if f.Count < 1<<31 && (m.fits(of(f.Count)) != nil || m.fits(of(f.Count+1)) == nil) {
			rt.Fatalf("%v: not the most that fits", d.Err)
		}
	}
}

// Most is the largest number.
func TestMost(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		want := rapid.OneOf(rapid.Uint64Range(0, 40), rapid.Uint64Range(0, 1<<63-1), rapid.Just(uint64(1<<63-1))).Draw(rt, "most")
		got, err := most(func(n uint64) (bool, error) { return n <= want, nil })
		if got != want || err != nil {
			rt.Fatalf("%d, %v; want %d", got, err, want)
		}
	})
}
