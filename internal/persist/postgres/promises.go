// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/postgres/inspect"
)

// Promises returns what the primary's settings say about commits that it has acknowledged.
func (s *Store) Promises() (p inspect.Promises, err error) {
	err = s.attempt(func(ctx context.Context, c *pgx.Conn) (err error) {
		p, err = inspect.Promised(ctx, c)
		return err
	})
	return p, err
}

// RequireStandby says whether commits are refused while the primary would acknowledge them without a standby.
func (s *Store) RequireStandby(required bool) { s.requireStandby.Store(required) }

// errNoStandby refuses a commit on a primary that would acknowledge it alone.
var errNoStandby = errors.New("the database does not wait for a standby (synchronous_standby_names is empty), and " +
	"a standby is required, by --require-standby or by the access policy (store: require_standby); allowed: a " +
	"primary with a synchronous standby")

// requireStandby returns a query that refuses such a primary in the transaction of a commit.
func requireStandby() query {
	return query{waitsForStandby, nil, func(r pgx.Rows) error {
		var waits bool
		if err := r.Scan(&waits); err != nil || waits {
			return err
		}
		return fmt.Errorf("%w: %w", ledger.ErrUnavailable, errNoStandby)
	}}
}
