// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/jackc/pgx/v5"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/persist/book"
	"github.com/dpaccountant/accountant/internal/persist/packs"
	"github.com/dpaccountant/accountant/internal/persist/rows"
	"github.com/dpaccountant/accountant/internal/record"
)

// view is a read of one state of the database.
type view struct {
	ctx   context.Context
	conn  *pgx.Conn
	heads heads // that were seen
	begun bool
	// absent: it says that something is not there. An old primary, which still runs after a failover, may say so
	// of what the new one has.
	absent bool

	replicated bool // the server waits for a standby
}

// waitsForStandby asks whether a commit waits for a standby; databases other than PostgreSQL have no
// such setting.
const waitsForStandby = "SELECT coalesce(current_setting('synchronous_standby_names', true), '') <> ''"

const beginView = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"

// view runs read, perhaps more than once, and returns when what it has seen, or not found, is durable.
func (s *Store) view(read func(*view) error) error {
	if err := s.refused(); err != nil {
		return err
	}
	v := &view{}
	err := s.attempt(func(ctx context.Context, c *pgx.Conn) error {
		*v = view{ctx: ctx, conn: c, heads: heads{}}
		missing := read(v)
		if missing != nil && !errors.Is(missing, ledger.ErrNotFound) {
			return missing
		}
		if _, err := c.Exec(ctx, "COMMIT"); err != nil {
			return err
		}
		if err := s.believe(v); err != nil {
			return err
		}
		return missing
	})
	return err
}

// believe returns nil once the heads that were read are durable. A commit can be seen although it is
// not where the server's settings promise, if its wait for the standby was cancelled. A write of the
// same session that completes after the read says that the standby has all that came before.
func (s *Store) believe(v *view) error {
	if v.replicated && (v.absent || !s.known.has(v.heads)) {
		if err := s.cover(v.ctx, v.conn); err != nil {
			return err
		}
	}
	return s.remember(v.ctx, v.conn, v.heads)
}

// query makes one round trip.
func (v *view) query(queries ...query) error {
	if !v.begun {
		v.begun = true
		queries = append([]query{{sql: beginView}, {waitsForStandby, nil, func(r pgx.Rows) error {
			return r.Scan(&v.replicated)
		}}}, queries...)
	}
	_, err := roundTrip(v.ctx, v.conn, queries)
	return err
}

// found is a ledger with its head, as it is read.
type found struct {
	rows.Head
	genesis []byte // stored bytes
	there   bool
}

// find asks for a ledger by name.
func (v *view) find(name string, f *found) query {
	return v.findAll([]string{name}, func(_ string, l found) { *f = l })
}

// findAll asks for ledgers by name. It calls f for those that are there.
func (v *view) findAll(names []string, f func(name string, l found)) query {
	return query{findLedgers, []any{bytesOf(names)}, func(r pgx.Rows) (err error) {
		var number int64
		var name, genesis, head []byte
		if err := r.Scan(&name, &number, &genesis, &head); err != nil {
			return err
		}
		l := found{there: true}
		if l.Head, l.genesis, err = parseLedger(uint64(number), genesis, head); err != nil {
			return err
		}
		v.heads.add(string(name), l.Head)
		f(string(name), l)
		return nil
	}}
}

// ledger reads a ledger by name, or returns ErrNotFound.
func (v *view) ledger(name string) (f found, err error) {
	if err := v.query(v.find(name, &f)); err != nil {
		return f, err
	}
	if !f.there {
		v.absent = true
		return f, notFound(name)
	}
	return f, nil
}

func (f found) summary(name string) (ledger.Summary, error) { return f.SummaryOf(name, f.genesis) }

// existing finds a ledger with an equal spec, ErrNotFound or ErrExists. That it is not there is to be believed only by
// who makes it then.
func (s *Store) existing(spec ledger.Spec) (sum ledger.Summary, err error) {
	err = s.view(func(v *view) error {
		f, err := v.ledger(spec.Name)
		if err != nil {
			v.absent = false
			return err
		}
		if sum, err = f.summary(spec.Name); err != nil {
			return err
		}
		sum, err = book.Existing(sum, spec)
		return err
	})
	return sum, err
}

