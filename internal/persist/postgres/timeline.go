// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5/pgconn"
)

// timeline is the key under which a connection keeps its server's timeline, whose number each promotion raises. It
// is missing on databases that have no timelines.
const timeline = "timeline"

// started is the key under which a connection keeps which start of which server it is to.
const started = "started"

// undefinedFunction is the SQLSTATE of databases without timelines.
const undefinedFunction = "42883"

// goesOn refuses a server that may not be written to, and one on an earlier timeline than the store has written on.
// What was acknowledged on the later one is missing there, even if a standby follows that server again. This
// happens when an old primary comes back and takes the lead from its successor.
//
// Two servers that were promoted from the same primary have the same number and are not told apart. They would be if
// each new connection raised a row of the daemon's own only where it is not behind the last raise that waited for a
// standby: on the other branch the row is older. This is not built, because a raise that no longer waits, as when
// synchronous_standby_names becomes empty, must not count.
func (s *Store) goesOn(ctx context.Context, c *pgconn.PgConn) error {
	if err := pgconn.ValidateConnectTargetSessionAttrsReadWrite(ctx, c); err != nil {
		return err
	}
	result, err := c.Exec(ctx, "SELECT pg_walfile_name(pg_current_wal_insert_lsn()), pg_postmaster_start_time()").
		ReadAll()
	if codeOf(err) == undefinedFunction && s.timeline.Load() == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	name := string(result[0].Rows[0][0]) // the timeline's eight digits come first
	n, err := strconv.ParseInt(name[:min(8, len(name))], 16, 64)
	if err != nil {
		return fmt.Errorf("the name of the server's log: %w", err)
	}
	if newest := s.timeline.Load(); n < newest {
		return fmt.Errorf("the server is on timeline %d, and this daemon has written on timeline %d: what was "+
			"acknowledged there is missing on this server, which is an old primary or was set back; allowed: the "+
			"newest primary (if the database was set back on purpose, restart the daemons)", n, newest)
	}
	c.CustomData()[timeline] = n
	c.CustomData()[started] = fmt.Sprintf("%s on timeline %d", result[0].Rows[0][1], n)
	return nil
}

// reached notes the timeline of a connection on which a write was completed. Other connections may be to a server
// that is no longer the primary.
func (s *Store) reached(c *pgconn.PgConn) {
	n, _ := c.CustomData()[timeline].(int64)
	for newest := s.timeline.Load(); n > newest; newest = s.timeline.Load() {
		if s.timeline.CompareAndSwap(newest, n) && newest > 0 {
			s.pool.Reset()
		}
	}
}
