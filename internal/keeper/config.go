// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dpaccountant/accountant/internal/keeper/fleet"
	"github.com/dpaccountant/accountant/internal/ledger"
)

// ErrBusy: the lane has another call in flight, or a stream. Nothing was
// written; try again.
var ErrBusy = errors.New("lane is busy")

// ErrReplaced: a newer stream took over the lane. It is an ErrBusy too.
var ErrReplaced = fmt.Errorf("%w: a newer stream took it over", ErrBusy)

var errClosed = fmt.Errorf("%w: the server is shutting down", ledger.ErrUnavailable)

// ErrLate means that something which a request needs before it can be decided was not computed in
// time. Nothing was written.
var ErrLate = errors.New("no time left")

// Config configures a Keeper. Only Store and Digest are required.
type Config struct {
	Store ledger.Store     // not closed by the Keeper
	Now   func() time.Time // clock of entries; time.Now if nil

	// Shared is how other daemons' commits to the store are seen. If it is nil, it is the Store, provided that
	// this implements it. A store that does neither is used by this Keeper alone.
	Shared fleet.Shared

	// Digest is that of a request's action (record.Digest), for what the Keeper itself writes.
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
	Batch Observer

	// RequireDataset reports whether ledgers are refused that neither a registered dataset nor another ledger pays
	// for. Nil: they are not.
	RequireDataset func() bool

	MaxLedgers    int // ledgers kept loaded while nobody uses them; 10,000 if 0
	MaxMechanisms int // their distinct mechanisms, all together; 1,048,576 if 0
	MaxWriters    int // lanes kept while nobody uses them; 65,536 if 0

	Window      int // requests of a stream that are not yet answered and received; 4,096 if 0
	WindowBytes int // approximate bytes of those not yet decided; 8 MiB if 0
	LaneBytes   int // the same of all streams, above which each keeps to its share; of large ones at most; 32 MiB if 0

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
		{&c.Window, 4_096}, {&c.WindowBytes, 8 << 20}, {&c.LaneBytes, 32 << 20},
		{&c.BatchRequests, 2_048}, {&c.BatchBytes, 1 << 20},
		{&c.QueueRequests, 1 << 16}, {&c.QueueBytes, 64 << 20},
	} {
		if *f.field <= 0 {
			*f.field = f.value
		}
	}
	return c
}
