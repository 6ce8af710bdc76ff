package keeper

import (
	"context"
	"errors"
	"time"

	"github.com/dpaccountant/accountant/internal/keeper/fleet"
	"github.com/dpaccountant/accountant/internal/ledger"
)

// begin starts a batch for each of several queues, which stand still. Those of several ledgers are on what the store
// has now; whether that of one is, its commit finds out.
func (r *round) begin(ctx context.Context, queues []*queue) error {
	var damaged map[*queue]error
	if r.k.fleet != nil && len(queues) > 1 {
		ctx = fleet.Within(ctx) // the ledgers of one dataset ask once what its cap is
		var err error
		if _, damaged, err = r.k.followAll(ctx, queues); err != nil {
			return err
		}
	}
	if len(r.members) != len(queues) {
		r.members = make([]*member, len(queues))
		for i := range r.members {
			r.members[i] = &member{}
		}
	}
	for i, q := range queues {
		m := r.members[i]
		*m = member{q: q, lost: damaged[q]}
		if m.lost == nil {
			m.lost = m.begin(ctx)
		}
	}
	return nil
}

// of returns the member of a queue.
func (r *round) of(q *queue) *member {
	if r.held == nil {
		return r.members[0]
	}
	return r.held[q]
}

// decide decides items and writes what was accepted, by one Append; or returns why nothing was written.
func (r *round) decide(queues []*queue, items []item) (err error) {
	t := r.k.config.Batch.begin(queues[0].name, len(items))
	defer func() { t.end(err) }()
	r.now, r.verdicts, r.held = r.k.Now(), r.verdicts[:0], nil
	if err := r.begin(context.Background(), queues); err != nil {
		return err
	}
	if len(queues) > 1 {
		r.held = make(map[*queue]*member, len(queues))
		for _, m := range r.members {
			r.held[m.q] = m
		}
	} else if m := r.members[0]; m.lost == nil {
		m.batch.Grow(len(items))
	}
	for i := range items {
		r.verdicts = append(r.verdicts, r.judge(&items[i]))
		if c := items[i].call; c != nil {
			t.caller(c.origin)
		}
	}
	n := 0
	for _, m := range r.members {
		n += len(m.entries())
	}
	t.decided(len(r.members), n)
	return r.k.commit(r.members)
}

// compare finds out whether what was refused or only checked holds: see Keeper.compare. The ledgers of these items are
// compared that were not written.
func (r *round) compare(items []item) error {
	var open []*queue
	add := func(q *queue) {
		if m := r.of(q); m.hashes == nil && !m.open {
			m.open = true
			open = append(open, q)
		}
	}
	for i := range items {
		if v := &r.verdicts[i]; v.kind != answered || v.err == nil && v.entry >= 0 {
			continue
		}
		add(items[i].w.q)
		if c := items[i].set; c != nil {
			for _, q := range c.queues {
				add(q)
			}
		}
	}
	return r.k.compare(open...)
}

// judge decides one item on top of the batches.
func (r *round) judge(it *item) verdict {
	m := r.of(it.w.q)
	if it.set != nil {
		return r.judgeSet(m, it)
	}
	if it.lane == nil {
		return m.judge(it, r.now)
	}
	if it.lane.tries(m.q.attempt).drops(it.request.Sequence) {
		return verdict{kind: dropped}
	}
	v := verdict{kind: settled, err: it.refusal}
	if it.refusal == nil {
		v = m.judge(it, r.now)
	}
	if v.err != nil {
		it.lane.tentative.reject(it.request.Sequence)
	}
	return v
}

// judge decides one item on top of the batch, and in the other ledgers that it concerns.
func (m *member) judge(it *item, now time.Time) verdict {
	if m.lost != nil {
		return verdict{kind: settled, err: m.lost}
	}
	q, w, r := m.q, it.w, it.request
	if err := m.stands(w, false); err != nil {
		return verdict{kind: settled, err: err}
	}
	// What was decided before anything was added to the batch needs no commit. Where others write, it is compared.
	kind := answered
	if q.k.fleet == nil && len(m.batch.Entries()) == 0 {
		kind = settled
	}
	if r.Sequence == 1 && w.last == 0 {
		if err := q.taken(r); err != nil {
			return verdict{kind: kind, err: err}
		}
	}
	d := m.batch.Ask(r, ledger.Lane{Sequence: w.last, Position: w.at}, now)
	if errors.Is(d.Err, ledger.ErrGap) && w.attempt != q.attempt {
		// Another process may have written in this lane.
		if err := m.stands(w, true); err != nil {
			return verdict{kind: settled, err: err}
		}
		d = m.batch.Ask(r, ledger.Lane{Sequence: w.last, Position: w.at}, now)
	}
	switch {
	case d.Outcome == ledger.Accepted:
		return m.accept(it)
	case d.Outcome == ledger.Refused:
		return verdict{kind: kind, err: d.Err}
	case d.Entry >= 0:
		if m.batch.Entries()[d.Entry].Digest != r.Digest {
			return verdict{kind: answered, err: reused(r)}
		}
		return verdict{kind: answered, entry: d.Entry, replayed: true}
	}
	first, err := q.firstReceipt(m.batch, w, r.Sequence)
	if err == nil && first.digest != r.Digest {
		err = reused(r)
	}
	if err != nil {
		return verdict{kind: settled, err: err}
	}
	return verdict{kind: settled, result: Result{first.Receipt, true}}
}

