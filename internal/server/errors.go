// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/keeper"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/ledger/budget"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/server/bearer"
	"github.com/dpaccountant/accountant/internal/server/gate"
	"github.com/dpaccountant/accountant/internal/wire"
)

// Errors that end a stream or the server.
var (
	// ErrStoreFailed means that the store cannot tell any more what is durable. Serving has
	// stopped; a restart reads what is durable.
	ErrStoreFailed = errors.New("store failed: serving has stopped, a restart reads what is durable")

	errDraining = errors.New("server is shutting down: continue at another time with the same writer and sequence")

	errForgotten = errors.New("last_receipt: of no entry here: the ledger was rolled back or edited, or this is " +
		"another store; nothing was written, and sending it again does not help")
)

// maxMessage bounds an error's message, in bytes. gRPC sends the message twice in the headers,
// for which many clients have room for 8 KiB only; beyond that they report nothing but that the
// headers are too large.
const maxMessage = 2 << 10

// table is the one place where the domain's errors become gRPC codes; the first match counts. A
// refusal is final: nothing was written, and asking again does not help. A stream answers a
// refusal with "rejected"; other errors end the stream.
var table = []struct {
	err     error
	code    codes.Code
	refusal bool
	advice  string
}{
	{ledger.ErrNotFound, codes.NotFound, true, ""},
	{ledger.ErrExists, codes.AlreadyExists, true, ""},
	{ledger.ErrReused, codes.AlreadyExists, true, ""},
	{ledger.ErrTaken, codes.AlreadyExists, true, ""},
	{ledger.ErrGap, codes.FailedPrecondition, true, ""},
	{ledger.ErrClosed, codes.FailedPrecondition, true, ""},
	{ledger.ErrBudget, codes.ResourceExhausted, true, ""},
	{ledger.ErrReservation, codes.FailedPrecondition, true, ""},
	{ledger.ErrRefund, codes.FailedPrecondition, true, ""},
	{ledger.ErrRaise, codes.FailedPrecondition, true, ""},
	{ledger.ErrApproval, codes.FailedPrecondition, true, ""},
	{ledger.ErrUnreconciled, codes.FailedPrecondition, true, ""},
	{ledger.ErrEnded, codes.FailedPrecondition, true, ""},
	{ledger.ErrReconcile, codes.FailedPrecondition, true, ""},
	{ledger.ErrParent, codes.FailedPrecondition, true, ""},
	{ledger.ErrAcknowledged, codes.FailedPrecondition, true, ""},
	{ledger.ErrDataset, codes.FailedPrecondition, true, ""},
	{ledger.ErrSet, codes.FailedPrecondition, true, ""},
	{ledger.ErrNotCreator, codes.PermissionDenied, true, ""},
	{ledger.ErrSystem, codes.PermissionDenied, true, ""},
	{ledger.ErrOutOfRange, codes.OutOfRange, true, ""},
	{ledger.ErrTooLarge, codes.InvalidArgument, true, ""},
	{gate.ErrNotOwnSocket, codes.PermissionDenied, true, ""},
	{gate.ErrDenied, codes.PermissionDenied, true, ""},
	{gate.ErrTwoPeople, codes.FailedPrecondition, true, ""},
	{gate.ErrUnrecorded, codes.Unavailable, false, ""},
	{gate.ErrDeaf, codes.Unavailable, false, ""},
	{bearer.ErrRefused, codes.Unauthenticated, true, ""},
	{errToken, codes.Unauthenticated, true, ""},
	{gate.ErrOnlyReads, codes.PermissionDenied, true, ""},
	{errTokenEnded, codes.Unauthenticated, false, ""},
	{bearer.ErrUnchecked, codes.Unavailable, false, ""},
	{keeper.ErrLate, codes.DeadlineExceeded, false, "; nothing was written"},
	{keeper.ErrBusy, codes.Aborted, false, ""},
	{ledger.ErrUnknown, codes.Unavailable, false,
		"; send the same request again, with the same writer and sequence: it takes effect once"},
	{ledger.ErrUnavailable, codes.Unavailable, false, ""},
	{ledger.ErrConflict, codes.Unavailable, false, ""}, // after bounded retries
	{ledger.ErrDamaged, codes.DataLoss, false, ""},
	{errForgotten, codes.DataLoss, false, ""},
	{errDraining, codes.Unavailable, false, ""},
	{accountant.ErrStopped, codes.DeadlineExceeded, false, "; nothing was written: ask with more time"},
	{context.Canceled, codes.Canceled, false, ""},
	{context.DeadlineExceeded, codes.DeadlineExceeded, false,
		"; a write may still happen: send it again, with the same writer and sequence"},
}

// storeBack is when a store that takes no writes is worth another attempt: a failover ends in seconds.
const storeBack = 100 * time.Millisecond

