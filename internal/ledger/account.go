package ledger

import (
	"math"
	"math/big"
	"math/bits"

	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// account is what a PLAN or FILTER ledger allows, and how much of it is used. A
// plan is counted by mechanism; a filter in whole shares of each limit, so that
// sums are exact and do not depend on the order. Nothing here computes an (ε, δ):
// accepting by a recomputed ε would be a stopping rule that is not valid
// (docs/math/adaptivity.md §5.3.5). Its lines are a cache that only the deciding goroutine uses.
type account struct {
	spec   Spec
	limits []accountant.Limit
	plan   map[mechanism.Mechanism]uint64 // nil without a plan
	terms  []mechanism.Part               // of the plan, in its order
	lines  map[mechanism.Mechanism]*line
	idle   int // lines that nothing was used of
	used   []usage
	held   []usage // of used, by open reservations
	excess uint64  // what is used of mechanisms beyond the plan, by what was lost
	work   int     // to find the prices of all mechanisms of which something is used
	drafts uint64  // made so far
	prices *prices
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
	price
	allowed uint64 // by the plan
	used    uint64
	next    uint64 // what is used of it in the draft of this number
	draft   uint64
}

// large is shares that may be more than a Cost can say; value is nil for infinitely
// many, delta is nil where the Cost tells.
type large struct{ value, delta *big.Int }

// usage is what is used of a limit, in shares of 1/accountant.Whole.
type usage struct {
	value, delta tally
	beyond       uint64 // applications of which each takes more than a tally can tell
}

// beyond reports whether one application is one of those.
func beyond(c accountant.Cost) bool { return c.Value == math.MaxUint64 || c.Delta == math.MaxUint64 }

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

// newAccount makes the account of a ledger of which spent was charged and held is
// reserved; nil for a policy without budgets. found, which may be nil, is what is known of
// their costs.
func newAccount(spec Spec, now amendments, spent, held []mechanism.Part, found *Prices) *account {
	if spec.Policy == Descriptive {
		return nil
	}
	spec.Budgets = now.budgets
	limits := now.resolution.Limits
	a := &account{
		spec: spec, limits: limits, prices: newPrices(limits, spec.Adjacency), found: found,
		lines: make(map[mechanism.Mechanism]*line, len(spent)),
		used:  make([]usage, len(limits)), held: make([]usage, len(limits)),
	}
	if spec.Policy == Planned {
		a.terms = now.resolution.Plan
		a.plan = make(map[mechanism.Mechanism]uint64, len(now.resolution.Plan))
		for _, p := range now.resolution.Plan {
			a.plan[p.Mechanism] = p.Count
		}
	}
	d := a.draft()
	for _, p := range spent {
		if p.Count > 0 { // not all was refunded
			d.add(a.line(p.Mechanism), p.Count)
		}
	}
	for _, p := range held {
		d.add(a.line(p.Mechanism), p.Count)
	}
	d.hold(held)
	a.apply(d)
	a.found = nil
	return a
}

// line returns a mechanism's line. What it costs is found once: a mechanism
// that is refused again and again costs no search each time.
func (a *account) line(m mechanism.Mechanism) *line {
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

func (a *account) open(m mechanism.Mechanism) *line {
	p, found := a.found.price(a, m)
	if !found {
		p = a.prices.find(m, nil)
	}
	l := &line{price: p, allowed: a.plan[m]}
	a.lines[m] = l
	a.idle++
	return l
}

// maxIdleLines bounds the lines kept of mechanisms that were only asked for.
const maxIdleLines = 4096

// draft starts changes on top of a, which ends older drafts.
func (a *account) draft() *draft {
	if a.idle > maxIdleLines {
		for m, l := range a.lines {
			if l.used == 0 {
				delete(a.lines, m)
			}
		}
		a.idle, a.recent = 0, [4]recent{}
	}
	a.drafts++
	d := &draft{account: a, number: a.drafts, excess: a.excess, work: a.work}
	d.used = append(d.few[:0], a.used...)
	return d
}

// apply makes a draft's changes.
func (a *account) apply(d *draft) {
	copy(a.used, d.used)
	a.excess, a.work = d.excess, d.work
	if d.held != nil {
		copy(a.held, d.held)
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

// draft is changes to an account, as of a batch. A nil draft is of a ledger without
// budgets, or of one that is read from its log; it gives, holds and unholds nothing.
type draft struct {
	*account
	number  uint64
	excess  uint64
	work    int
	used    []usage
	held    []usage // nil until it changes
	changed []*line
	few     [4]usage
}

// count is what is used of a line.
func (d *draft) count(l *line) uint64 {
	if l.draft == d.number {
		return l.next
	}
	return l.used
}

func (d *draft) set(l *line, count uint64) {
	if d.plan != nil {
		d.excess += l.beyond(count) - l.beyond(d.count(l)) // modulo 2⁶⁴
	}
	switch before := d.count(l); {
	case before == 0 && count > 0:
		d.work += l.work
	case before > 0 && count == 0:
		d.work -= l.work
	}
	if l.draft != d.number {
		l.draft = d.number
		d.changed = append(d.changed, l)
	}
	l.next = count
}

// beyond is how much of count the plan does not allow.
func (l *line) beyond(count uint64) uint64 { return count - min(count, l.allowed) }

func (d *draft) add(l *line, count uint64) {
	d.set(l, d.count(l)+count)
	for i := range l.costs {
		d.used[i].value.add(l.costs[i].Value, count)
		d.used[i].delta.add(l.costs[i].Delta, count)
		if beyond(l.costs[i]) {
			d.used[i].beyond += count
		}
	}
}

// give takes back what was added: sums are exact, so nothing is left of it.
func (d *draft) give(p mechanism.Part) {
	if d != nil {
		d.remove(d.line(p.Mechanism), p.Count)
	}
}

func (d *draft) remove(l *line, count uint64) {
	d.set(l, d.count(l)-count)
	for i := range l.costs {
		d.used[i].value.sub(l.costs[i].Value, count)
		d.used[i].delta.sub(l.costs[i].Delta, count)
		if beyond(l.costs[i]) {
			d.used[i].beyond -= count
		}
	}
}

// hold counts what was added as reserved, unhold as reserved no more.
func (d *draft) hold(parts []mechanism.Part) { d.eachHeld(parts, (*tally).add) }

func (d *draft) unhold(parts []mechanism.Part) { d.eachHeld(parts, (*tally).sub) }

func (d *draft) eachHeld(parts []mechanism.Part, change func(t *tally, cost, count uint64)) {
	if d == nil {
		return
	}
	if d.held == nil {
		d.held = append(make([]usage, 0, len(d.used)), d.account.held...)
	}
	for _, p := range parts {
		l := d.line(p.Mechanism)
		for i := range l.costs {
			change(&d.held[i].value, l.costs[i].Value, p.Count)
			change(&d.held[i].delta, l.costs[i].Delta, p.Count)
		}
	}
}

// take uses events, all of them or, with an error, none.
func (d *draft) take(events []mechanism.Event) error {
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
	d.untake(events)
	return d.refuse(events)
}

// force uses events that do not fit: what was released cannot be refused.
func (d *draft) force(events []mechanism.Event) {
	for _, e := range events {
		d.add(d.line(e.Mechanism), uint64(e.Count))
	}
}

// untake undoes take, or force.
func (d *draft) untake(events []mechanism.Event) {
	for _, e := range events {
		d.remove(d.line(e.Mechanism), uint64(e.Count))
	}
}
