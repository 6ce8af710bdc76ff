// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/protoadapt"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
)

var (
	// ErrStreamOpen means that the ledger has an open stream. Report through the stream,
	// or close it first.
	ErrStreamOpen = errors.New("the ledger has an open stream")
	// ErrClosed means that the client or the stream was closed before this call.
	ErrClosed = errors.New("closed")
	// ErrBudget means that a budget or the plan does not allow the charge; Error.Budget, or
	// Error.Refusal of several ledgers, says what is missing. The charge was not written and
	// nothing is used up. The transport's own RESOURCE_EXHAUSTED, for example for a message that
	// is too large, is not an ErrBudget.
	ErrBudget = errors.New("budget exceeded")
	// ErrTooLarge means that the charge exceeds the transport's message size. It was not
	// written.
	ErrTooLarge = errors.New("message too large")
	// ErrNotSent means that this call sent nothing, because an earlier charge of the lane is
	// not settled yet, or was refused when it was settled. In the second case
	// Error.NotWritten lists that charge and those behind it.
	ErrNotSent = errors.New("not sent because of an earlier charge")
	// ErrLost means that the daemon no longer has what it acknowledged, or has it changed or
	// unreadable (DATA_LOSS): its file was rolled back, edited or damaged, or it is another
	// store, such as a restored backup. Trying again does not help. Count what was
	// acknowledged as charged; somebody has to look at the daemon.
	ErrLost = errors.New("the daemon does not have what it acknowledged")
)

// Error describes how a call failed; every error of this package is an *Error. It wraps one of
// the sentinels above, or a context's error, where that was the cause, and
// google.golang.org/grpc/status.Code reads its code.
type Error struct {
	Op      string     // the method, such as "Report"
	Ledger  string     // the ledger's name; empty if the call named none
	Code    codes.Code // the code of the last answer, or the one that fits best if there was none
	Message string     // what was wrong, the value, and what is allowed
	// Sequence is the number, within its lane, of the charge that failed; 0 if the error is
	// not about one charge.
	Sequence uint64
	// Unknown is true if charges of this call may have been written. The lane keeps them:
	// see Client.Pending and Client.Settle. If it is false, none of them is written.
	Unknown bool
	// NotWritten lists charges that a Stream, or a call that ended with Unknown, accepted
	// earlier, and that are now known not to be written. The refused one is first; those
	// behind it follow in order.
	NotWritten []Write
	// Budget says what the budgets or the plan lack, and what would still fit. It is set
	// only with ErrBudget.
	Budget *pb.BudgetExceeded
	// Refusal names the ledgers of a set that have refused a write, with what each lacks, and says
	// what would fit in all of them. None of them was written to.
	Refusal *pb.SetRefusal
	// RetryAfter is how long the daemon asks to be left alone, because it has too much to do or
	// because this caller asks too much at once. It is 0 if the daemon does not ask.
	RetryAfter time.Duration
	cause      error
}

// Error returns the method, the ledger, the message and the code in one line.
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

// GRPCStatus makes the code, and the detail of an ErrBudget, readable to package status.
func (e *Error) GRPCStatus() *status.Status {
	return withDetails(withDetails(status.New(e.Code, e.Message), e.Budget), e.Refusal)
}

// failure converts the error that a call returned to an *Error.
func failure(op, ledger string, err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	out := &Error{Op: op, Ledger: ledger}
	st, ok := status.FromError(err)
	switch {
	case ok:
		out.Code, out.Message, out.RetryAfter = st.Code(), advised(st.Code(), st.Message()), wishOf(st)
		out.Budget, out.Refusal = budgetOf(st), detailOf[*pb.SetRefusal](st)
		if out.Budget != nil || out.Refusal != nil && st.Code() == codes.ResourceExhausted {
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

// tooLarge reports whether the transport refused a message because of its size. gRPC has no
// code of its own for that, but both of its messages contain these words.
func tooLarge(st *status.Status) bool {
	return st.Code() == codes.ResourceExhausted && strings.Contains(st.Message(), "larger than max")
}

// budgetOf returns the detail that tells a refusal for lack of budget from the transport's
// own RESOURCE_EXHAUSTED, or nil if the status has no such detail.
func budgetOf(st *status.Status) *pb.BudgetExceeded {
	if st.Code() != codes.ResourceExhausted {
		return nil
	}
	return detailOf[*pb.BudgetExceeded](st)
}

// detailOf returns a status's first detail of a type, or nil.
func detailOf[M proto.Message](st *status.Status) (none M) {
	for _, d := range st.Details() {
		if m, ok := d.(M); ok {
			return m
		}
	}
	return none
}

// withDetails adds a detail to a status; it returns the status unchanged if there is none.
func withDetails[M proto.Message](st *status.Status, detail M) *status.Status {
	if !detail.ProtoReflect().IsValid() {
		return st
	}
	detailed, err := st.WithDetails(protoadapt.MessageV1Of(detail))
	if err != nil { // not encodable
		return st
	}
	return detailed
}
