// SPDX-License-Identifier: Apache-2.0

package upkeep

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/dpaccountant/accountant/internal/ledger"
)

// checkable is a store whose file can be checked while it serves.
type checkable interface {
	// Scrub goes through all of the file once, reading at most rate bytes a second.
	Scrub(ctx context.Context, rate int64) (read int64, err error)
	// Damaged is closed once the file was found damaged, by whatever read it. From then on the
	// store refuses everything, and Damage says why.
	Damaged() <-chan struct{}
	Damage() error
}

// Damage returns why the store's file is known to be damaged, or nil.
func (u *Upkeep) Damage() error {
	if c, ok := u.config.Store.(checkable); ok {
		return c.Damage()
	}
	return nil
}

// Run checks the store's file again and again until ctx ends or damage is found, by the check
// itself, by a charge or by a backup. From then on health is red until somebody has looked; a
// restart would find the same damage. A store that several daemons serve is verified in turns, and goes on.
func (u *Upkeep) Run(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	var marks sync.WaitGroup
	defer marks.Wait()
	defer cancel()
	marks.Go(func() { u.marks(ctx) })
	if store, ok := u.config.Store.(sweepable); ok && u.config.Interval > 0 {
		u.sweeps(ctx, store)
	}
	store, ok := u.config.Store.(checkable)
	if !ok {
		return
	}
	var scrubs sync.WaitGroup
	defer scrubs.Wait()
	if u.config.Interval > 0 {
		scrubs.Go(func() { u.scrubs(ctx, store) })
	}
	select {
	case <-ctx.Done():
		return
	case <-store.Damaged():
	}
	u.config.Logger.Error("the store's file is damaged: everything is refused", "error", store.Damage(),
		"do", "stop the daemon, keep the file, look at the disk, and restore a backup (docs/durability.md)")
	u.config.Damaged()
	u.Verified(time.Now(), "what was read of the file", 0, store.Damage())
}

// scrubs checks the whole file once after the start, and then at intervals.
func (u *Upkeep) scrubs(ctx context.Context, store checkable) {
	for {
		began := time.Now()
		read, err := store.Scrub(ctx, u.config.Rate)
		if !errors.Is(err, ledger.ErrDamaged) { // which is told as such
			u.mu.Lock()
			u.unread = err
			u.mu.Unlock()
		}
		u.config.Read(read)
		wait := u.config.Interval
		switch {
		case ctx.Err() != nil, errors.Is(err, ledger.ErrDamaged):
			return
		case err != nil: // the store has failed, or a read, or a segment is missing
			u.config.Logger.Warn("not all of the store could be checked: it is tried again", "error", err)
			wait = min(wait, max(time.Minute, 4*time.Since(began)))
		default:
			u.config.Whole(time.Now())
			u.Verified(began, "every page and row of the file", read, nil)
			u.config.Logger.Debug("the store's file was checked: nothing is damaged", "bytes", read,
				"took", time.Since(began))
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}
