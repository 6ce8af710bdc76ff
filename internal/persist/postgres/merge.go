// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/packs"
	"github.com/dpaccountant/accountant/internal/persist/rows"
	"github.com/dpaccountant/accountant/internal/record"
)

// A commit leaves what it appends to a ledger as a row of tail. Once such rows are cold and many, or nothing has
// followed them for some time, a daemon merges them into packs, where an entry takes a fraction of the room. Nothing
// else changes: the entries are the same ones at the same positions. So whoever reads them in one statement sees either
// form, and nobody needs to know what became of a merge. It need not be durable, either: what comes after it in the
// server's log is durable only together with it.

// cold says which rows are merged, and how often a daemon looks for them.
type cold struct {
	every time.Duration
	after time.Duration // after which a row is cold
	many  int           // cold rows of a ledger, or
	bytes int           // in them, from which on they are merged
	idle  time.Duration // after which a ledger's newest rows are merged, however few they are
}

// usually has some two minutes of rows in tail. Few packs are written again because they had room left.
var usually = cold{every: time.Minute, after: time.Minute, many: packs.MaxEntries / 2, bytes: packs.MaxBytes / 2,
	idle: 10 * time.Minute}

// mergeLedgers, mergeRows and mergeBytes bound what one transaction merges.
const (
	mergeLedgers = 256
	mergeRows    = 4096
	mergeBytes   = 1 << 20
)

// merges merges cold rows until the store is closed.
func (s *Store) merges() {
	every, o := s.config.cold.every, orphan(0)
	for pause(s.closing, every); s.closing.Err() == nil; pause(s.closing, every) {
		after, more, err := uint64(0), true, error(nil)
		for more && err == nil && s.refused() == nil {
			began := time.Now()
			after, more, err = s.mergeAfter(after, &o) // what fails is tried again in the next pass
			pause(s.closing, time.Since(began))        // as much time as merging takes is left to others
		}
		if s.config.Observer.Merged != nil && s.refused() == nil {
			s.config.Observer.Merged(err)
		}
	}
}

// mergeAfter takes a session for one merge.
func (s *Store) mergeAfter(after uint64, o *orphan) (next uint64, more bool, err error) {
	ctx, cancel := context.WithTimeout(s.closing, s.config.CommitLimit)
	defer cancel()
	err = s.with(ctx, func(ctx context.Context, c *pgx.Conn) (err error) {
		o.end(ctx, c)
		process := orphan(c.PgConn().PID())
		if next, more, err = s.merge(ctx, c, after); isBroken(err) && *o == 0 {
			*o = process
		}
		return err
	})
	return next, more, err
}

// Rows are merged with the ledger's row of ledgers locked, which no commit locks. A ledger that another daemon merges
// is left out. Final, which locks the table heads, waits until a merge has ended, and none begins after it.
const (
	coldLedgers = `SELECT number FROM tail WHERE number > $1 GROUP BY number
		HAVING max(written) <= now() - $2::interval OR count(*) FILTER (WHERE written <= now() - $3::interval) >= $4
			OR sum(octet_length(value)) FILTER (WHERE written <= now() - $3::interval) >= $5
		ORDER BY number LIMIT $6`
	lockCold = `SELECT l.number, h.position FROM ledgers l JOIN heads h ON h.number = l.number
		WHERE l.number = ANY($1) ORDER BY l.number FOR NO KEY UPDATE OF l SKIP LOCKED`
	readCold = `SELECT number, last, value FROM (
			SELECT number, last, value,
				sum(octet_length(value)) OVER (ORDER BY number, last) - octet_length(value) AS before
			FROM (SELECT number, last, value FROM tail WHERE number = ANY($1) AND written <= now() - $2::interval
				ORDER BY number, last LIMIT $3) t) u
		WHERE before < $4::bigint ORDER BY number, last`
	readLast = `SELECT p.number, p.last, p.value FROM unnest($1::bigint[]) AS w(number) JOIN LATERAL
		(SELECT number, last, value FROM packs WHERE packs.number = w.number ORDER BY last DESC LIMIT 1) p ON true`
)

