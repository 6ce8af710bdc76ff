// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// orphan is the process of a session that was given up; 0 if there is none.
type orphan uint32

// end lets go of what the session has locked. Without the right to do so the server's keepalive does it later.
func (o *orphan) end(ctx context.Context, c *pgx.Conn) {
	if *o != 0 {
		if _, err := c.Exec(ctx, endOrphan, int64(*o)); err == nil {
			*o = 0
		}
	}
}

// endOrphan ends a session that was given up if it waits for its client to send more. It leaves alone
// a session that commits: PostgreSQL would end its wait for the standby. A session in the middle of a
// round trip has no time limit of its own.
const endOrphan = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
	WHERE pid = $1 AND application_name = 'accountantd' AND wait_event = 'ClientRead'`
