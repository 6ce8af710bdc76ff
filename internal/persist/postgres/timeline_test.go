// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpaccountant/accountant/internal/persist/postgres/pgtest"
)

// A server that does not tell its timeline is followed only if it has none, and nothing was written on one before.
func TestUnknownTimeline(t *testing.T) {
	ctx := context.Background()
	c, err := pgconn.Connect(ctx, pgtest.Database(t)) // one of its own: what it makes there stays
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(ctx) }()
	for _, sql := range []string{
		"CREATE FUNCTION public.pg_walfile_name(pg_lsn) RETURNS text LANGUAGE plpgsql AS " +
			"$$ BEGIN RAISE EXCEPTION 'no' USING ERRCODE = current_setting('test.code'); END $$",
		"SET search_path = public, pg_catalog",
	} {
		if _, err := c.Exec(ctx, sql).ReadAll(); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		name, code string
		newest     int64
		followed   bool
	}{
		{"no such function", undefinedFunction, 0, true},
		{"no such function, and written on a timeline before", undefinedFunction, 1, false},
		{"not allowed", "42501", 0, false},
		{"its time ended", "57014", 1, false},
	} {
		if _, err := c.Exec(ctx, "SET test.code = '"+test.code+"'").ReadAll(); err != nil {
			t.Fatal(err)
		}
		s := &Store{}
		s.timeline.Store(test.newest)
		if err := s.goesOn(ctx, c); (err == nil) != test.followed {
			t.Errorf("%s: %v; want it followed: %v", test.name, err, test.followed)
		}
	}
}
