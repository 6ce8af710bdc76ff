// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dpaccountant/accountant/internal/ledger"
)

// census counts the ledgers beside whatever else the daemon does: a store of a million takes it many seconds.
type census struct {
	store  ledger.Store
	shared bool // other daemons make ledgers, too
	gauge  interface {
		Inc()
		Set(number float64)
	}
	found  func(ledger.Summary)
	logger *slog.Logger

	making sync.RWMutex // held for reading from before a ledger is made until it is counted
	made   atomic.Int64 // how many ledgers this daemon has made
}

// countEvery is how long the next count waits, or longer where a count takes long.
const countEvery = time.Minute

// create makes a ledger, if it is not there yet, and adds it to the number.
func (c *census) create(create func() (bool, error)) error {
	c.making.RLock()
	defer c.making.RUnlock()
	created, err := create()
	if created {
		c.made.Add(1)
		c.gauge.Inc()
	}
	return err
}

// run counts until the number is right, and again and again where other daemons make ledgers, too.
func (c *census) run(end context.Context) {
	for {
		start := time.Now()
		if right := c.count(end); right && !c.shared {
			return
		}
		again := max(countEvery, 20*time.Since(start)) // at most a twentieth of the time is spent counting
		select {
		case <-end.Done():
			return
		case <-time.After(again):
		}
	}
}

// count sets the number, and reports whether it is right: no ledger was made meanwhile, and all could be read. A ledger
// that cannot be read ends the count and nothing else: it affects no other.
func (c *census) count(end context.Context) bool {
	c.making.Lock()
	before, n := c.made.Load(), 0
	c.making.Unlock()
	last := ""
	for l, err := range ledger.All(c.store, "", "") {
		if err != nil {
			c.logger.Warn("ledgers are not all counted", "after", last, "error", err)
			return false
		}
		if end.Err() != nil {
			return false
		}
		if last = l.Genesis.Spec.Name; l.Genesis.Spec.Dataset == nil {
			n++
		}
		c.found(l)
	}
	c.making.Lock()
	defer c.making.Unlock()
	c.gauge.Set(float64(n))
	return c.made.Load() == before
}
