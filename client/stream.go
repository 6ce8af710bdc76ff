// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
)

// Stream is a ledger's lane with many charges in flight. It keeps each charge until the daemon
// has acknowledged it. When the connection breaks, the daemon restarts or an acknowledgement is
// overdue, the stream connects again, asks how far the lane has come, and sends the missing
// charges with the same numbers and the same content. The caller does not notice. A Stream is
// safe for concurrent use.
//
// A stream ends for one of these reasons:
//
//   - Close was called, and all charges are written.
//   - A charge was refused. Neither it nor those behind it are written: the error lists them in
//     NotWritten, the refused one first. The caller decides what becomes of them, and may open a
//     new stream at once.
//   - The daemon does not have what it acknowledged: ErrLost. Each opening of the lane carries the
//     newest receipt that this client got for the ledger, and the daemon compares it, so a file
//     that was rolled back or edited does not pass unnoticed.
//   - The daemon ended it for a reason that time does not cure, such as a ledger that is gone or a
//     missing permission; or Config.MaxAttempts attempts made no progress; or Close's context or
//     the Client ended. The lane keeps the charges without an acknowledgement as the package comment
//     describes, and the error has Unknown set if they may be written: if a connection took some, of
//     which the daemon has not said that it wrote none. If surely none is, and time cures nothing,
//     NotWritten lists them.
//
// After that every method returns the same error.
type Stream struct {
	c    *Client
	lane *lane

	ctx    context.Context // of all connections; cancelled with the reason to stop
	cancel context.CancelCauseFunc
	opened chan struct{} // closed when the lane was first opened
	done   chan struct{} // closed when the goroutines have ended and the turn is given back
	wake   chan struct{} // tells the sender that there is something to do

	mu      sync.Mutex
	queue   []message     // not acknowledged, in order, without gaps
	first   uint64        // number of queue[0], or of the next charge if it is empty
	bytes   int           // of the queue
	waiting int           // how many of the queue have somebody wait for their receipt
	sent    int           // how many of the queue the present connection was given
	reach   uint64        // the highest number any connection was given
	live    bool          // the lane is open
	closing bool          // Close was called
	err     error         // why the stream ended, if not by Close
	changed chan struct{} // closed at the next change of the above; nil if nobody waits
	status  StreamStatus
}

// message is one message of the queue.
type message struct {
	request frozen   // the ReportStreamRequest
	receipt *receipt // of a reservation, whose position somebody needs; else nil
}

// receipt is a receipt that a caller waits for.
type receipt struct {
	done chan struct{} // closed when it is there
	*pb.Receipt
}

// StreamStatus is how far a stream has come.
type StreamStatus struct {
	Acknowledged uint64      // the last number in the lane that is known to be written
	Outstanding  int         // how many charges wait for that
	Connections  int         // how often the lane was opened: 1 until a connection broke
	Receipt      *pb.Receipt // the latest one that came; nil if none did
}

// Stream settles what is pending for the ledger and opens its lane; ctx bounds only this. It
// returns ErrStreamOpen if this client has a stream on the ledger already.
func (c *Client) Stream(ctx context.Context, ledger string) (*Stream, error) {
	l := c.lane(ledger)
	if err := l.take(ctx, c, "Stream", true); err != nil {
		return nil, err
	}
	if err := c.settle(ctx, "Stream", l); err != nil {
		l.give(true)
		return nil, notSent(err)
	}
	s := &Stream{
		c: c, lane: l,
		opened: make(chan struct{}), done: make(chan struct{}), wake: make(chan struct{}, 1),
		first: l.last + 1, reach: l.last, status: StreamStatus{Acknowledged: l.last},
	}
	s.ctx, s.cancel = context.WithCancelCause(c.outgoing(inTrace(c.alive, ctx)))
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		s.cancel(ErrClosed)
		l.give(true)
		return nil, failure("Stream", ledger, ErrClosed)
	}
	c.streams.Add(1)
	c.mu.Unlock()
	go s.run()
	select {
	case <-s.opened:
		return s, nil
	case <-s.done:
		return nil, s.err
	case <-ctx.Done():
		s.cancel(ctx.Err())
		<-s.done
		return nil, s.err
	}
}

