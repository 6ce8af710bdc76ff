// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"context"
	"fmt"
	"io"

	"github.com/dpaccountant/accountant/internal/ledger"
)

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
	w.freed.wake() // older openers give up
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
			w.endStream()
			defer q.k.release(q, 1)
			break
		}
		freed := w.freed.wait()
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
		q.k.lanes.Add(1)
	}
	old := q.cameFree(w)
	q.mu.Unlock()
	q.k.writers.drop(old)
	return l, err
}

// end makes the lane take no more requests. Only the first reason that is given counts. It reports
// whether the lane has no request left and therefore becomes free. Its caller holds mu.
func (l *Lane) end(reason error) bool {
	if l.ended == nil {
		l.ended = reason
		l.room.wake()
		l.ready.wake()
	}
	return l.undecided == 0
}

// endStreams ends all streams of a ledger and all waiting for one.
func (q *queue) endStreams(reason error) {
	var lanes []*Lane
	q.mu.Lock()
	for _, w := range q.writers {
		w.freed.wake()
		if w.stream != nil {
			lanes = append(lanes, w.stream)
		}
	}
	q.mu.Unlock()
	for _, l := range lanes {
		l.finish(reason)
	}
}

// endStream is called when the writer's stream has ended and has nothing in the queue.
func (w *writer) endStream() {
	w.stream = nil
	w.q.k.lanes.Add(-1)
}

// Send queues a request. It ignores r.Writer and uses the lane's. It waits while Config.Window requests
// are unanswered, or their answers have not been received, and while all streams together have too much in
// their queues and this one has its share of that. An error says why nothing was queued:
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

// Admit waits for room for a large request, before it is decoded: of those that are admitted and not yet decided all
// streams together have at most Config.LaneBytes. They come in turn, but only once there is nothing that this stream's
// client has to read first. The next Send or Reject takes the room over; Withdraw gives it back.
func (l *Lane) Admit(ctx context.Context, bytes int) error {
	if err := l.await(ctx, l.read); err != nil {
		return err
	}
	l.w.q.mu.Unlock()
	bytes = min(bytes, l.w.q.k.config.LaneBytes)
	if err := l.w.q.k.large.Acquire(ctx, int64(bytes)); err != nil {
		return err
	}
	l.admitted = bytes
	return nil
}

// Withdraw gives back what was admitted and never sent. It is for whoever sends, at the end.
func (l *Lane) Withdraw() {
	l.w.q.k.large.Release(int64(l.admitted))
	l.admitted = 0
}

// await waits until the lane is ready for its sender and returns with mu held, or returns an error.
func (l *Lane) await(ctx context.Context, ready func() bool) error {
	q := l.w.q
	q.mu.Lock()
	for {
		if l.ended != nil {
			err := l.ended
			q.mu.Unlock()
			return err
		}
		if ready() {
			return nil
		}
		room := l.room.wait()
		q.mu.Unlock()
		select {
		case <-room:
		case <-ctx.Done():
			return ctx.Err()
		}
		q.mu.Lock()
	}
}

func (l *Lane) send(ctx context.Context, it item) error {
	if err := l.await(ctx, func() bool { return l.fits(it.bytes) }); err != nil {
		return err
	}
	q := l.w.q
	it.admitted, l.admitted = l.admitted, 0
	l.undecided++
	l.bytes += it.bytes
	q.k.laneBytes.Add(int64(it.bytes))
	q.add(it)
	q.mu.Unlock()
	return nil
}

// fits reports whether the lane may queue another request. One is always allowed, so every lane gets on with each
// batch of its ledger, however many others there are. Its caller holds mu.
func (l *Lane) fits(bytes int) bool {
	k, own := l.w.q.k, l.bytes+bytes
	if !l.read() {
		return false
	}
	all, share := int(k.laneBytes.Load())+bytes, k.config.LaneBytes/max(1, int(k.lanes.Load()))
	return l.undecided == 0 || own <= k.config.WindowBytes && (all <= k.config.LaneBytes || own <= share)
}

// read reports whether few enough answers are due and not yet received. Its caller holds mu.
func (l *Lane) read() bool { return l.undecided+len(l.results) < l.w.q.k.config.Window }

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
			l.room.wake()
			q.mu.Unlock()
			return results, nil
		}
		if l.ended != nil && l.undecided == 0 {
			err := l.ended
			q.mu.Unlock()
			return nil, err
		}
		ready := l.ready.wait()
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
	var old *writer
	if free {
		l.w.endStream()
		old = q.cameFree(l.w)
	}
	q.mu.Unlock()
	if free {
		q.k.writers.drop(old)
		q.k.release(q, 1)
	}
}
