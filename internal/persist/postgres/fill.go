// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/house"
	"github.com/dpaccountant/accountant/internal/persist/packs"
	"github.com/dpaccountant/accountant/internal/persist/postgres/reach"
	"github.com/dpaccountant/accountant/internal/persist/rows"
	"github.com/dpaccountant/accountant/internal/record"
)

// ErrNotEmpty means that the database has a store already.
var ErrNotEmpty = errors.New("the database has a store already")

// errThere means that the database has this very store already, which has gone on.
var errThere = errors.New("the database has this store already, and it has gone on since; nothing was written")

// errOther means that a database has something else than the file that it was filled from.
var errOther = fmt.Errorf("%w: it is not what the file has", ledger.ErrDamaged)

// Name is the address of the database, without the user and a password.
func (c Config) Name() string { return c.name() }

// MakeTables makes the tables of a store in a database that has none, and none of another program's with their names.
func MakeTables(ctx context.Context, c Config) error {
	pool, err := c.parse()
	if err == nil {
		err = migrate(ctx, pool.ConnConfig, "")
	}
	if err != nil {
		return fmt.Errorf("store %s: %w", c.name(), reach.Explained(err))
	}
	return nil
}

// Fill makes the store of a verified bbolt file in a database that has none, in one transaction: all
// of it is there afterwards, or nothing. It then reads everything back, and compares. A database that
// has this very store, because an earlier Fill was cut off after its commit, is only compared. It returns the store's
// identifier and contents.
func Fill(ctx context.Context, c Config, file string, progress func(done, total uint64)) (
	id string, want record.Contents, err error) {
	if err := MakeTables(ctx, c); err != nil {
		return "", want, err
	}
	conn, err := c.connect(ctx)
	if err != nil {
		return "", want, fmt.Errorf("store %s: %w", c.name(), err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	err = house.Read(file, func(v *rows.View) error {
		if want, err = v.Contents(); err != nil {
			return err
		}
		f := filling{View: v, conn: conn, total: want.Ledgers + want.Entries, progress: progress}
		if f.id, err = v.CheckFormat(); err != nil {
			return err
		}
		already, err := f.run(ctx)
		if err != nil {
			return fmt.Errorf("store %s: %w", c.name(), err)
		}
		if err = c.compare(want, f.id); already && errors.Is(err, errOther) {
			return fmt.Errorf("store %s: %w", c.name(), errThere)
		}
		id = f.id
		return err
	})
	return id, want, err
}

// connect makes one connection, without what a daemon's sessions promise.
func (c Config) connect(ctx context.Context) (*pgx.Conn, error) {
	pool, err := c.parse()
	if err != nil {
		return nil, err
	}
	if err := pool.BeforeConnect(ctx, pool.ConnConfig); err != nil {
		return nil, err
	}
	return pgx.ConnectConfig(ctx, pool.ConnConfig)
}

// fillAbandoned is how long the server keeps the transaction of a Fill that says nothing.
const fillAbandoned = time.Minute

// filling is one run of Fill.
type filling struct {
	*rows.View
	conn     *pgx.Conn
	tx       pgx.Tx
	id       string
	done     uint64
	total    uint64
	progress func(done, total uint64)
}

// run reports whether the store was there already.
func (f *filling) run(ctx context.Context) (already bool, err error) {
	if _, err := f.conn.Exec(ctx, settings, fmt.Sprint(fillAbandoned.Milliseconds())); err != nil {
		return false, err
	}
	if f.tx, err = f.conn.Begin(ctx); err != nil {
		return false, err
	}
	defer func() { _ = f.tx.Rollback(context.WithoutCancel(ctx)) }() // after a commit it does nothing
	// Daemons that start now wait, and then find the store.
	if _, err := f.tx.Exec(ctx, "LOCK TABLE meta IN ACCESS EXCLUSIVE MODE"); err != nil {
		return false, err
	}
	switch there, err := f.there(ctx); {
	case err != nil:
		return false, err
	case there == f.id:
		return true, nil
	case there != "":
		return false, fmt.Errorf("%w, %s, and nothing was written; allowed: a database in which no daemon was ever "+
			"started",
			ErrNotEmpty, there)
	}
	for _, step := range []func(context.Context) error{f.meta, f.ledgers, f.writers, f.rest, f.tail, f.keys} {
		if err := step(ctx); err != nil {
			return false, err
		}
	}
	delete(f.conn.PgConn().CustomData(), warned)
	if err := f.tx.Commit(ctx); err != nil {
		return false, fmt.Errorf("%w: the commit was not answered; do the same again, which finds out: %w",
			ledger.ErrUnknown, err)
	}
	if warning := f.conn.PgConn().CustomData()[warned]; warning != nil {
		return false, fmt.Errorf("%w: the server does not know whether its standby has all of it; do the same again, "+
			"which finds out: %v", ledger.ErrUnknown, warning)
	}
	return false, nil
}

// there returns the identifier of the store in the database, or "".
func (f *filling) there(ctx context.Context) (id string, err error) {
	var stored []byte
	err = f.tx.QueryRow(ctx, "SELECT value FROM meta WHERE name = 'store'").Scan(&stored)
	if errors.Is(err, pgx.ErrNoRows) {
		var ledgers bool
		err = f.tx.QueryRow(ctx, "SELECT EXISTS (SELECT 1 FROM ledgers) OR EXISTS (SELECT 1 FROM log)").Scan(&ledgers)
		if err == nil && ledgers {
			err = errNoID
		}
		return "", err
	}
	if err != nil {
		return "", err
	}
	return parseID(stored)
}

// meta writes who the store is, and with which keys it signs.
func (f *filling) meta(ctx context.Context) error {
	all := [][]any{{"store", sealMeta("store", []byte(f.id))}}
	keys, err := f.Keys()
	if err != nil {
		return err
	}
	for i, k := range keys {
		name := rows.KeyName(i)
		all = append(all, []any{name, sealMeta(name, k.Append(nil))})
	}
	_, err = f.tx.CopyFrom(ctx, pgx.Identifier{"meta"}, []string{"name", "value"}, pgx.CopyFromRows(all))
	return err
}

// copied sends rows to a table while f finds them. The bytes of a row may be those of the file.
func (f *filling) copied(ctx context.Context, table string, columns []string,
	find func(add func(values ...any) error) error) error {
	found, ended := make(chan []any, 64), make(chan error, 1)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		defer close(found)
		ended <- rows.Guard(func() error {
			return find(func(values ...any) error {
				select {
				case found <- values:
					return nil
				case <-ctx.Done():
					return ctx.Err()
				}
			})
		})
	}()
	var failed error
	_, err := f.tx.CopyFrom(ctx, pgx.Identifier{table}, columns, pgx.CopyFromFunc(func() ([]any, error) {
		values, ok := <-found
		if ok {
			return values, nil
		}
		failed = <-ended
		ended <- failed
		return nil, failed
	}))
	cancel()
	for range found { // until find has returned: it uses the file
	}
	return errors.Join(failed, err)
}

// advance counts what is written.
func (f *filling) advance(n int) {
	before := f.done
	if f.done = min(f.done+uint64(n), f.total); f.progress != nil && (before/4096 != f.done/4096 || f.done == f.total) {
		f.progress(f.done, f.total)
	}
}

func (f *filling) ledgers(ctx context.Context) error {
	return f.copied(ctx, "ledgers", []string{"number", "name", "genesis"}, func(add func(...any) error) error {
		return f.EachLedger(func(name string, number uint64) error {
			_, raw, _, err := f.Genesis(number)
			if err != nil {
				return err
			}
			f.advance(1)
			return add(int64(number), []byte(name), seal(rows.GenesesBucket, rows.NumberKey(number), raw))
		})
	})
}

// writers writes the lanes. That of a ledger's newest entry is in its head, and its row may be older.
func (f *filling) writers(ctx context.Context) error {
	var head rows.Head
	return f.copied(ctx, "lanes", []string{"number", "name", "principal", "value"}, func(add func(...any) error) error {
		return house.Each(f.View, rows.WritersBucket, func(key, stored []byte) (err error) {
			w, err := rows.WriterIn(key)
			if err != nil {
				return err
			}
			number := binary.BigEndian.Uint64(key)
			l, err := rows.Parse(rows.WritersBucket, key, stored, rows.ParseLane)
			if err != nil {
				return err
			}
			if head.Number != number {
				if head, err = f.Head(number); err != nil {
					return err
				}
			}
			if l.First == head.Writer {
				l = head.Lane()
			}
			return add(int64(number), []byte(w.Name), []byte(w.Principal),
				seal(rows.WritersBucket, bytes.Clone(key), l.Append(nil)))
		})
	})
}

// rest writes the rows that are the same in both kinds of stores.
func (f *filling) rest(ctx context.Context) error {
	for _, t := range tables {
		columns := t.columns
		if t.bucket == rows.HeadsBucket {
			columns = []string{"number", "position"}
		}
		columns = append(slices.Clone(columns), "value")
		err := f.copied(ctx, t.name, columns, func(add func(...any) error) error {
			return house.Each(f.View, t.bucket, func(key, stored []byte) error {
				if _, err := rows.Unseal(t.bucket, key, stored); err != nil {
					return err
				}
				numbers, err := t.numbers(key)
				switch {
				case err != nil:
					return err
				case t.bucket == rows.PacksBucket:
					f.advance(packs.MaxEntries)
				case t.bucket == rows.HeadsBucket:
					h, err := rows.UnsealHead(binary.BigEndian.Uint64(key), stored)
					if err != nil {
						return err
					}
					numbers = append(numbers, int64(h.At.Position))
				}
				return add(append(numbers, bytes.Clone(stored))...)
			})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// tail writes what the file has not dealt out into packs.
func (f *filling) tail(ctx context.Context) error {
	return f.copied(ctx, "tail", []string{"number", "last", "value"}, func(add func(...any) error) error {
		return house.Each(f.View, rows.TailBucket, func(key, stored []byte) error {
			p, err := rows.UnsealTail(key, stored)
			if err != nil {
				return err
			}
			f.advance(len(p.Raws))
			return add(int64(p.Number), int64(p.Last()), rows.SealPack(p.Number, p.Pack))
		})
	})
}

// keys lets later log keys follow the newest one.
func (f *filling) keys(ctx context.Context) error {
	f.advance(int(f.total - f.done))
	next, err := f.Next()
	if err != nil {
		return err
	}
	_, err = f.tx.Exec(ctx, "SELECT setval('log_keys', $1)", int64((next/keysBlock+1)*keysBlock))
	return err
}

// compare reads all of the store back, as a daemon would, and compares it with what it was filled
// from.
func (c Config) compare(want record.Contents, id string) (err error) {
	c.ReadLimit = max(c.ReadLimit, time.Minute)
	s, err := Open(c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	got, err := house.Contents(s)
	if err != nil {
		return fmt.Errorf("store %s: %w", c.name(), err)
	}
	if s.ID() != id || got.Sum() != want.Sum() {
		return fmt.Errorf("store %s: %w: store %s with contents %x; the file has store %s with %x", c.name(),
			errOther, s.ID(), got.Sum(), id, want.Sum())
	}
	return nil
}
