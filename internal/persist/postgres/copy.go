package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/house"
	"github.com/dpaccountant/accountant/internal/persist/postgres/packs"
	"github.com/dpaccountant/accountant/internal/persist/rows"
)

// Backup makes a consistent copy of all ledgers, as a file that the bbolt store reads, in the
// directory that TMPDIR names. Closing it removes it. Other daemons go on meanwhile.
func (s *Store) Backup() (content io.ReadCloser, size int64, err error) {
	if err := s.refused(); err != nil {
		return nil, 0, err
	}
	return s.copy("heads", nil)
}

// copy copies what one snapshot shows, with heads from the given table.
func (s *Store) copy(heads string, final *rows.Final) (content io.ReadCloser, size int64, err error) {
	defer func() {
		if err != nil {
			err = s.failure(fmt.Errorf("a copy of %s: %w", s.config.name(), err))
		}
	}()
	conn, err := s.pool.Acquire(s.closing)
	if err != nil {
		return nil, 0, err
	}
	defer conn.Release()
	c := conn.Conn()
	f, err := house.Create()
	if err != nil {
		return nil, 0, err
	}
	now := time.Now()
	err = func() error {
		tx, err := c.BeginTx(s.closing, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
		if err != nil {
			return err
		}
		defer func() { _ = tx.Rollback(context.WithoutCancel(s.closing)) }() // after a commit it does nothing
		copying := copying{File: f, ctx: s.closing, tx: tx, id: s.id, heads: heads}
		if err := errors.Join(copying.run(), tx.Commit(s.closing)); err != nil {
			return err
		}
		return s.cover(s.closing, c)
	}()
	if err != nil {
		return nil, 0, errors.Join(err, f.Discard())
	}
	return f.Finish(now, final)
}

// copying is one run of copy.
type copying struct {
	*house.File
	ctx   context.Context //nolint:containedctx // of this run
	tx    pgx.Tx
	id    string
	heads string

	lanes map[writer]uint64 // ids of lanes with indexed entries
}

func (c *copying) run() error {
	for _, step := range []func() error{c.meta, c.ledgers, c.writers, c.log, c.rest} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// each calls f with every row of a query.
func (c *copying) each(sql string, f func(pgx.Rows) error) error {
	found, err := c.tx.Query(c.ctx, sql)
	if err != nil {
		return err
	}
	defer found.Close()
	for found.Next() {
		if err := f(found); err != nil {
			return err
		}
	}
	return found.Err()
}

func (c *copying) meta() error {
	if err := errors.Join(c.Set(rows.MetaBucket, rows.FormatKey, rows.Format()),
		c.Set(rows.MetaBucket, rows.GapsKey, []byte{}),
		c.Set(rows.MetaBucket, []byte("store"), []byte(c.id))); err != nil {
		return err
	}
	var keys []rows.BoundKey
	err := c.each(allKeys, addKey(&keys))
	for n, k := range keys {
		err = errors.Join(err, c.Set(rows.MetaBucket, rows.KeyRow(n), k.Append(nil)))
	}
	return err
}

func (c *copying) ledgers() error {
	return c.each("SELECT number, name, genesis FROM ledgers ORDER BY number", func(r pgx.Rows) error {
		var number int64
		var name, stored []byte
		if err := r.Scan(&number, &name, &stored); err != nil {
			return err
		}
		key := rows.NumberKey(uint64(number))
		raw, err := rows.Unseal(rows.LogBucket, key, stored)
		if err != nil {
			return err
		}
		return errors.Join(c.Set(rows.LedgersBucket, name, key),
			c.record(uint64(number), uint64(number), ledger.Hash{}, raw))
	})
}

// record writes a record of the log.
func (c *copying) record(key, number uint64, previous ledger.Hash, raw []byte) error {
	value := append(rows.NumberKey(number), previous[:]...)
	return c.Set(rows.LogBucket, rows.NumberKey(key), append(value, raw...))
}

func (c *copying) writers() error {
	c.lanes = map[writer]uint64{}
	return c.each("SELECT number, name, principal, value FROM lanes ORDER BY number", func(r pgx.Rows) error {
		var number int64
		var name, principal, stored []byte
		if err := r.Scan(&number, &name, &principal, &stored); err != nil {
			return err
		}
		w := writer{uint64(number), ledger.Writer{Principal: string(principal), Name: string(name)}}
		key := rows.AppendWriter(nil, w.number, w.Writer)
		l, err := parse(rows.WritersBucket, key, stored, rows.ParseLane)
		if err != nil {
			return err
		}
		if l.Sequence >= rows.IndexEvery {
			c.lanes[w] = l.ID
		}
		return c.Put(rows.WritersBucket, key, stored)
	})
}

// log writes the entries, and the rows by which the file finds them.
func (c *copying) log() error {
	return c.each("SELECT number, last, value FROM packs ORDER BY key", func(r pgx.Rows) error {
		var number, last int64
		var stored []byte
		if err := r.Scan(&number, &last, &stored); err != nil {
			return err
		}
		p, err := packs.Parse(uint64(number), uint64(last), stored)
		if err != nil {
			return err
		}
		list, err := p.Entries()
		if err != nil {
			return err
		}
		for _, e := range list {
			if err := c.record(e.Key, p.Number, e.Previous, e.Raw); err != nil {
				return err
			}
			if at := e.Entry.Position; at%rows.IndexEvery == 0 {
				err = c.Set(rows.PositionsBucket, rows.BlockKey(p.Number, at/rows.IndexEvery), rows.NumberKey(e.Key))
			}
			if at := e.Entry.Sequence; at%rows.IndexEvery == 0 {
				lane := c.lanes[writer{p.Number, e.Entry.Writer}]
				err = errors.Join(err,
					c.Set(rows.SequencesBucket, rows.BlockKey(lane, at/rows.IndexEvery), rows.NumberKey(e.Key)))
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// rest writes the rows that are the same in both kinds of stores.
func (c *copying) rest() error {
	for _, t := range []struct {
		bucket rows.Bucket
		sql    string
		key    func(a, b uint64) []byte
	}{
		{rows.HeadsBucket, "SELECT number, 0::bigint, value FROM " + c.heads + " ORDER BY number",
			func(number, _ uint64) []byte { return rows.NumberKey(number) }},
		{rows.MechanismsBucket, "SELECT number, index, value FROM mechanisms ORDER BY number, index",
			func(number, index uint64) []byte { return rows.IndexKey(number, int(index)) }},
		{rows.CountsBucket, "SELECT number, index, value FROM counts ORDER BY number, index",
			func(number, index uint64) []byte { return rows.IndexKey(number, int(index)) }},
		{rows.ReservationsBucket, "SELECT number, position, value FROM reservations ORDER BY number, position",
			rows.BlockKey},
		{rows.AmendmentsBucket, "SELECT number, position, value FROM amendments ORDER BY number, position",
			rows.BlockKey},
	} {
		err := c.each(t.sql, func(r pgx.Rows) error {
			var a, b int64
			var stored []byte
			if err := r.Scan(&a, &b, &stored); err != nil {
				return err
			}
			key := t.key(uint64(a), uint64(b))
			if _, err := rows.Unseal(t.bucket, key, stored); err != nil {
				return err
			}
			return c.Put(t.bucket, key, stored)
		})
		if err != nil {
			return err
		}
	}
	return nil
}
