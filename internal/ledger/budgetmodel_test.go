// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"math/big"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/ledger/budget"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// budgetModel is the dumb account: all that was accepted, gone through anew for
// each question.
type budgetModel struct {
	genesis            Genesis
	committed, pending []step // step i has position i + 1
	costs              map[costKey]accountant.Cost
}

// step is an action with who asked for it.
type step struct {
	action Action
	writer Writer
}

type costKey struct {
	limit accountant.Limit
	of    mechanism.Mechanism
}

// cost is what a mechanism takes of a limit; costs are slow to find.
func (m *budgetModel) cost(limit accountant.Limit, of mechanism.Mechanism) (accountant.Cost, bool) {
	if m.costs == nil {
		m.costs = map[costKey]accountant.Cost{}
	}
	c, ok := m.costs[costKey{limit, of}]
	if !ok {
		c, _ = limit.Cost(of, m.genesis.Spec.Adjacency)
		m.costs[costKey{limit, of}] = c
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

func (s multiset) sub(o multiset) {
	for m, n := range o {
		if s[m] -= n; s[m] == 0 {
			delete(s, m)
		}
	}
}

func setOf(events []mechanism.Event) multiset {
	s := multiset{}
	for _, e := range events {
		s[e.Mechanism] += uint64(e.Count)
	}
	return s
}

func (s multiset) events() (events []mechanism.Event) {
	for m, n := range s {
		events = append(events, mechanism.EventsOf([]mechanism.Part{{Mechanism: m, Count: n}})...)
	}
	slices.SortFunc(events,
		func(a, b mechanism.Event) int { return strings.Compare(a.Mechanism.String(), b.Mechanism.String()) })
	return events
}

// modelState is what steps have made of the ledger.
type modelState struct {
	spent       multiset
	open        map[uint64]multiset
	maker       map[uint64]step     // of each reservation, open or not
	charged     map[uint64]multiset // by each entry that can be refunded
	closed      bool
	restored    []uint64 // positions
	pending     bool     // needs reconciling
	last        map[Writer]uint64
	budgets     []accountant.Budget
	resolution  Resolution
	assumptions []Assumption // without text
	quiet       []string     // acknowledged warnings
}

func (m *budgetModel) state(steps []step) modelState {
	st := modelState{spent: multiset{}, open: map[uint64]multiset{}, maker: map[uint64]step{},
		charged: map[uint64]multiset{}, last: map[Writer]uint64{},
		budgets: m.genesis.Spec.Budgets, resolution: m.genesis.Resolution}
	for i, s := range steps {
		position := uint64(i) + 1
		st.last[s.writer] = position
		switch v := s.action.(type) {
		case Charge:
			st.spent.add(setOf(v.Events))
			st.charged[position] = setOf(v.Events)
		case Reserve:
			st.open[position], st.maker[position] = setOf(v.Events), s
		case Commit:
			st.spent.add(setOf(v.Events))
			st.charged[position] = setOf(v.Events)
			if st.open[v.Reservation].sub(setOf(v.Events)); len(st.open[v.Reservation]) == 0 {
				delete(st.open, v.Reservation)
			}
		case Release:
			delete(st.open, v.Reservation)
		case Expire:
			st.spent.add(st.open[v.Reservation])
			st.charged[position] = st.open[v.Reservation]
			delete(st.open, v.Reservation)
		case Acknowledge:
			st.quiet = append(st.quiet, v.Warning)
		case Free:
			delete(st.open, v.Reservation)
			st.assumptions = append(st.assumptions, Assumption{Position: position, Kind: "freed", Descriptive: true})
		case Refund:
			st.spent.sub(setOf(v.Events))
			delete(st.charged, v.Position)
			st.assumptions = append(st.assumptions, Assumption{Position: position, Kind: "refund", Descriptive: true})
		case Raise:
			if len(st.spent)+len(st.open)+len(st.restored) > 0 ||
				slices.ContainsFunc(st.assumptions,
					func(a Assumption) bool { return a.Kind == "refund" || a.Kind == "freed" }) {
				st.assumptions = append(st.assumptions,
					Assumption{Position: position, Kind: "raise", Descriptive: !v.Independent})
			}
			st.budgets, st.resolution = v.Budgets, v.Resolution
		case Restored:
			st.spendAll()
			st.restored, st.pending = append(st.restored, position), true
			st.assumptions = append(st.assumptions, Assumption{Position: position, Kind: "restored", Descriptive: true})
		case Reconcile:
			over := len(v.Events) > 0 && m.fitsIn(st, v.Events) != nil
			st.spent.add(setOf(v.Events))
			for j := range st.assumptions {
				if st.assumptions[j].Kind == "restored" {
					st.assumptions[j].Descriptive = false
				}
			}
			kind := "reconciled"
			if v.AcceptLoss {
				kind = "loss"
			}
			st.assumptions = append(st.assumptions,
				Assumption{Position: position, Kind: kind, Descriptive: over || v.AcceptLoss})
			st.pending = false
		case Close:
			st.spendAll()
			st.closed = true
		}
	}
	return st
}

func (st *modelState) spendAll() {
	for _, rest := range st.open {
		st.spent.add(rest)
	}
	clear(st.open)
}

func (m *budgetModel) now() modelState { return m.state(slices.Concat(m.committed, m.pending)) }

// allows is the sentinel that a step is refused with, nil if it is not.
func (m *budgetModel) allows(s step) error {
	st := m.now()
	_, restoring := s.action.(Restored)
	_, reconciling := s.action.(Reconcile)
	switch n := len(st.restored); {
	case n > 0 && st.last[s.writer] > 0 && st.last[s.writer] < st.restored[n-1]:
		return ErrEnded
	case st.closed:
		return ErrClosed
	case st.pending && !restoring && !reconciling:
		return ErrUnreconciled
	}
	held := func(position uint64, events []mechanism.Event, mayUse bool) error {
		rest, ok := st.open[position]
		for mech, n := range setOf(events) {
			ok = ok && rest[mech] >= n
		}
		if !ok || !mayUse {
			return ErrReservation
		}
		return nil
	}
	// Its maker or the daemon; what a child holds only the daemon.
	own := func(position uint64) bool {
		maker := st.maker[position]
		v, _ := maker.action.(Reserve)
		return s.writer.Principal == Daemon || v.Child == "" && s.writer.Principal == maker.writer.Principal
	}
	switch v := s.action.(type) {
	case Charge:
		return m.fits(v.Events)
	case Reserve:
		if v.Child != "" && s.writer.Principal != Daemon {
			return ErrReservation
		}
		return m.fits(v.Events)
	case Commit:
		return held(v.Reservation, v.Events, own(v.Reservation))
	case Release:
		return held(v.Reservation, nil, own(v.Reservation))
	case Expire:
		maker, _ := st.maker[v.Reservation].action.(Reserve)
		return held(v.Reservation, nil, maker.Child == "")
	case Free: // whoever asks; what a child holds, nobody
		maker, _ := st.maker[v.Reservation].action.(Reserve)
		return held(v.Reservation, nil, maker.Child == "")
	case Acknowledge:
		if slices.Contains(st.quiet, v.Warning) {
			return ErrAcknowledged
		}
	case Restored:
		if s.writer.Principal != Daemon || v.StoreID == v.From || v.From != m.store(st) {
			return ErrReconcile
		}
	case Reconcile:
		if len(st.restored) == 0 || !st.pending && len(v.Events) == 0 || v.AcceptLoss && len(v.Events) > 0 {
			return ErrReconcile
		}
	case Refund:
		if st.charged[v.Position] == nil {
			return ErrRefund
		}
	case Raise:
		larger := false
		for i, l := range st.resolution.Limits {
			if v.Resolution.Limits[i].Value < l.Value {
				return ErrRaise
			}
			larger = larger || v.Resolution.Limits[i].Value > l.Value
		}
		now := multiset{}
		for _, p := range v.Resolution.Plan {
			now[p.Mechanism] = p.Count
		}
		for _, p := range st.resolution.Plan {
			if now[p.Mechanism] < p.Count {
				return ErrRaise
			}
			larger = larger || now[p.Mechanism] > p.Count
		}
		if !larger && len(now) <= len(st.resolution.Plan) {
			return ErrRaise
		}
	}
	return nil
}

// fits adds up what is charged, open and asked for: of a plan counts, of a limit
// Σ n·ceil(cost·Whole/limit).
func (m *budgetModel) fits(events []mechanism.Event) error { return m.fitsIn(m.now(), events) }

// store is where the ledger is: each restore makes another.
func (m *budgetModel) store(st modelState) string { return fmt.Sprint("store ", len(st.restored)) }

func (m *budgetModel) fitsIn(st modelState, events []mechanism.Event) error {
	all := maps.Clone(st.spent)
	for _, rest := range st.open {
		all.add(rest)
	}
	all.add(setOf(events))
	if m.genesis.Spec.Policy == Planned {
		planned := multiset{}
		for _, p := range st.resolution.Plan {
			planned[p.Mechanism] = p.Count
		}
		for mech, n := range all {
			if n > planned[mech] {
				return ErrBudget
			}
		}
		return nil
	}
	for _, l := range st.resolution.Limits {
		value, delta, ok := m.sum(l, all)
		whole := new(big.Int).SetUint64(accountant.Whole)
		if !ok || value.Cmp(whole) > 0 || delta.Cmp(whole) > 0 {
			return ErrBudget
		}
	}
	return nil
}

// sum is what a multiset takes of a limit, in shares.
func (m *budgetModel) sum(l accountant.Limit, all multiset) (value, delta *big.Int, ok bool) {
	value, delta, ok = new(big.Int), new(big.Int), true
	for mech, count := range all {
		cost, chargeable := m.cost(l, mech)
		ok = ok && chargeable
		n := new(big.Int).SetUint64(count)
		value.Add(value, new(big.Int).Mul(n, new(big.Int).SetUint64(cost.Value)))
		delta.Add(delta, new(big.Int).Mul(n, new(big.Int).SetUint64(cost.Delta)))
	}
	return value, delta, ok
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

func (m *budgetModel) drawAction(rt *rapid.T) Action {
	st := m.now()
	if st.pending && rapid.Bool().Draw(rt, "reconcile") {
		return drawReconcile(rt)
	}
	some := append(slices.Sorted(maps.Keys(st.open)), 1, 99)
	position := rapid.SampledFrom(some).Draw(rt, "reservation")
	switch rapid.IntRange(0, 24).Draw(rt, "action") {
	case 0:
		return Release{Reservation: position}
	case 1:
		return Expire{Reservation: position}
	case 2:
		if rapid.IntRange(0, 9).Draw(rt, "close") == 0 {
			return Close{}
		}
	case 3, 4, 5:
		return Reserve{Events: drawBudgetEvents(rt), Lifetime: time.Second}
	case 6:
		return Reserve{Events: drawBudgetEvents(rt), Child: "child"}
	case 7, 8, 9, 10, 11:
		events := drawBudgetEvents(rt)
		if rapid.Bool().Draw(rt, "all of it") {
			events = st.open[position].events()
		}
		if len(events) > 0 {
			return Commit{Reservation: position, Events: events}
		}
	case 12, 13:
		return m.drawRefund(rt, st)
	case 14:
		return drawRaise(rt, m.genesis.Spec, st)
	case 15:
		if rapid.IntRange(0, 2).Draw(rt, "restore") > 0 {
			from := rapid.SampledFrom([]string{m.store(st), m.store(st), m.store(st), "another"}).Draw(rt, "from")
			return Restored{From: from, StoreID: fmt.Sprint("store ", len(st.restored)+1)}
		}
	case 16:
		return drawReconcile(rt)
	case 18:
		return Acknowledge{Warning: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(rt, "warning"), Reason: "r"}
	case 17:
		return Free{Reservation: position, Reason: "r"}
	}
	return Charge{Events: drawBudgetEvents(rt)}
}

func drawReconcile(rt *rapid.T) Action {
	v := Reconcile{AcceptLoss: rapid.Bool().Draw(rt, "accept the loss"), Reason: "r"}
	if rapid.Bool().Draw(rt, "with events") {
		v.Events = drawBudgetEvents(rt)
	}
	return v
}

// drawRefund is mostly of an entry that can be refunded, as package keeper asks.
func (m *budgetModel) drawRefund(rt *rapid.T, st modelState) Action {
	// itself
	v := Refund{Position: uint64(len(m.committed) + len(m.pending) + 1), Events: drawBudgetEvents(rt), Reason: "r"}
	var refunded []uint64
	for _, s := range slices.Concat(m.committed, m.pending) {
		if r, ok := s.action.(Refund); ok {
			refunded = append(refunded, r.Position)
		}
	}
	if some := append(slices.Sorted(maps.Keys(st.charged)), refunded...); len(some) > 0 &&
		rapid.IntRange(0, 9).Draw(rt, "itself") > 0 {
		v.Position = rapid.SampledFrom(some).Draw(rt, "refunded")
		if charged := st.charged[v.Position]; charged != nil {
			v.Events = charged.events()
		}
	}
	return v
}

// drawRaise makes each budget or count larger, smaller or leaves it.
func drawRaise(rt *rapid.T, spec Spec, st modelState) Action {
	v := Raise{Independent: rapid.Bool().Draw(rt, "independent"), Reason: "r"}
	if spec.Policy == Planned {
		for _, p := range st.resolution.Plan {
			p.Count = max(1, p.Count+rapid.SampledFrom([]uint64{0, 0, 3, 1<<64 - 1}).Draw(rt, "more"))
			v.Plan.Events = append(v.Plan.Events, mechanism.Event{Mechanism: p.Mechanism, Count: uint32(p.Count)})
			v.Resolution.Plan = append(v.Resolution.Plan, p)
		}
		if m := noise(9); len(v.Resolution.Plan) == 2 && rapid.Bool().Draw(rt, "another") {
			v.Plan.Events = append(v.Plan.Events, mechanism.Event{Mechanism: m, Count: 2})
			v.Resolution.Plan = append(v.Resolution.Plan, mechanism.Part{Mechanism: m, Count: 2})
		}
		return v
	}
	for i, b := range st.budgets {
		factor := rapid.SampledFrom([]float64{1, 1, 1.5, 2, 0.5}).Draw(rt, fmt.Sprintf("budget %d", i))
		b.Epsilon *= factor
		b.Rho *= factor
		b.Mu *= factor
		l, err := b.Resolve(mechanism.Composition{})
		if err != nil { // halved below what RDP can meet
			return Charge{Events: drawBudgetEvents(rt)}
		}
		v.Budgets, v.Resolution.Limits = append(v.Budgets, b), append(v.Resolution.Limits, l)
	}
	return v
}

// Whatever is charged, reserved by users and for children, committed, released,
// expired, refunded, raised, restored, reconciled, asked, applied, discarded and read
// again, exactly what the dumb account allows is accepted.
func TestBudgetsAgainstModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		base := resolved(rt, drawBudgetSpec(rt))
		base.Genesis.StoreID = "store 0"
		m := &budgetModel{genesis: base.Genesis}
		state, follower := NewState(base), NewState(base)
		batch := NewBatch(state)
		var records []Record
		lane := func(steps []step, w Writer) (l Lane) {
			for i, s := range steps {
				if s.writer == w {
					l = Lane{l.Sequence + 1, uint64(i) + 1}
				}
			}
			return l
		}
		rt.Repeat(map[string]func(*rapid.T){
			"decide": func(rt *rapid.T) {
				s := step{action: m.drawAction(rt)}
				s.writer.Principal = rapid.SampledFrom([]string{"p", "p", "q", Daemon}).Draw(rt, "principal")
				if _, restoring := s.action.(Restored); restoring &&
					rapid.IntRange(0, 3).Draw(rt, "as the daemon") > 0 {
					s.writer.Principal = Daemon
				}
				old := rapid.SampledFrom([]int{0, 0, 0, 1}).Draw(rt, "old writer")
				s.writer.Name = fmt.Sprint("w", len(m.now().restored)-old)
				committed := lane(m.committed, s.writer)
				r := Request{Writer: s.writer,
					Sequence: lane(slices.Concat(m.committed, m.pending), s.writer).Sequence + 1, Action: s.action}
				r.CheckOnly = rapid.IntRange(0, 3).Draw(rt, "check only") == 0
				want := m.allows(s)
				d := batch.Decide(r, committed, noon)
				if v, ok := s.action.(Reconcile); ok && d.Outcome == Accepted && !r.CheckOnly {
					got := batch.Entries()[d.Entry].Action.(Reconcile)
					if v.Over = len(v.Events) > 0 && m.fits(v.Events) != nil; got.Over != v.Over {
						rt.Fatalf("%+v; want over %v", got, v.Over)
					}
				}
				if !errors.Is(d.Err, want) || (want == nil) != (d.Outcome == Accepted) {
					rt.Fatalf("%+v: %+v; the model says %v", s, d, want)
				}
				if d.Outcome == Accepted && !r.CheckOnly {
					m.pending = append(m.pending, s)
				}
				m.checkFits(rt, d)
			},
			"apply": func(*rapid.T) {
				m.checkProposal(rt, batch.Proposal(), state, records)
				for _, e := range batch.Entries() {
					records = append(records, Record{Entry: e, Hash: Hash{2}})
				}
				if len(m.pending) > 0 {
					state.Apply(batch, Head{uint64(len(records)), Hash{2}})
				}
				m.committed, m.pending = append(m.committed, m.pending...), nil
				batch = NewBatch(state)
				m.checkMoves(rt, records)
			},
			"discard and read again": func(rt *rapid.T) {
				m.pending = nil
				state = after(base, records)
				batch = NewBatch(state)
			},
			"follow": func(rt *rapid.T) { // as another daemon does
				newer := records[follower.Summary().Head.Position:]
				if !follower.Follow(newer) {
					if !slices.ContainsFunc(newer, func(r Record) bool { return changesCosts(follower, r.Entry) }) {
						rt.Fatalf("%+v were not followed", newer)
					}
					follower = after(base, records)
				}
				m.checkState(rt, follower)
				if read := after(base, records); read.account.Work != follower.account.Work ||
					!reflect.DeepEqual(read.account.Used, follower.account.Used) ||
					!reflect.DeepEqual(read.account.Held, follower.account.Held) {
					rt.Fatalf("followed: %+v; read: %+v", follower.account, read.account)
				}
			},
			"": func(rt *rapid.T) { m.checkState(rt, state) },
		})
	})
}

