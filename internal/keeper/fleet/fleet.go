// SPDX-License-Identifier: Apache-2.0

// Package fleet is a store that several daemons write to at the same time, as one of them sees it: where ledgers stand
// now, what other daemons have changed, and how two that write to one ledger make way for each other.
package fleet

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/dpaccountant/accountant/internal/ledger"
)

// Shared is implemented by a store that other daemons may write to at the same time. Each call has a time
// limit of its own.
//
// What a daemon has in memory may then be old. That is safe for what is decided, since ledger.Store.Append
// compares the heads. An answer to a question is compared by Heads.
type Shared interface {
	// Heads returns the newest committed head of each ledger, in order. What it returns is at least as new as
	// everything that was acknowledged before it was called. A ledger that does not exist has the zero Head.
	Heads(names []string) ([]ledger.Head, error)

	// Newer returns the records of several ledgers, each from a position on and at most limit, as ledger.Store.Records
	// does, and as they stand at one moment. Of a ledger that does not exist it returns none,
	// and of one that has more it may.
	Newer(names []string, from []uint64, limit int) ([][]ledger.Record, error)

	// InTurn has a batch decided while no other daemon writes to its ledgers, and writes it as Append does. Daemons
	// that wait for a ledger have it in the order in which they came. Without an error everything is durable that was
	// read for the turn, also if nothing was written. ledger.ErrDamaged does not say which of the ledgers is damaged.
	InTurn(t ledger.Turn) ([][]ledger.Hash, error)

	// Changes calls f with the names of ledgers that others may have changed, and with none if any ledger may
	// have changed, for example because a connection was lost. f does not block. stop ends it.
	Changes(f func(names ...string)) (stop func())

	// Ahead returns by how much the store's clock is ahead of this machine's; 0 where they are close. All daemons go
	// by the store's clock: one whose machine is an hour fast would end the others' reservations.
	Ahead() (time.Duration, error)

	// LostWhole returns the newest entry of a ledger that the store is known to have lost, for example in a failover,
	// zero if none is known. A dataset whose record was lost as a whole is registered with an entry that says so.
	LostWhole(name string) (ledger.Head, error)
}

// Fleet is a store that others write to as well. A nil Fleet is a store that one daemon has for itself. It is safe for
// concurrent use.
type Fleet struct {
	*Heads
	shared Shared
	caps   caps
	ahead  atomic.Int64 // by how many nanoseconds the store's clock was ahead of this machine's
	stop   func()       // ends what tells of changes
}

// Join begins to follow what other daemons write to a store. shared is how that is seen; if it is nil, it is the store,
// provided that this implements it. If neither does, Join returns nil. changed is as of Shared.Changes.
func Join(store ledger.Store, shared Shared, changed func(names ...string)) *Fleet {
	if shared == nil {
		if shared, _ = store.(Shared); shared == nil {
			return nil
		}
	}
	f := &Fleet{Heads: newHeads(shared.Heads), caps: caps{store: store}, shared: shared}
	f.stop = shared.Changes(changed)
	return f
}

// CapOf returns the cap of a dataset as it is now, nil if it has none. The name is that of its record.
func (f *Fleet) CapOf(ctx context.Context, name string) (*ledger.ChargeCap, error) {
	heads, _, err := f.Of(ctx, name)
	if err != nil {
		return nil, err
	}
	return f.caps.of(name, heads[0])
}

// Newer is Shared's.
func (f *Fleet) Newer(names []string, from []uint64, limit int) ([][]ledger.Record, error) {
	return f.shared.Newer(names, from, limit)
}

// InTurn is Shared's.
func (f *Fleet) InTurn(t ledger.Turn) ([][]ledger.Hash, error) { return f.shared.InTurn(t) }

// SetClock reads the store's clock, by which Ahead goes from now on.
func (f *Fleet) SetClock() error {
	if f == nil {
		return nil
	}
	ahead, err := f.shared.Ahead()
	if err == nil {
		f.ahead.Store(int64(ahead))
	}
	return err
}

// Ahead returns by how much the store's clock was ahead of this machine's when SetClock read it.
func (f *Fleet) Ahead() time.Duration {
	if f == nil {
		return 0
	}
	return time.Duration(f.ahead.Load())
}

// LostWhole is Shared's. A store of one daemon loses nothing.
func (f *Fleet) LostWhole(name string) (ledger.Head, error) {
	if f == nil {
		return ledger.Head{}, nil
	}
	return f.shared.LostWhole(name)
}

// Leave ends what tells of changes.
func (f *Fleet) Leave() {
	if f != nil {
		f.stop()
	}
}

// Wait waits until no reading of heads is under way. Nobody may call Of meanwhile.
func (f *Fleet) Wait(ctx context.Context) error {
	if f == nil {
		return nil
	}
	return f.wait(ctx)
}
