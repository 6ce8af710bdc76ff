// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/dpaccountant/accountant/internal/ledger/budget"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// Batch is a list of decisions on top of a State, in order: later ones see what
// earlier ones will have written. It is discarded or applied as a whole.
// See docs/math/adaptivity.md §5.2.
type Batch struct {
	state   *State
	entries []Entry
	totals  few[int, uint64] // changed totals, by the mechanism's index
	added   []mechanism.Mechanism
	grown   int                         // bytes of added
	index   map[mechanism.Mechanism]int // of added; nil if there are none
	last    few[Writer, Lane]
	total   uint64
	closed  bool
	draft   *budget.Draft // of the state's account; nil without budgets
	drafted budget.Draft  // in which draft is

	held     reservations // the state's until one is changed
	ownsHeld bool
	changed  map[uint64]bool // reservations, by position
	moving   moving

	amended amendments
	bounded bool
	alone   bool       // the dataset's share cannot be changed together with the batch
	cap     *ChargeCap // of the ledger's dataset; may be nil

	request Request           // that is decided
	now     time.Time         // when it is decided
	taken   []mechanism.Event // from the budgets, for it
}

// NewBatch starts an empty batch on top of s, which must not change until the
// batch is applied or discarded.
func NewBatch(s *State) *Batch {
	b := &Batch{}
	b.Restart(s)
	return b
}

// Restart makes of b what NewBatch makes, in the memory that b has. Nothing that b has returned may be in use any more.
func (b *Batch) Restart(s *State) {
	clear(b.entries)
	*b = Batch{
		state:  s,
		total:  s.summary.Total,
		closed: s.summary.Closed,
		held:   s.held, amended: s.amended,
		entries: b.entries[:0], totals: b.totals.emptied(), last: b.last.emptied(), moving: b.moving.emptied(),
		drafted: b.drafted,
	}
	if s.account != nil {
		b.draft = s.account.Draft(&b.drafted)
	}
}

// Grow makes room for n more entries at once.
func (b *Batch) Grow(n int) { b.entries = slices.Grow(b.entries, n) }

// Bound has the batch refuse what would make a ledger too large to be read: too many
// bytes of mechanisms, in all or in open reservations, or prices that take too long to
// find (budget.MaxPriceWork); what could not be answered about; and proposals of somebody who has made
// too many (maxOpenProposals, maxProposalsOf). These bounds protect the daemon, and may change with it: what was
// accepted stays right. So who decides entries again, as an audit does, does not ask for them.
func (b *Batch) Bound() { b.bounded = true }

// Alone has the batch refuse, with ErrTogether, what changes the ledger's share of its dataset:
// that is decided together with the dataset's record.
func (b *Batch) Alone() { b.alone = true }

// Cap has the batch refuse charges and reservations that cost more of the ledger's dataset
// than its cap allows.
func (b *Batch) Cap(c *ChargeCap) { b.cap = c }

// Outcome is what a decision came to.
type Outcome uint8

const (
	// Refused: nothing is written and the sequence number stays free.
	Refused Outcome = iota
	// Accepted: the entry is in the batch (unless CheckOnly was set).
	Accepted
	// Duplicate: the lane has this sequence number already. The caller compares
	// digests: equal ones get the first receipt, others are refused.
	Duplicate
)

// Decision is the answer to one request. It holds once the batch is committed.
type Decision struct {
	Outcome Outcome
	Err     error // of Refused
	// Entry is the index of the request's entry among the batch's entries. It is −1 if the
	// request was accepted with CheckOnly, and if it is the duplicate of a request that was
	// committed before the batch.
	Entry int
}

// Decide decides r on top of the state and the batch so far. committed is where the
// lane of r's writer stands in the committed log.
func (b *Batch) Decide(r Request, committed Lane, now time.Time) Decision {
	d := b.Ask(r, committed, now)
	switch {
	case d.Outcome != Accepted:
	case r.CheckOnly:
		b.Drop()
	default:
		d.Entry = b.Keep()
	}
	return d
}

