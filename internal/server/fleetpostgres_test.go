// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"testing"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/postgres/pgtest"
	"github.com/dpaccountant/accountant/internal/server/lineartest"
)

// The games of several daemons, on a PostgreSQL database that all of them use.
func TestLinearizableOnPostgreSQL(t *testing.T) {
	t.Parallel()
	url := pgtest.Database(t)
	var stores []ledger.Store
	for range 3 {
		stores = append(stores, openShared(t, url))
	}
	client := fleet(t, stores...)
	lineartest.Game{Client: client, Ledger: "linear", Seed: 1, Clients: 6, Calls: 40}.Play(t)
	lineartest.Game{Client: client, Ledger: "sets", Seed: 2, Clients: 5, Calls: 30}.PlaySets(t)
}
