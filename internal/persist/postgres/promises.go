package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/dpaccountant/accountant/internal/ledger"
)

// Promises are what the primary's settings say about commits that it has acknowledged.
type Promises struct {
	Fsync, FullPageWrites bool   // both: they survive a crash of its machine
	SynchronousStandbys   string // synchronous_standby_names; not empty: they survive its loss
	Standbys, Synchronous int    // standbys that are connected, and those of them that commits wait for
	Timeline              int64  // raised by each promotion; 0 if this user may not see it

	// LagBytes is how much of its log the primary has written that the standby which is behind most has not
	// replayed. It is nil if there is no standby, or if this user may not see it.
	LagBytes *float64
}

// Promises reads them.
func (s *Store) Promises() (p Promises, err error) {
	const settings = `SELECT current_setting('fsync') = 'on', current_setting('full_page_writes') = 'on',
		current_setting('synchronous_standby_names'),
		(SELECT count(*) FROM pg_stat_replication),
		(SELECT count(*) FROM pg_stat_replication WHERE sync_state IN ('sync', 'quorum')),
		CASE WHEN has_function_privilege('pg_control_checkpoint()', 'execute')
			THEN (SELECT timeline_id FROM pg_control_checkpoint())::bigint ELSE 0 END,
		(SELECT max(pg_wal_lsn_diff(pg_current_wal_lsn(), replay_lsn))::float8 FROM pg_stat_replication)`
	err = s.attempt(func(ctx context.Context, c *pgx.Conn) error {
		return c.QueryRow(ctx, settings).Scan(&p.Fsync, &p.FullPageWrites, &p.SynchronousStandbys, &p.Standbys,
			&p.Synchronous, &p.Timeline, &p.LagBytes)
	})
	return p, err
}

// errNoStandby refuses a commit on a primary that would acknowledge it alone.
var errNoStandby = errors.New("the database does not wait for a standby (synchronous_standby_names is empty), and " +
	"this daemon was started with --require-standby; allowed: a primary with a synchronous standby")

// requireStandby returns a query that refuses such a primary in the transaction of a commit.
func requireStandby() query {
	return query{"SELECT coalesce(current_setting('synchronous_standby_names', true), '') <> ''", nil,
		func(r pgx.Rows) error {
			var waits bool
			if err := r.Scan(&waits); err != nil || waits {
				return err
			}
			return fmt.Errorf("%w: %w", ledger.ErrUnavailable, errNoStandby)
		}}
}
