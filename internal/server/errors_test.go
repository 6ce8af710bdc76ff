// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/keeper"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/ledger/budget"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/server/gate"
	"github.com/dpaccountant/accountant/internal/wire"
)

// A call that was not let in for now has written nothing, and says so in a way that clients read. One that is refused
// for good stays as it is.
func TestNotLetIn(t *testing.T) {
	s := new(Server)
	away := status.Convert(notLetIn(s.refused(fmt.Errorf("%w: the database is away", gate.ErrDeaf))))
	if away.Code() != codes.Unavailable || len(away.Details()) != 1 ||
		!strings.HasSuffix(away.Message(), "the database is away; nothing was written") {
		t.Errorf("%v %v", away, away.Details())
	}
	if denied := status.Convert(notLetIn(s.refused(gate.ErrDenied))); len(denied.Details()) != 0 ||
		denied.Message() != gate.ErrDenied.Error() {
		t.Errorf("%v %v", denied, denied.Details())
	}
}

// A time to come back says that nothing was written, so an unknown outcome has none, whatever else is wrong.
func TestStoreAwayHasATimeToComeBack(t *testing.T) {
	for _, c := range []struct {
		err     error
		details int
	}{
		{ledger.ErrUnavailable, 1},
		{fmt.Errorf("%w: others were faster", ledger.ErrConflict), 1},
		{ledger.ErrUnknown, 0},
		{errors.Join(ledger.ErrUnavailable, ledger.ErrUnknown), 0},
		{ledger.ErrDamaged, 0},
	} {
		if s := statusOf(c.err); len(s.Details()) != c.details {
			t.Errorf("%v: %v", c.err, s.Details())
		}
	}
}

// Every error of the rooms below has its code, also when it is wrapped; a
// refusal is what a stream answers with rejected.
func TestErrorTable(t *testing.T) {
	for _, c := range []struct {
		err     error
		code    codes.Code
		refusal bool
	}{
		{&wire.InvalidError{Field: "name", Value: "x", Allowed: "y"}, codes.InvalidArgument, true},
		{&mechanism.ParameterError{Field: "delta", Value: "2", Allowed: "less"}, codes.InvalidArgument, true},
		{&mechanism.AdjacencyError{Kind: "randomized_response"}, codes.InvalidArgument, true},
		{ledger.ErrNotFound, codes.NotFound, true},
		{ledger.ErrExists, codes.AlreadyExists, true},
		{ledger.ErrReused, codes.AlreadyExists, true},
		{ledger.ErrGap, codes.FailedPrecondition, true},
		{ledger.ErrClosed, codes.FailedPrecondition, true},
		{ledger.ErrBudget, codes.ResourceExhausted, true},
		{&budget.Error{}, codes.ResourceExhausted, true},
		{ledger.ErrReservation, codes.FailedPrecondition, true},
		{ledger.ErrRefund, codes.FailedPrecondition, true},
		{ledger.ErrRaise, codes.FailedPrecondition, true},
		{ledger.ErrUnreconciled, codes.FailedPrecondition, true},
		{ledger.ErrEnded, codes.FailedPrecondition, true},
		{ledger.ErrReconcile, codes.FailedPrecondition, true},
		{ledger.ErrParent, codes.FailedPrecondition, true},
		{gate.ErrNotOwnSocket, codes.PermissionDenied, true},
		{gate.ErrDenied, codes.PermissionDenied, true},
		{ledger.ErrOutOfRange, codes.OutOfRange, true},
		{ledger.ErrTooLarge, codes.InvalidArgument, true},
		{ledger.ErrConflict, codes.Unavailable, false},
		{ledger.ErrUnavailable, codes.Unavailable, false},
		{ledger.ErrUnknown, codes.Unavailable, false},
		{ledger.ErrDamaged, codes.DataLoss, false},
		{keeper.ErrBusy, codes.Aborted, false},
		{keeper.ErrReplaced, codes.Aborted, false},
		{errDraining, codes.Unavailable, false},
		{accountant.ErrStopped, codes.DeadlineExceeded, false},
		{context.Canceled, codes.Canceled, false},
		{context.DeadlineExceeded, codes.DeadlineExceeded, false},
		{errors.New("disk on fire"), codes.Internal, false},
	} {
		wrapped := fmt.Errorf("while testing: %w", c.err)
		s := statusOf(wrapped)
		if s.Code() != c.code || !strings.HasPrefix(s.Message(), wrapped.Error()) {
			t.Errorf("%v: %v %q; want %v and the whole message", c.err, s.Code(), s.Message(), c.code)
		}
		if isRefusal(wrapped) != c.refusal {
			t.Errorf("%v: refusal %v; want %v", c.err, !c.refusal, c.refusal)
		}
	}
	if s := statusOf(nil); s.Err() != nil {
		t.Errorf("nil: %v", s)
	}
	if s := statusOf(status.Error(codes.ResourceExhausted, "as it is")); s.Code() != codes.ResourceExhausted ||
		s.Message() != "as it is" {
		t.Errorf("a status: %v", s)
	}
	if s := statusOf(ledger.ErrUnknown); !strings.Contains(s.Message(), "send the same request again") {
		t.Errorf("unknown outcome: %q; want what to do", s.Message())
	}
}
