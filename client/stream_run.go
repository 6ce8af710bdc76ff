// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
)

const (
	// maxDrain is how long a finished stream waits for the daemon to let go of
	// the lane, so that the lane's next call does not find it busy.
	maxDrain = time.Second
	// burst is how many charges the sender takes out of the queue at once.
	burst = 256
	// mostPatience is how many times the time-out a stream waits at most for an answer. A daemon that has too much to
	// do would otherwise get everything again and again, and have even more.
	mostPatience = 16
)

// refusal is the daemon's refusal of one charge: neither it nor those behind it are written.
type refusal struct{ why *Error }

func (r refusal) Error() string { return r.why.Error() }

// run opens the lane again and again until the stream ends.
func (s *Stream) run() {
	var last error // why the lane is not open, if it is not
	for failures, patience := 0, 1; ; {
		used := s.c.token()
		progress, overdue, err := s.serve(time.Duration(patience) * s.c.cfg.Timeout)
		patience = min(2*patience, mostPatience)
		if !overdue {
			patience = 1
		}
		var refused refusal
		switch {
		case errors.As(err, &refused):
			s.finish(refused.why, true)
			return
		case s.drained():
			s.finish(nil, false)
			return
		case s.ctx.Err() != nil:
			s.finish(s.stopped(last), false)
			return
		}
		if progress {
			failures = 0
		}
		failures++
		last = err
		if failures == s.c.cfg.MaxAttempts ||
			!again(err) && !s.c.awaitToken(s.ctx, err, used, s.Status().Connections > 0) {
			s.finish(failure("Stream", s.lane.ledger, err), false)
			return
		}
		s.c.sleep(s.ctx, max(s.c.pause(failures), wishedPause(err)))
	}
}

// drained reports whether Close was called and everything is written.
func (s *Stream) drained() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closing && len(s.queue) == 0
}

// stopped makes the error of a stream that was stopped from this side. It adds the reason why
// the lane was not open, if it was not.
func (s *Stream) stopped(last error) *Error {
	cause := context.Cause(s.ctx)
	if s.c.alive.Err() != nil {
		cause = ErrClosed
	}
	if last == nil {
		last = cause
	}
	return failed("Stream", s.lane.ledger, last, cause)
}

// connection is one opening of the lane.
type connection struct {
	*Stream
	ctx      context.Context
	abort    context.CancelCauseFunc
	wait     time.Duration // for an answer
	watchdog *time.Timer   // ends the connection when an answer is overdue
	halt     chan struct{} // closed: send nothing more
	wire     grpc.BidiStreamingClient[pb.ReportStreamRequest, pb.ReportStreamResponse]
}

// serve opens the lane once and works until the connection ends, or until no answer came for so long. progress reports
// whether the connection got anything done, so that the next attempt may follow soon.
func (s *Stream) serve(wait time.Duration) (progress, overdue bool, err error) {
	late := status.Errorf(codes.DeadlineExceeded, "the daemon did not answer on the stream within %v", wait)
	c := &connection{Stream: s, wait: wait, halt: make(chan struct{})}
	c.ctx, c.abort = context.WithCancelCause(s.ctx)
	defer c.abort(nil)
	c.watchdog = time.AfterFunc(wait, func() { c.abort(late) })
	defer c.watchdog.Stop()

	reach := s.reach // which only an open connection changes
	before, err := c.open()
	if err == nil {
		err = c.exchange()
		s.mu.Lock()
		s.live = false
		progress = s.first > before || len(s.queue) == 0
		if wroteNothing(err) { // what the daemon took of this connection before, it has acknowledged
			s.reach = max(reach, s.first-1)
		}
		s.mu.Unlock()
	}
	if context.Cause(c.ctx) == late && !errors.As(err, new(refusal)) {
		return progress, true, late
	}
	return progress, false, err
}

// open opens the lane and processes how far it has come. It returns the first number that was
// not acknowledged before.
func (c *connection) open() (before uint64, err error) {
	if c.wire, err = c.c.api.ReportStream(c.ctx, asFrozen()); err != nil {
		return 0, err
	}
	err = c.wire.Send(&pb.ReportStreamRequest{Message: &pb.ReportStreamRequest_Open_{
		Open: &pb.ReportStreamRequest_Open{Ledger: c.lane.ledger, Writer: c.c.writer,
			LastReceipt: c.lane.newest.receipt()},
	}})
	if err != nil && err != io.EOF { // at io.EOF Recv has the reason
		return 0, err
	}
	answer, err := c.wire.Recv()
	switch {
	case err != nil:
		return 0, ended(err)
	case answer.GetOpened() == nil:
		return 0, status.Errorf(codes.Internal, "first answer on the stream: %T; allowed: opened", answer.GetMessage())
	}
	return c.resume(answer.GetOpened().GetLastSequence())
}

// ended makes a status of the error that ended a stream. A daemon ends a stream without an
// error when it shuts down, or when the lane was opened again.
func ended(err error) error {
	if err == io.EOF {
		return status.Error(codes.Unavailable, "the daemon ended the stream")
	}
	return err
}

