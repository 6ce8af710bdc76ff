package server

import (
	"context"
	"log/slog"
	"time"

	"github.com/dpaccountant/accountant/internal/keeper"
)

// maxExpiryWait bounds how long the daemon waits before it looks for reservations
// whose time is over: a clock may have been set, or another process have made one.
const maxExpiryWait = time.Minute

// expiry writes the entries that end reservations whose time is over. Until such an
// entry is written a commit is in time, so that it comes late costs nothing.
type expiry struct {
	keeper *keeper.Keeper
	logger *slog.Logger
	woken  chan struct{}
}

func newExpiry(k *keeper.Keeper, logger *slog.Logger) *expiry {
	return &expiry{k, logger, make(chan struct{}, 1)}
}

// wake has it look again at what ends next. It never waits.
func (e *expiry) wake() {
	select {
	case e.woken <- struct{}{}:
	default:
	}
}

// run works until ctx ends.
func (e *expiry) run(ctx context.Context) {
	for {
		next, err := e.keeper.Expire(ctx)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			e.logger.Warn("reservations could not all be ended: it is tried again", "error", err)
		}
		wait := expiryWait(next, time.Now())
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

// expiryWait is how long to wait for the next end; the zero time is none.
func expiryWait(next, now time.Time) time.Duration {
	if next.IsZero() {
		return maxExpiryWait
	}
	return min(max(next.Sub(now), 10*time.Millisecond), maxExpiryWait)
}