// changesCosts reports whether an entry makes its ledger's budgets or plan larger, or uses a mechanism that a state has
// not used.
func changesCosts(s *State, e Entry) bool {
	_, raises := e.Action.(Raise)
	return raises || slices.ContainsFunc(e.Action.Details().Events, func(e mechanism.Event) bool {
		i, used := s.index[e.Mechanism]
		return !used || s.parts[i].Count == 0
	})
}

func amended(records []Record) (entries []Entry) {
	for _, r := range records {
		if r.Entry.Amends() {
			entries = append(entries, r.Entry)
		}
	}
	return entries
}

func (m *budgetModel) checkState(rt *rapid.T, s *State) {
	want := m.state(m.committed)
	got, total := multiset{}, uint64(0)
	for _, p := range s.Parts() {
		if total += p.Count; p.Count > 0 {
			got[p.Mechanism] += p.Count
		}
	}
	mayBeOut, composed := maps.Clone(want.spent), multiset{}
	for position, rest := range want.open {
		if v, ok := want.maker[position].action.(Reserve); ok && v.Child != "" {
			mayBeOut.add(rest)
		}
	}
	for _, p := range s.Composition().Parts {
		composed[p.Mechanism] += p.Count
	}
	if !maps.Equal(composed, mayBeOut) {
		rt.Fatalf("composition %v; want %v", composed, mayBeOut)
	}
	left := map[uint64]multiset{}
	for _, r := range s.Reservations() {
		left[r.Position] = multiset{}
		for _, p := range r.Rest {
			left[r.Position][p.Mechanism] += p.Count
		}
		if r.Child == "" && !r.Deadline.Equal(noon.Add(time.Second)) || r.Child != "" && !r.Deadline.IsZero() ||
			r.Principal != want.maker[r.Position].writer.Principal {
			rt.Fatalf("reservation %+v; made by %+v", r, want.maker[r.Position])
		}
	}
	sum := s.Summary()
	if !maps.Equal(got, want.spent) || !reflect.DeepEqual(left, want.open) || sum.Closed != want.closed ||
		sum.Unreconciled != want.pending || sum.Total != total {
		rt.Fatalf("state: %v, open %v, %+v; want %+v", got, left, sum, want)
	}
	m.checkView(rt, s.View(), want)
}

