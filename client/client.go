// SPDX-License-Identifier: Apache-2.0

// Package client reports differentially private releases to accountantd and
// asks it what they cost.
//
//	c, err := client.New(client.Config{})
//	…
//	defer c.Close()
//	s, err := c.Stream(ctx, "mnist")
//	for … {
//		err := s.Report(ctx, []*accountantv1.Event{client.Event(step, 1)}, nil)
//		…
//	}
//	err = s.Close(ctx)
//
// # One client, one writer
//
// A Client is one writer: a random UUID made by New, never configured and never
// stored. Two releases that look alike are told apart by their writer and their
// number, so a new process must be a new writer: were the UUID restored from a
// checkpoint, a second release could pass as a retry of the first and go
// uncharged. Each ledger has a lane of its own in the Client, numbered 1, 2, 3 …
// A lane has one sender at a time: calls from several goroutines wait for each
// other in the order in which they came, and while a [Stream] is open on a
// ledger its other writes end with [ErrStreamOpen].
//
// # Every call is a release
//
// Two calls of Report with equal content are two charges. So do not repeat a
// call to retry it: the Client retries by itself, with the same number and the
// same bytes, and the daemon answers a number it has already written with the
// first receipt.
//
// Retried, with exponential backoff and jitter, until the context ends or
// Config.MaxAttempts is reached: UNAVAILABLE, DEADLINE_EXCEEDED of an attempt,
// CANCELLED by the daemon, ABORTED (the lane is busy with an earlier attempt).
// Returned at once: everything else, a refusal by budgets ([ErrBudget]) too.
//
// # Unknown outcomes
//
// If the daemon refused, nothing was written and the number is free for new
// content. If the calls' last word was no answer at all, the charge may or may
// not be written: the error has Unknown set and the lane keeps the charge,
// frozen. The next write on that ledger first settles it, that is, retries it
// until its outcome is known; only then is new content sent. [Client.Settle] does
// only that, [Client.Pending] lists what is kept. If it cannot be settled, or if
// it was refused after all, the next write is not sent and says so with
// [ErrNotSent]. Thus nothing is charged twice and nothing is dropped in silence.
// What is kept dies with the Client: a process that gives up on an unknown
// outcome should count it as charged.
package client

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/google/uuid"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"

	"github.com/dpaccountant/accountant/internal/api"
)

// Client talks to one daemon as one writer. It is safe for concurrent use.
type Client struct {
	cfg    Config
	writer string
	conn   *grpc.ClientConn
	api    api.Client

	alive context.Context // ends with Close
	kill  context.CancelFunc

	disconnect  func() error   // ends the connection if it is this client's own
	connections *atomic.Uint64 // made so far, one after the other
	accepted    atomic.Bool    // a call has succeeded

	mu      sync.Mutex
	closed  bool
	lanes   map[string]*lane // by ledger, never removed: they hold the numbers
	streams sync.WaitGroup
}

// principalKey is the metadata key of Config.Principal.
const principalKey = "accountant-principal"

// New makes a client and its writer's UUID. It does not connect: the first call
// does. It refuses a configuration that cannot work, with an *Error of code
// INVALID_ARGUMENT.
func New(cfg Config) (*Client, error) {
	connections := new(atomic.Uint64)
	cfg, options, err := cfg.resolve(connections)
	if err != nil {
		return nil, &Error{Op: "New", Code: codes.InvalidArgument, Message: err.Error(), cause: err}
	}
	conn, err := grpc.NewClient(cfg.Server, options...)
	if err != nil {
		return nil, &Error{Op: "New", Code: codes.InvalidArgument, Message: err.Error(), cause: err}
	}
	return newClient("New", cfg, conn, connections, conn.Close)
}

// NewWriter makes another writer, with its own UUID and lanes, that shares c's settings and
// connection. Closing it leaves the connection open; close c last.
func (c *Client) NewWriter() (*Client, error) {
	return newClient("NewWriter", c.cfg, c.conn, c.connections, func() error { return nil })
}

func newClient(op string, cfg Config, conn *grpc.ClientConn, connections *atomic.Uint64,
	disconnect func() error) (*Client, error) {
	writer, err := uuid.NewRandom()
	if err != nil {
		return nil, &Error{Op: op, Code: codes.Internal, Message: err.Error(), cause: err}
	}
	alive, kill := context.WithCancel(context.Background())
	return &Client{
		cfg: cfg, writer: writer.String(), conn: conn, connections: connections, disconnect: disconnect,
		api:   api.NewClient(conn),
		alive: alive, kill: kill, lanes: map[string]*lane{},
	}, nil
}

// Writer returns the UUID under which this client's charges are written.
func (c *Client) Writer() string { return c.writer }

// Close ends the connection (see NewWriter) and every stream that is still open; close streams
// first to wait for their charges. Calls in flight end with ErrClosed.
func (c *Client) Close() error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.kill()
	c.streams.Wait()
	return c.disconnect()
}

// outgoing adds the principal and the caller's trace to a call's metadata.
func (c *Client) outgoing(ctx context.Context) context.Context {
	ctx = withTrace(ctx)
	if c.cfg.Principal == "" {
		return ctx
	}
	return metadata.AppendToOutgoingContext(ctx, principalKey, c.cfg.Principal)
}
