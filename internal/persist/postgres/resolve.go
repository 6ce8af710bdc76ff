// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/rows"
)

// errNotCommitted means that a commit was not answered, and was found not to have happened.
var errNotCommitted = errors.New("the commit did not happen")

// finish makes the second round trip: it writes everything and commits. If the answer does not come
// or cannot be relied on, it finds out.
func (a *attempt) finish(ctx context.Context, c *pgx.Conn) error {
	data := c.PgConn().CustomData()
	delete(data, warned)
	queries := append(a.writes.statements(), query{sql: "COMMIT"})
	a.commit.RoundTrips++
	tag, err := roundTrip(ctx, c, queries)
	switch {
	case data[warned] != nil:
		err = fmt.Errorf("the server warned: %v", data[warned])
	case err == nil && tag.String() == "COMMIT":
		return nil
	case err == nil: // it answered ROLLBACK
		return errNotCommitted
	case codeOf(err) != "":
		rollback(c)
		return err
	}
	_ = c.PgConn().Conn().Close() // nothing more is sent through it, and its rest is not read
	a.orphan = orphan(c.PgConn().PID())
	outcome, err := a.resolve(err)
	if a.config.Observer.Unknown != nil {
		a.config.Observer.Unknown(outcome)
	}
	switch outcome {
	case Committed:
		return nil
	case NotCommitted:
		return errNotCommitted
	}
	return fmt.Errorf("%w: %s: a commit was not answered: %w", ledger.ErrUnknown, a.config.name(), err)
}

// fence names the row of marks that this store's commits lock.
func (s *Store) fence() []any { return []any{s.daemon, int64(0)} }

// raiseFence waits until the transaction that has locked the row has ended, in whichever way.
const raiseFence = "UPDATE marks SET n = n + 1 WHERE daemon = $1 AND session = $2 RETURNING n"

// resolve finds out what became of the transaction. It asks until it knows, or the store is closed: while a standby is
// missing, for example, nobody can know. Nobody will if the entries that it asks for are damaged.
func (a *attempt) resolve(cause error) (Outcome, error) {
	a.pool.Reset()
	for a.closing.Err() == nil {
		ctx, cancel := context.WithTimeout(a.closing, a.config.CommitLimit)
		committed := false
		err := a.with(ctx, func(ctx context.Context, c *pgx.Conn) (err error) {
			a.orphan.end(ctx, c)
			committed, err = a.look(ctx, c)
			return err
		})
		cancel()
		switch {
		case err == nil && committed:
			return Committed, nil
		case err == nil:
			return NotCommitted, nil
		case errors.Is(err, ledger.ErrDamaged) && !errors.Is(err, errNoFence):
			return Unresolved, err
		}
		a.lost(fmt.Errorf("%w; a commit before that was not answered: %w", err, cause))
		pause(a.closing, retryEvery)
	}
	return Unresolved, cause
}

// look waits for the transaction's end and sees whether it has written its rows, in a transaction
// that writes: when this one completes, what it has read is durable.
func (a *attempt) look(ctx context.Context, c *pgx.Conn) (committed bool, err error) {
	a.commit.RoundTrips++
	fenced := false
	err = completed(ctx, c, []query{{sql: begin},
		{raiseFence, a.fence(), func(r pgx.Rows) error {
			var n int64
			fenced = true
			return r.Scan(&n)
		}},
		a.writes.witness(&committed), {sql: "COMMIT"}})
	if err == nil && !fenced {
		err = errNoFence
	}
	return committed, err
}

var errNoFence = fmt.Errorf("%w: this daemon's row of marks is gone", ledger.ErrDamaged)

// witness asks for what only this transaction can have written: an entry, which may have been merged with others since,
// or else a ledger. A log key does not suffice: what a server has drawn for transactions that it never committed is
// drawn again after it was killed, or by the standby that takes its place. Two commits of one ledger may then have the
// same key, and what they write differs.
func (w *writes) witness(found *bool) query {
	if len(w.tail.numbers[0]) == 0 {
		return query{"SELECT EXISTS (SELECT 1 FROM ledgers WHERE number = $1 AND name = $2 AND genesis = $3)",
			[]any{w.ledgers.numbers[0][0], w.ledgers.bytes[0][0], w.ledgers.bytes[1][0]},
			func(r pgx.Rows) error { return r.Scan(found) }}
	}
	number, last, wrote := w.tail.numbers[0][0], w.tail.numbers[1][0], w.tail.bytes[0][0]
	return query{readPack, []any{number, last}, func(r pgx.Rows) error {
		covers, value, err := scanTwo(r)
		if err != nil {
			return err
		}
		there, err := entryAt(uint64(number), uint64(last), covers, value)
		if err != nil {
			return err
		}
		want, err := entryAt(uint64(number), uint64(last), uint64(last), wrote)
		*found = err == nil && there.Hash == want.Hash && there.Key == want.Key
		return err
	}}
}

// entryAt reads an entry of a ledger from the row of the log that ends at position last.
func entryAt(number, position, last uint64, value []byte) (e rows.Linked, err error) {
	p, err := rows.ParsePack(number, last, value)
	if err != nil {
		return e, err
	}
	return rows.Among(number, p).At(position)
}
