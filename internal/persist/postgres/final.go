// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/house"
	"github.com/dpaccountant/accountant/internal/persist/rows"
)

// Final makes a backup after which the ledgers go on elsewhere. It takes the table of heads away,
// without which no daemon can read or write a ledger, whatever its version: commits that are under way
// end before that, and all later ones fail. It makes the same backup again, as often as it is asked.
func (s *Store) Final() (content io.ReadCloser, size int64, err error) {
	if err := house.Leave(s, s.move); err != nil {
		return nil, 0, err
	}
	var final rows.Final
	err = s.attempt(func(ctx context.Context, c *pgx.Conn) (err error) {
		final, err = readFinal(ctx, c)
		return err
	})
	if err != nil {
		return nil, 0, err
	}
	return s.copy("moved_heads", &final)
}

// move takes the heads away, in one transaction. It may be run again after an unknown outcome.
func (s *Store) move() error {
	sealed := sealMeta(rows.FinalName, rows.Final{At: time.Now()}.Append(nil))
	err := s.attempt(func(ctx context.Context, c *pgx.Conn) error {
		switch _, err := readFinal(ctx, c); {
		case err == nil:
			return s.cover(ctx, c) // an earlier attempt has succeeded
		case !errors.Is(err, pgx.ErrNoRows):
			return err
		}
		return completed(ctx, c, []query{{sql: begin}, {sql: "LOCK TABLE heads IN ACCESS EXCLUSIVE MODE"},
			{sql: "INSERT INTO meta (name, value) VALUES ($1, $2)", args: []any{rows.FinalName, sealed}},
			{sql: "ALTER TABLE heads RENAME TO moved_heads"}, {sql: "COMMIT"}})
	})
	if err != nil {
		return err
	}
	return s.setMoved(sealed)
}

func readFinal(ctx context.Context, c *pgx.Conn) (f rows.Final, err error) {
	var stored []byte
	if err := c.QueryRow(ctx, "SELECT value FROM meta WHERE name = $1", rows.FinalName).Scan(&stored); err != nil {
		return f, err
	}
	return parseFinal(stored)
}

func parseFinal(stored []byte) (rows.Final, error) {
	return parse(rows.MetaBucket, rows.FinalKey, stored, rows.ParseFinal)
}

// setMoved makes the store refuse everything but a final backup.
func (s *Store) setMoved(stored []byte) error {
	f, err := parseFinal(stored)
	if err != nil {
		return err
	}
	err = fmt.Errorf("%w: %s: its ledgers were moved away by a final backup, made %s, and go on in the store that was "+
		"made of it: use that one. If there is none, because the move was given up, restore the final backup into "+
		"another database that is empty (accountantd restore FILE --store); if the backup did not arrive, "+
		"\"accountctl backup FILE --final --store ADDRESS\" makes it again (docs/fleet.md)", ledger.ErrUnavailable,
		s.config.name(), f.At.Format(time.RFC3339))
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