// Report takes a charge and returns; the charge is sent to the daemon in order, behind the
// others. It waits while Config.Window messages are not acknowledged; if ctx ends meanwhile,
// the charge is not taken. Once a charge is taken its content is fixed. An error means that
// this charge was not taken and is not written.
func (s *Stream) Report(ctx context.Context, events []*pb.Event, labels map[string]string) error {
	return s.add(ctx, "Stream.Report", Write{Action: &pb.Charge{Events: events, Labels: labels}}, nil)
}

// Commit takes a charge of a part of an open reservation, as Report takes a charge.
func (s *Stream) Commit(ctx context.Context, reservation uint64, events []*pb.Event, labels map[string]string) error {
	return s.add(ctx, "Stream.Commit",
		Write{Action: &pb.Commit{Reservation: reservation, Events: events, Labels: labels}}, nil)
}

// Release gives back what is left of a reservation; it is taken as Report takes a
// charge.
func (s *Stream) Release(ctx context.Context, reservation uint64, reason string) error {
	return s.add(ctx, "Stream.Release", Write{Action: &pb.Release{Reservation: reservation, Reason: reason}}, nil)
}

// Reserve sets events aside as Client.Reserve does, in the stream's order, and waits for the
// receipt, whose position names the reservation. If ctx ends while it waits, the stream goes on
// and the reservation will be made: the error has Unknown set, and what is not committed is
// charged when the lifetime is over.
func (s *Stream) Reserve(ctx context.Context, events []*pb.Event, lifetime time.Duration,
	labels map[string]string) (*pb.Receipt, error) {
	const op = "Stream.Reserve"
	w, err := reserveOf(op, s.lane.ledger, events, lifetime, labels)
	if err != nil {
		return nil, err
	}
	r := &receipt{done: make(chan struct{})}
	if err := s.add(ctx, op, w, r); err != nil {
		return nil, err
	}
	select {
	case <-r.done:
	case <-s.done:
		select {
		case <-r.done: // both
		default:
			s.mu.Lock()
			defer s.mu.Unlock()
			return nil, s.err
		}
	case <-ctx.Done():
		e := failure(op, s.lane.ledger, ctx.Err())
		e.Unknown = true
		return nil, e
	}
	return r.Receipt, nil
}

// add takes one message into the queue.
func (s *Stream) add(ctx context.Context, op string, w Write, r *receipt) error {
	field, body := w.streamed()
	var content frozen
	var err error
	if field == fieldStreamCharge {
		content, err = freezeCharge(op, s.lane.ledger, body.(*pb.Charge))
	} else {
		content, err = freeze(op, s.lane.ledger, body)
	}
	if err != nil {
		return err
	}
	if err := checkSize(op, s.lane.ledger, len(content)+envelope); err != nil {
		return err
	}
	for {
		s.mu.Lock()
		switch {
		case s.err != nil:
			defer s.mu.Unlock()
			return s.err
		case s.closing:
			s.mu.Unlock()
			return failure(op, s.lane.ledger, fmt.Errorf("stream: %w", ErrClosed))
		case s.room(len(content)):
			m := message{freezeMessage(field, s.first+uint64(len(s.queue)), content), r}
			s.queue = append(s.queue, m)
			s.bytes += len(m.request)
			if r != nil {
				s.waiting++
			}
			s.mu.Unlock()
			s.poke()
			return nil
		}
		if err := s.wait(ctx); err != nil {
			return failure(op, s.lane.ledger, err)
		}
	}
}

func (s *Stream) room(n int) bool {
	return len(s.queue) == 0 || len(s.queue) < s.c.cfg.Window && s.bytes+n <= s.c.cfg.WindowBytes
}