// Ask decides as Decide does. What it accepts is not in the batch yet: Keep puts it there, and Drop
// forgets it. One of them is called before the batch is used for anything else, so that what concerns
// several ledgers is decided once in each of them, and then done in all or in none.
func (b *Batch) Ask(r Request, committed Lane, now time.Time) Decision {
	lane := b.Lane(r.Writer, committed)
	last := lane.Sequence
	switch {
	case r.Sequence == 0:
		return refused(ErrGap, "sequence: 0; allowed: %d", last+1)
	case r.Sequence <= last:
		return Decision{Outcome: Duplicate, Entry: b.find(r.Writer, r.Sequence)}
	case r.Set == nil && b.amended.ended(lane): // the daemon numbers the lanes of sets
		return refused(ErrEnded, "writer: %s wrote up to entry %d, before entry %d restored the ledger or said that "+
			"entries were lost; allowed: a new writer (a new client), once the ledger is reconciled",
			r.Writer.Name, lane.Position, b.amended.restored[len(b.amended.restored)-1].position)
	case r.Sequence > last+1:
		return refused(ErrGap, "sequence: %d; allowed: %d, the next of writer %s", r.Sequence, last+1, r.Writer.Name)
	case b.closed:
		return refused(ErrClosed, "ledger: %s; allowed: an open ledger", b.state.summary.Genesis.Spec.Name)
	case b.amended.unreconciled && !reconciles(r.Action):
		return refused(ErrUnreconciled, "ledger: %s; allowed: questions, and on the daemon's own socket: accountctl "+
			"ledger reconcile %[1]s (--charge FILE | --accept-loss REASON)",
			b.state.summary.Genesis.Spec.Name)
	}
	err := b.kept(r)
	if err == nil {
		err = b.checkPart(r)
	}
	if err == nil && b.spec().Dataset != nil {
		err = b.datasetTakes(r)
	}
	if err == nil {
		err = b.approved(r, now)
	}
	if err != nil {
		return Decision{Outcome: Refused, Err: err, Entry: -1}
	}
	b.now = now
	if err := b.decide(r); err != nil {
		b.Drop()
		return Decision{Outcome: Refused, Err: err, Entry: -1}
	}
	return Decision{Outcome: Accepted, Entry: -1}
}

// decide has r's action decided, and completes it as it is recorded.
func (b *Batch) decide(r Request) error {
	b.request, b.taken = r, nil
	if b.draft == nil {
		return r.Action.decide(b)
	}
	b.draft.Expect(r.Prices)
	err := r.Action.decide(b)
	b.draft.Expect(nil)
	return err
}

// Keep puts what Ask has accepted into the batch, and returns the index of its entry.
func (b *Batch) Keep() int {
	r := &b.request
	e := Entry{
		Position: b.position(),
		Writer:   r.Writer, Sequence: r.Sequence, Digest: r.Digest, Time: b.now, Action: r.Action, Set: r.Set,
		Approval: r.Approval, First: b.amended.firstPart(r.Set), Policy: r.Policy,
	}
	b.follow(e)
	b.last.put(r.Writer, Lane{r.Sequence, e.Position})
	b.entries = append(b.entries, e)
	b.taken = nil
	return len(b.entries) - 1
}

// follow makes the changes of an entry that was accepted, or that is read from a log again.
func (b *Batch) follow(e Entry) {
	d := e.Action.Details()
	moves := b.moving.of(&b.held, &e, &d)
	for i := range moves {
		b.move(&moves[i])
	}
	b.closed = b.closed || d.Closes
	if e.Amends() {
		b.amend(e)
	}
}

// move moves parts. What it takes from the budgets was taken from them before.
func (b *Batch) move(m *Move) {
	if m.From == PotReserved {
		b.draft.Unhold(m.Parts)
	}
	if m.To == PotReserved {
		b.draft.Hold(m.Parts)
	}
	if m.Held.Position > 0 {
		b.set(*m.Held)
	}
	for _, p := range m.Parts {
		if m.To == PotBudget {
			b.draft.Give(p)
		}
		if m.To == PotCharged {
			b.count(p.Mechanism, p.Count)
		}
		if m.From == PotCharged {
			b.uncount(p.Mechanism, p.Count)
		}
	}
}

