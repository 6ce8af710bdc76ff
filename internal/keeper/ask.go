// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"context"
	"fmt"
	"time"

	"github.com/dpaccountant/accountant/internal/keeper/fleet"
	"github.com/dpaccountant/accountant/internal/ledger"
)

// pollInterval is how often a watcher looks by itself whether another daemon has written.
const pollInterval = 5 * time.Second

// changed wakes those who watch ledgers that others may have changed: all ledgers if names is empty.
func (k *Keeper) changed(names ...string) {
	k.mu.Lock()
	var found []*queue
	for _, name := range names {
		if q := k.queues[name]; q != nil {
			found = append(found, q)
		}
	}
	if len(names) == 0 {
		for _, q := range k.queues {
			found = append(found, q)
		}
	}
	k.mu.Unlock()
	for _, q := range found {
		q.changes.happened()
	}
}

// poll returns a channel that says when a watcher should look by itself, and what ends it.
func (k *Keeper) poll() (again <-chan time.Time, stop func() bool) {
	if k.fleet == nil {
		return nil, func() bool { return true }
	}
	t := time.NewTimer(pollInterval)
	return t.C, t.Stop
}

// ask calls f with a committed state that has everything that was acknowledged before the call, by
// whichever daemon.
func (k *Keeper) ask(ctx context.Context, name string, f func(*ledger.State)) error {
	q, err := k.acquire(ctx, name)
	if err != nil {
		return err
	}
	defer k.release(q, 1)
	return q.ask(ctx, f)
}

func (q *queue) ask(ctx context.Context, f func(*ledger.State)) error {
	if q.k.fleet == nil {
		return q.read(ctx, f)
	}
	known := q.known()
	heads, now, err := q.k.fleet.Of(ctx, q.name)
	if err != nil {
		return err
	}
	newest := heads[0]
	if now && (known.Position > newest.Position || known.Position == newest.Position && known.Hash != newest.Hash) {
		// The store has lost what was in memory before it was asked.
		if err := q.renew(ctx); err != nil {
			return err
		}
	}
	return q.meet(ctx, newest, f)
}

// meet calls f with a committed state in which the head is newest, or further.
func (q *queue) meet(ctx context.Context, newest ledger.Head, f func(*ledger.State)) error {
	for range fleet.MaxAttempts {
		met := false
		err := q.read(ctx, func(s *ledger.State) {
			head := s.Summary().Head
			if met = head.Position > newest.Position && !q.ahead || head == newest || newest == (ledger.Head{}); met {
				f(s)
			}
		})
		if err == nil && !met {
			err = q.renew(ctx)
		}
		if err != nil || met {
			return err
		}
	}
	return fmt.Errorf("%w: ledger %s: the store says that its head is entry %d with hash %x, and gives other entries",
		ledger.ErrUnavailable, q.name, newest.Position, newest.Hash)
}

// renew waits until the state has what the store had when renew was called. Everybody who waits for the same
// ledger waits for the same renewal. The caller has a pin on the queue.
func (q *queue) renew(ctx context.Context) error {
	q.k.pin(q)
	q.stateMu.Lock()
	r := q.renewal
	begin := r == nil
	if begin {
		r = &loading{done: make(chan struct{})}
		q.renewal = r
	}
	q.stateMu.Unlock()
	if begin {
		go q.holdAndFollow(r)
	} else {
		q.k.release(q, 1)
	}
	patience := time.NewTimer(fleet.Patience)
	defer patience.Stop()
	select {
	case <-r.done:
		return r.err
	case <-ctx.Done():
		return ctx.Err()
	case <-patience.C:
		return fmt.Errorf("%w: ledger %s: what another daemon has written there could not be read within %v; allowed: "+
			"the same question again", ledger.ErrUnavailable, q.name, fleet.Patience)
	}
}

// holdAndFollow renews the state while nothing is decided on it. It has a pin, which it takes back.
func (q *queue) holdAndFollow(r *loading) {
	q.k.placing.Lock()
	c := place([]*queue{q})
	q.k.placing.Unlock()
	<-c.reached
	q.stateMu.Lock()
	q.renewal = nil // who comes from now on waits for the next one
	q.stateMu.Unlock()
	r.err = q.follow()
	close(r.done)
	q.k.letGo([]*queue{q})
	q.k.release(q, 1)
}

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
		changed := q.changes.next() // before the state: what follows it is not missed
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
