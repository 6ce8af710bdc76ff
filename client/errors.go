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
	// ErrBudget: budgets or the plan do not allow it: see Error.Budget. It was not
	// written, and nothing is used up. (The transport's own RESOURCE_EXHAUSTED, as
	// for a message that is too large, is without this.)
	ErrBudget = errors.New("budget exceeded")
	// ErrTooLarge: a charge is over the transport's message size. It was not
	// written.
	ErrTooLarge = errors.New("message too large")
	// ErrNotSent: an earlier charge of the lane is not settled, or was refused
	// when it was settled (then NotCharged lists it); this call sent nothing.
	ErrNotSent = errors.New("not sent because of an earlier charge")
	// ErrLost: the daemon no longer has what it acknowledged, or has it changed or
	// unreadable (DATA_LOSS): its file was rolled back, edited or damaged, or is
	// another store, such as a restored backup. Trying again does not help. Count
	// what was acknowledged as charged; somebody has to look at the daemon.
	ErrLost = errors.New("the daemon does not have what it acknowledged")
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
	// NotWritten lists what was taken before, by a Stream or by a call that ended
	// with Unknown, and is now known not to be written: the refused one first, then
	// those behind it, in order.
	NotWritten []Write
	// Budget says what budgets or the plan lack, and what would still fit; only
	// with ErrBudget.
	Budget *pb.BudgetExceeded
	cause  error
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

// GRPCStatus lets package status read the code, and the detail of an ErrBudget.
func (e *Error) GRPCStatus() *status.Status {
	return withBudget(status.New(e.Code, e.Message), e.Budget)
}

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
		if out.Budget = budgetOf(st); out.Budget != nil {
			out.cause = ErrBudget
		} else if tooLarge(st) {
			out.cause = ErrTooLarge
		} else if st.Code() == codes.DataLoss {
			out.Message, out.cause = fmt.Sprintf("%v: %s", ErrLost, st.Message()), ErrLost
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

// budgetOf is the detail by which a refusal for lack of budget is told from the
// transport's RESOURCE_EXHAUSTED; nil without it.
func budgetOf(st *status.Status) *pb.BudgetExceeded {
	if st.Code() != codes.ResourceExhausted {
		return nil
	}
	for _, d := range st.Details() {
		if b, ok := d.(*pb.BudgetExceeded); ok {
			return b
		}
	}
	return nil
}

// withBudget adds that detail, if there is one.
func withBudget(st *status.Status, b *pb.BudgetExceeded) *status.Status {
	if b == nil {
		return st
	}
	detailed, err := st.WithDetails(b)
	if err != nil { // not encodable
		return st
	}
	return detailed
}