// Flush waits until every charge taken so far is written, or the stream has ended. If ctx ends
// first, the stream goes on.
func (s *Stream) Flush(ctx context.Context) error {
	s.mu.Lock()
	for end := s.first + uint64(len(s.queue)); s.err == nil && s.first < end; s.mu.Lock() {
		if err := s.wait(ctx); err != nil {
			return failure("Stream.Flush", s.lane.ledger, err)
		}
	}
	defer s.mu.Unlock()
	return s.err
}

// Close waits until every charge is written, ends the stream and frees the lane. If ctx ends
// first, the outcome of charges without an acknowledgement is unknown, and the lane keeps them.
// Close returns the reason why the stream ended, or nil if everything is written.
func (s *Stream) Close(ctx context.Context) error {
	s.mu.Lock()
	s.closing = true
	s.change()
	if len(s.queue) == 0 && !s.live {
		s.cancel(nil) // nothing to wait for, perhaps in a pause between attempts
	}
	s.mu.Unlock()
	s.poke()
	select {
	case <-s.done:
	case <-ctx.Done():
		s.cancel(ctx.Err())
		<-s.done
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// Status tells how far the stream has come.
func (s *Stream) Status() StreamStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.status
	st.Acknowledged, st.Outstanding = s.first-1, len(s.queue)
	return st
}

// wait unlocks and waits for a change; the caller has the lock.
func (s *Stream) wait(ctx context.Context) error {
	if s.changed == nil {
		s.changed = make(chan struct{})
	}
	changed := s.changed
	s.mu.Unlock()
	select {
	case <-changed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// change wakes all goroutines that wait for a change; the caller has the lock.
func (s *Stream) change() {
	if s.changed != nil {
		close(s.changed)
		s.changed = nil
	}
}

// poke wakes the sender.
func (s *Stream) poke() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// awaited returns the number of the first message whose receipt a caller waits for, or a number
// above all others if there is none. The caller has the lock.
func (s *Stream) awaited() uint64 {
	if s.waiting > 0 {
		for i, q := range s.queue {
			if q.receipt != nil {
				return s.first + uint64(i)
			}
		}
	}
	return math.MaxUint64
}

// acknowledge removes everything through a number from the queue; the caller
// has the lock and has checked the number.
func (s *Stream) acknowledge(through uint64) {
	n := int(through + 1 - s.first)
	for i, q := range s.queue[:n] {
		s.bytes -= len(q.request)
		if q.receipt != nil {
			s.waiting--
		}
		s.queue[i] = message{} // the array behind the slice lives on
	}
	s.queue = s.queue[n:]
	s.first = through + 1
	s.sent = max(0, s.sent-n)
	s.change()
}

// finish records why the stream ended, leaves messages of unknown outcome in the lane, and
// gives the turn back. refused means that none of what is in the queue is written.
func (s *Stream) finish(err *Error, refused bool) {
	s.mu.Lock()
	items := make([]*item, 0, len(s.queue))
	for i, q := range s.queue {
		n := s.first + uint64(i)
		// It cannot fail: the parts were encoded before, and envelope leaves room.
		it, _ := freezeItem("Stream", s.lane.ledger, s.c.writer, n, thawMessage(q.request))
		it.maybe = n <= s.reach
		items = append(items, it)
	}
	s.lane.advance(s.first-1, 0)
	if err != nil {
		maybe := len(items) > 0 && items[0].maybe
		if refused || !maybe && settlesRest(err) {
			err.NotWritten = contents(items)
		} else if len(items) > 0 {
			err.Unknown = maybe
			s.lane.keep(items)
		}
	}
	// The lane is free before anybody learns that the stream ended.
	s.lane.give(true)
	if err != nil {
		s.err = err
	}
	s.queue, s.bytes, s.waiting = nil, 0, 0
	s.change()
	s.mu.Unlock()
	s.cancel(nil)
	close(s.done)
	s.c.streams.Done()
}
