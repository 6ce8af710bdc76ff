// SPDX-License-Identifier: Apache-2.0

package upkeep

import (
	"context"
	"errors"
	"time"

	"github.com/dpaccountant/accountant/internal/history"
	"github.com/dpaccountant/accountant/internal/ledger"
)

// Checkpoints of long ledgers are made beside everything else, so that the first look at the history of one finds most
// of it read. They follow from the entries and are no more than a shortcut, so all errors are tried again.
const (
	markEvery = time.Minute // from the end of one pass over all ledgers to the begin of the next
	markLeast = 4096        // entries of a ledger, below which reading all of them takes a moment
	markMore  = 1024        // entries after which a ledger has further ones
	markSlice = 20_000      // entries that are read at once: some tens of milliseconds
	markRests = 4           // times as long as it has read, and
	markIdle  = 20          // times as long as all of a pass has taken, where many ledgers are looked at
)

// marking remembers from which position on a ledger is to be marked again.
type marking map[string]uint64

// marks makes checkpoints until ctx ends.
func (u *Upkeep) marks(ctx context.Context) {
	due := marking{}
	for pause := markEvery / 10; rest(ctx, pause); {
		worked, began := time.Duration(0), time.Now()
		for s, err := range ledger.All(u.config.Store, "", "") {
			if took := time.Since(began); took > time.Second/50 {
				worked += took
				rest(ctx, markRests*took)
				began = time.Now()
			}
			if err == nil && due.has(s) {
				err = due.ledger(ctx, u.config.Store, s)
				began = time.Now() // it has rested by itself
			}
			if ctx.Err() != nil {
				return
			}
			if err != nil {
				u.config.Logger.Debug("no checkpoints were made: it is tried again", "ledger", s.Genesis.Spec.Name,
					"error", err)
			}
			if !errors.Is(err, ledger.ErrAway) &&
				(errors.Is(err, ledger.ErrUnavailable) || errors.Is(err, ledger.ErrUnknown)) {
				break
			}
		}
		pause = max(markEvery, markIdle*(worked+time.Since(began)))
	}
}

// rest waits, and reports whether ctx goes on.
func rest(ctx context.Context, pause time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(pause):
		return true
	}
}

// has reports whether a ledger is to be marked.
func (m marking) has(s ledger.Summary) bool {
	return s.Head.Position >= max(m[s.Genesis.Spec.Name], markLeast)
}

// ledger makes the checkpoints that a ledger lacks, a few at a time.
func (m marking) ledger(ctx context.Context, store ledger.Store, s ledger.Summary) error {
	name, head := s.Genesis.Spec.Name, s.Head.Position
	for m.has(s) {
		began := time.Now()
		read, newest, err := history.Mark(store, s.Genesis, head, markSlice)
		if err != nil {
			return err
		}
		if read >= head { // what was read in vain is read again only with as many further entries
			m[name] = head + max(markMore, head-newest)
			return nil
		}
		if !rest(ctx, markRests*time.Since(began)) {
			return ctx.Err()
		}
	}
	return nil
}
