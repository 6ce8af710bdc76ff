package keeper

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/ledger/journals"
	"github.com/dpaccountant/accountant/internal/ledger/set"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// wave is what the coordinator decides at once: calls and the ledgers that it holds for them.
type wave struct {
	k     *Keeper
	calls []*setCall
	order []*member
	held  map[*queue]*member // of order
	now   time.Time
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
func (w *wave) apart(c *setCall) error {
	v := c.Action.(ledger.Together)
	if v.Contribution == ledger.OverAll || v.AboutReservation() || len(c.members) < 2 {
		return nil
	}
	refusal := &set.Refusal{}
	family := map[string]string{} // by the names of members and of those above them: the member
	for i, m := range c.members {
		if h := w.held[c.queues[i]]; h.lost != nil {
			continue // the member's own refusal follows
		} else if err := w.k.alone(m.Ledger, h.parent, family); err != nil {
			refusal.Refused = append(refusal.Refused, set.MemberRefusal{Ledger: m.Ledger, Err: err})
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
	w.calls = nil
	for _, c := range calls {
		if !c.written {
			w.calls = append(w.calls, c)
		}
	}
	if len(w.calls) == 0 {
		return nil
	}
	if err := w.decide(); err != nil {
		return err
	}
	return w.compare()
}

// decide decides the calls and writes what was accepted; or returns why nothing was written.
func (w *wave) decide() (err error) {
	t := w.k.config.Batch.begin(w.calls[0].queues[0].name, len(w.calls))
	defer func() { t.end(err) }()
	if err := w.begin(); err != nil {
		return err
	}
	for _, c := range w.calls {
		w.judge(c)
		t.caller(c.origin)
	}
	n := 0
	for _, m := range w.order {
		n += len(m.entries())
	}
	t.decided(len(w.order), n)
	if err := w.k.commit(w.order); err != nil {
		return err
	}
	for _, c := range w.calls {
		w.answer(c)
	}
	return nil
}

// fail sets the results of calls that could not be decided. Settled ones hold in any case.
func (w *wave) fail(calls []*setCall, err error) {
	for _, c := range calls {
		if !c.written && c.verdict.kind != settled {
			c.result, c.err = SetResult{}, err
		}
	}
}

// begin starts a batch for each ledger of the calls.
func (w *wave) begin() (err error) {
	var queues []*queue
	calls := map[*queue]int{}
	for _, c := range w.calls {
		c.verdict = verdict{}
		for _, q := range c.queues {
			if calls[q]++; calls[q] == 1 {
				queues = append(queues, q)
			}
		}
	}
	w.now, w.held = w.k.Now(), make(map[*queue]*member, len(queues))
	if w.order, err = w.k.beginAll(context.Background(), queues); err != nil {
		return err
	}
	for _, m := range w.order {
		w.held[m.q] = m
	}
	for _, c := range w.calls {
		if journal := w.journal(c); errors.Is(journal.lost, ledger.ErrNotFound) {
			journal.create(w.now)
		}
	}
	for _, m := range w.order {
		if m.lost == nil {
			m.batch.Grow(calls[m.q])
		}
	}
	return nil
}

// judge decides one call in its journal, and in its members. A call that is refused, or only checked, leaves no trace
// in them.
func (w *wave) judge(c *setCall) {
	journal := w.journal(c)
	if journal.lost != nil {
		c.verdict = verdict{kind: settled}
		c.result, c.err = SetResult{}, journal.lost
		return
	}
	v := c.Action.(ledger.Together)
	v.Members = make([]ledger.Member, len(c.members))
	for i, m := range c.members {
		v.Members[i] = ledger.Member{Ledger: m.Ledger, Position: 1, Reservation: m.Reservation}
		if h := w.held[c.queues[i]]; h.lost == nil {
			v.Members[i].Position = h.batch.Next()
		}
	}
	it := item{w: journal.q.lane(c.Writer), request: c.Request}
	it.request.Action = v
	it.beside = func() error {
		return w.ask(c, &ledger.SetPart{Journal: journals.Of(c.Writer.Name), Position: journal.batch.Next(),
			Members: uint32(len(v.Members)), Names: ledger.NamesHash(v.Members), Contribution: v.Contribution})
	}
	if c.verdict = journal.judge(&it, w.now); c.verdict.kind != settled {
		return
	}
	c.result, c.err = SetResult{}, c.verdict.err
	if c.err == nil { // another process has written it
		c.result, c.err = w.k.firstOfSet(journal.q.name, c.Request)
	}
}

// journal is that of a call.
func (w *wave) journal(c *setCall) *member { return w.held[c.queues[len(c.members)]] }

// answer sets the result of a call that was decided, and written if it was accepted.
func (w *wave) answer(c *setCall) {
	if c.verdict.kind == settled {
		return
	}
	c.result, c.err = SetResult{}, c.verdict.err
	if c.err != nil {
		return
	}
	c.result.Members = make([]MemberResult, len(c.members))
	for i, m := range c.members {
		c.result.Members[i].Ledger = m.Ledger
	}
	if c.CheckOnly {
		return
	}
	journal := w.journal(c)
	c.written = true
	c.result.Receipt = journal.receipt(c.verdict.entry)
	for i, m := range journal.batch.Entries()[c.verdict.entry].Action.(ledger.Together).Members {
		h := w.held[c.queues[i]]
		c.result.Members[i].Position = m.Position
		c.result.Members[i].Head = h.hashes[m.Position-h.batch.Entries()[0].Position]
	}
}

// firstOfSet answers a duplicate with the first receipt.
func (k *Keeper) firstOfSet(journal string, r ledger.Request) (SetResult, error) {
	record, err := k.config.Store.RecordOf(journal, r.Writer, r.Sequence)
	if err != nil {
		return SetResult{}, err
	}
	if record.Entry.Digest != r.Digest {
		return SetResult{}, reused(r)
	}
	v, ok := record.Entry.Action.(ledger.Together)
	if !ok {
		return SetResult{}, fmt.Errorf("%w: %s: entry %d is a %s", ledger.ErrDamaged, journal, record.Entry.Position,
			record.Entry.Action.Kind())
	}
	result := SetResult{Result: Result{record.Receipt(k.storeID, journal), true}}
	for _, m := range v.Members {
		found, err := k.config.Store.Records(m.Ledger, m.Position, 1)
		if err == nil && (len(found) == 0 || found[0].Entry.Position != m.Position) {
			err = fmt.Errorf("%w: %s has no entry %d, which %s names", ledger.ErrDamaged, m.Ledger, m.Position, journal)
		}
		if err != nil {
			return SetResult{}, err
		}
		result.Members = append(result.Members, MemberResult{m.Ledger, m.Position, found[0].Hash})
	}
	return result, nil
}

// askMember asks one of a call's members for its part, and leaves what is accepted to be kept or dropped.
func (w *wave) askMember(c *setCall, i int, part *ledger.SetPart) error {
	h := w.held[c.queues[i]]
	if h.lost != nil {
		return h.lost
	}
	lane := h.q.lane(ledger.SetWriter(c.Writer.Principal))
	if err := h.stands(lane, false); err != nil {
		return err
	}
	m, at := &c.members[i], ledger.Lane{Sequence: lane.last, Position: lane.at}
	return h.batch.Ask(ledger.Request{Writer: lane.key, Sequence: h.batch.Lane(lane.key, at).Sequence + 1,
		Digest: m.digest, Action: m.Action, Prices: c.prices[i], Caller: m.Caller, Set: part}, at, w.now).Err
}

// ask asks all members of a call, which keep their parts if all accept and the call is not only checked. Otherwise it
// leaves no trace in them. It returns why some of them refuse.
func (w *wave) ask(c *setCall, part *ledger.SetPart) error {
	if err := w.apart(c); err != nil {
		return err
	}
	refusal, budgets := &set.Refusal{}, true
	var accepted []*member
	for i, m := range c.members {
		h, err := w.held[c.queues[i]], w.askMember(c, i, part)
		if err == nil {
			accepted = append(accepted, h)
			continue
		}
		refusal.Refused = append(refusal.Refused, set.MemberRefusal{Ledger: m.Ledger, Err: err})
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
		refusal.Fits = w.fits(c)
	}
	return refusal
}

// compare is Keeper.compare of the ledgers of calls that were refused or checked, apart from those that were written.
func (w *wave) compare() error {
	var open []*queue
	seen := map[*queue]bool{}
	for _, c := range w.calls {
		if c.written || c.verdict.kind == settled {
			continue
		}
		for _, q := range c.queues {
			if !seen[q] && w.held[q].hashes == nil {
				open = append(open, q)
			}
			seen[q] = true
		}
	}
	return w.k.compare(open...)
}

// fits returns how many of each mechanism of the call, alone, fit in every member.
func (w *wave) fits(c *setCall) (list []mechanism.Part) {
	for _, p := range mechanism.Merge(c.members[0].Action.Details().Events) {
		least, bounded := uint64(0), false
		for _, q := range c.queues[:len(c.members)] {
			if n, ok := w.held[q].batch.Fits(p.Mechanism); ok && (!bounded || n < least) {
				least, bounded = n, true
			}
		}
		if bounded {
			list = append(list, mechanism.Part{Mechanism: p.Mechanism, Count: least})
		}
	}
	return list
}