// checkMoves: what an observer sees moved adds up to what the model has in each pot.
func (m *budgetModel) checkMoves(rt *rapid.T, records []Record) {
	want := m.state(m.committed)
	var flow Flow
	pots, open := map[Pot]multiset{PotBudget: {}, PotCharged: {}}, map[uint64]multiset{}
	pot := func(p Pot, m Move) multiset {
		switch {
		case p != PotReserved:
			return pots[p]
		case open[m.Held.Position] == nil:
			open[m.Held.Position] = multiset{}
		}
		return open[m.Held.Position]
	}
	for _, r := range records {
		for _, move := range flow.Take(r.Entry) {
			if move.Missing {
				rt.Fatalf("entry %d moves what is missing: %+v", r.Entry.Position, move)
			}
			for _, p := range move.Parts {
				pot(move.From, move).sub(multiset{p.Mechanism: p.Count})
				pot(move.To, move).add(multiset{p.Mechanism: p.Count})
			}
		}
	}
	maps.DeleteFunc(open, func(_ uint64, rest multiset) bool { return len(rest) == 0 })
	if !maps.Equal(pots[PotCharged], want.spent) || !reflect.DeepEqual(open, want.open) {
		rt.Fatalf("moves: charged %v, open %v; want %v, %v", pots[PotCharged], open, want.spent, want.open)
	}
}

