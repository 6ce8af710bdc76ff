// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"context"
	"fmt"

	"github.com/dpaccountant/accountant/internal/ledger"
)

// read calls f with the committed state, and reads the state from the store first if it is not in
// memory. The caller has a pin on the queue.
func (q *queue) read(ctx context.Context, f func(*ledger.State)) error {
	for !q.see(f) {
		q.k.pin(q)
		l, begun := q.load()
		if !begun {
			q.k.release(q, 1)
		}
		select {
		case <-l.done:
		case <-ctx.Done():
			return ctx.Err()
		}
		if l.err != nil {
			return l.err
		}
	}
	return nil
}

// see calls f with the committed state, and reports whether it is in memory.
func (q *queue) see(f func(*ledger.State)) bool {
	q.stateMu.RLock()
	defer q.stateMu.RUnlock()
	if q.state == nil {
		return false
	}
	f(q.state)
	return true
}

// load returns the reading that is under way, or begins one. The caller has taken a pin for it. Nothing
// is decided while the state is not in memory, so the state that is read is the newest.
func (q *queue) load() (l *loading, begun bool) {
	q.stateMu.Lock()
	defer q.stateMu.Unlock()
	if q.loading != nil {
		return q.loading, false
	}
	l = &loading{done: make(chan struct{})}
	if q.state != nil { // meanwhile somebody has read it
		close(l.done)
		return l, false
	}
	q.loading = l
	go q.fetch(l)
	return l, true
}

// fetch reads the ledger from the store, and then releases the pin of the reading.
func (q *queue) fetch(l *loading) {
	defer q.k.release(q, 1)
	var state *ledger.State
	defer func() {
		if p := recover(); p != nil {
			l.err = fmt.Errorf("ledger %s: reading it failed: %v", q.name, p)
		}
		q.stateMu.Lock()
		if l.err == nil {
			q.state = state
		}
		q.loading = nil
		q.stateMu.Unlock()
		close(l.done)
	}()
	snapshot, err := q.k.config.Store.Load(q.name)
	if err != nil {
		l.err = err
		return
	}
	stop, done := pauses(q.k.config.LongRead, q.k.closed.Load)
	defer done()
	var ok bool
	if state, ok = ledger.NewStateWithin(snapshot, stop); !ok {
		l.err = errClosed
	}
}

// read calls f with the state that is in memory, which other daemons may have moved past. What is decided on
// it is compared with the store when it is written.
func (k *Keeper) read(ctx context.Context, name string, f func(*ledger.State)) error {
	q, err := k.acquire(ctx, name)
	if err != nil {
		return err
	}
	defer k.release(q, 1)
	return q.read(ctx, f)
}

// reading reads the committed state of one ledger.
type reading = func(ctx context.Context, f func(*ledger.State)) error

// reading reads the ledger with this name.
func (k *Keeper) reading(name string) reading {
	return func(ctx context.Context, f func(*ledger.State)) error { return k.read(ctx, name, f) }
}
