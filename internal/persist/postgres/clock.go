// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/dpaccountant/accountant/internal/persist/postgres/inspect"
)

// mostApart is how far the clocks of the database and of this machine may be apart without notice. NTP keeps them
// closer.
const mostApart = time.Second

// Ahead returns by how much the clock of the database's primary is ahead of this machine's, or 0 if they are close. It
// is asked again and again, so it also looks whether a newer version of this program has changed the tables.
func (s *Store) Ahead() (ahead time.Duration, err error) {
	err = s.attempt(func(ctx context.Context, c *pgx.Conn) error {
		var there time.Time
		asked := time.Now()
		var tables int64
		err := c.QueryRow(ctx, "SELECT clock_timestamp(), coalesce(max(version_id), 0) FROM "+inspect.VersionsTable+
			" WHERE is_applied").Scan(&there, &tables)
		if tables > inspect.NewestVersion() {
			s.outdated.Store(true)
		}
		within := time.Since(asked) / 2
		if ahead = there.Sub(asked.Add(within)); ahead.Abs()-within <= mostApart {
			ahead = 0
		}
		return err
	})
	return ahead, err
}
