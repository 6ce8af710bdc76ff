// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/postgres/reach"
	"github.com/dpaccountant/accountant/internal/persist/rows"
)

// Address is where the database is.
func (c Config) Address() reach.Address {
	return reach.Address{URL: c.URL, PasswordFile: c.PasswordFile}
}

// name is the store's URL for messages, without its user and password.
func (c Config) name() string { return c.Address().Name() }

// parse reads the connection string and refuses one whose connection would not be safe.
func (c Config) parse() (*pgxpool.Config, error) {
	config, err := c.Address().Parse(c.ReadLimit)
	if err != nil {
		return nil, err
	}
	config.ConnConfig.OnNotice = onNotice
	config.MinConns, config.MaxConns = 0, reach.Sessions-1 // one listens
	config.MaxConnLifetime = 24 * time.Hour                // a new connection costs a write
	return config, nil
}

// warned is the key under which a connection keeps that it was warned.
const warned = "warned"

// onNotice notes warnings. One that comes while a commit is under way says that its wait for the
// standby was cancelled; it is told in the server's language, so any warning counts.
func onNotice(c *pgconn.PgConn, n *pgconn.Notice) {
	if severity := n.SeverityUnlocalized; severity == "WARNING" || severity == "" {
		c.CustomData()[warned] = n.Message
	}
}

// settings make a session keep the promises of the store's contract, whatever the server's or the
// role's defaults are: a commit returns when it is durable and no time limit ends it; the warning that
// its wait was cancelled is sent; a transaction whose client is gone lets go of its locks; and who waits
// for a lock gives up in time.
const settings = `SELECT
	set_config('synchronous_commit', CASE WHEN current_setting('synchronous_commit') = 'remote_apply'
		THEN 'remote_apply' ELSE 'on' END, false),
	set_config('client_min_messages', 'warning', false),
	set_config('statement_timeout', '0', false),
	set_config('idle_in_transaction_session_timeout', $1, false),
	set_config('lock_timeout', $1, false),
	set_config('default_transaction_isolation', 'read committed', false)`

// keepalive makes the server notice a client whose machine is gone.
const keepalive = `SELECT set_config('tcp_keepalives_idle', '5', false),
	set_config('tcp_keepalives_interval', '2', false), set_config('tcp_keepalives_count', '3', false)`

// prepare makes a new connection ready. It has completed a write of its own before anything that is
// read through it is believed.
func (s *Store) prepare(ctx context.Context, c *pgx.Conn) error {
	if _, err := c.Exec(ctx, keepalive); codeOf(err) == "" && err != nil { // other databases lack these settings
		return err
	}
	c.PgConn().CustomData()[session] = s.sessions.Add(1)
	var b pgx.Batch
	b.Queue(settings, fmt.Sprint(s.config.Abandoned.Milliseconds()))
	if s.id == "" {
		b.Queue(makeID, newID())
	}
	b.Queue(live, s.daemon)
	b.Queue("INSERT INTO marks (daemon, session, n) VALUES ($1, $2, 1) ON CONFLICT DO NOTHING", s.fence()...)
	b.Queue(raise, s.mark(c)...)
	b.Queue("SELECT value, current_setting('synchronous_commit'), (SELECT value FROM meta WHERE name = $1) "+
		"FROM meta WHERE name = 'store'", rows.LeftName)
	results := c.SendBatch(ctx, &b)
	var value, left []byte
	var synchronous string
	err := func() error {
		for range b.Len() - 1 {
			if _, err := results.Exec(); err != nil {
				return err
			}
		}
		return results.QueryRow().Scan(&value, &synchronous, &left)
	}()
	if errors.Is(err, pgx.ErrNoRows) {
		err = errNoID
	}
	if err := errors.Join(err, results.Close()); err != nil {
		return err
	}
	if warning := c.PgConn().CustomData()[warned]; warning != nil {
		return fmt.Errorf("the first write was answered with a warning: %v", warning)
	}
	if synchronous != "on" && synchronous != "remote_apply" {
		return fmt.Errorf("the server keeps synchronous_commit at %q for this user; allowed: on or remote_apply",
			synchronous)
	}
	id, err := parseID(value)
	if err != nil {
		return err
	}
	if left != nil {
		if err := s.setMoved(left); err != nil {
			return err
		}
	}
	if s.id == "" {
		s.id = id
	} else if s.id != id {
		return fmt.Errorf("%w: the database has store %s; this daemon serves %s", ErrOtherStore, id, s.id)
	}
	if err := s.survey(ctx, c); err != nil {
		return err
	}
	s.reached(c.PgConn())
	return nil
}

