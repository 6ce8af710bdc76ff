package keeper

import (
	"context"
	"sync"

	"github.com/dpaccountant/accountant/internal/ledger"
)

// What nobody uses stays loaded, up to a bound: the ledgers here, under
// Keeper.mu, and their writers in a list of their own.

// usualSize is how large a mechanism is taken to be, in bytes, where their number
// bounds memory: a larger one counts as several.
const usualSize = 256

// acquire returns a ledger's queue and pins it. A queue is in use, and stays in
// memory, while it has pins: one for each query, unary call and open stream.
func (k *Keeper) acquire(ctx context.Context, name string) (*queue, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed.Load() {
		return nil, errClosed
	}
	q, ok := k.queues[name]
	if !ok {
		q = &queue{k: k, name: name, writers: map[ledger.Writer]*writer{}, epoch: 1}
		q.idle.value = q
		k.queues[name] = q
	}
	if k.idle.remove(&q.idle) {
		k.parts -= q.parts
	}
	q.pins++
	k.pins++
	return q, nil
}

// pin adds a pin to a queue that has one.
func (k *Keeper) pin(q *queue) {
	k.mu.Lock()
	defer k.mu.Unlock()
	q.pins++
	k.pins++
}

// release takes n pins away. A queue without any is idle; one that holds no
// state (the ledger is missing, damaged, or to be read again) is dropped.
func (k *Keeper) release(q *queue, n int) {
	if n == 0 {
		return
	}
	var dropped []*queue
	k.mu.Lock()
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
		k.idle.push(&q.idle)
		for k.idle.n > 1 && (k.idle.n > k.config.MaxLedgers || k.parts > k.config.MaxMechanisms) {
			old := k.idle.oldest()
			k.idle.remove(&old.idle)
			k.parts -= old.parts
			delete(k.queues, old.name)
			dropped = append(dropped, old)
		}
	}
	if k.pins == 0 {
		k.drained.wake()
	}
	k.mu.Unlock()
	for _, q := range dropped {
		q.mu.Lock()
		for _, w := range q.writers {
			k.writers.remove(w)
		}
		q.mu.Unlock()
	}
}

// enter and leave frame a call that needs no queue, so that Close waits for it.
func (k *Keeper) enter(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed.Load() {
		return errClosed
	}
	k.pins++
	return nil
}

func (k *Keeper) leave() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.pins--; k.pins == 0 {
		k.drained.wake()
	}
}

// idleWriters are the writers of all ledgers that nobody uses.
type idleWriters struct {
	max  int
	mu   sync.Mutex
	list list[*writer]
}

// add takes in w and returns the writer that must make room for it, if any. Its
// caller holds w's queue.mu and, when that is released, passes it to drop.
func (i *idleWriters) add(w *writer) *writer {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.list.push(&w.idle)
	if i.list.n <= i.max {
		return nil
	}
	old := i.list.oldest()
	i.list.remove(&old.idle)
	return old
}

func (i *idleWriters) remove(w *writer) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.list.remove(&w.idle)
}

// drop forgets writers that add returned, unless they came into use again.
func (i *idleWriters) drop(old []*writer) {
	for _, w := range old {
		w.q.mu.Lock()
		if !w.busy() && w.q.writers[w.key] == w {
			delete(w.q.writers, w.key)
			i.remove(w)
		}
		w.q.mu.Unlock()
	}
}

// list is a doubly linked list of nodes that live inside their values.
type list[T any] struct {
	first, last *node[T]
	n           int
}

type node[T any] struct {
	prev, next *node[T]
	in         bool
	value      T
}

func (l *list[T]) oldest() T { return l.first.value }

func (l *list[T]) push(e *node[T]) {
	l.remove(e)
	e.prev, e.next, e.in = l.last, nil, true
	if l.last == nil {
		l.first = e
	} else {
		l.last.next = e
	}
	l.last = e
	l.n++
}

// remove reports whether e was in the list.
func (l *list[T]) remove(e *node[T]) bool {
	if !e.in {
		return false
	}
	if e.prev == nil {
		l.first = e.next
	} else {
		e.prev.next = e.next
	}
	if e.next == nil {
		l.last = e.prev
	} else {
		e.next.prev = e.prev
	}
	e.prev, e.next, e.in = nil, nil, false
	l.n--
	return true
}

// signal wakes those who wait for a change. Its owner's mutex guards it.
type signal struct{ c chan struct{} }

// wait returns a channel that the next wake closes.
func (s *signal) wait() <-chan struct{} {
	if s.c == nil {
		s.c = make(chan struct{})
	}
	return s.c
}

func (s *signal) wake() {
	if s.c != nil {
		close(s.c)
		s.c = nil
	}
}
