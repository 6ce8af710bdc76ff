// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/postgres/sweep"
)

// stepLimit bounds how long one step of a sweep takes. Nobody waits for it.
const stepLimit = 30 * time.Second

// Sweep verifies some of the database, about a MiB at most, from a place on: the beginning if it is empty. It returns
// the place after that, which is empty at the end. If a ledger is damaged it returns ErrDamaged with the ledger's name,
// and the place after that ledger. Nothing is refused because of it: what needs the damaged row is refused anyway, by
// whichever daemon reads it, and other ledgers go on.
func (s *Store) Sweep(ctx context.Context, place []byte) (next []byte, read int64, err error) {
	if err := s.refused(); err != nil {
		return place, 0, err
	}
	limited, cancel := context.WithTimeout(ctx, stepLimit)
	defer cancel()
	from := sweep.Parse(place)
	if from == (sweep.Place{}) {
		if _, err := s.Keys(); err != nil {
			return place, 0, err
		}
	}
	var to sweep.Place
	var done bool
	err = s.with(limited, func(ctx context.Context, c *pgx.Conn) (err error) {
		to, done, read, err = sweep.Sweeper{Load: loads}.Step(ctx, c, from)
		return err
	})
	if !done {
		next = to.Bytes()
	}
	switch {
	case err == nil, errors.Is(err, ledger.ErrDamaged):
		return next, read, err
	case ctx.Err() != nil:
		return place, read, ctx.Err()
	}
	return place, read, fmt.Errorf("%w: %s: %w", ledger.ErrUnavailable, s.config.name(), err)
}

// loads reads a ledger and gives the connection back as it was.
func loads(ctx context.Context, c *pgx.Conn, name string) error {
	v := &view{ctx: ctx, conn: c, heads: heads{}}
	if _, err := v.load(name); err != nil {
		rollback(c)
		return err
	}
	_, err := c.Exec(ctx, "COMMIT")
	return err
}