// merge merges cold rows of the next ledgers, in order of their numbers. It returns the number up to which nothing is
// left, and whether there may be more.
func (s *Store) merge(ctx context.Context, c *pgx.Conn, after uint64) (next uint64, more bool, err error) {
	cold := s.config.cold
	found, err := c.Query(ctx, coldLedgers, int64(after), cold.idle, cold.after, cold.many, cold.bytes, mergeLedgers)
	if err != nil {
		return after, false, err
	}
	numbers, err := pgx.CollectRows(found, pgx.RowTo[int64])
	if err != nil || len(numbers) == 0 {
		return after, false, err
	}
	m := merging{at: map[uint64]*merged{}}
	rest := []int64(nil)
	if _, err := roundTrip(ctx, c, []query{{sql: begin},
		{sql: "SELECT set_config('synchronous_commit', 'off', true)"},
		{lockCold, []any{numbers}, m.locked}}); err != nil {
		return after, false, err
	}
	for _, n := range numbers {
		if m.at[uint64(n)] != nil {
			rest = append(rest, n)
		}
	}
	if _, err := roundTrip(ctx, c, []query{{readLast, []any{rest}, m.last},
		{readCold, []any{rest, cold.after, mergeRows, mergeBytes}, m.row}}); err != nil {
		return after, false, err
	}
	next, more = uint64(numbers[len(numbers)-1]), len(numbers) == mergeLedgers
	if full := m.rows == mergeRows || m.bytes >= mergeBytes; full {
		next, more = m.newest, true
		if len(m.at[next].moved) > 0 {
			next-- // it may have more
		}
	}
	_, err = roundTrip(ctx, c, append(m.statements(), query{sql: "COMMIT"}))
	return next, more, err
}

// merging is one transaction of merge.
type merging struct {
	at          map[uint64]*merged
	rows, bytes int    // that were read
	newest      uint64 // ledger of which some were read
}

// merged is a ledger of which rows are merged.
type merged struct {
	position uint64 // of the head
	packs    []packs.Pack
	last     packs.Pack // the ledger's newest one; empty if there is none
	end      ledger.Head
	moved    []int64 // rows of tail
	stopped  bool    // a row does not follow: it is damaged, or one before it is not cold yet
}

func (m *merging) locked(r pgx.Rows) error {
	var number, position int64
	err := r.Scan(&number, &position)
	m.at[uint64(number)] = &merged{position: uint64(position)}
	return err
}

func scanPack(r pgx.Rows) (number, last uint64, value []byte, err error) {
	var a, b int64
	err = r.Scan(&a, &b, &value)
	return uint64(a), uint64(b), value, err
}

func (m *merging) last(r pgx.Rows) error {
	number, last, value, err := scanPack(r)
	if err != nil {
		return err
	}
	l := m.at[number]
	if l.last, err = rows.ParsePack(number, last, value); err != nil {
		l.stopped = true // whoever reads it, or sweeps it, tells of the damage
		return nil
	}
	l.end = end(l.last)
	return nil
}

func (m *merging) row(r pgx.Rows) error {
	number, last, value, err := scanPack(r)
	if err != nil {
		return err
	}
	m.rows, m.bytes, m.newest = m.rows+1, m.bytes+len(value), number
	l := m.at[number]
	p, err := rows.ParsePack(number, last, value)
	if l.stopped = l.stopped || err != nil || p.First != l.end.Position+1 || p.Last() > l.position ||
		p.First > 1 && p.Previous != l.end.Hash; l.stopped {
		return nil
	}
	l.packs, l.end, l.moved = append(l.packs, p), end(p), append(l.moved, int64(last))
	return nil
}

// end is the newest entry of a pack.
func end(p packs.Pack) ledger.Head {
	h := ledger.Head{Position: p.Last(), Hash: p.Previous}
	for _, raw := range p.Raws {
		h.Hash = record.EntryHash(h.Hash, raw)
	}
	return h
}

// statements move the rows.
func (m *merging) statements() (list []query) {
	var moved, replaced, made columns
	for number, l := range m.at {
		if len(l.moved) == 0 {
			continue
		}
		for _, last := range l.moved {
			moved.add([]uint64{number, uint64(last)})
		}
		parts, instead := packs.Deal(l.last, l.packs...)
		if instead {
			replaced.add([]uint64{number, l.last.Last()})
		}
		for _, p := range parts {
			made.add([]uint64{number, p.Last()}, rows.SealPack(number, p))
		}
	}
	if len(moved.numbers[0]) == 0 {
		return nil
	}
	const these = " USING unnest($1::bigint[], $2::bigint[]) AS w(number, last) WHERE "
	return []query{
		{sql: "DELETE FROM tail" + these + "tail.number = w.number AND tail.last = w.last",
			args: []any{moved.numbers[0], moved.numbers[1]}},
		{sql: "DELETE FROM packs" + these + "packs.number = w.number AND packs.last = w.last",
			args: []any{replaced.numbers[0], replaced.numbers[1]}},
		{sql: "INSERT INTO packs (number, last, value) SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bytea[])",
			args: []any{made.numbers[0], made.numbers[1], made.bytes[0]}},
	}
}
