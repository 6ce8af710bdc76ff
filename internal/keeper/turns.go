// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"time"

	"github.com/dpaccountant/accountant/internal/keeper/fleet"
)

// add puts a request into the last batch, or a new one.
func (q *queue) add(it item) {
	n := len(q.batches)
	limit := q.k.config
	if n == 0 || len(q.batches[n-1].items) >= limit.BatchRequests ||
		q.batches[n-1].bytes+it.bytes > limit.BatchBytes {
		room, _ := q.k.rooms.Get().(*[]item)
		if room == nil {
			room = new([]item)
		}
		q.batches = append(q.batches, batch{items: *room, room: room})
		n = len(q.batches)
	}
	b := &q.batches[n-1]
	b.items = append(b.items, it)
	b.bytes += it.bytes
	q.waiting++
	q.k.waiting.Add(1)
	q.bytes += it.bytes
	if !q.running {
		q.running = true
		q.k.start(q)
	}
}

// maxIdleWorkers bounds the deciding goroutines that wait for a ledger.
const maxIdleWorkers = 256

// start hands the queue to an idle worker, or starts a new one. A new worker would first have to grow
// its stack, which costs more than deciding a request.
func (k *Keeper) start(q *queue) {
	select {
	case k.work <- q:
	default:
		go k.decide(q)
	}
}

func (k *Keeper) decide(q *queue) {
	for ok := true; ok; {
		q.run()
		if k.idleWorkers.Add(1) > maxIdleWorkers {
			k.idleWorkers.Add(-1)
			return
		}
		q, ok = <-k.work
		k.idleWorkers.Add(-1)
	}
}

// run decides batches until none waits, or somebody else holds the queue.
func (q *queue) run() {
	for {
		q.mu.Lock()
		switch {
		case q.claimed():
			q.yield()
			q.mu.Unlock()
			return
		case len(q.batches) == 0:
			q.rewind()
			q.mu.Unlock()
			return
		}
		q.owes = false
		b := q.batches[0]
		q.batches[0] = batch{}
		q.batches = q.batches[1:]
		q.waiting -= len(b.items)
		q.k.waiting.Add(-int64(len(b.items)))
		q.bytes -= b.bytes
		q.mu.Unlock()

		q.decide(b.items)

		clear(b.items)
		*b.room = b.items[:0]
		q.k.rooms.Put(b.room)
	}
}

// rewind ends the deciding goroutine. Large scratch space does not outlive it:
// there may be many idle ledgers.
func (q *queue) rewind() {
	const small = 16
	q.running, q.owes = false, false
	q.batches, q.claims = nil, nil
	q.begun = nil
	if cap(q.touched) > small {
		q.touched = nil
	}
}

// leaveRoom makes room for other daemons where this one writes one batch after the other.
func (q *queue) leaveRoom() {
	if q.k.fleet == nil {
		return
	}
	q.mu.Lock()
	more := len(q.batches) > 0
	q.mu.Unlock()
	if q.inRow++; !more {
		q.inRow = 0
	}
	if q.inRow >= fleet.RoomAfter {
		q.inRow = 0
		time.Sleep(fleet.Room(q.took))
	}
}

// arrived notes that one more queue stands still.
func (c *claim) arrived() {
	if c.left.Add(-1) == 0 {
		close(c.reached)
	}
}

// place claims queues, which the caller has pinned. Each stands still once the batch that it decides now
// is written: it goes before the requests that wait. Its caller holds Keeper.placing.
func place(queues []*queue) *claim {
	c := &claim{reached: make(chan struct{})}
	c.left.Store(int32(len(queues)) + 1)
	for _, q := range queues {
		q.mu.Lock()
		q.claims = append(q.claims, c)
		if !q.running {
			q.pass()
		}
		q.mu.Unlock()
	}
	c.arrived()
	return c
}

// pass hands a queue that nobody decides to whom it is due: to a claim, to the deciding goroutine, or to
// nobody. After a claim the queue decides a batch of its own before the next one, if one waits, so that
// neither starves the other. Its caller holds mu.
func (q *queue) pass() {
	switch {
	case q.claimed():
		q.running = true
		q.yield()
	case len(q.batches) > 0:
		q.running = true
		q.k.start(q)
	default:
		q.rewind()
	}
}

// claimed reports whether the queue's next holder is a claim. Its caller holds mu.
func (q *queue) claimed() bool { return len(q.claims) > 0 && (!q.owes || len(q.batches) == 0) }

// yield gives the queue to the first claim. Its caller holds mu.
func (q *queue) yield() {
	c := q.claims[0]
	q.claims = q.claims[1:]
	q.held = true
	c.arrived()
}

// letGo lets queues go on.
func (k *Keeper) letGo(queues []*queue) {
	for _, q := range queues {
		q.mu.Lock()
		q.held, q.owes = false, true
		q.pass()
		q.mu.Unlock()
	}
	k.sets.poke()
}
