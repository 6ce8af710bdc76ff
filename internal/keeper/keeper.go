// Package keeper runs lanes, queues and batches: the concurrency between the
// server and the pure decisions of package ledger, over a ledger.Store.
//
// Each ledger has one queue. Whatever waits in it is decided in order on top of
// the committed state, written by one Store.Append at a time, and only then
// answered: receipts, refusals and duplicates alike wait for the commit they
// depend on. Each (ledger, writer) is a lane with one sender: a unary call or a
// stream. Queries read committed state and never wait for a commit.
package keeper

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// ErrBusy: the lane has another call in flight, or a stream. Nothing was
// written; try again.
var ErrBusy = errors.New("lane is busy")

// ErrReplaced: a newer stream took over the lane. It is an ErrBusy too.
var ErrReplaced = fmt.Errorf("%w: a newer stream took it over", ErrBusy)

// Config configures a Keeper. Only Store is required.
type Config struct {
	Store ledger.Store     // not closed by the Keeper
	Now   func() time.Time // clock of entries; time.Now if nil

	MaxLedgers    int // ledgers kept loaded while nobody uses them; 10,000 if 0
	MaxMechanisms int // their distinct mechanisms, all together; 1,048,576 if 0
	MaxWriters    int // lanes kept while nobody uses them; 65,536 if 0

	Window      int // requests of a stream that are not yet answered and received; 4,096 if 0
	WindowBytes int // their approximate bytes in memory; 8 MiB if 0

	BatchRequests int // requests decided together; 2,048 if 0
	BatchBytes    int // their approximate bytes; 1 MiB if 0 (a single larger request is a batch)

	QueueRequests int // requests waiting in one ledger, above which unary calls are refused; 65,536 if 0
	QueueBytes    int // their approximate bytes; 64 MiB if 0
}

// Keeper keeps the ledgers of one store. It is safe for concurrent use.
//
// A name that the store does not know is ledger.ErrNotFound; a ledger that
// cannot be read is ledger.ErrDamaged, and affects no other. After Close every
// call is ledger.ErrUnavailable.
type Keeper struct {
	config Config
}

// New returns a Keeper over config.Store.
func New(config Config) *Keeper { return &Keeper{config: config} }

// Close refuses new calls, ends every stream, and waits until all that was
// queued is decided and answered, or until ctx ends. The store stays open.
func (k *Keeper) Close(ctx context.Context) error { return errUnbuilt }

// Create makes a ledger, or returns the one of an equal spec and false. A zero
// g.Time is set from the clock. See ledger.Store.
func (k *Keeper) Create(ctx context.Context, g ledger.Genesis) (ledger.Summary, bool, error) {
	return ledger.Summary{}, false, errUnbuilt
}

// Summary returns a ledger's committed state without its counts.
func (k *Keeper) Summary(ctx context.Context, name string) (ledger.Summary, error) {
	return ledger.Summary{}, errUnbuilt
}

// Adjacency returns a ledger's adjacency, which never changes. It is cheap.
func (k *Keeper) Adjacency(ctx context.Context, name string) (mechanism.Adjacency, error) {
	return mechanism.AdjacencyUnspecified, errUnbuilt
}

// Composition returns a copy of what was charged to a ledger and the summary of
// the same committed position.
func (k *Keeper) Composition(ctx context.Context, name string) (mechanism.Composition, ledger.Summary, error) {
	return mechanism.Composition{}, ledger.Summary{}, errUnbuilt
}

// Writer returns the last committed sequence number and position of a lane,
// zeros if its writer has written nothing.
func (k *Keeper) Writer(ctx context.Context, name string, w ledger.Writer) (sequence, position uint64, err error) {
	return 0, 0, errUnbuilt
}

// Result is the answer to a request that was accepted, or was before.
type Result struct {
	Receipt  ledger.Receipt // zero after CheckOnly, unless Replayed
	Replayed bool           // the first receipt of a duplicate
}

// Do decides one request and answers after the commit. ErrBusy while the lane
// has another call in flight or a stream. When ctx ends first Do returns
// ctx.Err(), but the request is in the queue and will be decided: the lane is
// busy until then, and the same request sent again gets its receipt.
//
// Errors of the request: ledger.ErrGap, ErrReused, ErrClosed, ErrOutOfRange,
// ErrTooLarge; of the store: ledger.ErrUnavailable (nothing was written),
// ErrUnknown (send it again to find out), ErrDamaged, ErrNotFound.
func (k *Keeper) Do(ctx context.Context, name string, r ledger.Request) (Result, error) {
	return Result{}, errUnbuilt
}

var errUnbuilt = errors.New("not built yet")