// The statements of Load; a ledger is found by its name.
const (
	thisLedger = "(SELECT number FROM ledgers WHERE name = $1)"
	loadParts  = "SELECT index, value FROM mechanisms WHERE number = " + thisLedger + " ORDER BY index"
	loadCount  = "SELECT index, value FROM counts WHERE number = " + thisLedger + " ORDER BY index"
	loadOpen   = "SELECT position, value FROM reservations WHERE number = " + thisLedger + " ORDER BY position"
	loadLast   = "SELECT last, value FROM log WHERE number = " + thisLedger + " ORDER BY last DESC LIMIT 1"
	loadAmend  = `SELECT a.position, a.value, p.last, p.value FROM amendments a LEFT JOIN LATERAL (
			SELECT last, value FROM log WHERE log.number = a.number AND log.last >= a.position
			ORDER BY last LIMIT 1) p ON true
		WHERE a.number = ` + thisLedger + " ORDER BY a.position"
)

// Load implements ledger.Store.
func (s *Store) Load(name string) (snapshot ledger.Snapshot, err error) {
	err = s.view(func(v *view) error {
		snapshot, err = v.load(name)
		return err
	})
	return snapshot, err
}

// load reads all that is kept of a ledger but its log.
func (v *view) load(name string) (ledger.Snapshot, error) {
	l := loading{name: name}
	key := []any{[]byte(name)}
	err := v.query(v.find(name, &l.found), query{loadParts, key, l.mechanism}, query{loadCount, key, l.count},
		query{loadOpen, key, l.reservation}, query{loadLast, key, l.newest}, query{loadAmend, key, l.amendment})
	switch {
	case err != nil:
		return ledger.Snapshot{}, err
	case !l.there:
		v.absent = true
		return ledger.Snapshot{}, notFound(name)
	}
	return l.snapshot()
}

// loading is a ledger as it is loaded.
type loading struct {
	found
	name    string
	parts   []mechanism.Part
	counted int // totals of rows of their own
	open    []ledger.Reservation
	last    packs.Pack
	amended []ledger.Entry
}

func scanTwo(r pgx.Rows) (n uint64, value []byte, err error) {
	var signed int64
	err = r.Scan(&signed, &value)
	return uint64(signed), value, err
}

func (l *loading) mechanism(r pgx.Rows) error {
	index, value, err := scanTwo(r)
	if err != nil {
		return err
	}
	if i := len(l.parts); index != uint64(i) {
		return rows.Damaged(rows.MechanismsBucket, rows.IndexKey(l.Number, i), "missing")
	}
	m, err := parseMechanism(l.Number, int(index), value)
	l.parts = append(l.parts, mechanism.Part{Mechanism: m})
	return err
}

func (l *loading) count(r pgx.Rows) error {
	index, value, err := scanTwo(r)
	if err != nil {
		return err
	}
	i := rows.InlineTotals + l.counted
	if index != uint64(i) || i >= len(l.parts) {
		return rows.Damaged(rows.CountsBucket, rows.IndexKey(l.Number, i), "missing")
	}
	l.counted++
	l.parts[i].Count, err = rows.Parse(rows.CountsBucket, rows.IndexKey(l.Number, i), value, rows.ParseUint64)
	return err
}

func (l *loading) reservation(r pgx.Rows) error {
	position, value, err := scanTwo(r)
	if err != nil {
		return err
	}
	open, err := parseReservation(l.Number, position, value)
	l.open = append(l.open, open)
	return err
}

func (l *loading) newest(r pgx.Rows) error {
	last, value, err := scanTwo(r)
	if err != nil {
		return err
	}
	l.last, err = rows.ParsePack(l.Number, last, value)
	return err
}

func (l *loading) amendment(r pgx.Rows) error {
	var position int64
	var last *int64
	var value, stored []byte
	if err := r.Scan(&position, &value, &last, &stored); err != nil {
		return err
	}
	at := rows.BlockKey(l.Number, uint64(position))
	if content, err := rows.Unseal(rows.AmendmentsBucket, at, value); err != nil || len(content) > 0 {
		return cmp.Or(err, rows.Damaged(rows.AmendmentsBucket, at, "%d bytes; want none", len(content)))
	}
	if last == nil {
		return rows.Damaged(rows.PacksBucket, at, "missing")
	}
	e, err := entryAt(l.Number, uint64(position), uint64(*last), stored)
	if err != nil {
		return err
	}
	if !e.Entry.Amends() {
		return rows.Damaged(rows.AmendmentsBucket, at, "entry with %T is none", e.Entry.Action)
	}
	l.amended = append(l.amended, e.Entry)
	return nil
}

