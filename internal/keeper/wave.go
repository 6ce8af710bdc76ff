// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"context"
	"errors"
	"fmt"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// wave is what the coordinator decides at once: calls, and the ledgers that it holds for them.
type wave struct {
	round
	calls []*setCall
	items []item // of calls
}

// bounded refuses a charge of what is on a sample of people to several ledgers of which this one has a budget or a
// plan. To somebody who is known to be drawn, by rows in another ledger, it costs more than it was charged for.
func bounded(spec *ledger.Spec, v ledger.Together) error {
	if v.Contribution != ledger.PeopleDrawnInEach || v.AboutReservation() || len(v.Members) == 1 ||
		spec.Policy == ledger.Descriptive {
		return nil
	}
	return fmt.Errorf("%w: contribution: PEOPLE_DRAWN_IN_EACH, and ledger %s has a budget or a plan, which would not "+
		"hold for somebody with rows in several ledgers, as samples have all of them or none; allowed: over all "+
		"ledgers, rows drawn in each, the mechanism without the sample, or ledgers without a budget", ledger.ErrSet,
		spec.Name)
}

// alone adds a ledger with those above it to a family, unless one of them is in it.
func (k *Keeper) alone(name, parent string, family map[string]string) error {
	chain, datasetID := []string{name}, ""
	for parent != "" {
		chain = append(chain, parent)
		err := k.read(context.Background(), parent, func(s *ledger.State) {
			parent, datasetID = s.Parent(), s.Spec().DatasetID
		})
		if err != nil {
			return err
		}
	}
	top := chain[len(chain)-1]
	if k.fleet != nil && len(chain) > 1 && datasetID != "" && !ledger.IsDataset(top) {
		// Another daemon may register the dataset at this moment, which changes only the topmost ledger.
		return fmt.Errorf("%w: contribution: a sensitivity in each ledger, but ledger %s is under %s, whose dataset "+
			"%q is not registered; allowed: to register it first (accountctl dataset create), or over all ledgers",
			ledger.ErrSet, name, top, datasetID)
	}
	for _, at := range chain {
		if other, shared := family[at]; shared {
			return fmt.Errorf("%w: contribution: a sensitivity in each ledger, but %s pays for ledger %s, too; "+
				"allowed: over all ledgers, or a charge to one of the two", ledger.ErrSet, at, other)
		}
	}
	for _, at := range chain {
		family[at] = name
	}
	return nil
}

// A budget that two ledgers spend pays twice for what was charged in each of them. To somebody who has rows in both
// that release is one of a group of two, which costs more: docs/math/children.md §5.6.1. So no such charge is made to
// ledgers that one budget pays for (apart), and no budget comes to pay for ledgers that have one (charged).

// apart refuses members of a set in each of which a call charges what one budget pays for. All of them are held, so
// none comes under another budget meanwhile.
func (r *round) apart(c *setCall) error {
	v := c.Action.(ledger.Together)
	if v.Contribution == ledger.OverAll || v.AboutReservation() || len(c.members) < 2 {
		return nil
	}
	refusal := &ledger.SetRefusal{}
	family := map[string]string{} // by the names of members and of those above them: the member
	for i, m := range c.members {
		if h := r.of(c.queues[i]); h.lost != nil {
			continue // the member's own refusal follows
		} else if err := r.k.alone(m.Ledger, h.parent, family); err != nil {
			refusal.Refused = append(refusal.Refused, ledger.MemberRefusal{Ledger: m.Ledger, Err: err})
		}
	}
	if len(refusal.Refused) == 0 {
		return nil
	}
	refusal.Set = c.names()
	return refusal
}

func (c *setCall) names() []string {
	names := make([]string, len(c.members))
	for i, m := range c.members {
		names[i] = m.Ledger
	}
	return names
}

// try decides those of the calls that are not written yet, in order, writes what was accepted and sets their
// results. It returns ErrConflict if some of them have to be decided again.
func (w *wave) try(calls []*setCall) error {
	var queues []*queue
	seen := map[*queue]bool{}
	w.calls, w.items = nil, nil
	for _, c := range calls {
		if c.written {
			continue
		}
		c.verdict = verdict{}
		w.calls = append(w.calls, c)
		w.items = append(w.items, item{w: c.w, call: &c.call, request: c.Request, set: c})
		for _, q := range c.queues {
			if !seen[q] {
				seen[q] = true
				queues = append(queues, q)
			}
		}
	}
	if len(w.calls) == 0 {
		return nil
	}
	if err := w.decide(queues, w.items); err != nil {
		return err
	}
	for _, c := range w.calls {
		w.answer(c)
	}
	return w.compare(w.items)
}

// fail sets the results of calls that could not be decided. Settled ones hold in any case.
func (w *wave) fail(calls []*setCall, err error) {
	for _, c := range calls {
		switch {
		case c.written:
		case c.verdict.kind == settled:
			w.answer(c)
		default:
			c.result, c.placed, c.err = Result{}, nil, err
		}
	}
}

// journal is the queue of a call's journal.
func (c *setCall) journal() *queue { return c.queues[len(c.members)] }

