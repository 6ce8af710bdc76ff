package keeper

import (
	"context"
	"fmt"
	"io"

	"github.com/dpaccountant/accountant/internal/keeper/signals"
	"github.com/dpaccountant/accountant/internal/ledger"
)

// Lane is an open stream of one writer's requests. One goroutine may Send (or
// Reject) while another Receives; Close may be called from anywhere.
//
// After a request is answered with an error the lane drops requests, without an
// answer, until that sequence number (or a smaller one) comes again: go-back-N.
type Lane struct {
	w *writer

	// queue.mu guards these fields.
	ended     error // what Receive says in the end; nil while open
	undecided int   // requests in the queue
	bytes     int   // and their approximate bytes
	results   []LaneResult
	room      signals.Signal // there may be room to send
	ready     signals.Signal // there are results, or the lane has ended

	// Only the deciding goroutine uses these fields.
	rejected     rejection    // as answered
	tentative    rejection    // within one attempt to decide a batch
	attempt      uint64       // that attempt
	answers      []LaneResult // to be published together
	decided      int          // requests of the lane in this batch
	decidedBytes int
}

// LaneResult answers one request of a Lane.
type LaneResult struct {
	Sequence uint64
	Result
	Err      error // as of Keeper.Do, or as given to Reject
	Reserved bool  // a ledger.Reserve, whose receipt names the reservation
}

// Open opens a stream and returns the last sequence number that is committed in its lane. An older
// stream of the lane is ended: it takes no more requests, those in its queue are decided, and then the
// new stream begins. Open also waits for a unary call that is in flight. It stops waiting when ctx
// ends, or with ErrReplaced when a still newer stream is opened. The caller must Close the lane.
func (k *Keeper) Open(ctx context.Context, name string, w ledger.Writer) (*Lane, uint64, error) {
	q, err := k.acquire(ctx, name)
	if err != nil {
		return nil, 0, err
	}
	l, err := q.open(ctx, w)
	if err != nil {
		k.release(q, 1)
		return nil, 0, err
	}
	// Nothing of this writer is in flight: what is committed is all there is.
	last, _, err := k.config.Store.Writer(name, w)
	if err != nil {
		l.Close()
		return nil, 0, err
	}
	return l, last, nil
}

// open waits until the lane is free and takes it. The caller's pin on the queue becomes the stream's.
func (q *queue) open(ctx context.Context, key ledger.Writer) (*Lane, error) {
	q.mu.Lock()
	w := q.writer(key)
	w.openers++
	w.ticket++
	ticket := w.ticket
	w.freed.Wake() // older openers give up
	var l *Lane
	var err error
	for {
		if q.k.closed.Load() { // set before endStreams looks here
			err = errClosed
		} else if w.ticket != ticket {
			err = ErrReplaced
		}
		if err != nil || w.call == nil && w.stream == nil {
			break
		}
		if w.stream != nil && w.stream.end(ErrReplaced) {
			// It had nothing in the queue.
			w.stream = nil
			defer q.k.release(q, 1)
			break
		}
		freed := w.freed.Wait()
		q.mu.Unlock()
		select {
		case <-freed:
		case <-ctx.Done():
			err = ctx.Err()
		}
		q.mu.Lock()
		if err != nil {
			break
		}
	}
	w.openers--
	if err == nil {
		l = &Lane{w: w}
		w.stream = l
	}
	var old []*writer
	if o := q.cameFree(w); o != nil {
		old = append(old, o)
	}
	q.mu.Unlock()
	q.k.writers.drop(old)
	return l, err
}

// end makes the lane take no more requests. Only the first reason that is given counts. It reports
// whether the lane has no request left and therefore becomes free. Its caller holds mu.
func (l *Lane) end(reason error) bool {
	if l.ended == nil {
		l.ended = reason
		l.room.Wake()
		l.ready.Wake()
	}
	return l.undecided == 0
}

// endStreams ends all streams of a ledger and all waiting for one.
func (q *queue) endStreams(reason error) {
	var lanes []*Lane
	q.mu.Lock()
	for _, w := range q.writers {
		w.freed.Wake()
		if w.stream != nil {
			lanes = append(lanes, w.stream)
		}
	}
	q.mu.Unlock()
	for _, l := range lanes {
		l.finish(reason)
	}
}

