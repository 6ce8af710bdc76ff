// SPDX-License-Identifier: Apache-2.0

package inspect_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/postgres"
	"github.com/dpaccountant/accountant/internal/persist/postgres/inspect"
	"github.com/dpaccountant/accountant/internal/persist/postgres/pgtest"
	"github.com/dpaccountant/accountant/internal/persist/postgres/reach"
	"github.com/dpaccountant/accountant/internal/persist/rows"
)

// What is found is what a daemon finds: all tables that it makes, and its keys, of which none may be missing.
func TestLookFindsWhatADaemonFinds(t *testing.T) {
	t.Parallel()
	at := reach.Address{URL: pgtest.Database(t)}
	store, err := postgres.Open(postgres.Config{URL: at.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	for i := range byte(2) {
		key := rows.BoundKey{Fingerprint: [32]byte{1 + i}, Since: time.Unix(int64(i), 0)}
		if err := store.BindKey(key); err != nil {
			t.Fatal(err)
		}
	}
	want, err := store.Keys()
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	f, err := inspect.Look(ctx, at)
	if err != nil || f.Store != store.ID() || !slices.Equal(f.Keys, want) || len(f.Lacks) > 0 {
		t.Errorf("%+v, %v; want store %s with the keys %v", f, err, store.ID(), want)
	}
	c, err := pgx.Connect(ctx, at.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(ctx) }()
	found, err := c.Query(ctx, "SELECT relname::text FROM pg_class "+
		"WHERE relnamespace = current_schema()::regnamespace "+
		"AND relkind IN ('r', 'p', 'v') AND NOT relispartition AND relname <> $1", inspect.VersionsTable)
	if err != nil {
		t.Fatal(err)
	}
	tables, err := pgx.CollectRows(found, pgx.RowTo[string])
	named := inspect.Tables()
	slices.Sort(tables)
	slices.Sort(named)
	if err != nil || !slices.Equal(tables, named) {
		t.Errorf("the database has the tables %v, %v; the scripts name %v", tables, err, named)
	}
	if _, err := c.Exec(ctx, "DELETE FROM meta WHERE name = $1", rows.KeyName(0)); err != nil {
		t.Fatal(err)
	}
	if f, err := inspect.Look(ctx, at); !errors.Is(err, ledger.ErrDamaged) {
		t.Errorf("a key is missing: %v, %v; want %v, as a daemon says", f.Keys, err, ledger.ErrDamaged)
	}
	if _, err := store.Keys(); !errors.Is(err, ledger.ErrDamaged) {
		t.Errorf("a daemon, when a key is missing: %v", err)
	}
}
