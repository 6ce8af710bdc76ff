package postgres

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"github.com/dpaccountant/accountant/internal/persist/postgres/schema"
)

// migrate makes the tables, or brings those of an earlier version up to date, one daemon at a time.
// It refuses a database that a newer version of this program has changed.
func migrate(ctx context.Context, config *pgx.ConnConfig) error {
	db := stdlib.OpenDB(*config)
	defer func() { _ = db.Close() }() // nothing is left to lose
	locker, err := lock.NewPostgresSessionLocker()
	if err != nil {
		return err
	}
	goose, err := goose.NewProvider(goose.DialectPostgres, db, schema.Scripts(), goose.WithSessionLocker(locker),
		goose.WithTableName(schema.Table))
	if err != nil {
		return err
	}
	newest := schema.Newest()
	stored, err := storedVersion(ctx, db)
	if err != nil {
		return err
	}
	if stored < newest {
		if _, err := goose.Up(ctx); err != nil {
			return fmt.Errorf("making the tables, which the database's user needs the right to do: %w", err)
		}
		if stored, err = storedVersion(ctx, db); err != nil {
			return err
		}
	}
	if stored > newest {
		return fmt.Errorf("schema version %d, of a newer version of this program; this one supports %d: use the newer "+
			"one", stored, newest)
	}
	return nil
}

// storedVersion returns the version of the database's tables, 0 if there are none.
func storedVersion(ctx context.Context, db *sql.DB) (int64, error) {
	return schema.Stored(func(sql string, to any) error { return db.QueryRowContext(ctx, sql).Scan(to) })
}
