// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/rows"
)

// raise updates a row of marks, or makes it.
const raise = "INSERT INTO marks (daemon, session, n) VALUES ($1, $2, 1) ON CONFLICT (daemon, session) " +
	"DO UPDATE SET n = marks.n + 1"

// raiseIfReplicated updates the row only on a server that waits for a standby. On a server that
// does not, what can be seen is durable. Another database than PostgreSQL has no such setting.
const raiseIfReplicated = "UPDATE marks SET n = n + 1 WHERE daemon = $1 AND session = $2 AND " +
	"current_setting('synchronous_standby_names', true) <> ''"

// mark names the row of marks that a session updates.
func (s *Store) mark(c *pgx.Conn) []any { return []any{s.daemon, c.PgConn().CustomData()[session]} }

// session is the key under which a connection keeps its number.
const session = "session"

// cover completes a write in a session, on a server that waits for a standby. All that the session
// has read is then durable, and was true when the write reached the server's standby.
func (s *Store) cover(ctx context.Context, c *pgx.Conn) error {
	return completed(ctx, c, []query{{sql: begin}, {sql: raiseIfReplicated, args: s.mark(c)}, {sql: "COMMIT"}})
}

// waiting is a question for heads.
type waiting struct {
	names []string

	heads []ledger.Head
	err   error
	done  chan struct{}
}

func (w *waiting) answered() { close(w.done) }

// Heads returns the newest head of each ledger, and the zero Head of one that does not exist. What it
// returns is at least as new as anything that was acknowledged, by whichever daemon, before it was
// called. All that ask at the same time share one round trip.
func (s *Store) Heads(names []string) ([]ledger.Head, error) {
	w := &waiting{names: names, done: make(chan struct{})}
	if err := s.refused(); err != nil {
		return nil, err
	}
	if !s.questions.Submit(w) {
		return nil, s.errClosed()
	}
	<-w.done
	return w.heads, w.err
}

// ask reads the heads that are asked for, and completes a write after that, in one transaction and
// one round trip.
func (s *Store) ask(all []*waiting) int {
	var names []string
	index := map[string]int{}
	for _, w := range all {
		for _, name := range w.names {
			if _, ok := index[name]; !ok {
				index[name] = len(names)
				names = append(names, name)
			}
		}
	}
	heads := make([]*ledger.Head, len(names))
	damaged := map[string]error{}
	err := s.attempt(func(ctx context.Context, c *pgx.Conn) error {
		return s.readHeads(ctx, c, names, func(name string, h ledger.Head, err error) {
			heads[index[name]] = &h
			if err != nil {
				damaged[name] = err
			}
		})
	})
	for _, w := range all {
		w.err = err
		for _, name := range w.names {
			switch h, lost := heads[index[name]], s.losses.refused(name); {
			case w.err != nil:
			case lost != nil:
				w.err = lost
			case damaged[name] != nil:
				w.err = damaged[name]
			case h == nil: // there is no such ledger
				w.heads = append(w.heads, ledger.Head{})
			default:
				w.heads = append(w.heads, *h)
			}
		}
	}
	return len(all)
}

func (s *Store) readHeads(ctx context.Context, c *pgx.Conn, names []string,
	found func(string, ledger.Head, error)) error {
	const readHeads = `SELECT l.name, l.number, h.value FROM ledgers l LEFT JOIN heads h ON h.number = l.number
		WHERE l.name = ANY($1)`
	read := heads{}
	queries := []query{{sql: begin}, {readHeads, []any{bytesOf(names)}, func(r pgx.Rows) error {
		var name, value []byte
		var number int64
		if err := r.Scan(&name, &number, &value); err != nil {
			return err
		}
		h, err := rows.UnsealHead(uint64(number), value)
		if err == nil {
			read.add(string(name), h)
		}
		found(string(name), h.At, err)
		return nil
	}}}
	queries = append(queries, query{sql: raiseIfReplicated, args: s.mark(c)}, query{sql: "COMMIT"})
	if err := completed(ctx, c, queries); err != nil {
		return err
	}
	return s.remember(ctx, c, read)
}

// completed makes a round trip that must end without a warning.
func completed(ctx context.Context, c *pgx.Conn, queries []query) error {
	data := c.PgConn().CustomData()
	delete(data, warned)
	tag, err := roundTrip(ctx, c, queries)
	switch {
	case err != nil:
		return err
	case data[warned] != nil || tag.String() == "ROLLBACK" && queries[len(queries)-1].sql != "ROLLBACK":
		return fmt.Errorf("%w: %v %v", errBarrier, tag, data[warned])
	}
	return nil
}

// errBarrier means that a write has not completed as it should.
var errBarrier = errors.New("the server did not complete a write")
