// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"github.com/jackc/pgx/v5"

	"github.com/dpaccountant/accountant/internal/persist/rows"
)

// readSingles returns the blocks that cover hashes, each once. Where there is none it returns the last one, which does
// not.
const readSingles = `SELECT s.number, s.upto, s.value FROM (SELECT DISTINCT w.number, coalesce(
		(SELECT min(upto) FROM singles WHERE number = w.number AND upto >= w.hash),
		(SELECT max(upto) FROM singles WHERE number = w.number)) AS upto
		FROM unnest($1::bigint[], $2::bigint[]) AS w(number, hash)) AS a
	JOIN singles s ON s.number = a.number AND s.upto = a.upto`

func scanSingles(r pgx.Rows) (number uint64, k rows.SinglesBlock, err error) {
	var ledger, upto int64
	var value []byte
	if err := r.Scan(&ledger, &upto, &value); err != nil {
		return 0, k, err
	}
	k, err = rows.UnsealSingles(uint64(ledger), uint64(upto), value)
	return uint64(ledger), k, err
}
