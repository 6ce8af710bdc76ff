// Package keeper runs lanes, queues and batches: the concurrency between the
// server and the pure decisions of package ledger, over a ledger.Store.
//
// Each ledger has one queue. Whatever waits in it is decided in order on top of
// the committed state, written by one Store.Append at a time, and only then
// answered: receipts, refusals and duplicates alike wait for the commit they
// depend on. Each (ledger, writer) is a lane with one sender: a unary call or a
// stream. Queries read committed state and never wait for a commit, unless other
// daemons write to the store too: see Shared.
//
// Locks, outermost first: sets.mu, Keeper.placing, queue.mu, then idleWriters.mu; Keeper.mu and
// queue.stateMu are taken alone. No lock is held during a call of the store.
package keeper

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dpaccountant/accountant/internal/keeper/caps"
	"github.com/dpaccountant/accountant/internal/keeper/fresh"
	"github.com/dpaccountant/accountant/internal/keeper/lists"
	"github.com/dpaccountant/accountant/internal/keeper/recent"
	"github.com/dpaccountant/accountant/internal/keeper/signals"
	"github.com/dpaccountant/accountant/internal/keeper/timing"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// ErrBusy: the lane has another call in flight, or a stream. Nothing was
// written; try again.
var ErrBusy = errors.New("lane is busy")

// ErrReplaced: a newer stream took over the lane. It is an ErrBusy too.
var ErrReplaced = fmt.Errorf("%w: a newer stream took it over", ErrBusy)

var errClosed = fmt.Errorf("%w: the server is shutting down", ledger.ErrUnavailable)

// Config configures a Keeper. Only Store is required.
type Config struct {
	Store ledger.Store     // not closed by the Keeper
	Now   func() time.Time // clock of entries; time.Now if nil

	// Shared is how other daemons' commits to the store are seen. If it is nil, it is the Store, provided that
	// this implements it. A store that does neither is used by this Keeper alone.
	Shared Shared

	// Digest is that of a request's action (record.Digest), for what the Keeper itself
	// writes. Only Expire and ledgers with a parent need it.
	Digest func(ledger.Action) ledger.Digest

	// Compute has a computation that takes longer than a few milliseconds done: with others
	// in turns, no longer than the call, and stopped through what it gets. Where it is nil
	// they are done at once.
	Compute func(ctx context.Context, compute func(stop func() bool) error) error

	// LongRead is called when the reading of a ledger takes longer than a few milliseconds, by
	// a goroutine of its own. From then on the goroutine calls pause about every millisecond,
	// which has other such readings take turns with it, and in the end done. Where LongRead is
	// nil all are done at once.
	LongRead func() (pause, done func())

	// Batch, if set, is called after each batch of requests was decided and written, or has failed.
	Batch timing.Observer

	// RequireDataset reports whether ledgers are refused that neither a registered dataset nor another ledger pays
	// for. Nil: they are not.
	RequireDataset func() bool

	MaxLedgers    int // ledgers kept loaded while nobody uses them; 10,000 if 0
	MaxMechanisms int // their distinct mechanisms, all together; 1,048,576 if 0
	MaxWriters    int // lanes kept while nobody uses them; 65,536 if 0

	Window      int // requests of a stream that are not yet answered and received; 4,096 if 0
	WindowBytes int // approximate bytes of those not yet decided; 8 MiB if 0

	BatchRequests int // requests decided together; 2,048 if 0
	BatchBytes    int // their approximate bytes; 1 MiB if 0 (a single larger request is a batch)

	QueueRequests int // requests waiting in one ledger, above which unary calls are refused; 65,536 if 0
	QueueBytes    int // their approximate bytes; 64 MiB if 0
}

func (c Config) withDefaults() Config {
	if c.Now == nil {
		c.Now = time.Now
	}
	for _, f := range []struct {
		field *int
		value int
	}{
		{&c.MaxLedgers, 10_000}, {&c.MaxMechanisms, 1 << 20}, {&c.MaxWriters, 1 << 16},
		{&c.Window, 4_096}, {&c.WindowBytes, 8 << 20},
		{&c.BatchRequests, 2_048}, {&c.BatchBytes, 1 << 20},
		{&c.QueueRequests, 1 << 16}, {&c.QueueBytes, 64 << 20},
	} {
		if *f.field <= 0 {
			*f.field = f.value
		}
	}
	return c
}

