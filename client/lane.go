// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"fmt"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/peer"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
)

// lane is this client's lane in one ledger, or that of all its writes to several. Only the
// goroutine that holds the turn may send in it and change it; mu lets other goroutines read it
// meanwhile.
type lane struct {
	ledger string
	turn   chan struct{} // holds a token while nobody has the turn; waiters queue in order

	mu        sync.Mutex
	streaming bool    // a stream has the turn or waits for it
	last      uint64  // the last number known to be written
	pending   []*item // of unknown outcome: numbers last+1, last+2, …

	newest  witness
	vouched uint64 // the connection on which an answer came last; of who has the turn
}

// item is one write with its number, frozen.
type item struct {
	sequence uint64
	method   string
	request  frozen
	maybe    bool // an attempt may have written it
}

func (c *Client) lane(ledger string) *lane {
	ledger = laneName(ledger)
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.lanes[ledger]
	if l == nil {
		l = &lane{ledger: ledger, turn: make(chan struct{}, 1)}
		l.turn <- struct{}{}
		c.lanes[ledger] = l
	}
	return l
}

// take waits for the turn. A stream holds the turn for a long time, so no call waits for a
// stream: it gets ErrStreamOpen instead, and so does a second stream.
func (l *lane) take(ctx context.Context, c *Client, op string, stream bool) error {
	l.mu.Lock()
	if l.streaming {
		l.mu.Unlock()
		return &Error{Op: op, Ledger: l.ledger, Code: codes.FailedPrecondition,
			Message: ErrStreamOpen.Error() + "; close it first", cause: ErrStreamOpen}
	}
	l.streaming = stream
	l.mu.Unlock()
	err := c.ended(ctx)
	if err == nil {
		select {
		case <-l.turn:
			return nil
		case <-ctx.Done():
			err = ctx.Err()
		case <-c.alive.Done():
			err = ErrClosed
		}
	}
	if stream {
		l.mu.Lock()
		l.streaming = false
		l.mu.Unlock()
	}
	return failure(op, l.ledger, err)
}

// give ends the turn.
func (l *lane) give(stream bool) {
	if stream {
		l.mu.Lock()
		l.streaming = false
		l.mu.Unlock()
	}
	l.turn <- struct{}{}
}

// write sends one write in the lane and returns its answer. It waits for the turn, first
// settles what earlier calls left pending, and keeps its own write pending if the outcome is
// unknown.
func (c *Client) write(ctx context.Context, op, ledger string, w Write) (*pb.WriteResponse, error) {
	l := c.lane(ledger)
	if err := l.take(ctx, c, op, false); err != nil {
		return nil, err
	}
	defer l.give(false)
	if err := c.settle(ctx, op, l); err != nil {
		return nil, notSent(err)
	}
	it, err := freezeItem(op, ledger, c.writer, l.last+1, w) // last changes only with the turn
	if err != nil {
		return nil, err
	}
	answer, failed := c.send(ctx, op, l, it)
	if failed != nil {
		if failed.Unknown {
			l.keep([]*item{it})
		}
		return nil, failed
	}
	l.advance(it.sequence, 0)
	l.newest.see(answer)
	return answer, nil
}

// send tries one item until its outcome is known or waiting is of no use. The first attempt on
// each connection carries the lane's newest receipt; a daemon that has forgotten the entry of
// that receipt has lost data.
func (c *Client) send(ctx context.Context, op string, l *lane, it *item) (*pb.WriteResponse, *Error) {
	answer := new(pb.WriteResponse)
	err, interrupted := c.retry(ctx, func(ctx context.Context) error {
		request, connection := it.request, c.connections.Load()
		if connection != l.vouched || c.conn.GetState() != connectivity.Ready {
			request = request.with(l.newest.receipt())
		}
		var to peer.Peer // has no address if there was no connection, and so nothing was sent
		err := c.conn.Invoke(ctx, it.method, request, answer, asFrozen(), grpc.Peer(&to))
		if err == nil {
			l.vouched = connection
		}
		if err != nil && to.Addr != nil && !wroteNothing(err) {
			it.maybe = true
		}
		return err
	})
	if err == nil {
		return answer, nil
	}
	e := failed(op, l.ledger, err, interrupted)
	e.Sequence = it.sequence
	e.Unknown = it.maybe && !settles(err)
	return nil, e
}

// settle retries, in order, the writes that earlier calls left pending in the lane. The caller
// has the turn.
func (c *Client) settle(ctx context.Context, op string, l *lane) *Error {
	for len(l.pending) > 0 {
		it := l.pending[0]
		answer, err := c.send(ctx, op, l, it)
		switch {
		case err == nil:
			l.advance(it.sequence, 1)
			l.newest.see(answer)
		case err.Unknown || !settlesRest(err):
			return err
		default: // refused: those behind it have numbers that now never come
			err.NotWritten = l.drop()
			return err
		}
	}
	return nil
}

// settlesRest reports whether a known refusal of the first pending item means that neither this
// item nor those behind it will ever be written unless they are sent again. A wait that was cut
// short before any attempt means nothing.
func settlesRest(err *Error) bool { return !transient(err.Code) && err.RetryAfter == 0 }

// notSent returns the error of a new write that was not sent because settle ended with err.
func notSent(err *Error) *Error {
	out := *err
	out.Unknown = false
	out.cause = fmt.Errorf("%w: %w", ErrNotSent, err)
	if len(err.NotWritten) > 0 {
		out.Message = "not sent, because an earlier charge of this client was refused: " + err.Message
	} else {
		out.Message = "not sent, because it is unknown whether an earlier charge of this client was written: " +
			err.Message
	}
	return &out
}

// keep adds items whose outcome is unknown to the lane's pending items.
func (l *lane) keep(items []*item) {
	l.mu.Lock()
	l.pending = items
	l.mu.Unlock()
}

// advance records that everything up to and including the number through is written, the first
// n pending items among it.
func (l *lane) advance(through uint64, n int) {
	l.mu.Lock()
	l.last = through
	l.pending = l.pending[n:]
	if len(l.pending) == 0 {
		l.pending = nil
	}
	l.mu.Unlock()
}

// drop removes the pending items from the lane and returns them.
func (l *lane) drop() []Write {
	l.mu.Lock()
	items := l.pending
	l.pending = nil
	l.mu.Unlock()
	return contents(items)
}

func contents(items []*item) []Write {
	out := make([]Write, len(items))
	for i, it := range items {
		out[i] = contentOf(it)
	}
	return out
}

// Pending is one write that a lane keeps: its outcome is unknown, or it waits behind such a one or for the daemon.
type Pending struct {
	Sequence uint64 // its number in the lane
	Write
}

// Pending lists the writes to a ledger that are kept until they are known to be written, in order. Charges that an
// open stream still waits for are not among them.
func (c *Client) Pending(ledger string) []Pending {
	l := c.lane(ledger)
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []Pending
	for _, it := range l.pending {
		out = append(out, Pending{it.sequence, contentOf(it)})
	}
	return out
}

// Settle retries the writes to a ledger whose outcome is unknown, with the same numbers and the
// same content, until all are known to be written; then it returns nil. If one is refused,
// neither it nor those behind it are written: the error lists them in NotWritten, and the lane
// forgets them. If it ends for another reason, they stay pending.
func (c *Client) Settle(ctx context.Context, ledger string) error {
	l := c.lane(ledger)
	if err := l.take(ctx, c, "Settle", false); err != nil {
		return err
	}
	defer l.give(false)
	if err := c.settle(ctx, "Settle", l); err != nil {
		return err
	}
	return nil
}
