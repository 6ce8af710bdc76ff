package client

import (
	"context"
	"fmt"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/protobuf/proto"
)

// lane is this client's lane of one ledger. Whoever holds the turn is its only
// sender and may change it; mu lets others look meanwhile.
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

// take waits for the turn. A stream keeps it for long, so others do not wait
// behind one; a second stream does not either.
func (l *lane) take(ctx context.Context, c *Client, op string, stream bool) error {
	l.mu.Lock()
	if l.streaming {
		l.mu.Unlock()
		return &Error{Op: op, Ledger: l.ledger, Code: codes.FailedPrecondition, Message: ErrStreamOpen.Error() + "; close it first", cause: ErrStreamOpen}
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

// write sends one write in the lane and returns its answer: it waits for the
// turn, settles what earlier calls left, and keeps what it leaves itself.
func (c *Client) write(ctx context.Context, op, ledger string, w Write) (proto.Message, error) {
	l := c.lane(ledger)
	if err := l.take(ctx, c, op, false); err != nil {
		return nil, err
	}
	defer l.give(false)
	if err := c.settle(ctx, op, l); err != nil {
		return nil, notSent(err)
	}
	it, answer, err := freezeItem(op, ledger, c.writer, l.last+1, w) // last changes only with the turn
	if err != nil {
		return nil, err
	}
	if err := c.send(ctx, op, l, it, answer); err != nil {
		if err.Unknown {
			l.keep([]*item{it})
		}
		return nil, err
	}
	l.advance(it.sequence, 0)
	l.newest.see(answer)
	return answer, nil
}

// send tries one item until its outcome is known or there is nothing to wait for. The
// first attempt on each connection carries the lane's newest receipt: where the daemon
// has forgotten that, it has been started anew.
func (c *Client) send(ctx context.Context, op string, l *lane, it *item, answer proto.Message) *Error {
	err, interrupted := c.retry(ctx, func(ctx context.Context) error {
		request, connection := it.request, c.connections.Load()
		if connection != l.vouched || c.conn.GetState() != connectivity.Ready {
			request = request.with(it.method, l.newest.receipt(l.ledger))
		}
		err := c.conn.Invoke(ctx, it.method, request, answer, asFrozen())
		if err == nil {
			l.vouched = connection
		}
		if err != nil && !wroteNothing(err) {
			it.maybe = true
		}
		return err
	})
	if err == nil {
		return nil
	}
	e := failed(op, l.ledger, err, interrupted)
	e.Sequence = it.sequence
	e.Unknown = it.maybe && !settles(err)
	return e
}

// settle retries what earlier calls left in the lane, in order. The caller has
// the turn.
func (c *Client) settle(ctx context.Context, op string, l *lane) *Error {
	for len(l.pending) > 0 {
		it := l.pending[0]
		_, _, answer := contentOf(it).unary("", "", 0)
		err := c.send(ctx, op, l, it, answer)
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

// settlesRest reports whether a known refusal of the first pending item means
// that it, and so all behind it, will never be written unless sent again. A
// wait that was cut short before any attempt says nothing.
func settlesRest(err *Error) bool { return !transient(err.Code) }

// notSent marks err, from settle, as the reason why a new write was not sent.
func notSent(err *Error) *Error {
	out := *err
	out.Unknown = false
	out.cause = fmt.Errorf("%w: %w", ErrNotSent, err)
	if len(err.NotWritten) > 0 {
		out.Message = "not sent, because an earlier charge of this client was refused: " + err.Message
	} else {
		out.Message = "not sent, because it is unknown whether an earlier charge of this client was written: " + err.Message
	}
	return &out
}

// keep leaves items of unknown outcome in the lane.
func (l *lane) keep(items []*item) {
	l.mu.Lock()
	l.pending = items
	l.mu.Unlock()
}

// advance notes that everything through a number is written, the first n
// pending items among it.
func (l *lane) advance(through uint64, n int) {
	l.mu.Lock()
	l.last = through
	l.pending = l.pending[n:]
	if len(l.pending) == 0 {
		l.pending = nil
	}
	l.mu.Unlock()
}

// drop forgets what is pending and returns it.
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

// Pending is one write whose outcome is not known.
type Pending struct {
	Sequence uint64 // its number in the lane
	Write
}

// Pending lists the writes on a ledger whose outcome is not known, in order.
// What an open stream still waits for is not among them.
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

// Settle retries the writes on a ledger whose outcome is not known, with the
// same numbers and the same content, until all are known to be written (nil).
// If one is refused it is not written, nor are those behind it: the error lists
// them in NotWritten and the lane forgets them. Otherwise they stay pending.
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
