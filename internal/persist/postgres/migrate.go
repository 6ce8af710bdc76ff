// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"github.com/dpaccountant/accountant/internal/persist/postgres/inspect"
)

// migrate makes the tables, or brings those of an earlier version up to date, one daemon at a time.
// It refuses a database that a newer version of this program has changed, and makes no tables where those of
// the store id must be.
func migrate(ctx context.Context, config *pgx.ConnConfig, id string) error {
	db := stdlib.OpenDB(*config)
	defer func() { _ = db.Close() }() // nothing is left to lose
	locker, err := lock.NewPostgresSessionLocker()
	if err != nil {
		return err
	}
	goose, err := goose.NewProvider(goose.DialectPostgres, db, inspect.Scripts(), goose.WithSessionLocker(locker),
		goose.WithTableName(inspect.VersionsTable))
	if err != nil {
		return err
	}
	newest := inspect.NewestVersion()
	ask := func(sql string, to any) error { return db.QueryRowContext(ctx, sql).Scan(to) }
	stored, err := inspect.StoredVersion(ask)
	if err != nil {
		return err
	}
	if stored == 0 {
		if free := inspect.FreeOfOthers(ask); free != nil {
			if stored, err = inspect.StoredVersion(ask); stored == 0 { // nobody has made them in the meantime
				return errors.Join(free, err)
			}
		}
		if id != "" && stored == 0 {
			return fmt.Errorf("%w: the database has no store; this daemon serves %s", ErrOtherStore, id)
		}
	}
	if stored < newest {
		if _, err := goose.Up(ctx); err != nil {
			return fmt.Errorf("making the tables, which the database's user needs the right to do: %w", err)
		}
		if stored, err = inspect.StoredVersion(ask); err != nil {
			return err
		}
	}
	if stored > newest {
		return fmt.Errorf("schema version %d, of a newer version of this program; this one supports %d: use the newer "+
			"one", stored, newest)
	}
	return nil
}
