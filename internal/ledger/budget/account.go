// SPDX-License-Identifier: Apache-2.0

// Package budget is what a ledger's budgets or its plan allow, and how much of it is used. It knows of no
// entry and no action: package ledger takes events from an Account and gives them back.
//
// An Account is what is committed, a Draft is changes on top of it. Prices are what mechanisms cost of the
// limits; they can take long to find, so they are found before a decision that needs them.
package budget

import (
	"math/big"
	"math/bits"

	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// Account is what a PLAN or FILTER ledger allows, and how much of it is used. A
// plan is counted by mechanism; a filter in whole shares of each limit, so that
// sums are exact and do not depend on the order. Nothing here computes an (ε, δ):
// accepting by a recomputed ε would be a stopping rule that is not valid
// (docs/math/adaptivity.md §5.3.5). Its lines are a cache that only the deciding goroutine uses.
type Account struct {
	Terms

	// Used is what is used of each limit, Held what of that open reservations hold, and Work what it takes
	// to find the prices of all mechanisms of which something is used.
	Used, Held []Usage
	Work       int

	plan   map[mechanism.Mechanism]uint64 // nil without a plan
	lines  map[mechanism.Mechanism]*line
	idle   int    // lines that nothing was used of
	excess uint64 // what is used of mechanisms beyond the plan, by what was lost
	drafts uint64 // made so far
	Prices *Finder
	found  *Prices   // for the request that is decided; nil: nothing was
	recent [4]recent // a running job takes turns between few mechanisms
	turn   int
}

// recent is a line that was asked for: to compare a mechanism is cheaper than to
// look it up.
type recent struct {
	mechanism mechanism.Mechanism
	line      *line
}

// line is one mechanism: what it costs, and how much of it is used.
type line struct {
	Price
	allowed uint64 // by the plan
	used    uint64
	next    uint64 // what is used of it in the draft of this number
	draft   uint64
}

// Usage is what is used of a limit, in shares of 1/accountant.Whole.
type Usage struct {
	value, delta tally
	beyond       uint64 // applications of which each takes more than a tally can tell
}

// tally is an unsigned 128-bit number. The sum of all counts stays below 2⁶³, so
// counts times costs stay below 2¹²⁷.
type tally struct{ hi, lo uint64 }

func (t *tally) add(cost, count uint64) {
	hi, lo := bits.Mul64(cost, count)
	var carry uint64
	t.lo, carry = bits.Add64(t.lo, lo, 0)
	t.hi += hi + carry
}

func (t *tally) sub(cost, count uint64) {
	hi, lo := bits.Mul64(cost, count)
	var borrow uint64
	t.lo, borrow = bits.Sub64(t.lo, lo, 0)
	t.hi -= hi + borrow
}

// over reports whether t is more than the whole limit.
func (t tally) over() bool { return t.hi > 0 || t.lo > accountant.Whole }

// left is what remains of the limit.
func (t tally) left() uint64 {
	if t.over() {
		return 0
	}
	return accountant.Whole - t.lo
}

func (t tally) big() *big.Int {
	n := new(big.Int).SetUint64(t.hi)
	return n.Or(n.Lsh(n, 64), new(big.Int).SetUint64(t.lo))
}

// take takes away a part of t.
func (t *tally) take(part tally) {
	var borrow uint64
	t.lo, borrow = bits.Sub64(t.lo, part.lo, 0)
	t.hi -= part.hi + borrow
}

// Terms are what a ledger allows: the limits that its budgets come to, one each, or a plan.
type Terms struct {
	Adjacency mechanism.Adjacency
	Budgets   []accountant.Budget
	Limits    []accountant.Limit
	Planned   bool             // there is a plan, even if it is empty
	Plan      []mechanism.Part // distinct mechanisms, in the plan's order
}

// New makes the account of a ledger of which spent was charged and held is reserved. found, which may be
// nil, is what is known of their costs.
func New(terms Terms, spent, held []mechanism.Part, found *Prices) *Account {
	a := &Account{
		Terms: terms, Prices: NewFinder(terms.Limits, terms.Adjacency), found: found,
		lines: make(map[mechanism.Mechanism]*line, len(spent)),
		Used:  make([]Usage, len(terms.Limits)), Held: make([]Usage, len(terms.Limits)),
	}
	if terms.Planned {
		a.plan = make(map[mechanism.Mechanism]uint64, len(terms.Plan))
		for _, p := range terms.Plan {
			a.plan[p.Mechanism] = p.Count
		}
	}
	d := a.Draft(&Draft{})
	for _, p := range spent {
		if p.Count > 0 { // not all was refunded
			d.add(a.line(p.Mechanism), p.Count)
		}
	}
	for _, p := range held {
		d.add(a.line(p.Mechanism), p.Count)
	}
	d.Hold(held)
	a.Apply(d)
	a.found = nil
	return a
}

// line returns a mechanism's line. What it costs is found once: a mechanism
// that is refused again and again costs no search each time.
func (a *Account) line(m mechanism.Mechanism) *line {
	for i := range a.recent {
		if r := &a.recent[i]; r.line != nil && r.mechanism == m {
			return r.line
		}
	}
	l, ok := a.lines[m]
	if !ok {
		l = a.open(m)
	}
	a.recent[a.turn] = recent{m, l}
	a.turn = (a.turn + 1) % len(a.recent)
	return l
}

func (a *Account) open(m mechanism.Mechanism) *line {
	p, found := a.found.price(a, m)
	if !found {
		p = a.Prices.Find(m, nil)
	}
	l := &line{Price: p, allowed: a.plan[m]}
	a.lines[m] = l
	a.idle++
	return l
}

// MaxIdleLines bounds the lines kept of mechanisms that were only asked for.
const MaxIdleLines = 4096

// Lines returns of how many mechanisms the account keeps what they cost.
func (a *Account) Lines() int { return len(a.lines) }

// Knows reports whether the costs of all events were found before.
func (a *Account) Knows(events []mechanism.Event) bool {
	for _, e := range events {
		if _, ok := a.lines[e.Mechanism]; !ok {
			return false
		}
	}
	return true
}

// Draft starts changes on top of a, in d, which ends older drafts.
func (a *Account) Draft(d *Draft) *Draft {
	if a.idle > MaxIdleLines {
		for m, l := range a.lines {
			if l.used == 0 {
				delete(a.lines, m)
			}
		}
		a.idle, a.recent = 0, [4]recent{}
	}
	a.drafts++
	clear(d.changed)
	*d = Draft{Account: a, number: a.drafts, excess: a.excess, work: a.Work, used: append(d.used[:0], a.Used...),
		changed: d.changed[:0]}
	return d
}

// Apply makes a draft's changes.
func (a *Account) Apply(d *Draft) {
	copy(a.Used, d.used)
	a.excess, a.Work = d.excess, d.work
	if d.held != nil {
		copy(a.Held, d.held)
	}
	for _, l := range d.changed {
		switch {
		case l.used == 0 && l.next > 0:
			a.idle--
		case l.used > 0 && l.next == 0:
			a.idle++
		}
		l.used = l.next
	}
}

// Draft is changes to an account, as of a batch. A nil draft is of a ledger without
// budgets, or of one that is read from its log; it gives, holds and unholds nothing.
type Draft struct {
	*Account
	number  uint64
	excess  uint64
	work    int
	used    []Usage
	held    []Usage // nil until it changes
	changed []*line
}

// count is what is used of a line.
func (d *Draft) count(l *line) uint64 {
	if l.draft == d.number {
		return l.next
	}
	return l.used
}

func (d *Draft) set(l *line, count uint64) {
	if d.plan != nil {
		d.excess += l.beyond(count) - l.beyond(d.count(l)) // modulo 2⁶⁴
	}
	switch before := d.count(l); {
	case before == 0 && count > 0:
		d.work += l.Work
	case before > 0 && count == 0:
		d.work -= l.Work
	}
	if l.draft != d.number {
		l.draft = d.number
		d.changed = append(d.changed, l)
	}
	l.next = count
}

// beyond is how much of count the plan does not allow.
func (l *line) beyond(count uint64) uint64 { return count - min(count, l.allowed) }

func (d *Draft) add(l *line, count uint64) {
	d.set(l, d.count(l)+count)
	for i := range l.costs {
		d.used[i].value.add(l.costs[i].Value, count)
		d.used[i].delta.add(l.costs[i].Delta, count)
		if beyond(l.costs[i]) {
			d.used[i].beyond += count
		}
	}
}

// Give takes back what was added: sums are exact, so nothing is left of it.
func (d *Draft) Give(p mechanism.Part) {
	if d != nil {
		d.remove(d.line(p.Mechanism), p.Count)
	}
}

func (d *Draft) remove(l *line, count uint64) {
	d.set(l, d.count(l)-count)
	for i := range l.costs {
		d.used[i].value.sub(l.costs[i].Value, count)
		d.used[i].delta.sub(l.costs[i].Delta, count)
		if beyond(l.costs[i]) {
			d.used[i].beyond -= count
		}
	}
}

// Hold counts what was added as reserved.
func (d *Draft) Hold(parts []mechanism.Part) { d.eachHeld(parts, (*tally).add) }

// Unhold counts as reserved no more what Hold has counted.
func (d *Draft) Unhold(parts []mechanism.Part) { d.eachHeld(parts, (*tally).sub) }

func (d *Draft) eachHeld(parts []mechanism.Part, change func(t *tally, cost, count uint64)) {
	if d == nil {
		return
	}
	if d.held == nil {
		d.held = append(make([]Usage, 0, len(d.used)), d.Held...)
	}
	for _, p := range parts {
		l := d.line(p.Mechanism)
		for i := range l.costs {
			change(&d.held[i].value, l.costs[i].Value, p.Count)
			change(&d.held[i].delta, l.costs[i].Delta, p.Count)
		}
	}
}

// Take uses events, all of them or, with an error, none.
func (d *Draft) Take(events []mechanism.Event) error {
	ok := true
	for _, e := range events {
		l := d.line(e.Mechanism)
		d.add(l, uint64(e.Count))
		ok = ok && l.reasons == nil
	}
	ok = ok && d.excess == 0
	for i := range d.used {
		ok = ok && !d.used[i].value.over() && !d.used[i].delta.over()
	}
	if ok {
		return nil
	}
	d.Untake(events)
	return d.refuse(events)
}

// Force uses events that do not fit: what was released cannot be refused.
func (d *Draft) Force(events []mechanism.Event) {
	for _, e := range events {
		d.add(d.line(e.Mechanism), uint64(e.Count))
	}
}

// Untake undoes Take, or Force.
func (d *Draft) Untake(events []mechanism.Event) {
	for _, e := range events {
		d.remove(d.line(e.Mechanism), uint64(e.Count))
	}
}

// Expect has the draft look among prices that were found before, until it is told of others.
func (d *Draft) Expect(found *Prices) { d.found = found }

// PriceWork is what it takes to find the prices of all that is charged or reserved; 0 without budgets.
func (d *Draft) PriceWork() int {
	if d == nil {
		return 0
	}
	return d.work
}

// MostOfAll reports whether parts are more than half of all that is allowed, used or not: of the plan's
// applications together, or of any budget.
func (d *Draft) MostOfAll(parts []mechanism.Part) bool {
	if d.plan != nil {
		var asked, planned uint64 // below 2^63 each
		for _, p := range parts {
			asked += p.Count
		}
		for _, n := range d.plan {
			planned += n
		}
		if asked > planned-min(asked, planned) {
			return true
		}
	}
	return d.Share(parts).Over(0.5)
}
