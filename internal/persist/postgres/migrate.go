package postgres

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

//go:embed migrations/*.sql
var migrations embed.FS

// migrate makes the tables, or brings those of an earlier version up to date, one daemon at a time.
// It refuses a database that a newer version of this program has changed.
func migrate(ctx context.Context, config *pgx.ConnConfig) error {
	db := stdlib.OpenDB(*config)
	defer func() { _ = db.Close() }() // nothing is left to lose
	scripts, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	locker, err := lock.NewPostgresSessionLocker()
	if err != nil {
		return err
	}
	goose, err := goose.NewProvider(goose.DialectPostgres, db, scripts, goose.WithSessionLocker(locker),
		goose.WithTableName("schema_version"))
	if err != nil {
		return err
	}
	newest := newestVersion(goose)
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

func newestVersion(p *goose.Provider) (newest int64) {
	for _, s := range p.ListSources() {
		newest = max(newest, s.Version)
	}
	return newest
}

// storedVersion returns the version of the database's tables, 0 if there are none.
func storedVersion(ctx context.Context, db *sql.DB) (version int64, err error) {
	var there bool
	const find = "SELECT EXISTS (SELECT 1 FROM information_schema.tables " +
		"WHERE table_schema = current_schema() AND table_name = 'schema_version')"
	if err := db.QueryRowContext(ctx, find).Scan(&there); err != nil || !there {
		return 0, err
	}
	err = db.QueryRowContext(ctx, "SELECT coalesce(max(version_id), 0) FROM schema_version WHERE is_applied").
		Scan(&version)
	return version, err
}