// Send queues a request. It ignores r.Writer and uses the lane's. It waits while Config.Window requests
// are unanswered, or their answers have not been received. An error says why nothing was queued:
// ctx.Err(), ErrLate, or the error of a lane that has ended (see Receive).
func (l *Lane) Send(ctx context.Context, r ledger.Request) error {
	r.Writer = l.w.key
	if err := l.w.q.k.price(ctx, l.w.q, &r); err != nil {
		return err
	}
	return l.send(ctx, item{w: l.w, lane: l, request: r, bytes: r.Weight()})
}

// Reject queues a refusal in the place of a request that is not valid. The answer err comes in its
// order, and later requests are dropped, as after any refusal. Reject waits and fails as Send does.
func (l *Lane) Reject(ctx context.Context, sequence uint64, err error) error {
	r := ledger.Request{Writer: l.w.key, Sequence: sequence}
	if err == nil {
		return fmt.Errorf("sequence: %d rejected without an error; allowed: a reason", sequence)
	}
	return l.send(ctx, item{w: l.w, lane: l, request: r, refusal: err, bytes: r.Weight()})
}

func (l *Lane) send(ctx context.Context, it item) error {
	q := l.w.q
	q.mu.Lock()
	for {
		if l.ended != nil {
			err := l.ended
			q.mu.Unlock()
			return err
		}
		if n := l.undecided + len(l.results); n < q.k.config.Window &&
			(l.undecided == 0 || l.bytes+it.bytes <= q.k.config.WindowBytes) {
			break
		}
		room := l.room.Wait()
		q.mu.Unlock()
		select {
		case <-room:
		case <-ctx.Done():
			return ctx.Err()
		}
		q.mu.Lock()
	}
	l.undecided++
	l.bytes += it.bytes
	q.add(it)
	q.mu.Unlock()
	return nil
}

// Receive waits for answers and returns all that there are, in the order of the requests. It returns
// at least one answer or an error. The error is ctx.Err(), or, when the lane has ended and every answer
// was received, io.EOF after Close, ErrReplaced after a newer Open, and ledger.ErrUnavailable after
// Keeper.Close.
//
// The answers of one commit come together. A lane can end before its answers are received, and nothing
// leaks if the rest of them never are.
func (l *Lane) Receive(ctx context.Context) ([]LaneResult, error) {
	q := l.w.q
	q.mu.Lock()
	for {
		if results := l.results; len(results) > 0 {
			l.results = nil
			l.room.Wake()
			q.mu.Unlock()
			return results, nil
		}
		if l.ended != nil && l.undecided == 0 {
			err := l.ended
			q.mu.Unlock()
			return nil, err
		}
		ready := l.ready.Wait()
		q.mu.Unlock()
		select {
		case <-ready:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		q.mu.Lock()
	}
}

// Close ends the lane: it takes no more requests. Those in the queue are decided
// and their answers can be received. It never waits, and may be called again.
func (l *Lane) Close() { l.finish(io.EOF) }

func (l *Lane) finish(reason error) {
	q := l.w.q
	q.mu.Lock()
	free := l.end(reason) && l.w.stream == l
	var old []*writer
	if free {
		l.w.stream = nil
		if o := q.cameFree(l.w); o != nil {
			old = append(old, o)
		}
	}
	q.mu.Unlock()
	if free {
		q.k.writers.drop(old)
		q.k.release(q, 1)
	}
}

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
	l.room.Wake()
	free := l.ended != nil && l.undecided == 0
	if len(l.results) > 0 || free {
		l.ready.Wake()
	}
	if free {
		l.w.stream = nil
	}
	return free
}

// tries returns the lane's rejection within an attempt.
func (l *Lane) tries(attempt uint64) *rejection {
	if l.attempt != attempt {
		l.attempt, l.tentative = attempt, l.rejected
	}
	return &l.tentative
}

// rejection is the sequence number that a lane waits for after a refusal, or 0 if it waits for none.
type rejection uint64

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
