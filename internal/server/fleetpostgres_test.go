package server_test

import (
	"testing"
	"time"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/postgres"
	"github.com/dpaccountant/accountant/internal/persist/postgres/pgtest"
	"github.com/dpaccountant/accountant/internal/server/lineartest"
)

// The games of several daemons, on a PostgreSQL database that all of them use.
func TestLinearizableOnPostgreSQL(t *testing.T) {
	t.Parallel()
	url := pgtest.Database(t)
	var stores []ledger.Store
	for range 3 {
		store, err := postgres.Open(postgres.Config{URL: url, ReadLimit: time.Minute, CommitLimit: time.Minute,
			Abandoned: time.Minute}) // the machine can be busy
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := store.Close(); err != nil {
				t.Error(err)
			}
		})
		stores = append(stores, store)
	}
	client := fleet(t, stores...)
	lineartest.Game{Client: client, Ledger: "linear", Seed: 1, Clients: 6, Calls: 40}.Play(t)
	lineartest.Game{Client: client, Ledger: "sets", Seed: 2, Clients: 5, Calls: 30}.PlaySets(t)
}
