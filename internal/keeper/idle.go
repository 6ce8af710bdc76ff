// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"context"

	"github.com/dpaccountant/accountant/internal/ledger"
)

// Ledgers and writers that nobody uses stay in memory, up to a bound. The ledgers are listed in Keeper.idle,
// guarded by Keeper.mu; the writers have a list of their own.

// usualSize is the size of a mechanism, in bytes, that is assumed where the number of mechanisms bounds
// memory. A larger mechanism counts as several.
const usualSize = 256

// acquire returns a ledger's queue and pins it. A queue is in use, and stays in
// memory, while it has pins: one for each query, unary call and open stream.
func (k *Keeper) acquire(ctx context.Context, name string) (q *queue, err error) {
	err = k.begin(ctx, func() { q = k.use(name) })
	return q, err
}

// acquireAll is acquire of several ledgers.
func (k *Keeper) acquireAll(ctx context.Context, names []string) ([]*queue, error) {
	all := make([]*queue, len(names))
	err := k.begin(ctx, func() {
		for i, name := range names {
			all[i] = k.use(name)
		}
	})
	return all, err
}

// begin calls f with mu held, unless the call has ended or the keeper is closed.
func (k *Keeper) begin(ctx context.Context, f func()) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed.Load() {
		return errClosed
	}
	f()
	return nil
}

// use pins a ledger's queue. Its caller holds mu.
func (k *Keeper) use(name string) *queue {
	q, ok := k.queues[name]
	if !ok {
		q = &queue{k: k, name: name, writers: map[ledger.Writer]*writer{}, epoch: 1, round: round{k: k}}
		k.queues[name] = q
	}
	if k.idle.remove(q) {
		k.parts -= q.parts
	}
	q.pins++
	k.pins++
	return q
}

// pin adds a pin to a queue that has one.
func (k *Keeper) pin(q *queue) {
	k.mu.Lock()
	defer k.mu.Unlock()
	q.pins++
	k.pins++
}

// release removes n pins. A queue without pins is idle. If it holds no state, because the ledger is
// missing, damaged or to be read again, it is dropped.
func (k *Keeper) release(q *queue, n int) {
	if n == 0 {
		return
	}
	k.mu.Lock()
	dropped := k.unuse(nil, q, n)
	k.mu.Unlock()
	k.forget(dropped)
}

// releaseAll removes a pin of each of several queues.
func (k *Keeper) releaseAll(queues []*queue) {
	var dropped []*queue
	k.mu.Lock()
	for _, q := range queues {
		dropped = k.unuse(dropped, q, 1)
	}
	k.mu.Unlock()
	k.forget(dropped)
}

// unuse removes n pins, and adds the queues that are dropped for it. Its caller holds mu.
func (k *Keeper) unuse(dropped []*queue, q *queue, n int) []*queue {
	q.pins -= n
	k.pins -= n
	switch {
	case q.pins > 0:
	case q.state == nil: // nobody else can see q's state: all who had a pin were here
		delete(k.queues, q.name)
		dropped = append(dropped, q)
	default:
		q.parts = max(q.state.Summary().Distinct, q.state.Bytes()/usualSize)
		k.parts += q.parts
		k.idle.push(q)
		for k.idle.Len() > 1 && (k.idle.Len() > k.config.MaxLedgers || k.parts > k.config.MaxMechanisms) {
			old := k.idle.removeOldest()
			k.parts -= old.parts
			delete(k.queues, old.name)
			dropped = append(dropped, old)
		}
	}
	if k.pins == 0 {
		k.drained.wake()
	}
	return dropped
}

// forget forgets the writers of queues that were dropped.
func (k *Keeper) forget(dropped []*queue) {
	for _, q := range dropped {
		q.mu.Lock()
		for _, w := range q.writers {
			k.writers.remove(w)
		}
		q.mu.Unlock()
	}
}

// enter and leave frame a call that needs no queue, so that Close waits for it.
func (k *Keeper) enter(ctx context.Context) error { return k.begin(ctx, func() { k.pins++ }) }

func (k *Keeper) leave() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.pins--; k.pins == 0 {
		k.drained.wake()
	}
}

// add takes in w and returns the writer that must make room for it, if any. Its
// caller holds w's queue.mu and, when that is released, passes it to drop.
func (i *idleWriters) add(w *writer) *writer {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.list.push(w)
	if i.list.Len() <= i.max {
		return nil
	}
	return i.list.removeOldest()
}

func (i *idleWriters) remove(w *writer) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.list.remove(w)
}

// drop forgets writers that add returned, which may be nil, unless they came into use again.
func (i *idleWriters) drop(old ...*writer) {
	for _, w := range old {
		if w == nil {
			continue
		}
		w.q.mu.Lock()
		if !w.busy() && w.q.writers[w.key] == w {
			delete(w.q.writers, w.key)
			i.remove(w)
		}
		w.q.mu.Unlock()
	}
}
