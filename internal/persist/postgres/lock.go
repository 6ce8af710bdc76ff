// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"cmp"
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/persist/rows"
	"github.com/dpaccountant/accountant/internal/record"
)

// The first round trip of a commit. After the heads are locked nobody else changes anything of
// these ledgers, so each statement after that, which sees what was committed before it began, reads
// what the heads say.
const (
	begin     = "BEGIN ISOLATION LEVEL READ COMMITTED"
	lockFence = "SELECT n FROM marks WHERE daemon = $1 AND session = $2 FOR UPDATE"
	lockHeads = `SELECT h.number, l.name, h.position, h.value FROM heads h JOIN ledgers l ON l.number = h.number
		WHERE h.number = ANY($1) ORDER BY h.number FOR UPDATE OF h`
	drawKeys  = "SELECT nextval('log_keys') FROM generate_series(1, $1::bigint)"
	readLanes = `SELECT l.number, l.name, l.principal, l.value
		FROM unnest($1::bigint[], $2::bytea[], $3::bytea[]) AS w(number, name, principal)
		JOIN lanes l ON l.number = w.number AND l.name = w.name AND l.principal = w.principal`
	readCounts = `SELECT c.number, c.index, c.value FROM unnest($1::bigint[], $2::bigint[]) AS w(number, index)
		JOIN counts c ON c.number = w.number AND c.index = w.index`
	readOpen = `SELECT r.number, r.position, r.value FROM unnest($1::bigint[], $2::bigint[]) AS w(number, position)
		JOIN reservations r ON r.number = w.number AND r.position = w.position`
	findNumbers = "SELECT name, number FROM ledgers WHERE name = ANY($1)"
	findLedgers = `SELECT l.name, l.number, l.genesis, h.value FROM ledgers l LEFT JOIN heads h ON h.number = l.number
		WHERE l.name = ANY($1)`
)

// query is a statement of a round trip with what reads its rows.
type query struct {
	sql  string
	args []any
	scan func(pgx.Rows) error // of one row; nil: there are none
}

// roundTrip sends statements together and reads all their rows. It returns what the server says it
// did for the last one without rows.
func roundTrip(ctx context.Context, c sender, queries []query) (tag pgconn.CommandTag, err error) {
	var b pgx.Batch
	for _, q := range queries {
		b.Queue(q.sql, q.args...)
	}
	results := c.SendBatch(ctx, &b)
	for _, q := range queries {
		if q.scan == nil {
			if tag, err = results.Exec(); err != nil {
				_ = results.Close() // the same error
				return tag, err
			}
			continue
		}
		found, err := results.Query()
		for err == nil && found.Next() {
			err = q.scan(found)
		}
		if found != nil {
			found.Close()
			if e := found.Err(); e != nil {
				err = e
			}
		}
		if err != nil {
			_ = results.Close()
			return tag, err
		}
	}
	return tag, results.Close()
}

type sender interface {
	SendBatch(context.Context, *pgx.Batch) pgx.BatchResults
}

