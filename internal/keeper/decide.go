package keeper

import (
	"context"
	"errors"
	"time"

	"github.com/dpaccountant/accountant/internal/keeper/fleet"
	"github.com/dpaccountant/accountant/internal/ledger"
)

// decide decides items in order, writes what was accepted and answers them.
func (q *queue) decide(items []item) { fleet.UntilWritten(items, q.try, q.fail) }

// fail answers items that could not be written.
func (q *queue) fail(items []item, err error) { q.answer(items, nil, err) }

// try decides items on the committed state, writes what was accepted and answers them; or returns why
// nothing was written.
func (q *queue) try(items []item) (err error) {
	t := q.k.config.Batch.begin(q.name, len(items))
	defer func() { t.end(err) }()
	q.verdicts = q.verdicts[:0]
	m := &member{q: q, alone: true}
	if err := m.begin(context.Background()); err != nil {
		return err
	}
	m.batch.Grow(len(items))
	now, open := q.k.Now(), false
	for i := range items {
		v := m.judgeNext(&items[i], now)
		open = open || v.kind == answered
		q.verdicts = append(q.verdicts, v)
		if c := items[i].call; c != nil {
			t.caller(c.origin)
		}
	}
	entries := m.batch.Entries()
	t.decided(1, len(entries))
	if len(entries) > 0 {
		began := time.Now()
		err = q.k.commit([]*member{m})
		q.took = time.Since(began)
	} else if open {
		err = q.k.compare(q)
	}
	if err != nil {
		return err
	}
	q.answer(items, m, nil)
	if len(entries) > 0 {
		q.leaveRoom()
	}
	return nil
}

// judgeNext decides the next item of its lane on top of the batch.
func (m *member) judgeNext(it *item, now time.Time) verdict {
	if it.lane == nil {
		return m.judge(it, now)
	}
	if it.lane.tries(m.q.attempt).drops(it.request.Sequence) {
		return verdict{kind: dropped}
	}
	v := verdict{kind: settled, err: it.refusal}
	if it.refusal == nil {
		v = m.judge(it, now)
	}
	if v.err != nil {
		it.lane.tentative.reject(it.request.Sequence)
	}
	return v
}

// judge decides one item on top of the batch, and in the other ledgers that it concerns.
func (m *member) judge(it *item, now time.Time) verdict {
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
		if i < len(q.verdicts) {
			v := &q.verdicts[i]
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
	q.k.writers.drop(old)
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
