package keeper

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/dpaccountant/accountant/internal/keeper/rivals"
	"github.com/dpaccountant/accountant/internal/ledger"
)

// verdict is the outcome of deciding an item, before the batch is written.
type verdict struct {
	kind     verdictKind
	entry    int    // of answered: the entry whose receipt it gets, −1 for none
	replayed bool   // of answered: by a duplicate of that entry
	result   Result // of settled
	err      error
}

type verdictKind uint8

const (
	// answered means that the verdict holds if the batch is committed.
	answered verdictKind = iota
	// settled means that the verdict follows from the committed state and holds in any case.
	settled
	// dropped means that go-back-N drops the item without an answer.
	dropped
)

// decide decides items in order, writes what was accepted and answers them.
func (q *queue) decide(items []item) { rivals.UntilWritten(items, q.try, q.fail) }

// fail answers items that could not be written.
func (q *queue) fail(items []item, err error) { q.answer(items, nil, nil, err) }

// try decides items on the committed state, writes what was accepted and answers them; or returns why
// nothing was written.
func (q *queue) try(items []item) (err error) {
	t := q.k.config.Batch.Begin(q.name, len(items))
	defer func() { t.End(err) }()
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
			t.Caller(c.origin)
		}
	}
	t.Decided(1, len(b.Entries()))
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
		if d.Entry < 0 && q.k.heads != nil { // an answer, which nothing compares later
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

// readWriter reads from the store which sequence number a lane has reached.
func (q *queue) readWriter(w *writer) error {
	last, at, err := q.k.config.Store.Writer(q.name, w.key)
	if err == nil {
		w.epoch, w.attempt, w.last, w.at, w.first = q.epoch, q.attempt, last, at, receipt{}
	}
	return err
}

// requestPrefix begins the name of a lane that has one request under the user's own key.
const requestPrefix = "request/"

func reused(r ledger.Request) error {
	if id, ok := strings.CutPrefix(r.Writer.Name, requestPrefix); ok { // the key of one charge: it has no next number
		return fmt.Errorf("%w: request ID: %s; allowed: the first content again, or a new request ID",
			ledger.ErrReused, id)
	}
	return fmt.Errorf("%w: sequence: %d of writer %s; allowed: the first content again, or the next number",
		ledger.ErrReused, r.Sequence, r.Writer.Name)
}

// firstReceipt returns a committed entry's digest and receipt.
func (q *queue) firstReceipt(b *ledger.Batch, w *writer, sequence uint64) (receipt, error) {
	if w.first.Sequence == sequence {
		return w.first, nil
	}
	record, err := q.k.config.Store.RecordOf(q.name, w.key, sequence)
	if errors.Is(err, ledger.ErrNotFound) { // though its lane has come further
		err = fmt.Errorf("%w: %s: no record of sequence %d of writer %s, which stands at %d",
			ledger.ErrDamaged, q.name, sequence, w.key.Name, w.last)
	}
	if err != nil {
		return receipt{}, err
	}
	return receipt{record.Entry.Digest, record.Receipt(b.StoreOf(record.Entry.Position), q.name)}, nil
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

// apply makes a batch that was written part of the state.
func (q *queue) apply(b *ledger.Batch, hashes []ledger.Hash) {
	q.stateMu.Lock()
	defer q.changes.Happened()
	defer q.stateMu.Unlock()
	entries := b.Entries()
	last := len(entries) - 1
	q.state.Apply(b, ledger.Head{Position: entries[last].Position, Hash: hashes[last]})
	if ledger.IsDataset(q.name) {
		q.k.caps.Store(q.name, q.state.ChargeCap())
	}
}

// forget drops the state, so that the next use reads it again. The batch may have been written all the
// same, so watchers are woken to look.
func (q *queue) forget() {
	defer q.changes.Happened()
	q.stateMu.Lock()
	defer q.stateMu.Unlock()
	q.state = nil
	q.epoch++
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