// lock makes the first round trip, one before it for ledgers whose number this daemon does not know yet, and one after
// it for what is decided in turn.
func (a *attempt) lock(ctx context.Context, c *pgx.Conn) error {
	n := a.needs()
	var err error
	if a.names, err = a.numbers(ctx, c, n.ledgers, &a.commit.RoundTrips); err != nil {
		return err
	}
	a.books, a.found = map[string]*booked{}, map[string]asked{}
	queries := []query{{sql: begin}, {lockFence, a.fence(), func(r pgx.Rows) error {
		var n int64
		a.fenced = true
		return r.Scan(&n)
	}}}
	var locked []int64
	for _, number := range a.names {
		locked = append(locked, int64(number))
	}
	byNumber := make(map[uint64]*booked, len(locked))
	queries = append(queries, query{lockHeads, []any{locked}, func(r pgx.Rows) error {
		var number, position int64
		var name, value []byte
		if err := r.Scan(&number, &name, &position, &value); err != nil {
			return err
		}
		h, err := rows.UnsealHead(uint64(number), value)
		if err == nil {
			err = h.Agrees(position)
		}
		b := newBooked(string(name), h)
		b.damage = err
		a.books[b.name], byNumber[uint64(number)] = b, b
		return nil
	}})
	queries = append(queries, a.drawKeys(n.keys))
	queries = append(queries, a.readRows(n, byNumber)...)
	parts, behind := a.behind(byNumber)
	queries = append(queries, behind...)
	if a.requireStandby.Load() {
		queries = append(queries, requireStandby())
	}
	if len(n.created) > 0 {
		queries = append(queries, query{findLedgers, []any{bytesOf(n.created)}, func(r pgx.Rows) error {
			name, sum, err := scanSummary(r)
			a.found[name] = asked{sum, err}
			return nil
		}})
	}
	a.commit.RoundTrips++
	if _, err := roundTrip(ctx, c, queries); err != nil {
		return err
	}
	if !a.fenced {
		return errNoFence
	}
	if err := a.readSingles(ctx, c, n); err != nil {
		return err
	}
	for name, number := range a.names {
		if a.books[name] == nil {
			a.known.forget(name) // the number is of a state of the database that was lost
			b := newBooked(name, rows.Head{Number: number})
			b.damage = rows.Damaged(rows.HeadsBucket, rows.NumberKey(number), "missing, or not of ledger %q", name)
			a.books[name] = b
		}
	}
	return a.decideInTurn(ctx, c, parts, byNumber)
}

func (a *attempt) drawKeys(n int) query {
	return query{drawKeys, []any{int64((n + keysBlock - 1) / keysBlock)}, func(r pgx.Rows) error {
		var key int64
		err := r.Scan(&key)
		a.keys.blocks = append(a.keys.blocks, uint64(key))
		return err
	}}
}

// readSingles finds which request IDs have written. Few calls are made for one that has: those, too, that another
// daemon answers at the same time. So only then the entries are read.
func (a *attempt) readSingles(ctx context.Context, c *pgx.Conn, n needs) error {
	for name, writers := range n.lanes {
		b := a.books[name]
		if b == nil || b.damage != nil {
			continue
		}
		v := &view{ctx: ctx, conn: c, begun: true}
		singles := rows.Singles{Log: v.log(found{Head: b.head}), Block: b.blocks.Block}
		for w := range writers {
			if !w.Single() {
				continue
			}
			l, err := singles.Lane(w)
			if err != nil && !errors.Is(err, ledger.ErrDamaged) {
				return err
			}
			if b.damage = cmp.Or(b.damage, err); l.First != 0 {
				b.lanes[w] = l
			}
		}
	}
	return nil
}