// Drop gives what Ask has taken for its request back to the budgets.
func (b *Batch) Drop() {
	if b.draft != nil {
		b.draft.Untake(b.taken)
	}
	b.taken = nil
}

// position is that of the next entry.
func (b *Batch) position() uint64 { return b.state.summary.Head.Position + uint64(len(b.entries)) + 1 }

// Lane returns how far a lane has come with the batch; committed is how far it was before.
func (b *Batch) Lane(w Writer, committed Lane) Lane {
	if newer := b.last.get(w); newer != nil && newer.Sequence >= committed.Sequence {
		return *newer
	}
	return committed
}

// Next is the position of the batch's next entry.
func (b *Batch) Next() uint64 { return b.position() }

// Fits returns how many of a mechanism, alone, budgets or the plan still allow on top of the batch; false
// if nothing bounds it.
func (b *Batch) Fits(m mechanism.Mechanism) (uint64, bool) {
	if b.draft == nil {
		return 0, false
	}
	return b.draft.Fits(m), true
}

// spec is the ledger's.
func (b *Batch) spec() *Spec { return &b.state.summary.Genesis.Spec }

// take takes events from the budgets, all of them or, with an error, none.
func (b *Batch) take(events []mechanism.Event) error {
	if b.draft == nil || len(events) == 0 {
		return nil
	}
	if err := b.draft.Take(events); err != nil {
		return err
	}
	b.taken = events
	return nil
}

// force takes events from the budgets that they do not allow.
func (b *Batch) force(events []mechanism.Event) {
	b.draft.Force(events)
	b.taken = events
}

// admit checks that events can be charged on top of what is charged and reserved,
// and takes them from the budgets.
func (b *Batch) admit(events []mechanism.Event) error {
	if err := b.inRange(events); err != nil {
		return err
	}
	if b.cap != nil && b.request.Writer.Principal != Daemon {
		if err := b.cap.Check(events); err != nil {
			return err
		}
	}
	before := b.draft.PriceWork()
	if err := b.take(events); err != nil {
		return err
	}
	return b.readable(events, before, "declare new ones as renyi_dp, or use another ledger or another guard")
}

// readable refuses events, which were taken from the budgets, if the ledger could hardly be read any
// more with them. Before they were taken, its prices took the work before; instead says what to do.
func (b *Batch) readable(events []mechanism.Event, before int, instead string) error {
	if now := b.draft.PriceWork(); b.bounded && now > before && now > budget.MaxPriceWork {
		return refuse(ErrOutOfRange, "%s", b.draft.Unaffordable(events, before, instead))
	}
	return nil
}

// inRange checks that events can be counted, whatever budgets say.
func (b *Batch) inRange(events []mechanism.Event) error {
	total := b.total + b.held.Total
	var fresh map[mechanism.Mechanism]bool
	for i, e := range events {
		if total > math.MaxInt64-uint64(e.Count) {
			return refuse(ErrOutOfRange, "events[%d].count: %d; allowed: at most %d more in this ledger (a total of "+
				"2^63 − 1)",
				i, e.Count, math.MaxInt64-total)
		}
		total += uint64(e.Count)
		if _, known := b.indexOf(e.Mechanism); !known {
			if fresh == nil {
				fresh = map[mechanism.Mechanism]bool{}
			}
			fresh[e.Mechanism] = true
		}
	}
	// Reservations count as if all of their mechanisms were new: to charge them
	// later must not fail.
	if n := len(b.state.parts) + len(b.added) + b.held.Parts + len(fresh); len(fresh) > 0 && n > MaxDistinct {
		return refuse(ErrOutOfRange, "distinct mechanisms: %d; allowed: at most %d in one ledger", n, MaxDistinct)
	}
	if b.bounded && len(fresh) > 0 {
		if err := b.answerable(events, fresh); err != nil {
			return err
		}
		n := b.state.bytes + b.grown + b.held.Bytes
		for m := range fresh {
			n += mechanism.Size(m)
		}
		if n > maxDescriptorBytes {
			return refuse(ErrOutOfRange, "distinct mechanisms: about %d bytes of parameters; allowed: at most %d in "+
				"one ledger", n, maxDescriptorBytes)
		}
	}
	return nil
}