// stands has the writer know how far its lane has come: it is read from the store if that is not known, or if again
// is set.
func (m *member) stands(w *writer, again bool) error {
	q := m.q
	if w.epoch == q.epoch && !again {
		return nil
	}
	last, at, err := q.k.config.Store.Writer(q.name, w.key)
	if err != nil && !errors.Is(err, ledger.ErrNotFound) { // a journal that is not there yet
		return err
	}
	w.epoch, w.attempt, w.last, w.at, w.first = q.epoch, q.attempt, last, at, receipt{}
	if m.genesis != nil { // nothing tells when another daemon makes the journal
		w.epoch = 0
	}
	return nil
}

// accept puts an item that the batch has accepted into it, unless it is only checked, or another ledger refuses it.
func (m *member) accept(it *item) verdict {
	v := verdict{kind: answered, entry: -1}
	if it.beside != nil {
		v.err = it.beside()
	}
	if v.err != nil || it.request.CheckOnly {
		m.batch.Drop()
		return v
	}
	v.entry = m.batch.Keep()
	if it.request.Sequence == 1 {
		m.q.begin(m.batch.Entries()[v.entry])
	}
	return v
}

// decide decides items, writes what was accepted and answers them.
func (q *queue) decide(items []item) { fleet.UntilWritten(items, q.try, q.fail) }

// fail answers items that could not be written.
func (q *queue) fail(items []item, err error) { q.answer(items, nil, err) }

// try decides items on the committed state, writes what was accepted and answers them; or returns why
// nothing was written.
func (q *queue) try(items []item) error {
	r, began := &q.round, time.Now()
	err := r.decide([]*queue{q}, items)
	q.took = time.Since(began)
	if err == nil {
		err = r.compare(items)
	}
	if err != nil {
		return err
	}
	m := r.members[0]
	q.answer(items, m, nil)
	wrote := m.hashes != nil
	*m = member{}
	if wrote {
		q.leaveRoom()
	}
	return nil
}

// answer gives every item its answer. Settled items get theirs in any case; the answers of the others
// follow from the commit or failure of m's batch. Lanes become free before their callers are answered, so
// that the next call is not refused.
func (q *queue) answer(items []item, m *member, failure error) {
	pins := 0
	for i := range items {
		if l := items[i].lane; l != nil {
			l.decided++
		}
	}
	for i := range items {
		it := &items[i]
		result, err := Result{}, failure
		drop := false
		if i < len(q.round.verdicts) {
			v := &q.round.verdicts[i]
			drop = v.kind == dropped
			switch {
			case v.kind == settled || failure == nil && v.err != nil:
				result, err = v.result, v.err
			case failure == nil && v.entry >= 0 && !drop:
				result = Result{m.receipt(v.entry), v.replayed}
				if !v.replayed {
					it.w.last, it.w.at, it.w.first = it.request.Sequence, result.Receipt.Position,
						receipt{it.request.Digest, result.Receipt}
				}
			}
		}
		if it.lane != nil {
			if it.lane.answers == nil {
				q.touched = append(q.touched, it.lane)
				it.lane.answers = make([]LaneResult, 0, it.lane.decided)
			}
			it.lane.answer(it, drop, result, err)
			continue
		}
		it.call.result, it.call.err = result, err
	}

	var old []*writer
	rest := func(w *writer) {
		if o := q.cameFree(w); o != nil {
			old = append(old, o)
		}
		pins++
	}
	q.mu.Lock()
	for _, l := range q.touched {
		if l.publish() {
			rest(l.w)
		}
	}
	for i := range items {
		if c := items[i].call; c != nil {
			items[i].w.call = nil
			rest(items[i].w)
		}
	}
	q.mu.Unlock()
	clear(q.touched)
	q.touched = q.touched[:0]
	for i := range items {
		if c := items[i].call; c != nil {
			c.done <- struct{}{}
		}
	}
	q.k.writers.drop(old...)
	q.k.release(q, pins)
}

// tries returns the lane's rejection within an attempt.
func (l *Lane) tries(attempt uint64) *rejection {
	if l.attempt != attempt {
		l.attempt, l.tentative = attempt, l.rejected
	}
	return &l.tentative
}

// drops reports whether a request is dropped. A request that is not dropped is the refused one, sent
// again.
func (r *rejection) drops(sequence uint64) bool {
	if *r != 0 && sequence > uint64(*r) {
		return true
	}
	*r = 0
	return false
}

func (r *rejection) reject(sequence uint64) { *r = rejection(sequence) }

// answer takes in the answer to an item, or drops it.
func (l *Lane) answer(it *item, drop bool, result Result, err error) {
	l.decidedBytes += it.bytes
	if drop || l.rejected.drops(it.request.Sequence) {
		return
	}
	if err != nil {
		l.rejected.reject(it.request.Sequence)
	}
	_, reserved := it.request.Action.(ledger.Reserve)
	l.answers = append(l.answers, LaneResult{it.request.Sequence, result, err, reserved})
}

// publish makes a batch's answers visible and reports whether the lane became free. Its caller holds
// mu.
func (l *Lane) publish() bool {
	l.undecided -= l.decided
	l.bytes -= l.decidedBytes
	if len(l.results) == 0 {
		l.results = l.answers
	} else {
		l.results = append(l.results, l.answers...)
	}
	l.answers, l.decided, l.decidedBytes = nil, 0, 0
	l.room.wake()
	free := l.ended != nil && l.undecided == 0
	if len(l.results) > 0 || free {
		l.ready.wake()
	}
	if free {
		l.w.stream = nil
	}
	return free
}
