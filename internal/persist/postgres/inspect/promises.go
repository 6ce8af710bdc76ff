// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// Promises are what the primary's settings say about commits that it has acknowledged.
type Promises struct {
	Fsync, FullPageWrites bool   // both: they survive a crash of its machine
	SynchronousStandbys   string // synchronous_standby_names; not empty: they survive its loss
	Standbys, Synchronous int    // standbys that are connected, and those of them that commits wait for
	SeesStandbys          bool   // this user may see which of the standbys are synchronous
	Timeline              int64  // raised by each promotion; 0 if this user may not see it

	// LagBytes is how much of its log the primary has written that the standby which is behind most has not
	// replayed. It is nil if there is no standby, or if this user may not see it.
	LagBytes *float64

	// Ahead is by how much the server's clock is ahead of this machine's, give or take Within.
	Ahead, Within time.Duration
}

// Promised reads them.
func Promised(ctx context.Context, c *pgx.Conn) (p Promises, err error) {
	const settings = `SELECT current_setting('fsync') = 'on', current_setting('full_page_writes') = 'on',
		current_setting('synchronous_standby_names'),
		(SELECT count(*) FROM pg_stat_replication),
		(SELECT count(*) FROM pg_stat_replication WHERE sync_state IN ('sync', 'quorum')),
		pg_has_role('pg_read_all_stats', 'usage'),
		CASE WHEN has_function_privilege('pg_control_checkpoint()', 'execute')
			THEN (SELECT timeline_id FROM pg_control_checkpoint())::bigint ELSE 0 END,
		(SELECT max(pg_wal_lsn_diff(pg_current_wal_lsn(), replay_lsn))::float8 FROM pg_stat_replication),
		clock_timestamp()`
	var there time.Time
	asked := time.Now()
	err = c.QueryRow(ctx, settings).Scan(&p.Fsync, &p.FullPageWrites, &p.SynchronousStandbys, &p.Standbys,
		&p.Synchronous, &p.SeesStandbys, &p.Timeline, &p.LagBytes, &there)
	p.Within = time.Since(asked) / 2
	p.Ahead = there.Sub(asked.Add(p.Within))
	return p, err
}
