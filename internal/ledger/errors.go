// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"errors"
	"fmt"

	"github.com/dpaccountant/accountant/internal/ledger/budget"
)

// Sentinel errors; one table in package server maps them to gRPC codes.
var (
	// ErrNotFound: no such ledger or entry.
	ErrNotFound = errors.New("not found")
	// ErrExists: the name is taken by a ledger with another spec.
	ErrExists = errors.New("already exists with a different spec")
	// ErrClosed: the ledger takes no more charges.
	ErrClosed = errors.New("ledger is closed")
	// ErrGap: the sequence number is not the lane's next.
	ErrGap = errors.New("sequence number out of order")
	// ErrReused: the sequence number was used for something else.
	ErrReused = errors.New("sequence number was already used with different content")
	// ErrTaken: a principal of another kind has sent the same request under the same name.
	ErrTaken = errors.New("another principal has already sent the same request under this name")
	// ErrBudget: a budget or the plan does not allow it; see budget.Error.
	ErrBudget = budget.ErrExceeded
	// ErrReservation: no such open reservation, or it does not hold that much.
	ErrReservation = errors.New("not in the reservation")
	// ErrRefund: no such entry to refund, or it was refunded.
	ErrRefund = errors.New("cannot be refunded")
	// ErrRaise: it is no raise of the budgets, or of the plan, in force.
	ErrRaise = errors.New("not a raise")
	// ErrUnreconciled: the ledger was restored from a copy, or the database lost entries of it;
	// nobody has said yet what was charged and is lost.
	ErrUnreconciled = errors.New("the ledger has lost entries, by a restore or a failover, and needs reconciling")
	// ErrEnded: the writer wrote before the ledger was restored, or lost entries.
	ErrEnded = errors.New("the writer's lane was ended by a restore or a failover")
	// ErrReconcile: the ledger was not restored, or it cannot take that.
	ErrReconcile = errors.New("cannot be reconciled")
	// ErrParent: the ledger cannot be the parent of one with this spec.
	ErrParent = errors.New("cannot be the parent")
	// ErrAcknowledged: the warning was acknowledged before.
	ErrAcknowledged = errors.New("already acknowledged")
	// ErrDataset: the dataset does not allow it, or it cannot be registered.
	ErrDataset = errors.New("not allowed by the dataset")
	// ErrTogether: it is to be decided together with the record of the ledger's dataset.
	// Package keeper does, so nobody else sees this error.
	ErrTogether = errors.New("to be decided together with the dataset")
	// ErrNotCreator: it is for the principal that created the ledger.
	ErrNotCreator = errors.New("only for the ledger's creator")
	// ErrSystem: the ledger is the daemon's own.
	ErrSystem = errors.New("one of the daemon's own ledgers")
	// ErrApproval: there is no such proposal, or this caller cannot make or approve it.
	ErrApproval = errors.New("cannot be approved")
	// ErrSet: the ledgers cannot be taken together: see Alike, for a common adjacency and unit of privacy, and
	// Together.
	ErrSet = errors.New("these ledgers cannot be taken together")
	// ErrOutOfRange: a total would pass its limit.
	ErrOutOfRange = errors.New("total out of range")

	// ErrConflict: the ledger moved on; reload it and decide again. Nothing was written.
	ErrConflict = errors.New("conflict: the ledger moved on")
	// ErrTooLarge: the batch is over the store's limit. Nothing was written.
	ErrTooLarge = errors.New("batch is too large for the store")
	// ErrUnavailable: the store takes no writes now. Nothing was written.
	ErrUnavailable = errors.New("store takes no writes now")
	// ErrUnknown: the store cannot tell whether the batch is durable.
	ErrUnknown = errors.New("unknown whether the write is durable")
	// ErrDamaged: a stored record does not match its checksum or cannot be read.
	ErrDamaged = errors.New("stored record is damaged")
)

// ErrNewer is an ErrDamaged that is none for who reads it with the right program: a
// record whose checksum is right and which has what this version does not know.
var ErrNewer error = newer{}

type newer struct{}

func (newer) Error() string {
	return "stored record is of a newer version of this program: use that version"
}

func (newer) Is(target error) bool { return target == ErrDamaged }

// ErrAway is an ErrUnavailable of one ledger: old entries of it lie elsewhere and cannot be read now. What does not
// need them goes on.
var ErrAway error = away{}

type away struct{}

func (away) Error() string { return "old entries cannot be read now" }

func (away) Is(target error) bool { return target == ErrUnavailable }

// refuse wraps a sentinel with what was asked and what is allowed.
func refuse(sentinel error, format string, args ...any) error {
	return fmt.Errorf("%w: %s", sentinel, fmt.Sprintf(format, args...))
}