// judgeSet decides a call in its journal, and in its members. A call that is refused, or only checked, leaves no trace
// in them.
func (r *round) judgeSet(journal *member, it *item) verdict {
	c := it.set
	if errors.Is(journal.lost, ledger.ErrNotFound) {
		journal.create(r.now)
	}
	v := c.Action.(ledger.Together)
	v.Members = make([]ledger.Member, len(c.members))
	for i, m := range c.members {
		v.Members[i] = ledger.Member{Ledger: m.Ledger, Position: 1, Reservation: m.Reservation}
		if h := r.of(c.queues[i]); h.lost == nil {
			v.Members[i].Position = h.batch.Next()
		}
	}
	it.request.Action = v
	it.beside = func() error {
		return r.ask(c, &ledger.SetPart{Journal: ledger.JournalOf(c.Writer.Name), Position: journal.batch.Next(),
			Members: uint32(len(v.Members)), Names: ledger.NamesHash(v.Members), Contribution: v.Contribution})
	}
	c.verdict = journal.judge(it, r.now)
	return c.verdict
}

// answer sets the result of a call that was decided, and written if it was accepted.
func (w *wave) answer(c *setCall) {
	v := c.verdict
	c.result, c.placed, c.err = Result{}, nil, v.err
	if v.err != nil {
		return
	}
	if v.kind == settled { // another process has written it
		c.result, c.placed, c.by, c.err = w.k.firstOfSet(c.journal().name, c.Request)
		return
	}
	c.placed = make([]MemberResult, len(c.members))
	for i, m := range c.members {
		c.placed[i].Ledger = m.Ledger
	}
	if c.CheckOnly {
		return
	}
	journal := w.of(c.journal())
	c.written = true
	c.result.Receipt = journal.receipt(v.entry)
	done := journal.batch.Entries()[v.entry].Action.(ledger.Together)
	c.by = done.Contribution
	for i, m := range done.Members {
		h := w.of(c.queues[i])
		c.placed[i].Position, c.placed[i].Head = m.Position, h.hashes[m.Position-h.batch.Entries()[0].Position]
	}
}

// firstOfSet answers a duplicate with the first receipt.
func (k *Keeper) firstOfSet(journal string, r ledger.Request) (Result, []MemberResult, ledger.Contribution, error) {
	record, err := k.config.Store.RecordOf(journal, r.Writer, r.Sequence)
	if err != nil {
		return Result{}, nil, 0, err
	}
	if record.Entry.Digest != r.Digest {
		return Result{}, nil, 0, reused(r)
	}
	v, ok := record.Entry.Action.(ledger.Together)
	if !ok {
		return Result{}, nil, 0, fmt.Errorf("%w: %s: entry %d is a %s", ledger.ErrDamaged, journal,
			record.Entry.Position,
			record.Entry.Action.Kind())
	}
	var members []MemberResult
	for _, m := range v.Members {
		found, err := k.config.Store.Records(m.Ledger, m.Position, 1)
		if err == nil && (len(found) == 0 || found[0].Entry.Position != m.Position) {
			err = fmt.Errorf("%w: %s has no entry %d, which %s names", ledger.ErrDamaged, m.Ledger, m.Position, journal)
		}
		if err != nil {
			return Result{}, nil, 0, err
		}
		members = append(members, MemberResult{m.Ledger, m.Position, found[0].Hash})
	}
	return Result{record.Receipt(k.storeID, journal), true}, members, v.Contribution, nil
}

// askMember asks one of a call's members for its part, and leaves what is accepted to be kept or dropped.
func (r *round) askMember(c *setCall, i int, part *ledger.SetPart) error {
	h := r.of(c.queues[i])
	if h.lost != nil {
		return h.lost
	}
	lane := h.q.lane(ledger.SetWriter(c.Writer.Principal))
	if err := h.stands(lane, false); err != nil {
		return err
	}
	m, at := &c.members[i], ledger.Lane{Sequence: lane.last, Position: lane.at}
	return h.batch.Ask(ledger.Request{Writer: lane.key, Sequence: h.batch.Lane(lane.key, at).Sequence + 1,
		Digest: m.digest, Action: m.Action, Prices: c.prices[i], Caller: m.Caller, Set: part,
		Policy: m.Policy}, at, r.now).Err
}

// ask asks all members of a call, which keep their parts if all accept and the call is not only checked. Otherwise it
// leaves no trace in them. It returns why some of them refuse.
func (r *round) ask(c *setCall, part *ledger.SetPart) error {
	if err := r.apart(c); err != nil {
		return err
	}
	refusal, budgets := &ledger.SetRefusal{}, true
	var accepted []*member
	for i, m := range c.members {
		h, err := r.of(c.queues[i]), r.askMember(c, i, part)
		if err == nil {
			accepted = append(accepted, h)
			continue
		}
		refusal.Refused = append(refusal.Refused, ledger.MemberRefusal{Ledger: m.Ledger, Err: err})
		budgets = budgets && errors.Is(err, ledger.ErrBudget)
	}
	refused := len(refusal.Refused) > 0
	for _, h := range accepted {
		if refused || c.CheckOnly {
			h.batch.Drop()
		} else {
			h.batch.Keep()
		}
	}
	if !refused {
		return nil
	}
	refusal.Set = c.names()
	if budgets {
		refusal.Fits = r.fits(c)
	}
	return refusal
}

// fits returns how many of each mechanism of the call, alone, fit in every member.
func (r *round) fits(c *setCall) (list []mechanism.Part) {
	for _, p := range mechanism.Merge(c.members[0].Action.Details().Events) {
		least, bounded := uint64(0), false
		for _, q := range c.queues[:len(c.members)] {
			if n, ok := r.of(q).batch.Fits(p.Mechanism); ok && (!bounded || n < least) {
				least, bounded = n, true
			}
		}
		if bounded {
			list = append(list, mechanism.Part{Mechanism: p.Mechanism, Count: least})
		}
	}
	return list
}
