// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"log/slog"
	"time"

	"github.com/dpaccountant/accountant/internal/keeper"
)

// maxExpiryWait bounds the time between two looks for reservations that have expired: the clock
// may have been set, or another process may have made one.
const maxExpiryWait = time.Minute

// expiry writes the entries that end expired reservations. Until such an entry is written a
// commit is still in time, so no harm is done if it is late.
type expiry struct {
	keeper *keeper.Keeper
	logger *slog.Logger
	woken  chan struct{}
}

func newExpiry(k *keeper.Keeper, logger *slog.Logger) *expiry {
	return &expiry{k, logger, make(chan struct{}, 1)}
}

// wake makes it look again for the reservation that expires next. It never waits.
func (e *expiry) wake() {
	select {
	case e.woken <- struct{}{}:
	default:
	}
}

// run writes these entries until ctx ends.
func (e *expiry) run(ctx context.Context) {
	for {
		next, err := e.keeper.Expire(ctx)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			e.logger.Warn("reservations could not all be ended: it is tried again", "error", err)
		}
		wait := expiryWait(next, e.keeper.Now())
		if err != nil {
			wait = min(wait, time.Second)
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-e.woken:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// expiryWait returns how long to wait for the next expiry; a zero time means that there is
// none.
func expiryWait(next, now time.Time) time.Duration {
	if next.IsZero() {
		return maxExpiryWait
	}
	return min(max(next.Sub(now), 10*time.Millisecond), maxExpiryWait)
}
