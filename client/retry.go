// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"math/rand/v2"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
)

// transient reports whether the daemon may answer the same request differently a little later,
// so that it should be tried again. CANCELLED counts while our own context lives, because then
// the daemon sent it while shutting down.
func transient(code codes.Code) bool {
	switch code {
	case codes.Unavailable, codes.DeadlineExceeded, codes.Aborted, codes.Canceled:
		return true
	}
	return false
}

// again reports whether an attempt that ended with err should be made again: the daemon may answer
// differently a little later, or asks to be left alone for a while.
func again(err error) bool { return transient(status.Code(err)) || limited(err) }

// limited reports whether the daemon refused an attempt because the caller asks too much at once. That
// is a RESOURCE_EXHAUSTED with a time to come back; nothing was written.
func limited(err error) bool {
	return status.Code(err) == codes.ResourceExhausted && wishOf(status.Convert(err)) > 0
}

// wroteNothing reports whether an attempt that ended with err certainly wrote
// nothing. Any other error may have followed a commit, unless it has a time to come
// back: the daemon sends that where it has not let a call in. A RESOURCE_EXHAUSTED by
// which the daemon refused something says why; any other is somebody else's on the way, who
// may also take away the answer.
func wroteNothing(err error) bool {
	if wishOf(status.Convert(err)) > 0 || settles(err) {
		return true
	}
	switch status.Code(err) {
	case codes.PermissionDenied, codes.Unauthenticated, codes.Unimplemented, codes.Aborted:
		return true
	}
	return false
}

// settles reports whether err, the answer to one attempt, also says that no
// earlier attempt with the same key wrote anything. The lane's own refusals do,
// because the lane looks for duplicates first, and so do those that depend on
// the content alone. A refusal of the caller (PERMISSION_DENIED, …) does not.
func settles(err error) bool {
	st := status.Convert(err)
	switch st.Code() {
	case codes.InvalidArgument, codes.NotFound, codes.AlreadyExists, codes.FailedPrecondition, codes.OutOfRange:
		return true
	}
	return tooLarge(st) || budgetOf(st) != nil || detailOf[*pb.SetRefusal](st) != nil
}

// pause returns how long to wait after the n-th failed attempt, counted from 1.
func (c *Client) pause(n int) time.Duration {
	d := c.cfg.BackoffMax
	if n <= 30 { // 2^30 of the least pause is beyond any BackoffMax
		d = min(d, c.cfg.BackoffMin<<(n-1))
	}
	if d <= 0 { // the shift overflowed
		d = c.cfg.BackoffMax
	}
	return d/2 + rand.N(d/2+1)
}

// longestWish bounds how long a daemon can make a client wait.
const longestWish = 30 * time.Second

// wishedPause returns how long the daemon asks the client to wait before the next attempt,
// varied at random so that many clients do not come back at once. It returns 0 if the daemon
// does not ask.
func wishedPause(err error) time.Duration {
	if wish := min(wishOf(status.Convert(err)), longestWish); wish > 0 {
		return wish + rand.N(wish/2+1)
	}
	return 0
}

// wishOf returns the time to come back in a status, 0 if there is none.
func wishOf(st *status.Status) time.Duration {
	for _, d := range st.Details() {
		if info, ok := d.(*errdetails.RetryInfo); ok {
			return max(0, info.GetRetryDelay().AsDuration())
		}
	}
	return 0
}

// sleep waits d, or less if ctx or the client ends first.
func (c *Client) sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	case <-c.alive.Done():
	}
}

// retry calls try, each time with a deadline for one attempt, until it succeeds or another
// attempt is of no use. It returns the last attempt's error unchanged, and in interrupted what
// ended the waiting: the context's error, ErrClosed, or nil if the answer itself or the bound
// on attempts ended it.
func (c *Client) retry(ctx context.Context, try func(context.Context) error) (err, interrupted error) {
	for n := 1; ; n++ {
		if err := c.ended(ctx); err != nil {
			return err, err
		}
		attempt, cancel := context.WithTimeout(c.outgoing(ctx), c.cfg.Timeout)
		used := c.token()
		err = try(attempt)
		cancel()
		if err == nil {
			c.accepted.Store(true)
			return nil, nil
		}
		more := again(err) || n != c.cfg.MaxAttempts && c.awaitToken(ctx, err, used, c.accepted.Load())
		if interrupted := c.ended(ctx); interrupted != nil && more {
			return err, interrupted
		}
		if !more || n == c.cfg.MaxAttempts {
			return err, nil
		}
		c.sleep(ctx, max(c.pause(n), wishedPause(err)))
		if interrupted := c.ended(ctx); interrupted != nil {
			return err, interrupted
		}
	}
}

// ended returns the reason why nothing more can be tried, or nil if there is none.
func (c *Client) ended(ctx context.Context) error {
	if c.alive.Err() != nil {
		return ErrClosed
	}
	return ctx.Err()
}

// read retries a call that writes nothing, or that may be repeated freely.
func (c *Client) read(ctx context.Context, op, ledger string, try func(context.Context) error) error {
	err, interrupted := c.retry(ctx, try)
	if err == nil {
		return nil
	}
	return failed(op, ledger, err, interrupted)
}

// failed makes the *Error of a call that retry ended.
func failed(op, ledger string, err, interrupted error) *Error {
	e := failure(op, ledger, err)
	if interrupted != nil {
		e.cause = interrupted
	}
	return e
}

// invalid returns the error of a request that is refused before it is sent.
func invalid(op, ledger, message string) *Error {
	return &Error{Op: op, Ledger: ledger, Code: codes.InvalidArgument, Message: message}
}
