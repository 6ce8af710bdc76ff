package keeper

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dpaccountant/accountant/internal/keeper/fleet"
	"github.com/dpaccountant/accountant/internal/ledger"
)

// decide decides items in order, writes what was accepted and answers them.
func (q *queue) decide(items []item) { fleet.UntilWritten(items, q.try, q.fail) }

// fail answers items that could not be written.
func (q *queue) fail(items []item, err error) { q.answer(items, nil, nil, err) }

// try decides items on the committed state, writes what was accepted and answers them; or returns why
// nothing was written.
func (q *queue) try(items []item) (err error) {
	t := q.k.config.Batch.begin(q.name, len(items))
	defer func() { t.end(err) }()
	q.attempt++
	q.verdicts = q.verdicts[:0]
	clear(q.begun)
	var state *ledger.State
	if err := q.read(context.Background(), func(s *ledger.State) { state = s }); err != nil {
		return err
	}
	// Nobody else changes the state, so no lock is needed to read it here.
	b := ledger.NewBatch(state)
	b.Bound()
	b.Alone()
	if parent := state.Parent(); parent != "" {
		cap, err := q.k.capOf(context.Background(), parent)
		if err != nil {
			return err
		}
		b.Cap(cap)
	}
	b.Grow(len(items))
	now := q.k.Now()
	for i := range items {
		q.verdicts = append(q.verdicts, q.judge(b, &items[i], now))
		if c := items[i].call; c != nil {
			t.caller(c.origin)
		}
	}
	t.decided(1, len(b.Entries()))
	if q.stale {
		q.stale = false
		q.lost()
		return ledger.ErrConflict
	}
	var hashes []ledger.Hash
	if len(b.Entries()) > 0 {
		if hashes, err = q.append(b); err != nil {
			return err
		}
	}
	q.answer(items, b.Entries(), hashes, nil)
	if len(hashes) > 0 {
		q.leaveRoom()
	}
	return nil
}

// judge decides one item on top of the batch.
func (q *queue) judge(b *ledger.Batch, it *item, now time.Time) verdict {
	r := &it.request
	if it.lane != nil && it.lane.tries(q.attempt).drops(r.Sequence) {
		return verdict{kind: dropped}
	}
	v := q.judgeRequest(b, it, now)
	if it.lane != nil && v.err != nil {
		it.lane.tentative.reject(r.Sequence)
	}
	return v
}

func (q *queue) judgeRequest(b *ledger.Batch, it *item, now time.Time) verdict {
	if it.refusal != nil {
		return verdict{kind: settled, err: it.refusal}
	}
	w, r := it.w, it.request
	if w.epoch != q.epoch {
		if err := q.readWriter(w); err != nil {
			return verdict{kind: settled, err: err}
		}
	}
	// What was decided before anything was added to the batch needs no commit.
	kind := answered
	if len(b.Entries()) == 0 {
		kind = settled
	}
	if r.Sequence == 1 && w.last == 0 {
		if err := q.taken(r); err != nil {
			return verdict{kind: answered, err: err}
		}
	}
	d := b.Decide(r, ledger.Lane{Sequence: w.last, Position: w.at}, now)
	if errors.Is(d.Err, ledger.ErrGap) && w.attempt != q.attempt {
		// Another process may have written in this lane.
		if err := q.readWriter(w); err != nil {
			return verdict{kind: settled, err: err}
		}
		d = b.Decide(r, ledger.Lane{Sequence: w.last, Position: w.at}, now)
	}
	switch {
	case d.Outcome == ledger.Accepted:
		if d.Entry < 0 && q.k.fleet != nil { // an answer, which nothing compares later
			if err := q.compare(b, nil); err != nil {
				return verdict{kind: settled, err: err}
			}
		}
		if r.Sequence == 1 && d.Entry >= 0 {
			q.begin(b.Entries()[d.Entry])
		}
		return verdict{kind: answered, entry: d.Entry}
	case d.Outcome == ledger.Refused:
		if err := q.compare(b, d.Err); err != nil {
			return verdict{kind: settled, err: err}
		}
		return verdict{kind: kind, err: d.Err}
	case d.Entry >= 0:
		if b.Entries()[d.Entry].Digest != r.Digest {
			return verdict{kind: answered, err: reused(r)}
		}
		return verdict{kind: answered, entry: d.Entry, replayed: true}
	}
	first, err := q.firstReceipt(b, w, r.Sequence)
	if err == nil && first.digest != r.Digest {
		err = reused(r)
	}
	if err != nil {
		return verdict{kind: settled, err: err}
	}
	return verdict{kind: settled, result: Result{first.Receipt, true}}
}

// compare finds out whether a refusal was decided on the newest state: another process may have
// released a reservation, refunded or raised since. If the batch has entries, their Append finds that
// out. All other refusals also hold on every later state: a closing is final, and so is a lane's end.
func (q *queue) compare(b *ledger.Batch, refusal error) error {
	if len(b.Entries()) > 0 || q.compared == q.attempt || errors.Is(refusal, ledger.ErrClosed) ||
		errors.Is(refusal, ledger.ErrGap) || errors.Is(refusal, ledger.ErrEnded) {
		return nil
	}
	q.compared = q.attempt
	newer, err := q.k.config.Store.Records(q.name, b.Proposal().Expected.Position+1, 1)
	q.stale = err == nil && len(newer) > 0
	return err
}

// append writes a batch and makes it part of the state. If it is unknown whether the batch was written,
// or if the state was not the newest, append forgets the state, and the next use reads it again.
func (q *queue) append(b *ledger.Batch) ([]ledger.Hash, error) {
	began := time.Now()
	all, err := q.k.config.Store.Append([]ledger.Proposal{b.Proposal()})
	q.took = time.Since(began)
	entries := b.Entries()
	switch {
	case errors.Is(err, ledger.ErrTooLarge), errors.Is(err, ledger.ErrUnavailable):
		return nil, err
	case err == nil && (len(all) != 1 || len(all[0]) != len(entries)):
		err = fmt.Errorf("%w: the store answered %d entries of %s with %d hashes",
			ledger.ErrUnknown, len(entries), q.name, len(all))
	case err != nil && !errors.Is(err, ledger.ErrConflict) && !errors.Is(err, ledger.ErrUnknown):
		err = fmt.Errorf("%w: %w", ledger.ErrUnknown, err)
	}
	if err != nil {
		if errors.Is(err, ledger.ErrConflict) {
			q.lost()
		} else {
			q.forget()
		}
		return nil, err
	}
	q.apply(b, all[0])
	return all[0], nil
}

// answer gives every item its answer. Settled items get theirs in any case; the answers of the others
// follow from the batch's commit or failure. Lanes become free before their callers are answered, so
// that the next call is not refused.
func (q *queue) answer(items []item, entries []ledger.Entry, hashes []ledger.Hash, failure error) {
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
				result = Result{entries[v.entry].Receipt(q.k.storeID, q.name, hashes[v.entry]), v.replayed}
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
