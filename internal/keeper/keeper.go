// SPDX-License-Identifier: Apache-2.0

// Package keeper runs lanes, queues and batches: the concurrency between the
// server and the pure decisions of package ledger, over a ledger.Store.
//
// Each ledger has one queue. Whatever waits in it is decided in order on top of
// the committed state, written by one Store.Append at a time, and only then
// answered: receipts, refusals and duplicates alike wait for the commit they
// depend on. Each (ledger, writer) is a lane with one sender: a unary call or a
// stream. Queries read committed state and never wait for a commit, unless other
// daemons write to the store too: see package fleet.
//
// What there is in memory is in state.go. From there the files are read upwards: a ledger is pinned (idle.go), read
// (load.go), decided and written (decide.go, round.go), and its requests are answered (answer.go), by whoever's turn it
// is (turns.go). Several ledgers are held and decided together (together.go, wave.go). The calls are in do.go, sets.go,
// lane.go, questions.go, register.go and here.
//
// Locks, outermost first: sets.mu, Keeper.placing, queue.mu, then idleWriters.mu; Keeper.mu and
// queue.stateMu are taken alone. No lock is held during a call of the store.
package keeper

import (
	"context"
	"errors"

	"golang.org/x/sync/semaphore"

	"github.com/dpaccountant/accountant/internal/keeper/fleet"
	"github.com/dpaccountant/accountant/internal/keeper/lookup"
	"github.com/dpaccountant/accountant/internal/ledger"
)

// New returns a Keeper over config.Store.
func New(config Config) *Keeper {
	config = config.withDefaults()
	k := &Keeper{
		config:  config,
		storeID: config.Store.ID(),
		writers: idleWriters{max: config.MaxWriters},
		queues:  map[string]*queue{},
		work:    make(chan *queue),
		large:   semaphore.NewWeighted(int64(config.LaneBytes)),
	}
	k.sets.k = k
	k.fleet = fleet.Join(config.Store, config.Shared, k.changed)
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
	k.fleet.Leave()
	for _, q := range queues {
		q.endStreams(errClosed)
		q.changes.happened()
	}
	for {
		k.mu.Lock()
		if k.pins == 0 {
			if !k.stopped {
				k.stopped = true
				close(k.work) // nobody can queue anything any more
			}
			k.mu.Unlock()
			return k.fleet.Wait(ctx)
		}
		drained := k.drained.wait()
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
	return k.unlessThere(ctx, &g, func() (bool, error) { return k.create(ctx, g, caller) })
}

// unlessThere has a ledger made, or returns the one of an equal spec that is there, and false.
func (k *Keeper) unlessThere(ctx context.Context, g *ledger.Genesis, makes func() (created bool, err error)) (
	sum ledger.Summary, created bool, err error) {
	if err := k.enter(ctx); err != nil {
		return sum, false, err
	}
	defer k.leave()
	if sum, err = k.existing(g.Spec); !errors.Is(err, ledger.ErrNotFound) {
		return sum, false, err
	}
	if g.Time.IsZero() {
		g.Time = k.Now()
	}
	if g.Resolution, err = k.resolve(ctx, g.Spec); err == nil {
		created, err = makes()
	}
	if errors.Is(err, ledger.ErrUnknown) {
		return sum, false, err
	}
	// Where it was not made, another call may have made it since, and that may be why: see written.
	there, e := k.existing(g.Spec)
	if err != nil && errors.Is(e, ledger.ErrNotFound) {
		return sum, false, err
	}
	return there, created && e == nil, e
}

// existing returns the ledger of an equal spec that is there: ledger.ErrNotFound if there is none, and ErrExists where
// its spec is another.
func (k *Keeper) existing(asked ledger.Spec) (ledger.Summary, error) {
	sum, err := lookup.Summary(k.config.Store, asked.Name)
	if err != nil {
		return ledger.Summary{}, err
	}
	there := sum.Genesis.Spec
	if ledger.IsDataset(there.Parent) && asked.Parent == "" {
		asked.Parent = there.Parent // as it was when the ledger was created
	}
	if asked.Dataset != nil && there.Dataset != nil {
		d := *asked.Dataset
		d.BudgetOf, d.ToConfirm = there.Dataset.BudgetOf, there.Dataset.ToConfirm // they follow from the rest
		asked.Dataset = &d
	}
	if !there.Equal(asked) {
		return ledger.Summary{}, ledger.Conflict(there, asked)
	}
	return sum, nil
}