// snapshot checks that the rows agree with the head.
func (l *loading) snapshot() (s ledger.Snapshot, err error) {
	if s.Summary, err = l.summary(l.name); err != nil {
		return s, err
	}
	if l.At.Position > 0 {
		if len(l.last.Raws) == 0 {
			return s, rows.Damaged(rows.PacksBucket, rows.NumberKey(l.Number), "the newest entries are missing")
		}
		if _, err := rows.Among(l.Number, l.last).Newest(l.Head); err != nil {
			return s, err
		}
	}
	if len(l.parts) != l.Distinct || l.counted != max(0, l.Distinct-rows.InlineTotals) {
		return s, rows.Damaged(rows.HeadsBucket, rows.NumberKey(l.Number), "%d mechanisms with %d totals of their "+
			"own; the head has %d", len(l.parts), l.counted, l.Distinct)
	}
	for i, total := range l.Totals {
		l.parts[i].Count = total
	}
	if err := cmp.Or(l.AgreesWithParts(l.parts), l.AgreesWithOpen(l.open),
		l.AgreesWithAmendments(l.amended)); err != nil {
		return s, err
	}
	s.Parts, s.Open, s.Amended = l.parts, l.open, l.amended
	if s.Parts == nil {
		s.Parts = []mechanism.Part{}
	}
	return s, nil
}

// List implements ledger.Store.
func (s *Store) List(prefix, after string, limit int) (out []ledger.Summary, err error) {
	if limit <= 0 {
		return nil, s.refused()
	}
	// One range of the index, however the statement is planned. Names are UTF-8, in which no byte is 0xff, and the
	// first name after another is that one with a zero byte more.
	const list = `SELECT l.name, l.number, l.genesis, h.value FROM ledgers l LEFT JOIN heads h ON h.number = l.number
		WHERE l.name >= $1 AND l.name < $2 ORDER BY l.name LIMIT $3`
	from := prefix
	if after != "" {
		from = max(prefix, after+"\x00")
	}
	err = s.view(func(v *view) error {
		out, v.absent = nil, true // of all names that it leaves out
		return v.query(query{list, []any{[]byte(from), []byte(prefix + "\xff"), min(limit, math.MaxInt32)},
			func(r pgx.Rows) error {
				_, sum, err := scanSummary(r)
				out = append(out, sum)
				return err
			}})
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// GenesisRecord implements ledger.Store.
func (s *Store) GenesisRecord(name string) (raw []byte, hash ledger.Hash, err error) {
	err = s.view(func(v *view) error {
		f, err := v.ledger(name)
		if err != nil {
			return err
		}
		_, err = f.summary(name)
		raw, hash = f.genesis, record.GenesisHash(f.genesis)
		return err
	})
	if err != nil {
		return nil, ledger.Hash{}, err
	}
	return raw, hash, nil
}

// Reserving implements ledger.Store.
func (s *Store) Reserving() (names []string, err error) {
	const reserving = `SELECT l.name, l.number, h.value FROM ledgers l LEFT JOIN heads h ON h.number = l.number
		WHERE l.number IN (SELECT number FROM reservations) ORDER BY l.name`
	err = s.view(func(v *view) error {
		names, v.absent = nil, true
		return v.query(query{reserving, nil, func(r pgx.Rows) error {
			var name, value []byte
			var number int64
			if err := r.Scan(&name, &number, &value); err != nil {
				return err
			}
			h, err := rows.UnsealHead(uint64(number), value)
			v.heads.add(string(name), h)
			names = append(names, string(name))
			return err
		}})
	})
	if err != nil {
		return nil, err
	}
	return names, nil
}

// notThere is the error of a sequence number that a lane does not have.
func notThere(name string, w ledger.Writer, sequence uint64) error {
	return fmt.Errorf("ledger %s: sequence %d of writer %s: %w", name, sequence, w.Name, ledger.ErrNotFound)
}