// checkView: a view's balances are what the model counts, rounded to the safe side.
func (m *budgetModel) checkView(rt *rapid.T, v View, want modelState) {
	held := multiset{}
	for _, rest := range want.open {
		held.add(rest)
	}
	if len(v.Plan) != len(want.resolution.Plan) || len(v.Budgets) != len(want.resolution.Limits) ||
		!v.Resolution.Equal(want.resolution) {
		rt.Fatalf("view: %+v; want %+v", v, want)
	}
	for i, p := range v.Plan {
		planned := want.resolution.Plan[i]
		if p.Mechanism != planned.Mechanism || p.Planned != planned.Count || p.Spent != want.spent[p.Mechanism] ||
			p.Reserved != held[p.Mechanism] || p.Remaining != p.Planned-min(p.Planned, p.Spent+p.Reserved) {
			rt.Fatalf("plan: %+v; want %v, spent %v, held %v", p, planned, want.spent, held)
		}
	}
	for i, b := range v.Budgets {
		l := want.resolution.Limits[i]
		spent, spentDelta, told := m.sum(l, want.spent)
		if !told { // a guard cannot charge what was lost
			if b.Value.Spent < math.Inf(1) || b.Value.Remaining > 0 {
				rt.Fatalf("budget %d: %+v; want more than can be told", i, b)
			}
			continue
		}
		reserved, reservedDelta, _ := m.sum(l, held)
		if b.Budget != want.budgets[i] || b.Limit != l {
			rt.Fatalf("budget %d: %+v; want %v, %+v", i, b, want.budgets[i], l)
		}
		checkAmount(rt, b.Value, l.Value, spent, reserved)
		if l.Delta > 0 {
			checkAmount(rt, b.Delta, l.Delta, spentDelta, reservedDelta)
		} else if b.Delta != (budget.Amount{}) {
			rt.Fatalf("budget %d: %+v without a δ", i, b.Delta)
		}
	}
	guarantee := map[Policy]string{Planned: "plan", Filtered: "filter"}[m.genesis.Spec.Policy]
	var listed []Assumption
	for _, a := range v.Assumptions {
		if a.Text == "" {
			rt.Fatalf("%+v says nothing", a)
		}
		a.Text = ""
		listed = append(listed, a)
	}
	for _, a := range want.assumptions {
		if a.Descriptive {
			guarantee = "descriptive"
		}
	}
	var quiet []string
	for _, a := range v.Acknowledged {
		quiet = append(quiet, a.Warning)
	}
	if !slices.Equal(quiet, want.quiet) {
		rt.Fatalf("acknowledged: %+v; want %q", v.Acknowledged, want.quiet)
	}
	if v.Guarantee != guarantee || !slices.Equal(listed, want.assumptions) {
		rt.Fatalf("guarantee %s, %+v; want %s, %+v", v.Guarantee, v.Assumptions, guarantee, want.assumptions)
	}
}

