// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"math"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/rows"
)

// Those after the head may be left of entries that a failover has lost.
const checkpoints = "SELECT position, value FROM checkpoints WHERE number = " + thisLedger + ` AND position > $2
	AND position <= least($3, (SELECT position FROM heads WHERE number = ` + thisLedger + `))
	ORDER BY position DESC LIMIT $4`

// Checkpoints implements ledger.Marks.
func (s *Store) Checkpoints(name string, after, upTo uint64, limit int) (list []ledger.Checkpoint, err error) {
	err = s.view(func(v *view) error {
		var f found
		list = nil
		err := v.query(v.find(name, &f), query{checkpoints, []any{[]byte(name), signed(after), signed(upTo), limit},
			func(r pgx.Rows) error {
				position, value, err := scanTwo(r)
				if c, ok := rows.UnsealCheckpoint(f.Number, position, value); ok {
					list = append(list, c)
				}
				return err
			}})
		if err == nil && !f.there {
			v.absent = true
			err = notFound(name)
		}
		return err
	})
	slices.Reverse(list)
	return list, err
}

func signed(position uint64) int64 { return int64(min(position, math.MaxInt64)) }

// Mark implements ledger.Marks. No other transaction waits for it.
func (s *Store) Mark(name string, list []ledger.Checkpoint) error {
	var f found
	err := s.view(func(v *view) (err error) {
		f, err = v.ledger(name)
		return err
	})
	if err != nil {
		return err
	}
	var made columns
	for _, c := range list {
		value, err := rows.SealCheckpoint(f.Number, c)
		if err != nil {
			return err
		}
		made.add([]uint64{f.Number, c.Head.Position}, value)
	}
	if len(list) == 0 {
		return nil
	}
	return s.attempt(func(ctx context.Context, c *pgx.Conn) error {
		return completed(ctx, c, []query{{sql: begin},
			{sql: "INSERT INTO checkpoints (number, position, value) " +
				"SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bytea[]) " +
				"ON CONFLICT (number, position) DO UPDATE SET value = excluded.value",
				args: []any{made.numbers[0], made.numbers[1], made.bytes[0]}},
			{sql: "COMMIT"}})
	})
}
