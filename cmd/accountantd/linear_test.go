// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"testing"

	"github.com/dpaccountant/accountant/internal/server/lineartest"
)

// Clients charge, retry, reserve, commit and release while the daemon is killed
// again and again: what it answered is linearizable, the budget held, and after
// each death the whole file verifies.
func TestLinearizableThroughKills(t *testing.T) {
	dir := dataDir(t)
	d := start(t, dir)
	client := dial(t, "unix:"+d.ready["socket"])
	lineartest.Game{Client: client, Ledger: "killed", Seed: 8, Clients: 6, Calls: 60,
		Disturb: func(ctx context.Context) error {
			for n := range 4 {
				for range 10 * (n + 1) { // some time passes
					waitForMore(ctx, client, "killed")
				}
				d.kill()
				verified(t, dir)
				d = start(t, dir)
			}
			return nil
		}}.Play(t)
}