// Keeper keeps the ledgers of one store. It is safe for concurrent use.
//
// A name that the store does not know is ledger.ErrNotFound; a ledger that
// cannot be read is ledger.ErrDamaged, and affects no other. After Close every
// call is ledger.ErrUnavailable.
type Keeper struct {
	config  Config
	storeID string
	heads   *fresh.Heads // of a store that other daemons write to; nil for one that is used by this Keeper alone
	unwatch func()       // ends what tells of changes
	clock   Clock        // nil: there is none but this machine's
	ahead   atomic.Int64 // by how many nanoseconds it is ahead of this machine's
	writers idleWriters
	closed  atomic.Bool // written under mu

	work        chan *queue // to a deciding goroutine that has nothing to do
	idleWorkers atomic.Int64
	waiting     atomic.Int64 // requests in all queues

	placing sync.Mutex // held while a claim is placed
	sets    sets

	registering sync.RWMutex // held to read by who creates a root ledger, to write by who registers a dataset
	newest      *caps.Caps   // of a store that other daemons write to as well; otherwise nil
	caps        sync.Map     // of datasets: names of their records → *dataset.ChargeCap

	mu      sync.Mutex
	queues  map[string]*queue   // loaded or in use
	idle    recent.List[*queue] // of queues, those that nobody uses, oldest first
	parts   int                 // distinct mechanisms of the idle
	pins    int                 // uses of queues and calls in flight
	drained signals.Signal      // pins came to 0
	stopped bool                // work is closed
}

// New returns a Keeper over config.Store.
func New(config Config) *Keeper {
	config = config.withDefaults()
	k := &Keeper{
		config:  config,
		storeID: config.Store.ID(),
		writers: idleWriters{max: config.MaxWriters, list: recent.New[*writer]()},
		idle:    recent.New[*queue](),
		queues:  map[string]*queue{},
		work:    make(chan *queue),
	}
	k.sets.k = k
	k.share()
	return k
}

