// SPDX-License-Identifier: Apache-2.0

package sweep

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/rows"
)

// lanes are the entries of some packs, by the writers that wrote them.
type lanes map[ledger.Writer][]rows.Linked

func (l lanes) add(list []rows.Linked) {
	for _, e := range list {
		l[e.Entry.Writer] = append(l[e.Entry.Writer], e)
	}
}

// check compares the entries with the rows by which they are found when a charge is sent again: where its writer
// stands, and which of its entries is the 32nd, 64th, …. Without them an earlier charge would be made a second time.
func (s Sweeper) check(ctx context.Context, tx pgx.Tx, number uint64, all lanes) (read int64, err error) {
	read, err = checkSingles(ctx, tx, number, all)
	if err != nil {
		return read, err
	}
	stored, n, err := laneRows(ctx, tx, number, all)
	if read += n; err != nil {
		return read, err
	}
	index := map[[2]uint64]uint64{} // the lane's first position, and block → the position of the entry
	for w, list := range all {
		if w.Single() {
			continue
		}
		lane, ok := stored[w]
		key := rows.AppendWriter(nil, number, w)
		if !ok {
			return read, rows.Damaged(rows.WritersBucket, key, "missing: the writer has written entry %d",
				list[0].Entry.Position)
		}
		for i, e := range list {
			sequence := e.Entry.Sequence
			switch {
			case i > 0 && (sequence != list[i-1].Entry.Sequence+1 || e.OfWriter != list[i-1].Entry.Position):
				return read, rows.Damaged(rows.PacksBucket, rows.BlockKey(number, e.Entry.Position),
					"sequence %d of writer %s follows %d", sequence, w.Name, list[i-1].Entry.Sequence)
			case sequence > lane.Sequence, sequence == 1 && e.Entry.Position != lane.First,
				sequence == lane.Sequence && e.Entry.Position != lane.Position:
				return read, rows.Damaged(rows.WritersBucket, key, "%v; the log has sequence %d at %d", lane, sequence,
					e.Entry.Position)
			case sequence%rows.IndexEvery == 0:
				index[[2]uint64{lane.First, sequence / rows.IndexEvery}] = e.Entry.Position
			}
		}
	}
	n, err = checkIndex(ctx, tx, number, index)
	return read + n, err
}

// checkSingles looks for the keys of request IDs.
func checkSingles(ctx context.Context, tx pgx.Tx, number uint64, all lanes) (read int64, err error) {
	var want []rows.Single
	var hashes []int64
	for w, list := range all {
		if w.Single() {
			hash := rows.HashOf(w)
			want = append(want, rows.Single{Hash: hash, Position: list[0].Entry.Position})
			hashes = append(hashes, int64(hash))
		}
	}
	if len(want) == 0 {
		return 0, nil
	}
	const blocksOf = `SELECT s.upto, s.value FROM (SELECT DISTINCT
			(SELECT min(upto) FROM singles WHERE number = $1 AND upto >= w.hash) AS upto
			FROM unnest($2::bigint[]) AS w(hash)) AS a
		JOIN singles s ON s.number = $1 AND s.upto = a.upto`
	found, err := tx.Query(ctx, blocksOf, int64(number), hashes)
	if err != nil {
		return 0, err
	}
	there := map[rows.Single]bool{}
	var upto int64
	var value []byte
	_, err = pgx.ForEachRow(found, []any{&upto, &value}, func() error {
		read += int64(len(value))
		k, err := rows.UnsealSingles(number, uint64(upto), value)
		for _, s := range k.List {
			there[s] = true
		}
		return err
	})
	for i := 0; err == nil && i < len(want); i++ {
		if !there[want[i]] {
			err = rows.Damaged(rows.SinglesBucket, rows.BlockKey(number, want[i].Hash), "missing: the request ID has "+
				"written entry %d", want[i].Position)
		}
	}
	return read, err
}

// laneRows reads where writers stand.
func laneRows(ctx context.Context, tx pgx.Tx, number uint64, all lanes) (stored map[ledger.Writer]rows.Lane,
	read int64, err error) {
	stored = map[ledger.Writer]rows.Lane{}
	var names, principals [][]byte
	for w := range all {
		if w.Single() {
			continue
		}
		names, principals = append(names, []byte(w.Name)), append(principals, []byte(w.Principal))
	}
	const lanesOf = `SELECT l.name, l.principal, l.value FROM unnest($2::bytea[], $3::bytea[]) AS w(name, principal)
		JOIN lanes l ON l.number = $1 AND l.name = w.name AND l.principal = w.principal`
	found, err := tx.Query(ctx, lanesOf, int64(number), names, principals)
	if err != nil {
		return nil, 0, err
	}
	var name, principal, value []byte
	_, err = pgx.ForEachRow(found, []any{&name, &principal, &value}, func() error {
		read += int64(len(value))
		w := ledger.Writer{Principal: string(principal), Name: string(name)}
		stored[w], err = rows.Parse(rows.WritersBucket, rows.AppendWriter(nil, number, w), value, rows.ParseLane)
		return err
	})
	return stored, read, err
}

// checkIndex compares the rows that say at which position a lane's entry is.
func checkIndex(ctx context.Context, tx pgx.Tx, number uint64, index map[[2]uint64]uint64) (read int64, err error) {
	var lanes, blocks []int64
	for at := range index {
		lanes, blocks = append(lanes, int64(at[0])), append(blocks, int64(at[1]))
	}
	if len(index) == 0 {
		return 0, nil
	}
	const indexOf = `SELECT w.first, w.block, s.value FROM unnest($2::bigint[], $3::bigint[]) AS w(first, block)
		LEFT JOIN sequences s ON s.number = $1 AND s.first = w.first AND s.block = w.block`
	found, err := tx.Query(ctx, indexOf, int64(number), lanes, blocks)
	if err != nil {
		return 0, err
	}
	var lane, block int64
	var value []byte
	_, err = pgx.ForEachRow(found, []any{&lane, &block, &value}, func() error {
		key := rows.SequenceKey(number, uint64(lane), uint64(block))
		if value == nil {
			return rows.Damaged(rows.SequencesBucket, key, "missing")
		}
		read += int64(len(value))
		got, err := rows.Parse(rows.SequencesBucket, key, value, rows.ParseUint64)
		if want := index[[2]uint64{uint64(lane), uint64(block)}]; err == nil && got != want {
			err = rows.Damaged(rows.SequencesBucket, key, "position %d; the log has %d", got, want)
		}
		return err
	})
	return read, err
}
