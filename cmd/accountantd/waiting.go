// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/dpaccountant/accountant/internal/persist/postgres"
	"github.com/dpaccountant/accountant/internal/persist/postgres/reach"
	"github.com/dpaccountant/accountant/internal/server"
)

// errStopped: the daemon was asked to stop while it waited.
var errStopped = errors.New("stopped while waiting for the database")

// Between two attempts to open a database that cannot be reached, and between two records of the log that say so.
const (
	attemptEvery = time.Second
	sayEvery     = time.Minute
)

// awaitDatabase opens a database. While it cannot be reached, the daemon waits for it, says so in the log, and answers
// /healthz with the cause. What does not heal by waiting, such as a wrong password, is returned at once.
func awaitDatabase(ctx context.Context, config server.Config, away func(error),
	open func() (*postgres.Store, error)) (*postgres.Store, error) {
	type opened struct {
		store *postgres.Store
		err   error
	}
	var cause atomic.Pointer[error]
	var said time.Time
	stop := func() {}
	defer func() { stop() }()
	for waiting := false; ; waiting = true {
		got := make(chan opened, 1)
		go func() { // it may take a minute, and heeds no context
			store, err := open()
			got <- opened{store, err}
		}()
		var o opened
		select {
		case <-ctx.Done():
			return nil, errStopped
		case o = <-got:
		}
		if !reach.Heals(o.err) {
			if waiting && o.err == nil {
				away(nil)
			}
			return o.store, o.err
		}
		cause.Store(&o.err)
		if !waiting {
			away(o.err)
			var err error
			if stop, err = server.Wait(config, func() error { return *cause.Load() }); err != nil {
				stop = func() {}
				return nil, err
			}
		}
		if time.Since(said) >= sayEvery {
			said = time.Now()
			slog.Warn("the database cannot be reached: this daemon waits for it, and serves nothing until then",
				"error", o.err)
		}
		select {
		case <-ctx.Done():
			return nil, errStopped
		case <-time.After(attemptEvery):
		}
	}
}