// readRows reads the lanes, totals and reservations that proposals change.
func (a *attempt) readRows(n needs, books map[uint64]*booked) (queries []query) {
	var numbers, numbersOfSingles, hashes []int64
	var names, principals [][]byte
	for name, writers := range n.lanes {
		number, ok := a.names[name]
		if !ok {
			continue
		}
		for w := range writers {
			if w.Single() {
				numbersOfSingles = append(numbersOfSingles, int64(number))
				hashes = append(hashes, int64(rows.HashOf(w)))
				continue
			}
			numbers = append(numbers, int64(number))
			names, principals = append(names, []byte(w.Name)), append(principals, []byte(w.Principal))
		}
	}
	if len(numbers) > 0 {
		queries = append(queries, query{readLanes, []any{numbers, names, principals}, func(r pgx.Rows) error {
			var number int64
			var name, principal, value []byte
			if err := r.Scan(&number, &name, &principal, &value); err != nil {
				return err
			}
			w := ledger.Writer{Principal: string(principal), Name: string(name)}
			l, err := rows.Parse(rows.WritersBucket, rows.AppendWriter(nil, uint64(number), w), value, rows.ParseLane)
			if b := books[uint64(number)]; b != nil {
				b.lanes[w], b.damage = l, cmp.Or(b.damage, err)
			}
			return nil
		}})
	}
	if len(hashes) > 0 {
		queries = append(queries, query{readSingles, []any{numbersOfSingles, hashes}, func(r pgx.Rows) error {
			number, k, err := scanSingles(r)
			if b := books[number]; b != nil {
				b.blocks.List, b.damage = append(b.blocks.List, k), cmp.Or(b.damage, err)
			}
			return nil
		}})
	}
	pairs := func(sql string, wanted map[string]map[uint64]bool, read func(*booked, uint64, uint64, []byte) error) {
		var as, bs []int64
		for name, list := range wanted {
			for b := range list {
				if number, ok := a.names[name]; ok {
					as, bs = append(as, int64(number)), append(bs, int64(b))
				}
			}
		}
		if len(as) == 0 {
			return
		}
		queries = append(queries, query{sql, []any{as, bs}, func(r pgx.Rows) error {
			var number, at int64
			var value []byte
			if err := r.Scan(&number, &at, &value); err != nil {
				return err
			}
			if b := books[uint64(number)]; b != nil {
				b.damage = cmp.Or(b.damage, read(b, uint64(number), uint64(at), value))
			}
			return nil
		}})
	}
	pairs(readCounts, n.counts, func(b *booked, number, index uint64, value []byte) (err error) {
		key := rows.IndexKey(number, int(index))
		b.counts[int(index)], err = rows.Parse(rows.CountsBucket, key, value, rows.ParseUint64)
		return err
	})
	pairs(readOpen, n.open, func(b *booked, number, position uint64, value []byte) (err error) {
		b.open[position], err = parseReservation(number, position, value)
		return err
	})
	return queries
}

// numbers returns the numbers of those ledgers that are there. A ledger's number never changes.
func (s *Store) numbers(ctx context.Context, c sender, names []string, trips *int) (map[string]uint64, error) {
	numbers, missing := s.known.numbers(names)
	if len(missing) == 0 {
		return numbers, nil
	}
	*trips++
	_, err := roundTrip(ctx, c, []query{{findNumbers, []any{bytesOf(missing)}, func(r pgx.Rows) error {
		var name []byte
		var number int64
		if err := r.Scan(&name, &number); err != nil {
			return err
		}
		numbers[string(name)] = uint64(number)
		s.known.named(string(name), uint64(number))
		return nil
	}}})
	return numbers, err
}

func bytesOf(names []string) [][]byte {
	list := make([][]byte, len(names))
	for i, name := range names {
		list[i] = []byte(name)
	}
	return list
}

// scanSummary reads a row of name, number, genesis and head.
func scanSummary(r pgx.Rows) (name string, sum ledger.Summary, err error) {
	var number int64
	var named, genesis, head []byte
	if err := r.Scan(&named, &number, &genesis, &head); err != nil {
		return "", sum, err
	}
	h, raw, err := parseLedger(uint64(number), genesis, head)
	if err != nil {
		return string(named), sum, err
	}
	sum, err = h.SummaryOf(string(named), raw)
	return string(named), sum, err
}

// parseLedger reads the row of a ledger and that of its head.
func parseLedger(number uint64, genesis, head []byte) (rows.Head, []byte, error) {
	raw, err := rows.Unseal(rows.GenesesBucket, rows.NumberKey(number), genesis)
	if err != nil {
		return rows.Head{}, nil, err
	}
	h, err := rows.UnsealHead(number, head)
	return h, raw, err
}

// parseReservation reads an open reservation of a ledger.
func parseReservation(number, position uint64, stored []byte) (ledger.Reservation, error) {
	return rows.Parse(rows.ReservationsBucket, rows.BlockKey(number, position), stored,
		func(b []byte) (ledger.Reservation, error) { return record.UnmarshalReservation(position, b) })
}

func parseMechanism(number uint64, index int, stored []byte) (mechanism.Mechanism, error) {
	return rows.Parse(rows.MechanismsBucket, rows.IndexKey(number, index), stored, record.UnmarshalMechanism)
}