// lookup returns an error's code, whether it is a refusal, and the advice that its message ends with. The message is
// left to those who show it: to make it takes longer than all this.
func lookup(err error) (code codes.Code, refusal bool, advice string) {
	if isInvalid(err) {
		return codes.InvalidArgument, true, ""
	}
	for _, row := range table {
		if errors.Is(err, row.err) {
			return row.code, row.refusal, row.advice
		}
	}
	return codes.Internal, false, ""
}

// codeOf returns an error's code. Of a status it is the status's.
func codeOf(err error) codes.Code {
	if s, ok := status.FromError(err); ok {
		return s.Code()
	}
	code, _, _ := lookup(err)
	return code
}

// reasonOf returns why a write was refused, in a few fixed words that are a label of the
// metrics.
func reasonOf(err error) string {
	if isInvalid(err) {
		return "invalid request"
	}
	for _, row := range table {
		if errors.Is(err, row.err) {
			return row.err.Error()
		}
	}
	return "other"
}

// isInvalid reports whether err says that a request's field is wrong.
func isInvalid(err error) bool {
	var (
		invalid   *wire.InvalidError
		parameter *mechanism.ParameterError
		adjacency *mechanism.AdjacencyError
	)
	return errors.As(err, &invalid) || errors.As(err, &parameter) || errors.As(err, &adjacency)
}

func isRefusal(err error) bool {
	_, refusal, _ := lookup(err)
	return refusal
}

// statusOf returns err as a status, or nil for nil. A status stays as it is. A refusal by
// budgets carries what they lack as a detail, by which a client tells it from the transport's
// own RESOURCE_EXHAUSTED.
func statusOf(err error) *status.Status {
	if s, ok := status.FromError(err); ok {
		return s
	}
	code, _, advice := lookup(err)
	message := err.Error() + advice
	var set *ledger.SetRefusal
	if errors.As(err, &set) {
		s := status.New(code, wire.Cut(message, setMessageBytes))
		if detailed, err := s.WithDetails(fromSetRefusal(set, true)); err == nil {
			return detailed
		}
	}
	s := status.New(code, wire.Cut(message, maxMessage))
	if code == codes.Unavailable && storeAway(err) {
		return comeBack(s, storeBack)
	}
	if exceeded := exceededBy(err); exceeded != nil {
		if detailed, err := s.WithDetails(exceeded); err == nil {
			return detailed
		}
	}
	return s
}

// refused returns err as a status's error, and puts the path of the daemon's own socket into
// one that says to use it.
func (s *Server) refused(err error) error {
	st := statusOf(err)
	path, failed := filepath.Abs(s.config.Socket)
	if s.config.Socket == "" || failed != nil || !strings.Contains(st.Message(), ledger.OwnSocket) {
		return st.Err()
	}
	p := st.Proto()
	p.Message = wire.Cut(strings.ReplaceAll(p.Message, ledger.OwnSocket, "--server unix:"+path), maxMessage)
	return status.FromProto(p).Err()
}

// notLetIn returns the error of a call that no handler has seen: nothing was written. If it may be let in later, its
// error carries a time to come back, by which clients know that.
func notLetIn(err error) error {
	s := status.Convert(err)
	if s.Code() != codes.Unavailable {
		return err
	}
	p := s.Proto()
	p.Message = wire.Cut(strings.TrimSuffix(p.GetMessage(), unwritten)+unwritten, maxMessage)
	p.Details = nil
	return comeBack(status.FromProto(p), time.Second).Err()
}

const unwritten = "; nothing was written"

// comeBack adds a time to come back to a status, which also says that nothing was written.
func comeBack(s *status.Status, after time.Duration) *status.Status {
	if detailed, err := s.WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(after)}); err == nil {
		return detailed
	}
	return s
}

// storeAway reports whether the store has not taken a write, and surely has none of it.
func storeAway(err error) bool {
	return !errors.Is(err, ledger.ErrUnknown) &&
		(errors.Is(err, ledger.ErrUnavailable) || errors.Is(err, ledger.ErrConflict))
}

// said is what a refusal says of itself, to be remembered.
func said(err error) *pb.Refusal {
	code, _, advice := lookup(err)
	return &pb.Refusal{Code: int32(code), Reason: reasonOf(err), Detail: err.Error() + advice,
		BudgetExceeded: exceededBy(err)}
}

// aboutMember says which code a ledger's error has, and what its budgets lack.
func aboutMember(err error) (uint32, *pb.BudgetExceeded) {
	code, _, _ := lookup(err)
	return uint32(code), exceededBy(err)
}

// exceededBy returns what budgets or the plan lack, if err is a refusal by them, and nil for
// other errors.
func exceededBy(err error) *pb.BudgetExceeded {
	if !errors.Is(err, ledger.ErrBudget) {
		return nil
	}
	var refusal *budget.Error
	if !errors.As(err, &refusal) {
		return &pb.BudgetExceeded{}
	}
	return wire.FromBudgetError(refusal)
}
