package keeper

import (
	"context"

	"github.com/dpaccountant/accountant/internal/ledger"
)

// Watch calls f with a ledger's state: as it is, and then as it is after commits.
// Of commits while f runs only the last is shown: what f takes its time for costs
// the ledger nothing, and one state is all that is kept. It returns nil after the
// state of a closed ledger, otherwise f's error, ctx.Err(), or
// ledger.ErrUnavailable after Close.
func (k *Keeper) Watch(ctx context.Context, name string, f func(ledger.View) error) error {
	q, err := k.acquire(ctx, name)
	if err != nil {
		return err
	}
	defer k.release(q, 1)
	for shown, first := uint64(0), true; ; {
		changed := q.changes.Next() // before the state: what follows it is not missed
		var v ledger.View
		moved := false
		err := q.ask(ctx, func(s *ledger.State) {
			if moved = first || s.Summary().Head.Position != shown; moved {
				v = s.View()
			}
		})
		if err != nil {
			return err
		}
		if moved {
			first, shown = false, v.Head.Position
			if err := f(v); err != nil || v.Closed {
				return err
			}
		}
		if k.closed.Load() { // set before it wakes
			return errClosed
		}
		again, stop := k.poll()
		select {
		case <-changed:
		case <-again:
		case <-ctx.Done():
			err = ctx.Err()
		}
		if stop(); err != nil {
			return err
		}
	}
}
