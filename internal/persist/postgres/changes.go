// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/dpaccountant/accountant/internal/ledger"
)

const (
	channel = "accountant"
	// pollEvery is how often a daemon is told that anything may have changed, in case a notification
	// was lost or the database has none.
	pollEvery = time.Second
	// notifyEvery bounds how often a daemon tells the others: PostgreSQL takes notifications one
	// transaction after the other.
	notifyEvery = 10 * time.Millisecond
	// maxPayload is less than PostgreSQL takes in one notification, 8,000 bytes.
	maxPayload = 7000
)

// Changes calls f with the names of ledgers that other daemons may have changed, and with none when
// anything may have changed. f must not block. stop ends it. Nothing that must be right depends on
// it: who needs the newest head asks Heads.
func (s *Store) Changes(f func(names ...string)) (stop func()) {
	ctx, cancel := context.WithCancel(s.closing)
	var listener sync.WaitGroup
	listener.Go(func() {
		for ctx.Err() == nil {
			s.listen(ctx, f)
			f()
			pause(ctx, pollEvery)
		}
	})
	return func() {
		cancel()
		listener.Wait()
	}
}

// listen calls f until the connection is lost.
func (s *Store) listen(ctx context.Context, f func(names ...string)) {
	c, err := pgx.ConnectConfig(ctx, s.pool.Config().ConnConfig)
	if err != nil {
		return
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = c.Close(closing) // it has only listened
	}()
	if _, err := c.Exec(ctx, "LISTEN "+channel); err != nil {
		return
	}
	f() // what has changed before
	polled := time.Now()
	for {
		wait, cancel := context.WithDeadline(ctx, polled.Add(pollEvery))
		n, err := c.WaitForNotification(wait)
		late := wait.Err() != nil && ctx.Err() == nil
		cancel()
		switch {
		case err == nil:
			from, names, _ := strings.Cut(n.Payload, "\n")
			if from != s.daemon.String() && names != "" {
				f(strings.Split(names, "\n")...)
			} else if from != s.daemon.String() {
				f()
			}
		case late && !c.IsClosed():
			f()
			polled = time.Now()
		default:
			return
		}
	}
}

// changed are the ledgers of which the other daemons are to be told.
type changed struct {
	mu    sync.Mutex
	names map[string]bool
	some  chan struct{}
}

func (c *changed) add(books map[string]*booked) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, b := range books {
		if b.changed {
			c.names[name] = true
		}
	}
	select {
	case c.some <- struct{}{}:
	default:
	}
}

func (c *changed) take() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	names := slices.Collect(maps.Keys(c.names))
	clear(c.names)
	return names
}

// notify tells the other daemons what has changed, until the store is closed. It does so after the
// commit and in a transaction of its own, because PostgreSQL lets only one transaction with a
// notification commit at a time. A notification that is lost is made up for by the poll.
func (s *Store) notify() {
	for {
		select {
		case <-s.closing.Done():
			return
		case <-s.changed.some:
		}
		payload := s.daemon.String()
		for _, name := range s.changed.take() {
			if len(payload)+1+len(name) > maxPayload {
				payload = s.daemon.String() // and no names: anything
				break
			}
			payload += "\n" + name
		}
		ctx, cancel := context.WithTimeout(s.closing, s.config.ReadLimit)
		_ = s.with(ctx, func(ctx context.Context, c *pgx.Conn) error {
			_, err := roundTrip(ctx, c, []query{{sql: begin},
				{sql: "SELECT set_config('synchronous_commit', 'off', true)"}, // it writes nothing of the ledgers
				{sql: "SELECT pg_notify($1, $2)", args: []any{channel, payload}}, {sql: "COMMIT"}})
			return err
		})
		cancel()
		pause(s.closing, notifyEvery)
	}
}

// shared is what the keeper asks of a store that several daemons serve.
var _ interface {
	Heads(names []string) ([]ledger.Head, error)
	Changes(f func(names ...string)) (stop func())
} = (*Store)(nil)
