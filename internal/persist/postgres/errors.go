// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpaccountant/accountant/internal/ledger"
)

// noTable is the SQLSTATE for a table that is not there.
const noTable = "42P01"

// codeOf returns the SQLSTATE with which the server refused a statement and went on, or "". After a
// fatal error the connection ends, and nobody knows how far the server came.
func codeOf(err error) string {
	var e *pgconn.PgError
	if !errors.As(err, &e) || e.SeverityUnlocalized != "" && e.SeverityUnlocalized != "ERROR" || e.Code[:2] == "08" ||
		e.Code == "40003" { // "statement completion unknown", of other databases
		return ""
	}
	return e.Code
}

// isConflict reports whether the database gave a transaction up for another one. Nothing was
// written, and the next attempt sees what the other has done.
func isConflict(err error) bool {
	return errors.Is(err, errNotCommitted) ||
		slices.Contains([]string{"40001", "40P01", "23505"}, codeOf(err)) // serialization, deadlock, unique
}

// isBroken reports whether another connection may succeed.
func isBroken(err error) bool {
	if err == nil || errors.Is(err, context.Canceled) {
		return false
	}
	for _, known := range []error{ledger.ErrDamaged, ledger.ErrNotFound, ledger.ErrConflict, ledger.ErrExists,
		ledger.ErrUnknown, ledger.ErrTooLarge, errNoStandby} {
		if errors.Is(err, known) {
			return false
		}
	}
	code := codeOf(err)
	return code == "" || code == "25006" // no longer the primary
}

// failure makes an error of the database one of the contract's.
func (s *Store) failure(err error) error {
	for _, known := range []error{ledger.ErrDamaged, ledger.ErrNotFound, ledger.ErrConflict, ledger.ErrExists,
		ledger.ErrUnknown, ledger.ErrUnavailable, ledger.ErrTooLarge} {
		if err == nil || errors.Is(err, known) {
			return err
		}
	}
	if isBroken(err) {
		s.lost(err)
	}
	if codeOf(err) == noTable && s.Moved() == nil { // its ledgers were moved away
		s.pool.Reset() // a new connection learns of it
	}
	return fmt.Errorf("%w: %s: %w", ledger.ErrUnavailable, s.config.name(), err)
}

// retryEvery is the pause between two attempts to reach the database.
const retryEvery = 100 * time.Millisecond

// pause returns after d, or when ctx ends.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// attempt runs f with a connection. Where a connection is broken it takes another one, until the
// time limit of a read; so f must do no harm when it is run again.
func (s *Store) attempt(f func(context.Context, *pgx.Conn) error) error {
	ctx, cancel := context.WithTimeout(s.closing, s.config.ReadLimit)
	defer cancel()
	var why error // an earlier attempt failed, which says more than that the time is over
	for {
		err := s.with(ctx, f)
		if ctx.Err() != nil && errors.Is(err, context.DeadlineExceeded) && why != nil {
			err = why
		}
		if !isBroken(err) && !isConflict(err) || ctx.Err() != nil {
			return s.failure(err)
		}
		why = err
		if isBroken(err) {
			s.pool.Reset()
		}
		pause(ctx, retryEvery)
	}
}

func (s *Store) with(ctx context.Context, f func(context.Context, *pgx.Conn) error) error {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	if err = f(ctx, conn.Conn()); err != nil {
		rollback(conn.Conn())
	}
	return err
}

// away is whether the database can be reached.
type away struct {
	mu  sync.Mutex
	err error
}

// reason returns why the database cannot be reached, or nil.
func (a *away) reason() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.err
}

// set notes why the database cannot be reached, and reports whether that is new.
func (a *away) set(err error) (changed bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	changed = (a.err == nil) != (err == nil)
	a.err = err
	return changed
}

// Ready returns why the database cannot be used now, or nil.
func (s *Store) Ready() error { return s.refused() }

// lost makes the store refuse everything at once until the database can be reached again.
func (s *Store) lost(err error) {
	away := func(err error) error {
		return fmt.Errorf("%w: %s cannot be reached: %w", ledger.ErrUnavailable, s.config.name(), err)
	}
	err = away(err)
	if s.closing.Err() != nil || !s.away.set(err) {
		return
	}
	s.tell(err)
	s.ended.Go(func() {
		for s.closing.Err() == nil {
			s.pool.Reset()
			// A new connection completes a write, and may have to try several servers before.
			ctx, cancel := context.WithTimeout(s.closing, s.config.CommitLimit)
			err := s.pool.Ping(ctx)
			cancel()
			if err == nil {
				s.away.set(nil)
				s.tell(nil)
				return
			}
			s.away.set(away(err)) // the newest reason
			pause(s.closing, retryEvery)
		}
	})
}

func (s *Store) tell(err error) {
	if s.config.Observer.Away != nil {
		s.config.Observer.Away(err)
	}
}
