// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"errors"
	"io"
	"iter"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
)

// Watch yields a ledger's state with its balances: first the present one, then the newest after
// each change. Changes in quick succession come as one. When the connection breaks it connects
// again, as calls are retried. It ends after the last state of a ledger that is closed, or else
// with an error.
func (c *Client) Watch(ctx context.Context, ledger string) iter.Seq2[*pb.Ledger, error] {
	return func(yield func(*pb.Ledger, error) bool) {
		var last *pb.Ledger
		for failures := 0; ; {
			used := c.token()
			progress, more, err := c.watch(ctx, ledger, &last, yield)
			if !more {
				return
			}
			if progress {
				failures = 0
			}
			failures++
			interrupted := c.ended(ctx)
			if interrupted == nil && failures != c.cfg.MaxAttempts &&
				(again(err) || c.awaitToken(ctx, err, used, last != nil)) {
				c.sleep(ctx, max(c.pause(failures), wishedPause(err)))
				interrupted = c.ended(ctx)
			} else if interrupted == nil {
				yield(nil, failed("Watch", ledger, err, nil))
				return
			}
			if interrupted != nil {
				yield(nil, failed("Watch", ledger, interrupted, interrupted))
				return
			}
		}
	}
}

// watch serves one connection: it yields states that are newer than last. If the connection did
// not end as it should, more is true and err says why.
func (c *Client) watch(ctx context.Context, ledger string, last **pb.Ledger,
	yield func(*pb.Ledger, error) bool) (progress, more bool, err error) {
	ctx, cancel := context.WithCancel(c.outgoing(ctx))
	defer cancel()
	defer context.AfterFunc(c.alive, cancel)()
	stream, err := c.api.WatchLedger(ctx, &pb.WatchLedgerRequest{Name: ledger})
	if err != nil {
		return false, true, err
	}
	for {
		answer, err := stream.Recv()
		switch {
		case errors.Is(err, io.EOF) && (*last).GetClosed():
			return progress, false, nil
		case errors.Is(err, io.EOF):
			return progress, true, status.Error(codes.Unavailable, "the daemon ended the stream")
		case err != nil:
			return progress, true, err
		}
		l := answer.GetLedger()
		progress = true
		if *last != nil && l.GetPosition() == (*last).GetPosition() { // after a new connection
			continue
		}
		*last = l
		if !yield(l, nil) {
			return true, false, nil
		}
	}
}

// Statement returns what a model card needs to say about a ledger's privacy: ε at each of the
// given deltas, or at the daemon's default ones if none are given.
func (c *Client) Statement(ctx context.Context, ledger string, deltas ...float64) (*pb.Statement, error) {
	answer, err := ask[*pb.GetStatementResponse](ctx, c, "Statement", ledger,
		&pb.GetStatementRequest{Name: ledger, Deltas: deltas})
	return answer.GetStatement(), err
}
