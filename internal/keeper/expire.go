// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dpaccountant/accountant/internal/ledger"
)

// Expire charges what is left of every reservation whose time is over, by an entry each, and returns when the next
// one's is; the zero time if there is none. The daemon calls it from time to time. Time is the store's, where it has a
// fleet.Shared. A clock that is wrong makes entries early or late, never a budget larger. Children that are closed are
// settled with their parents, where Do has not come to it.
//
// Each entry has a lane of its own, so that it is written once, however many
// daemons try. Errors of one ledger do not keep it from the others.
func (k *Keeper) Expire(ctx context.Context) (next time.Time, err error) {
	if err := k.enter(ctx); err != nil {
		return next, err
	}
	names, err := k.reserving()
	k.leave()
	if err != nil {
		return next, err
	}
	var failed []error
	for _, name := range names {
		var open []ledger.Reservation
		err := k.ask(ctx, name, func(s *ledger.State) { open = s.Reservations() })
		for _, r := range open {
			if r.Child != "" {
				if err = k.settle(ctx, name, r); err != nil {
					break
				}
				continue
			}
			if k.Now().Before(r.Deadline) {
				if next.IsZero() || r.Deadline.Before(next) {
					next = r.Deadline
				}
				continue
			}
			if err = k.expire(ctx, name, r.Position); err != nil {
				break
			}
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("ledger %s: %w", name, err))
		}
	}
	return next, errors.Join(failed...)
}

// reserving returns the ledgers with open reservations, and sets the clock by which they end.
func (k *Keeper) reserving() ([]string, error) {
	if err := k.fleet.SetClock(); err != nil {
		return nil, err
	}
	return k.config.Store.Reserving()
}

func (k *Keeper) expire(ctx context.Context, name string, position uint64) error {
	_, err := k.write(ctx, name, fmt.Sprintf("request/expire-%d", position), ledger.Expire{Reservation: position})
	return moot(err)
}
