// Package signals wakes goroutines that wait for a change.
package signals

import "sync"

// Signal wakes the goroutines that wait for a change. Its owner's mutex guards it.
type Signal struct{ c chan struct{} }

// Wait returns a channel that the next Wake closes.
func (s *Signal) Wait() <-chan struct{} {
	if s.c == nil {
		s.c = make(chan struct{})
	}
	return s.c
}

// Wake wakes all who wait.
func (s *Signal) Wake() {
	if s.c != nil {
		close(s.c)
		s.c = nil
	}
}

// Changes tells watchers that a ledger's committed state has changed. It is safe for concurrent use.
type Changes struct {
	mu     sync.Mutex
	signal Signal
}

// Next returns a channel that is closed at the next change.
func (c *Changes) Next() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.signal.Wait()
}

// Happened closes it. Nobody waits for a watcher.
func (c *Changes) Happened() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.signal.Wake()
}
