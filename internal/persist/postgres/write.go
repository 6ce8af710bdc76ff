// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"github.com/dpaccountant/accountant/internal/persist/book"
	"github.com/dpaccountant/accountant/internal/persist/packs"
	"github.com/dpaccountant/accountant/internal/persist/rows"
)

// writes are the rows that a transaction writes, by statement.
type writes struct {
	bytes int // about

	ledgers    columns // number, name, genesis
	heads      columns // number, position, value: of new ledgers
	advanced   columns // number, position, value: of those that were there
	tail       columns // number, last, value
	lanes      columns // number, name, principal, value
	singles    columns // number, upto, value
	sequences  columns // number, first, block, value
	mechanisms columns // number, index, value
	counts     columns // number, index, value
	open       columns // number, position, value
	closed     columns // number, position
	amendments columns // number, position, value
}

// columns are rows to be written by one statement, column by column.
type columns struct {
	numbers [3][]int64
	bytes   [3][][]byte
}

func (c *columns) add(numbers []uint64, values ...[]byte) {
	for i, n := range numbers {
		c.numbers[i] = append(c.numbers[i], int64(n))
	}
	for i, v := range values {
		c.bytes[i] = append(c.bytes[i], v)
	}
}

// add adds the rows of a change that no later change of the transaction rewrites.
func (w *writes) add(c *book.Change) {
	number := c.Head.Number
	for p := range c.Packs(packs.MaxBytes) {
		w.tail.add([]uint64{number, p.Last()}, rows.SealPack(number, p))
	}
	for i := range c.Entries {
		e := &c.Entries[i]
		if e.Sequence%rows.IndexEvery == 0 {
			block := e.Sequence / rows.IndexEvery
			w.sequences.add([]uint64{number, e.First, block},
				seal(rows.SequencesBucket, rows.SequenceKey(number, e.First, block), rows.NumberKey(e.Position)))
		}
		if e.Amends() {
			w.amendments.add([]uint64{number, e.Position},
				seal(rows.AmendmentsBucket, rows.BlockKey(number, e.Position), nil))
		}
	}
	for _, m := range c.Mechanisms {
		w.mechanisms.add([]uint64{number, uint64(m.Index)},
			seal(rows.MechanismsBucket, rows.IndexKey(number, m.Index), m.Raw))
	}
}

// book adds the rows that say where a ledger stands at the end of the transaction.
func (w *writes) book(b *booked) error {
	if !b.changed {
		return nil
	}
	number := b.head.Number
	head := rows.Seal(rows.HeadsBucket, rows.NumberKey(number),
		b.head.Append(make([]byte, rows.ChecksumSize, rows.ChecksumSize+rows.MaxHeadSize)))
	if b.genesis != nil {
		w.ledgers.add([]uint64{number}, []byte(b.name), seal(rows.GenesesBucket, rows.NumberKey(number), b.genesis))
		w.heads.add([]uint64{number, b.head.At.Position}, head)
	} else {
		w.advanced.add([]uint64{number, b.head.At.Position}, head)
	}
	blocks, err := rows.AddSingles(b.singles, b.blocks.Block)
	if err != nil {
		return err
	}
	for _, k := range blocks {
		w.singles.add([]uint64{number, k.Upto}, k.Seal(number))
	}
	for name := range b.wrote {
		value := b.lanes[name].Append(make([]byte, rows.ChecksumSize, rows.ChecksumSize+rows.MaxLaneSize))
		w.lanes.add([]uint64{number}, []byte(name.Name), []byte(name.Principal),
			rows.Seal(rows.WritersBucket, rows.AppendWriter(nil, number, name), value))
	}
	for index := range b.counted {
		w.counts.add([]uint64{number, uint64(index)},
			seal(rows.CountsBucket, rows.IndexKey(number, index), rows.NumberKey(b.counts[index])))
	}
	for position, raw := range b.held {
		if raw == nil {
			w.closed.add([]uint64{number, position})
		} else {
			w.open.add([]uint64{number, position},
				seal(rows.ReservationsBucket, rows.BlockKey(number, position), raw))
		}
	}
	return nil
}

// statements are those of the second round trip but the COMMIT.
func (w *writes) statements() (list []query) {
	for _, s := range []struct {
		columns        *columns
		numbers, bytes int
		sql            string
	}{
		{&w.ledgers, 1, 2, "INSERT INTO ledgers (number, name, genesis) " +
			"SELECT * FROM unnest($1::bigint[], $2::bytea[], $3::bytea[])"},
		{&w.heads, 2, 1, "INSERT INTO heads (number, position, value) " +
			"SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bytea[])"},
		{&w.advanced, 2, 1, "UPDATE heads SET position = w.position, value = w.value " +
			"FROM unnest($1::bigint[], $2::bigint[], $3::bytea[]) AS w(number, position, value) " +
			"WHERE heads.number = w.number"},
		{&w.tail, 2, 1, "INSERT INTO tail (number, last, value) " +
			"SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bytea[])"},
		{&w.lanes, 1, 3, "INSERT INTO lanes (number, name, principal, value) " +
			"SELECT * FROM unnest($1::bigint[], $2::bytea[], $3::bytea[], $4::bytea[]) " +
			"ON CONFLICT (number, name, principal) DO UPDATE SET value = excluded.value"},
		{&w.singles, 2, 1, "INSERT INTO singles (number, upto, value) " +
			"SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bytea[]) " +
			"ON CONFLICT (number, upto) DO UPDATE SET value = excluded.value"},
		{&w.sequences, 3, 1, "INSERT INTO sequences (number, first, block, value) " +
			"SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bytea[])"},
		{&w.mechanisms, 2, 1, "INSERT INTO mechanisms (number, index, value) " +
			"SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bytea[])"},
		{&w.counts, 2, 1, "INSERT INTO counts (number, index, value) " +
			"SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bytea[]) " +
			"ON CONFLICT (number, index) DO UPDATE SET value = excluded.value"},
		{&w.open, 2, 1, "INSERT INTO reservations (number, position, value) " +
			"SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bytea[]) " +
			"ON CONFLICT (number, position) DO UPDATE SET value = excluded.value"},
		{&w.closed, 2, 0, "DELETE FROM reservations USING unnest($1::bigint[], $2::bigint[]) AS w(number, position) " +
			"WHERE reservations.number = w.number AND reservations.position = w.position"},
		{&w.amendments, 2, 1, "INSERT INTO amendments (number, position, value) " +
			"SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bytea[])"},
	} {
		if len(s.columns.numbers[0]) == 0 {
			continue
		}
		var args []any
		for i := range s.numbers {
			args = append(args, s.columns.numbers[i])
		}
		for i := range s.bytes {
			args = append(args, s.columns.bytes[i])
		}
		list = append(list, query{sql: s.sql, args: args})
	}
	return list
}
