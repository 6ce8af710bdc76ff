package client

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
)

var (
	// ErrStreamOpen: the ledger has an open stream; report through it, or close it.
	ErrStreamOpen = errors.New("the ledger has an open stream")
	// ErrClosed: the client or the stream was closed.
	ErrClosed = errors.New("closed")
	// ErrTooLarge: a charge is over the transport's message size. It was not
	// written. (A refusal for lack of budget is RESOURCE_EXHAUSTED without this.)
	ErrTooLarge = errors.New("message too large")
	// ErrNotSent: an earlier charge of the lane is not settled, or was refused
	// when it was settled (then NotCharged lists it); this call sent nothing.
	ErrNotSent = errors.New("not sent because of an earlier charge")
	// ErrLost: the daemon no longer has what it acknowledged, as after the
	// restore of an old backup.
	ErrLost = errors.New("the daemon lost acknowledged charges")
)

// Error is what a call ended with; every error of this package is one. It wraps
// one of the package's sentinels or a context's error where that was the cause,
// and google.golang.org/grpc/status.Code reads its code.
type Error struct {
	Op      string     // the method, such as "Report"
	Ledger  string     // empty where no ledger was named
	Code    codes.Code // the last answer's, or what fits best
	Message string     // what was wrong, the value, and what is allowed
	// Sequence is the number in the lane of the charge it is about; 0 if of none.
	Sequence uint64
	// Unknown: charges of this call may or may not be written. The lane keeps
	// them: see Client.Pending and Client.Settle. False: they are not written.
	Unknown bool
	// NotCharged lists charges that were taken before, by Stream.Report or by a
	// call that ended with Unknown, and are now known not to be written: the
	// refused one first, then those behind it, in order. A refused close is an
	// entry with no events.
	NotCharged []*pb.Charge
	cause      error
}

// Error is one line.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Op)
	if e.Ledger != "" {
		fmt.Fprintf(&b, " %s", e.Ledger)
	}
	fmt.Fprintf(&b, ": %s (%s)", e.Message, e.Code)
	if e.Unknown {
		b.WriteString("; it is unknown whether this was written")
	}
	return b.String()
}

// Unwrap returns the sentinel or the context's error that was the cause, if any.
func (e *Error) Unwrap() error { return e.cause }

// GRPCStatus lets package status read the code.
func (e *Error) GRPCStatus() *status.Status { return status.New(e.Code, e.Message) }

// failure makes an *Error of what a call returned.
func failure(op, ledger string, err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	out := &Error{Op: op, Ledger: ledger}
	st, ok := status.FromError(err)
	switch {
	case ok:
		out.Code, out.Message = st.Code(), st.Message()
		if tooLarge(st) {
			out.cause = ErrTooLarge
		}
	case errors.Is(err, context.DeadlineExceeded):
		out.Code, out.Message, out.cause = codes.DeadlineExceeded, err.Error(), err
	case errors.Is(err, context.Canceled), errors.Is(err, ErrClosed):
		out.Code, out.Message, out.cause = codes.Canceled, err.Error(), err
	default:
		out.Code, out.Message, out.cause = codes.Unknown, err.Error(), err
	}
	return out
}

// tooLarge reports whether a transport refused a message for its size. gRPC has
// no code of its own for that; both of its messages have these words.
func tooLarge(st *status.Status) bool {
	return st.Code() == codes.ResourceExhausted && strings.Contains(st.Message(), "larger than max")
}
