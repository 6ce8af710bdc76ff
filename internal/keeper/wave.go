package keeper

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/ledger/dataset"
	"github.com/dpaccountant/accountant/internal/ledger/journals"
	"github.com/dpaccountant/accountant/internal/ledger/set"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// wave is what the coordinator decides at once: calls and the ledgers that it holds for them.
type wave struct {
	k     *Keeper
	calls []*setCall
	held  map[*queue]*member
	order []*member // of held
	now   time.Time
}

// member is a held ledger of a wave, or a journal.
type member struct {
	held
	calls   int             // that have it
	genesis *ledger.Genesis // of a journal that is not there yet
	lost    error           // why it cannot be read
	parent  string          // as of State.Parent
	hashes  []ledger.Hash   // of the entries that were written
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

// decide decides the calls, writes what was accepted and sets their results; or returns why nothing was written.
func (w *wave) decide() (err error) {
	t := w.k.config.Batch.begin(w.calls[0].queues[0].name, len(w.calls))
	defer func() { t.end(err) }()
	if err := w.begin(); err != nil {
		return err
	}
	for _, c := range w.calls {
		c.result, c.err, c.at = SetResult{}, nil, 0
		w.judge(c)
		t.caller(c.origin)
	}
	t.decided(len(w.order), w.entries())
	return w.write()
}

// entries is how many entries the batches have.
func (w *wave) entries() (n int) {
	for _, m := range w.order {
		if m.lost == nil {
			n += len(m.batch.Entries())
		}
	}
	return n
}

// fail sets the results of calls that could not be decided. A duplicate's holds in any case.
func (w *wave) fail(calls []*setCall, err error) {
	for _, c := range calls {
		if !c.written && !c.result.Replayed {
			c.result, c.err = SetResult{}, err
		}
	}
}

// begin starts a batch for each ledger of the calls, on the newest state.
func (w *wave) begin() error {
	w.held, w.order, w.now = make(map[*queue]*member, len(w.order)), w.order[:0], w.k.Now()
	var queues []*queue
	for _, c := range w.calls {
		queues = append(queues, c.queues...)
	}
	if _, err := w.k.followAll(context.Background(), queues); err != nil {
		return err
	}
	for _, c := range w.calls {
		for i, q := range c.queues {
			if m := w.held[q]; m != nil {
				m.calls++
				continue
			}
			m := &member{held: held{q: q}, calls: 1}
			w.held[q] = m
			w.order = append(w.order, m)
			m.lost = m.begin(context.Background())
			if i < len(c.members) {
				continue
			}
			clear(q.begun)
			if errors.Is(m.lost, ledger.ErrNotFound) {
				m.create(w.now)
			}
		}
	}
	for _, m := range w.order {
		if m.lost == nil {
			m.batch.Grow(m.calls)
		}
	}
	return nil
}

// begin starts a batch on the committed state.
func (m *member) begin(ctx context.Context) error {
	err := m.q.read(ctx, func(s *ledger.State) {
		m.batch = ledger.NewBatch(s)
		m.batch.Bound()
		m.parent = s.Parent()
	})
	if err == nil && m.parent != "" {
		var cap *dataset.ChargeCap
		if cap, err = m.q.k.capOf(ctx, m.parent); err == nil {
			m.batch.Cap(cap)
		}
	}
	return err
}

// create has the journal made by what is written into it.
func (m *member) create(now time.Time) {
	m.genesis = &ledger.Genesis{Principal: ledger.Daemon, Time: now,
		Spec: ledger.Spec{Name: m.q.name, Adjacency: mechanism.AddOrRemoveOne}}
	m.batch = ledger.NewBatch(ledger.NewState(ledger.Snapshot{Summary: ledger.Summary{Genesis: *m.genesis}}, nil))
	m.batch.Bound()
	m.lost = nil
}

// judge decides one call on top of the batches. A call that is refused, or only checked, leaves no trace
// in them.
func (w *wave) judge(c *setCall) {
	journal := w.held[c.queues[len(c.members)]]
	if c.err = journal.lost; c.err != nil {
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
	r := c.Request
	r.Action = v
	if c.result, c.err = journal.ask(r, w.now); c.err != nil || c.result.Replayed {
		return
	}
	part := &ledger.SetPart{Journal: journals.Of(c.Writer.Name), Position: journal.batch.Next(),
		Members: uint32(len(v.Members)), Names: ledger.NamesHash(v.Members),
		Contribution: v.Contribution}
	if c.err = w.apart(c); c.err == nil {
		c.err = w.ask(c, part)
	}
	if c.err != nil {
		journal.batch.Drop()
		return
	}
	settle := (*member).keep
	if c.CheckOnly {
		settle = (*member).drop
	}
	c.result.Members = make([]MemberResult, len(c.members))
	for i, m := range v.Members {
		settle(w.held[c.queues[i]])
		c.result.Members[i].Ledger = m.Ledger
		if !c.CheckOnly {
			c.result.Members[i].Position = m.Position
		}
	}
	settle(journal)
	if c.CheckOnly {
		return
	}
	c.at = part.Position
	if r.Sequence == 1 {
		journal.q.begin(journal.entry(c.at))
	}
}

// keep and drop end what a member was asked: it is in its batch, or has left no trace there.
func (m *member) keep() { m.batch.Keep() }

func (m *member) drop() { m.batch.Drop() }

// entry returns an entry of the batch.
func (m *member) entry(position uint64) ledger.Entry {
	entries := m.batch.Entries()
	return entries[position-entries[0].Position]
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

// ask decides a call's entry in its journal, and leaves it to be kept or dropped. A duplicate gets its
// first receipt.
func (m *member) ask(r ledger.Request, now time.Time) (SetResult, error) {
	store := m.q.k.config.Store
	sequence, position, err := store.Writer(m.q.name, r.Writer)
	if err != nil && !errors.Is(err, ledger.ErrNotFound) {
		return SetResult{}, err
	}
	if r.Sequence == 1 && sequence == 0 {
		if err := m.q.taken(r); err != nil {
			return SetResult{}, err
		}
	}
	d := m.batch.Ask(r, ledger.Lane{Sequence: sequence, Position: position}, now)
	if d.Outcome == ledger.Duplicate { // another process has written it
		return m.q.k.firstOfSet(m.q.name, r)
	}
	return SetResult{}, d.Err
}

// askMember asks one of a call's members for its part, and leaves what is accepted to be kept or dropped.
func (w *wave) askMember(c *setCall, i int, part *ledger.SetPart) error {
	h := w.held[c.queues[i]]
	if h.lost != nil {
		return h.lost
	}
	writer := ledger.SetWriter(c.Writer.Principal)
	lane, err := h.q.laneOf(writer)
	if err != nil {
		return err
	}
	m := &c.members[i]
	return h.batch.Ask(ledger.Request{Writer: writer, Sequence: h.batch.Lane(writer, lane).Sequence + 1,
		Digest: m.digest, Action: m.Action, Prices: c.prices[i], Caller: m.Caller, Set: part}, lane, w.now).Err
}

// ask asks all members of a call, which then can be kept or dropped. It returns why some of them refuse;
// none of them has anything to be dropped then.
func (w *wave) ask(c *setCall, part *ledger.SetPart) error {
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
	if len(refusal.Refused) == 0 {
		return nil
	}
	for _, h := range accepted {
		h.drop()
	}
	refusal.Set = c.names()
	if budgets {
		refusal.Fits = w.fits(c)
	}
	return refusal
}

// compare finds out whether refusals and checks were decided on ledgers as they stood at one moment. Ledgers that
// other daemons had written to were read after the others, so one of two ledgers may have a charge that was made to
// both. What was written had all of its ledgers as they stood when it was written. The others are compared now: if
// they have not moved, that is also where they stood then.
func (w *wave) compare() error {
	var unwritten []*queue
	seen := map[*queue]bool{}
	for _, c := range w.calls {
		if c.written || c.result.Replayed {
			continue
		}
		for _, q := range c.queues {
			if !seen[q] && w.held[q].hashes == nil {
				unwritten = append(unwritten, q)
			}
			seen[q] = true
		}
	}
	if len(unwritten) == 0 {
		return nil
	}
	moved, err := w.k.followAll(context.Background(), unwritten)
	if err == nil && moved {
		err = ledger.ErrConflict
	}
	return err
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

// write writes what was accepted, by one Append, and completes the results.
func (w *wave) write() error {
	var proposals []ledger.Proposal
	var written []*member
	for _, m := range w.order {
		if m.lost != nil || len(m.batch.Entries()) == 0 {
			continue
		}
		p := m.batch.Proposal()
		p.Genesis = m.genesis
		proposals, written = append(proposals, p), append(written, m)
	}
	if len(proposals) == 0 {
		return nil
	}
	hashes, err := w.k.appendTogether(proposals)
	if err != nil {
		switch {
		case errors.Is(err, ledger.ErrTooLarge), errors.Is(err, ledger.ErrUnavailable):
		case errors.Is(err, ledger.ErrConflict) && w.k.fleet != nil: // begin reads what others have written
		default:
			for _, m := range written {
				m.q.forget()
			}
		}
		return err
	}
	for i, m := range written {
		m.hashes = hashes[i]
		m.q.passed(m.batch.Entries()...)
		if m.genesis != nil { // the store has completed it
			m.q.forget()
		} else {
			m.q.apply(m.batch, hashes[i])
		}
	}
	for _, c := range w.calls {
		if c.at == 0 {
			continue
		}
		for i := range c.result.Members {
			m := &c.result.Members[i]
			m.Head = w.held[c.queues[i]].hash(m.Position)
		}
		journal := w.held[c.queues[len(c.members)]]
		c.result.Receipt = journal.entry(c.at).Receipt(w.k.storeID, journal.q.name, journal.hash(c.at))
		c.written = true
	}
	return nil
}

// hash returns the hash of an entry that was written.
func (m *member) hash(position uint64) ledger.Hash {
	return m.hashes[position-m.batch.Entries()[0].Position]
}