// Close refuses new calls, ends every stream, and waits until all that was
// queued is decided and answered, or until ctx ends. The store stays open. When
// it has returned nil, none of the Keeper's goroutines remains at work.
func (k *Keeper) Close(ctx context.Context) error {
	k.mu.Lock()
	k.closed.Store(true)
	queues := make([]*queue, 0, len(k.queues))
	for _, q := range k.queues {
		queues = append(queues, q)
	}
	k.mu.Unlock()
	k.unwatch()
	for _, q := range queues {
		q.endStreams(errClosed)
		q.changes.Happened()
	}
	for {
		k.mu.Lock()
		if k.pins == 0 {
			if !k.stopped {
				k.stopped = true
				close(k.work) // nobody can queue anything any more
			}
			k.mu.Unlock()
			return k.heads.Wait(ctx)
		}
		drained := k.drained.Wait()
		k.mu.Unlock()
		select {
		case <-drained:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Create makes a ledger, or returns the one of an equal spec and false. A zero
// g.Time is set from the clock, and what the spec comes to (g.Resolution) is
// found here, once. See ledger.Store and ledger.Resolve.
//
// What a ledger with a parent may spend is set aside there first; the errors are
// then also ledger.ErrParent, ErrNotFound of the parent, and those of a reservation.
// Once the ledger is closed the parent is charged for what was spent: by Do, or else
// by Expire.
func (k *Keeper) Create(ctx context.Context, g ledger.Genesis) (ledger.Summary, bool, error) {
	return k.CreateFor(ctx, g, "")
}

// CreateFor is Create for a caller, who must have the right to set aside in the parent
// what the ledger may spend: see ledger.Request.
func (k *Keeper) CreateFor(ctx context.Context, g ledger.Genesis, caller string) (ledger.Summary, bool, error) {
	if err := k.enter(ctx); err != nil {
		return ledger.Summary{}, false, err
	}
	defer k.leave()
	if g.Time.IsZero() {
		g.Time = k.Now()
	}
	if there, err := k.existing(g); !errors.Is(err, ledger.ErrNotFound) {
		return there, false, err
	}
	sum, created, err := k.create(ctx, g, caller)
	if err != nil && !errors.Is(err, ledger.ErrUnknown) { // another daemon may have made it since: see written
		if there, e := k.existing(g); !errors.Is(e, ledger.ErrNotFound) {
			return there, false, e
		}
	}
	return sum, created, err
}

// existing returns the ledger of an equal spec that is there: ledger.ErrNotFound if there is none.
func (k *Keeper) existing(g ledger.Genesis) (ledger.Summary, error) {
	there, err := lists.Summary(k.config.Store, g.Spec.Name)
	if err != nil {
		return ledger.Summary{}, err
	}
	if p := there.Genesis.Spec.Parent; ledger.IsDataset(p) && g.Spec.Parent == "" {
		g.Spec.Parent = p // as it was when the ledger was created
	}
	sum, _, err := k.config.Store.Create(g)
	return sum, err
}

// create makes a ledger that is not there.
func (k *Keeper) create(ctx context.Context, g ledger.Genesis, caller string) (sum ledger.Summary, _ bool, err error) {
	if g.Resolution, err = k.resolve(ctx, g.Spec); err != nil {
		return sum, false, err
	}
	if g.Spec.Parent != "" && !ledger.IsDataset(g.Spec.Parent) {
		prices, err := k.priceChild(ctx, g.Spec.Parent, g.Spec, g.Resolution)
		if err != nil {
			return sum, false, err
		}
		k.registering.RLock() // a registration knows all ledgers below those that it adopts
		defer k.registering.RUnlock()
		return k.createUnder(ctx, g, caller, prices)
	}
	return k.createRoot(ctx, g, caller)
}

// Summary returns a ledger's committed state without its counts.
func (k *Keeper) Summary(ctx context.Context, name string) (s ledger.Summary, err error) {
	err = k.ask(ctx, name, func(state *ledger.State) { s = state.Summary() })
	return s, err
}

// Adjacency returns a ledger's adjacency, which never changes. It is cheap.
func (k *Keeper) Adjacency(ctx context.Context, name string) (adj mechanism.Adjacency, err error) {
	err = k.read(ctx, name, func(state *ledger.State) { adj = state.Summary().Genesis.Spec.Adjacency })
	return adj, err
}

// Composition returns what outputs there may be of (see ledger.State.Composition) and
// the summary of the same committed position.
func (k *Keeper) Composition(ctx context.Context, name string) (c mechanism.Composition, s ledger.Summary, err error) {
	err = k.ask(ctx, name, func(state *ledger.State) { c, s = state.Composition(), state.Summary() })
	return c, s, err
}

// View returns a ledger as it is committed, with its balances.
func (k *Keeper) View(ctx context.Context, name string) (v ledger.View, err error) {
	err = k.ask(ctx, name, func(state *ledger.State) { v = state.View() })
	return v, err
}

// ViewFrom is View of a state that has the entry at head, which the store has said is committed. It asks the store only
// if that entry is not in memory.
func (k *Keeper) ViewFrom(ctx context.Context, name string, head ledger.Head) (v ledger.View, err error) {
	q, err := k.acquire(ctx, name)
	if err != nil {
		return v, err
	}
	defer k.release(q, 1)
	err = q.meet(ctx, head, func(state *ledger.State) { v = state.View() })
	return v, err
}

// Writer returns the last committed sequence number and position of a lane,
// zeros if its writer has written nothing.
func (k *Keeper) Writer(ctx context.Context, name string, w ledger.Writer) (sequence, position uint64, err error) {
	if err := k.enter(ctx); err != nil {
		return 0, 0, err
	}
	defer k.leave()
	return k.config.Store.Writer(name, w)
}

// Waiting is how many requests of all ledgers wait to be decided; those that are
// being decided or written are not among them.
func (k *Keeper) Waiting() int64 { return k.waiting.Load() }

// read calls f with the state that is in memory, which other daemons may have moved past. What is decided on
// it is compared with the store when it is written.
func (k *Keeper) read(ctx context.Context, name string, f func(*ledger.State)) error {
	q, err := k.acquire(ctx, name)
	if err != nil {
		return err
	}
	defer k.release(q, 1)
	return q.read(ctx, f)
}

// Now is the time of entries as a store keeps it: nanoseconds, UTC. Where several daemons write, it is the store's: see
// Clock.
func (k *Keeper) Now() time.Time {
	return time.Unix(0, k.config.Now().UnixNano()+k.ahead.Load()).UTC()
}