// answerable refuses mechanisms of which no privacy loss can be computed: no question about the
// ledger could ever be answered again. What passes mechanism.Mechanism.Check has one, which a test
// over all kinds shows; what that test does not try is refused here.
func (b *Batch) answerable(events []mechanism.Event, fresh map[mechanism.Mechanism]bool) error {
	for i, e := range events {
		if !fresh[e.Mechanism] {
			continue
		}
		if err := b.state.losses.Find(e.Mechanism, nil); err != nil {
			return &mechanism.ParameterError{Field: fmt.Sprintf("events[%d].mechanism", i),
				Value:   fmt.Sprintf("%v, of which no answer could be given (%v)", e.Mechanism, err),
				Allowed: "a mechanism that accountctl compute answers about; nothing was written"}
		}
	}
	return nil
}

// count adds to a mechanism's total.
func (b *Batch) count(m mechanism.Mechanism, count uint64) {
	b.total += count
	i, known := b.indexOf(m)
	if !known {
		i = len(b.state.parts) + len(b.added)
		b.added = append(b.added, m)
		b.grown += mechanism.Size(m)
		if b.index == nil {
			b.index = map[mechanism.Mechanism]int{}
		}
		b.index[m] = i
	}
	if total := b.totals.get(i); total != nil {
		*total += count
	} else {
		b.totals.put(i, b.state.count(i)+count)
	}
}

// uncount takes away from a mechanism's total, which has that much.
func (b *Batch) uncount(m mechanism.Mechanism, count uint64) { b.count(m, -count) } // modulo 2⁶⁴

// counted is a mechanism's total.
func (b *Batch) counted(m mechanism.Mechanism) uint64 {
	i, known := b.indexOf(m)
	if !known {
		return 0
	}
	if total := b.totals.get(i); total != nil {
		return *total
	}
	return b.state.count(i)
}

// parts are all totals.
func (b *Batch) parts() []mechanism.Part {
	parts := b.state.Parts()
	for _, m := range b.added {
		parts = append(parts, mechanism.Part{Mechanism: m})
	}
	for _, t := range b.totals.list {
		parts[t.key].Count = t.value
	}
	return charged(parts)
}

func (b *Batch) indexOf(m mechanism.Mechanism) (int, bool) {
	i, ok := b.state.find(m)
	if !ok {
		i, ok = b.index[m]
	}
	return i, ok
}

// find returns the entry of a writer's sequence number in this batch, or −1.
func (b *Batch) find(w Writer, sequence uint64) int {
	if sequence > b.Lane(w, Lane{}).Sequence {
		return -1
	}
	for i, e := range b.entries {
		if e.Writer == w && e.Sequence == sequence {
			return i
		}
	}
	return -1
}

// Entries returns what the batch will write, in order. Callers must not change it.
func (b *Batch) Entries() []Entry { return b.entries }

// Proposal returns what a store has to write for this batch.
func (b *Batch) Proposal() Proposal {
	return Proposal{
		Ledger:   b.state.summary.Genesis.Spec.Name,
		Expected: b.state.summary.Head,
		Entries:  b.entries,
		Counts:   b.changes(),
		Open:     b.opened(),
		Total:    b.total,
		Closed:   b.closed,

		Unreconciled: b.amended.unreconciled,
	}
}

// changes lists the changed totals, those of added mechanisms last and in the
// order of their indexes.
func (b *Batch) changes() []CountChange {
	out := make([]CountChange, 0, len(b.totals.list))
	known := len(b.state.parts)
	for _, t := range b.totals.list {
		if t.key < known {
			out = append(out, CountChange{t.key, b.state.parts[t.key].Mechanism, t.value})
		}
	}
	for j, m := range b.added {
		out = append(out, CountChange{known + j, m, *b.totals.get(known + j)})
	}
	return out
}

func refused(sentinel error, format string, args ...any) Decision {
	return Decision{Outcome: Refused, Err: refuse(sentinel, format, args...), Entry: -1}
}