// resume processes the last number that the daemon has in this lane: everything up to it is
// written, and everything behind it will be sent on this connection.
func (c *connection) resume(last uint64) (before uint64, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before = c.first
	switch {
	case last < c.first-1:
		e := &Error{Op: "Stream", Ledger: c.lane.ledger, Code: codes.DataLoss, Sequence: c.first, cause: ErrLost}
		e.Message = fmt.Sprintf("%v: this writer's last number there is %d, acknowledged were %d",
			ErrLost, last, c.first-1)
		return 0, refusal{e}
	case last > c.reach:
		return 0, status.Errorf(codes.Internal,
			"last number of this writer: %d; allowed: at most %d, the last that was sent", last, c.reach)
	}
	c.sent = 0
	// A reservation whose receipt is waited for is sent again, with all behind it:
	// the daemon answers with the first receipts.
	if through := min(last, c.awaited()-1); through >= c.first {
		c.acknowledge(through)
	}
	c.live = true
	c.watchdog.Stop()
	if c.status.Connections++; c.status.Connections == 1 {
		close(c.opened)
	}
	return before, nil
}

// exchange sends and receives until the connection ends, and leaves no
// goroutine behind.
func (c *connection) exchange() error {
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		c.sendAll()
	}()
	err := c.receiveAll()
	if errors.As(err, new(refusal)) {
		// Let the daemon end the lane in peace: it drops what is behind the
		// refused charge, and no charge with that number will come.
		close(c.halt)
		c.watchdog.Reset(min(maxDrain, c.wait))
		for more := error(nil); more == nil; {
			_, more = c.wire.Recv()
		}
	}
	c.abort(nil)
	<-sent
	return err
}

// sendAll sends the queue as it fills, until no more messages will come.
func (c *connection) sendAll() {
	for batch := make([]frozen, 0, burst); ; {
		var end bool
		if batch, end = c.next(batch[:0]); end {
			_ = c.wire.CloseSend() // never fails
			return
		}
		for _, request := range batch {
			if c.wire.SendMsg(request) != nil {
				return // Recv has the reason
			}
		}
		if len(batch) > 0 {
			continue
		}
		select {
		case <-c.wake:
		case <-c.halt:
		case <-c.ctx.Done():
			return
		}
	}
}

// next takes the messages that are to be sent now. end reports that no more will come.
func (c *connection) next(batch []frozen) (_ []frozen, end bool) {
	select {
	case <-c.halt:
		return nil, true
	default:
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, q := range c.queue[c.sent:min(len(c.queue), c.sent+burst)] {
		batch = append(batch, q.request)
	}
	if len(batch) > 0 && c.sent == 0 {
		c.watchdog.Reset(c.wait)
	}
	c.sent += len(batch)
	c.reach = max(c.reach, c.first+uint64(c.sent)-1)
	end = len(batch) == 0 && c.closing
	if end && c.sent == 0 {
		c.watchdog.Reset(min(maxDrain, c.wait))
	}
	return batch, end
}

// receiveAll processes answers until the connection ends.
func (c *connection) receiveAll() error {
	for {
		answer, err := c.wire.Recv()
		if err != nil {
			return ended(err)
		}
		switch m := answer.GetMessage().(type) {
		case *pb.ReportStreamResponse_Acknowledged_:
			err = c.acknowledged(m.Acknowledged)
		case *pb.ReportStreamResponse_Rejected_:
			err = c.rejected(m.Rejected)
		default:
			err = status.Errorf(codes.Internal, "answer on the stream: %T; allowed: acknowledged or rejected", m)
		}
		if err != nil {
			return err
		}
	}
}

func (c *connection) acknowledged(a *pb.ReportStreamResponse_Acknowledged) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	through, reach := a.GetThrough(), c.first+uint64(c.sent)-1
	switch {
	case through > reach:
		return status.Errorf(codes.Internal,
			"acknowledged: %d; allowed: at most %d, the last that was sent", through, reach)
	case through < c.first:
		return nil // known before
	case through > c.awaited():
		return status.Errorf(codes.Internal,
			"acknowledged: %d; allowed: at most %d, a reservation whose receipt is due", through, c.awaited())
	}
	if r := c.queue[through-c.first].receipt; r != nil {
		r.Receipt = a.GetReceipt()
		close(r.done)
	}
	c.acknowledge(through)
	c.status.Receipt = a.GetReceipt()
	c.lane.newest.see(a)
	switch {
	case c.sent > 0:
		c.watchdog.Reset(c.wait)
	case c.closing && len(c.queue) == 0:
		c.watchdog.Reset(min(maxDrain, c.wait))
	default:
		c.watchdog.Stop()
	}
	return nil
}

func (c *connection) rejected(r *pb.ReportStreamResponse_Rejected) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	reach := c.first + uint64(c.sent) - 1
	if r.GetSequence() < c.first || r.GetSequence() > reach || r.GetCode() == 0 {
		return status.Errorf(codes.Internal, "rejected: %d with code %d; allowed: from %d to %d, with an error's code",
			r.GetSequence(), r.GetCode(), c.first, reach)
	}
	err := withDetails(status.New(codes.Code(r.GetCode()), r.GetDetail()), r.GetBudgetExceeded()).Err()
	switch {
	case transient(status.Code(err)) || !wroteNothing(err):
		return err
	case r.GetSequence() > c.first:
		// What is before it was not acknowledged, though answers come in order.
		// Opening the lane again tells; then the charge is refused again.
		return status.Errorf(codes.Unavailable, "rejected: %d; acknowledged: %d", r.GetSequence(), c.first-1)
	}
	e := failure("Stream", c.lane.ledger, err)
	e.Sequence = r.GetSequence()
	return refusal{e}
}
