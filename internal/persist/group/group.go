// SPDX-License-Identifier: Apache-2.0

// Package group lets calls that come at the same time share one commit. Every store's writes go
// through it: whoever wants to write submits an operation, and one goroutine, the committer, hands
// all operations that wait to the store together.
package group

import (
	"sync"
	"time"
)

// most bounds the operations of one commit.
const most = 1024

// Committer collects operations of type O for a store. Make it with Start.
type Committer[O any] struct {
	wait     time.Duration
	commit   func([]O) int
	answered func(O)

	gate   sync.RWMutex // held while sending to queue; locked to close it
	closed bool         // guarded by gate
	queue  chan O
	done   chan struct{} // the goroutine has ended

	expected int           // operations that were under way at the last commit's end
	took     time.Duration // the last commit
}

// Start starts a committer. It calls commit with the operations that wait, one call at a time;
// commit returns how many of them, counted from the first, now have their results. answered is then
// called for each of those. The others come first in the next call.
//
// A commit waits for stragglers for wait at most, and only while calls overlap; not at all if wait
// is negative.
func Start[O any](wait time.Duration, commit func([]O) int, answered func(O)) *Committer[O] {
	c := &Committer[O]{wait: wait, commit: commit, answered: answered, queue: make(chan O, most),
		done: make(chan struct{})}
	go c.run()
	return c
}

// Submit hands an operation to the committer. It returns false after Close.
func (c *Committer[O]) Submit(o O) bool {
	c.gate.RLock()
	defer c.gate.RUnlock()
	if c.closed {
		return false
	}
	c.queue <- o
	return true
}

// Waiting returns how many operations were submitted and are in no commit yet.
func (c *Committer[O]) Waiting() int { return len(c.queue) }

// Close makes the committer end once it has answered all that was submitted. It reports whether
// this was the first call.
func (c *Committer[O]) Close() (first bool) {
	c.gate.Lock()
	defer c.gate.Unlock()
	if c.closed {
		return false
	}
	c.closed = true
	close(c.queue)
	return true
}

// Done is closed when the committer has ended.
func (c *Committer[O]) Done() <-chan struct{} { return c.done }

func (c *Committer[O]) run() {
	defer close(c.done)
	var waiting []O
	for {
		if len(waiting) == 0 {
			o, ok := <-c.queue
			if !ok {
				return
			}
			waiting = append(waiting, o)
		}
		waiting = c.collect(waiting)
		start := time.Now()
		n := c.commit(waiting)
		c.took = time.Since(start)
		for _, o := range waiting[:n] {
			c.answered(o)
		}
		waiting = append(waiting[:0:0], waiting[n:]...)
		c.expected = n + len(waiting) + len(c.queue)
	}
}

// collect adds the operations that wait in the queue. While calls overlap, it waits for the
// callers that were just answered to come back; their next operations then share this commit,
// instead of waiting for the one after.
func (c *Committer[O]) collect(ops []O) []O {
	var late <-chan time.Time
	for len(ops) < most {
		select {
		case o, ok := <-c.queue:
			if !ok {
				return ops
			}
			ops = append(ops, o)
			continue
		default:
		}
		if len(ops) >= c.expected || c.wait < 0 {
			return ops
		}
		if late == nil {
			late = time.After(min(c.wait, c.took))
		}
		select {
		case o, ok := <-c.queue:
			if !ok {
				return ops
			}
			ops = append(ops, o)
		case <-late:
			return ops
		}
	}
	return ops
}
