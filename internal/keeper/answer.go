// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"errors"
	"time"

	"github.com/dpaccountant/accountant/internal/keeper/fleet"
	"github.com/dpaccountant/accountant/internal/ledger"
)

// decide decides items, writes what was accepted and answers them.
func (q *queue) decide(items []item) { fleet.UntilWritten(items, q.try, q.fail) }

// fail answers items that could not be written.
func (q *queue) fail(items []item, err error) { q.answer(items, nil, err) }

// mostKept is how many entries a batch has whose memory is used again.
const mostKept = 2048

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
		r.late = errors.Is(err, ledger.ErrConflict)
		return err
	}
	m := r.members[0]
	q.answer(items, m, nil)
	wrote := m.hashes != nil
	if m.batch != nil && len(m.batch.Entries()) <= mostKept {
		q.k.batches.Put(m.batch)
	}
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
		v := &it.verdict
		drop := v.kind == dropped
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
	l.decidedLarge += it.admitted
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
	l.w.q.k.laneBytes.Add(-int64(l.decidedBytes))
	l.w.q.k.large.Release(int64(l.decidedLarge))
	if len(l.results) == 0 {
		l.results = l.answers
	} else {
		l.results = append(l.results, l.answers...)
	}
	l.answers, l.decided, l.decidedBytes, l.decidedLarge = nil, 0, 0, 0
	l.room.wake()
	free := l.ended != nil && l.undecided == 0
	if len(l.results) > 0 || free {
		l.ready.wake()
	}
	if free {
		l.w.endStream()
	}
	return free
}
