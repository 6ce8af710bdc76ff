// SPDX-License-Identifier: Apache-2.0

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
	r.start(ctx, queues, damaged)
	return nil
}

// start starts a batch for each of several queues on what is in memory. lost says why some cannot be read.
func (r *round) start(ctx context.Context, queues []*queue, lost map[*queue]error) {
	if len(r.members) != len(queues) {
		r.members = make([]*member, len(queues))
		for i := range r.members {
			r.members[i] = &member{}
		}
	}
	for i, q := range queues {
		m := r.members[i]
		*m = member{q: q, lost: lost[q]}
		if m.lost == nil {
			m.lost = m.begin(ctx)
		}
	}
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
	r.now, r.alone = r.k.Now(), r.k.fleet == nil
	for i := range items {
		items[i].verdict = verdict{}
		if c := items[i].call; c != nil {
			t.caller(c.origin)
		}
	}
	if r.k.fleet != nil && (len(queues) > 1 || r.late) {
		if err = r.decideInTurn(queues, items, t); !errors.Is(err, ledger.ErrDamaged) {
			return err
		}
	}
	if err := r.begin(context.Background(), queues); err != nil {
		return err
	}
	r.judgeAll(queues, items, t)
	return r.k.commit(r.members)
}

// judgeAll decides items on the batches that were started for queues.
func (r *round) judgeAll(queues []*queue, items []item, t *timing) {
	r.held = nil
	if len(queues) > 1 {
		r.held = make(map[*queue]*member, len(queues))
		for _, m := range r.members {
			r.held[m.q] = m
		}
	} else if m := r.members[0]; m.lost == nil {
		m.batch.Grow(len(items))
	}
	for i := range items {
		items[i].verdict = r.judge(&items[i])
	}
	n := 0
	for _, m := range r.members {
		n += len(m.entries())
	}
	t.decided(len(r.members), n)
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

// compare finds out whether what was refused or only checked holds: see Keeper.compare. The ledgers of these items are
// compared that were not written.
func (r *round) compare(items []item) error {
	if r.alone {
		return nil
	}
	var open []*queue
	add := func(q *queue) {
		if m := r.of(q); m.hashes == nil && !m.open {
			m.open = true
			open = append(open, q)
		}
	}
	for i := range items {
		if v := &items[i].verdict; v.kind != answered || v.err == nil && v.entry >= 0 {
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
