// SPDX-License-Identifier: Apache-2.0

package main

import (
	"sync"
	"time"
)

// tries remembers how it stands with something that is done again and again.
type tries struct {
	mu    sync.Mutex
	since time.Time // of the last success, or the start
	err   error     // of the newest attempt
}

func begun() *tries { return &tries{since: time.Now()} }

// tried is told how each attempt has ended that began at a time.
func (t *tries) tried(at time.Time, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err = err; err == nil {
		t.since = at
	}
}

// failing returns why the newest attempt has failed, if it has, and when one last succeeded.
func (t *tries) failing() (since time.Time, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.since, t.err
}