// sessionsOfItsOwn makes a connection, and refuses a pooler that gives each transaction another session: what prepare
// has set, such as synchronous_commit, would hold for some commits only. A session's process is told by whoever
// answers at the start and by the server when it is asked, so without a pooler there is nothing more to ask.
func (s *Store) sessionsOfItsOwn(ctx context.Context) error {
	one, err := s.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer one.Release()
	process := func(c interface {
		QueryRow(context.Context, string, ...any) pgx.Row
	}) (pid int64, err error) {
		err = c.QueryRow(ctx, "SELECT pg_backend_pid()").Scan(&pid)
		return pid, err
	}
	before, err := process(one)
	if err != nil || before <= 0 || before == int64(one.Conn().PgConn().PID()) { // other databases have no processes
		return nil //nolint:nilerr // what cannot be asked here is asked of PostgreSQL only
	}
	shared := func(err error) error {
		const what = "what lies between gives each transaction another session of the database, in which a charge " +
			"may be acknowledged before it is durable; allowed: pool_mode = session, or the server's own address"
		return errors.Join(errors.New(what), err)
	}
	two, err := s.pool.Acquire(ctx)
	if err != nil {
		return shared(err)
	}
	defer two.Release()
	tx, err := two.Begin(ctx)
	if err != nil {
		return shared(err)
	}
	defer func() { _ = tx.Rollback(ctx) }() // nothing was written
	held, err := process(tx)
	if err != nil {
		return shared(err)
	}
	if after, err := process(one); err != nil || after != before || held == before {
		return shared(err)
	}
	return nil
}

// ErrOtherStore means that a database does not have the store that is to be served.
var ErrOtherStore = fmt.Errorf("%w: it is not there", ledger.ErrDamaged)

// makeID gives a database without ledgers the identifier of a new store, unless it has one.
const makeID = "INSERT INTO meta (name, value) SELECT 'store', $1::bytea WHERE NOT EXISTS (SELECT 1 FROM ledgers) " +
	"AND NOT EXISTS (SELECT 1 FROM log) ON CONFLICT (name) DO NOTHING"

// errNoID means that there are ledgers, and nothing says which store they belong to.
var errNoID = fmt.Errorf("%w: the table meta has lost the store's identifier: another program has changed it; "+
	"allowed: the database as it was, or a backup of it, restored into an empty database", ledger.ErrDamaged)

func newID() []byte {
	return sealMeta("store", []byte(uuid.NewString()))
}

func parseID(stored []byte) (string, error) {
	value, err := unsealMeta("store", stored)
	if err != nil {
		return "", err
	}
	id, err := uuid.ParseBytes(value)
	return id.String(), err
}

// live holds a lock for as long as a session of a daemon is there, before the daemon has rows in marks.
const live = "SELECT pg_advisory_lock_shared(hashtextextended($1::text, 0))"

// sweepMarks removes the rows that daemons have left in marks which ended without leave: nobody has their lock. A
// daemon that comes back makes its rows anew. Nothing depends on it; databases without timelines may have no such
// locks.
func (s *Store) sweepMarks(ctx context.Context) {
	if s.timeline.Load() > 0 {
		_, _ = s.pool.Exec(ctx, "DELETE FROM marks WHERE daemon IN (SELECT daemon FROM (SELECT DISTINCT daemon "+
			"FROM marks WHERE daemon <> $1 OFFSET 0) d "+
			"WHERE pg_try_advisory_xact_lock(hashtextextended(daemon::text, 0)))", s.daemon)
	}
}

// leave removes the store's rows from marks. Nothing depends on it.
func (s *Store) leave() {
	if s.away.reason() != nil {
		return
	}
	ctx, cancel := context.WithTimeout(s.closing, s.config.ReadLimit)
	defer cancel()
	_, _ = s.pool.Exec(ctx, "DELETE FROM marks WHERE daemon = $1", s.daemon)
}
