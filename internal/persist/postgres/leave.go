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

// Leave marks the store in a database as moved to another place. It takes the table of heads away, without which no
// daemon can read or write a ledger, whatever its version: commits that are under way end before that, and all later
// ones fail. A store that was moved before is marked anew.
func Leave(c Config, left rows.Left) error {
	s, err := open(c, func(*Store) error { return nil })
	if err != nil {
		return err
	}
	return errors.Join(s.move(left), s.Close())
}

// move takes the heads away, in one transaction. It may be run again after an unknown outcome.
func (s *Store) move(left rows.Left) error {
	return s.attempt(func(ctx context.Context, c *pgx.Conn) error {
		var there bool
		if err := c.QueryRow(ctx, "SELECT to_regclass('heads') IS NOT NULL").Scan(&there); err != nil {
			return err
		}
		statements := []query{{sql: begin}, setMeta(rows.LeftName, left.Append(nil))}
		if there {
			statements = append(statements, query{sql: "LOCK TABLE heads IN ACCESS EXCLUSIVE MODE"},
				query{sql: "ALTER TABLE heads RENAME TO moved_heads"})
		}
		return completed(ctx, c, append(statements, query{sql: "COMMIT"}))
	})
}

func parseLeft(stored []byte) (rows.Left, error) {
	return rows.Parse(rows.MetaBucket, rows.LeftKey, stored, rows.ParseLeft)
}

// setMoved makes the store refuse everything.
func (s *Store) setMoved(stored []byte) error {
	left, err := parseLeft(stored)
	if err != nil {
		return err
	}
	err = fmt.Errorf("%w: %s: %w", ledger.ErrUnavailable, s.config.name(), &left)
	s.moved.CompareAndSwap(nil, &err)
	return nil
}

// Moved returns why a store that was moved away refuses everything, or nil.
func (s *Store) Moved() error {
	if err := s.moved.Load(); err != nil {
		return *err
	}
	return nil
}
