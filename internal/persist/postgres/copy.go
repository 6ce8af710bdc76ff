// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/house"
	"github.com/dpaccountant/accountant/internal/persist/postgres/reach"
	"github.com/dpaccountant/accountant/internal/persist/rows"
)

// Backup makes a consistent copy of all ledgers, as a file that the bbolt store reads, in the
// directory that TMPDIR names. Closing it removes it. Other daemons go on meanwhile.
func (s *Store) Backup() (content io.ReadCloser, size int64, err error) {
	if err := s.refused(); err != nil {
		return nil, 0, err
	}
	conn, err := s.pool.Acquire(s.closing)
	if err != nil {
		return nil, 0, s.failure(err)
	}
	defer conn.Release()
	path, err := copyTo(s.closing, conn.Conn())
	if err == nil {
		if err = s.cover(s.closing, conn.Conn()); err != nil {
			err = errors.Join(err, os.Remove(path))
		}
	}
	if err != nil {
		return nil, 0, s.failure(fmt.Errorf("a copy of %s: %w", s.config.name(), err))
	}
	return house.Open(path)
}

// Copy copies all ledgers of a database, which daemons may serve or which were moved away, as Backup does, and returns
// the file's path. The database is only read.
func Copy(ctx context.Context, c Config) (path string, err error) {
	conn, err := c.connect(ctx)
	if err == nil {
		path, err = copyTo(ctx, conn)
		err = errors.Join(err, conn.Close(context.WithoutCancel(ctx)))
	}
	if err != nil {
		return "", fmt.Errorf("a copy of %s: %w", c.name(), reach.Explained(err))
	}
	return path, nil
}

// copyTo copies what one snapshot shows to a file.
func copyTo(ctx context.Context, c *pgx.Conn) (path string, err error) {
	f, err := house.Create()
	if err != nil {
		return "", err
	}
	now := time.Now()
	tx, err := c.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err == nil {
		copying := copying{File: f, ctx: ctx, tx: tx}
		err = errors.Join(copying.run(), tx.Rollback(context.WithoutCancel(ctx)))
	}
	if err != nil {
		return "", errors.Join(err, f.Discard())
	}
	return f.Finish(now)
}

// copying is one run of copyTo.
type copying struct {
	*house.File
	ctx   context.Context //nolint:containedctx // of this run
	tx    pgx.Tx
	heads string // the table

	newest uint64 // log key
}

func (c *copying) run() error {
	for _, step := range []func() error{c.meta, c.ledgers, c.writers, c.rest} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// each calls f with every row of a query.
func (c *copying) each(sql string, f func(pgx.Rows) error) error {
	_, err := roundTrip(c.ctx, c.tx, []query{{sql: sql, scan: f}})
	return err
}

func (c *copying) meta() error {
	var stored []byte
	const ask = `SELECT value, CASE WHEN EXISTS (SELECT 1 FROM meta WHERE name = $1) THEN 'moved_heads' ELSE 'heads' END
		FROM meta WHERE name = 'store'`
	err := c.tx.QueryRow(c.ctx, ask, rows.LeftName).Scan(&stored, &c.heads)
	if errors.Is(err, pgx.ErrNoRows) {
		err = errNoID
	}
	if err != nil {
		return err
	}
	id, err := parseID(stored)
	if err != nil {
		return err
	}
	if err := errors.Join(c.Set(rows.MetaBucket, rows.FormatKey, rows.Format()),
		c.Set(rows.MetaBucket, []byte("store"), []byte(id))); err != nil {
		return err
	}
	var keys []rows.BoundKey
	err = c.each(allKeys, addKey(&keys))
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
		if _, err := rows.Unseal(rows.GenesesBucket, key, stored); err != nil {
			return err
		}
		c.newest = max(c.newest, uint64(number))
		return errors.Join(c.Set(rows.LedgersBucket, name, key), c.Put(rows.GenesesBucket, key, stored))
	})
}

func (c *copying) writers() error {
	return c.each("SELECT number, name, principal, value FROM lanes ORDER BY number", func(r pgx.Rows) error {
		var number int64
		var name, principal, stored []byte
		if err := r.Scan(&number, &name, &principal, &stored); err != nil {
			return err
		}
		w := ledger.Writer{Principal: string(principal), Name: string(name)}
		key := rows.AppendWriter(nil, uint64(number), w)
		if _, err := rows.Parse(rows.WritersBucket, key, stored, rows.ParseLane); err != nil {
			return err
		}
		return c.Put(rows.WritersBucket, key, stored)
	})
}

// table is a table whose rows are those of a bucket: numbers that are its key, and the value.
type table struct {
	bucket  rows.Bucket
	name    string
	columns []string // of the key
}

// tables are all of them.
var tables = []table{
	{rows.PacksBucket, "packs", []string{"number", "last"}},
	{rows.HeadsBucket, "heads", []string{"number"}},
	{rows.MechanismsBucket, "mechanisms", []string{"number", "index"}},
	{rows.CountsBucket, "counts", []string{"number", "index"}},
	{rows.SinglesBucket, "singles", []string{"number", "upto"}},
	{rows.SequencesBucket, "sequences", []string{"number", "first", "block"}},
	{rows.ReservationsBucket, "reservations", []string{"number", "position"}},
	{rows.AmendmentsBucket, "amendments", []string{"number", "position"}},
}

// key makes a bucket's key. An index has 4 bytes there, any other number 8.
func (t table) key(numbers []int64) (key []byte) {
	for i, n := range numbers {
		if t.columns[i] == "index" {
			key = binary.BigEndian.AppendUint32(key, uint32(n)) // at most ledger.MaxDistinct
		} else {
			key = rows.AppendNumber(key, uint64(n))
		}
	}
	return key
}

// numbers is the inverse of key.
func (t table) numbers(key []byte) (numbers []any, err error) {
	rest := key
	for _, column := range t.columns {
		size := 8
		if column == "index" {
			size = 4
		}
		if len(rest) < size {
			break
		}
		n := uint64(0)
		for _, b := range rest[:size] {
			n = n<<8 | uint64(b)
		}
		numbers, rest = append(numbers, int64(n)), rest[size:]
	}
	if len(numbers) < len(t.columns) || len(rest) > 0 {
		return nil, rows.Damaged(t.bucket, key, "a key of %d bytes", len(key))
	}
	return numbers, nil
}

// rest writes the rows that are the same in both kinds of stores, and then the newest log key.
func (c *copying) rest() error {
	for _, t := range tables {
		from := t.name
		switch t.bucket {
		case rows.HeadsBucket:
			from = c.heads
		case rows.PacksBucket:
			from = "log"
		}
		columns := strings.Join(t.columns, ", ")
		err := c.each("SELECT "+columns+", value FROM "+from+" ORDER BY "+columns, func(r pgx.Rows) error {
			numbers := make([]int64, len(t.columns))
			var stored []byte
			to := []any{&stored}
			for i := range numbers {
				to = slices.Insert(to, i, any(&numbers[i]))
			}
			if err := r.Scan(to...); err != nil {
				return err
			}
			key := t.key(numbers)
			if t.bucket == rows.PacksBucket {
				p, err := rows.ParsePack(uint64(numbers[0]), uint64(numbers[1]), stored)
				if err != nil {
					return err
				}
				c.newest = max(c.newest, p.Key())
			} else if _, err := rows.Unseal(t.bucket, key, stored); err != nil {
				return err
			}
			return c.Put(t.bucket, key, stored)
		})
		if err != nil {
			return err
		}
	}
	return c.Set(rows.MetaBucket, rows.GapsKey, rows.NumberKey(c.newest))
}
