// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"sync"
)

// signal wakes the goroutines that wait for a change. Its owner's mutex guards it.
type signal struct{ c chan struct{} }

// wait returns a channel that the next wake closes.
func (s *signal) wait() <-chan struct{} {
	if s.c == nil {
		s.c = make(chan struct{})
	}
	return s.c
}

// wake wakes all who wait.
func (s *signal) wake() {
	if s.c != nil {
		close(s.c)
		s.c = nil
	}
}

// changes tells watchers that a ledger's committed state has changed. It is safe for concurrent use.
type changes struct {
	mu     sync.Mutex
	signal signal
}

// next returns a channel that is closed at the next change.
func (c *changes) next() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.signal.wait()
}

// happened closes it. Nobody waits for a watcher.
func (c *changes) happened() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.signal.wake()
}