func checkAmount(rt *rapid.T, a budget.Amount, limit float64, spent, reserved *big.Int) {
	left := new(big.Int).SetUint64(accountant.Whole)
	if left.Sub(left, spent).Sub(left, reserved); left.Sign() < 0 { // by what was lost
		left.SetUint64(0)
	}
	want := budget.Amount{Unit: a.Unit, Limit: limit, Spent: accountant.Part(limit, spent, true),
		Reserved: accountant.Part(limit, reserved, true), Remaining: accountant.Part(limit, left, false),
		Used: accountant.Part(1, new(big.Int).Add(spent, reserved), true), Held: accountant.Part(1, reserved, true)}
	if a != want || a.Unit == "" || a.Remaining < 0 {
		rt.Fatalf("amount: %+v; want %+v", a, want)
	}
}

// checkProposal: a store takes what a batch proposes, and not without any of the
// reservations it changes, nor with a count that no entry explains.
func (m *budgetModel) checkProposal(rt *rapid.T, p Proposal, state *State, records []Record) {
	if len(p.Entries) == 0 {
		return
	}
	parts, open := state.Parts(), state.Reservations()
	before := make([]uint64, len(p.Counts))
	for i, c := range p.Counts {
		if c.Index < len(parts) {
			before[i] = parts[c.Index].Count
		}
	}
	check := func(p Proposal) error { return p.Check(stored(p, state.Summary(), before, open)) }
	if err := check(p); err != nil {
		rt.Fatal(err)
	}
	for i, r := range p.Open {
		spoilt := p
		spoilt.Open = slices.Delete(slices.Clone(p.Open), i, i+1)
		if check(spoilt) == nil {
			rt.Fatalf("a proposal without the change of reservation %d was taken", r.Position)
		}
		if len(r.Rest) > 0 {
			spoilt.Open = slices.Clone(p.Open)
			spoilt.Open[i].Rest = slices.Clone(r.Rest)
			spoilt.Open[i].Rest[0].Count++
			if check(spoilt) == nil {
				rt.Fatalf("a proposal that leaves too much of reservation %d was taken", r.Position)
			}
		}
	}
	for i, c := range p.Counts {
		for _, by := range []uint64{1, 1<<64 - 1} {
			spoilt := p
			spoilt.Counts = slices.Clone(p.Counts)
			spoilt.Counts[i].Total = c.Total + by
			if check(spoilt) == nil {
				rt.Fatalf("a proposal with %d instead of %d was taken", c.Total+by, c.Total)
			}
		}
	}
}

// checkFits: what a refusal says would fit does, and one more does not.
func (m *budgetModel) checkFits(rt *rapid.T, d Decision) {
	var e *budget.Error
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
		if f.Count < 1<<31 && (f.Count > 0 && m.fits(of(f.Count)) != nil || m.fits(of(f.Count+1)) == nil) {
			rt.Fatalf("%v: not the most that fits", d.Err)
		}
	}
}
