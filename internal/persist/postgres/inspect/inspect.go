// SPDX-License-Identifier: Apache-2.0

// Package inspect looks at a database as a daemon would find it, and changes nothing: what it promises about
// acknowledged commits, what lies between, what the user may do, which store it has, and which version its tables are
// (schema.go has all of them).
package inspect

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpaccountant/accountant/internal/persist/postgres/reach"
	"github.com/dpaccountant/accountant/internal/persist/rows"
)

// Facts are what was found.
type Facts struct {
	Promises
	Version           string // of PostgreSQL
	SynchronousCommit string // the user's default, which the daemon's sessions raise to on
	Checksums         bool   // the server notices damaged pages

	Host        string            // that was reached; the directory of a socket
	Certificate *x509.Certificate // of the server; nil without TLS

	// Pooled: something between hands out the server's sessions. PerTransaction: it gives each transaction another.
	Pooled, PerTransaction bool

	// Sessions is how many the server, the database or the user takes, of which Free are not in use: the one of the
	// three that has the fewest left. Limit says which that is.
	Sessions, Free int
	Limit          string

	User      string
	Superuser bool
	Schema    string   // where the tables are, or would be; empty: nowhere
	MayCreate bool     // tables there
	Lacks     []string // rights on tables, such as "UPDATE on heads"
	NotOwner  []string // tables that belong to somebody else

	Autovacuum bool     // is on
	NoVacuum   []string // tables for which it is off
	Unmerged   bool     // there are rows that a daemon would have merged long ago

	Tables, Newest int64 // version of the tables, 0 if there are none; and the newest that this program knows

	Store string          // identifier; empty if no daemon was started on it yet
	Keys  []rows.BoundKey // to which it was bound, the one in use last
	Moved *rows.Left      // its ledgers were moved away; nil if they were not
	Lost  []Loss          // ledgers of which entries were lost, until somebody reconciles them

	// Rotating is the fingerprint, in hexadecimal, of the key of a rotate-key that was begun and not finished; empty if
	// there is none.
	Rotating string
}

// NoteRow, followed by a note's name, is the name of its row in meta.
const NoteRow = "note/"

// readable reports whether the user may read what the tables say of the store, and this program knows them. Where it is
// false, Store, Keys and Moved are empty whatever is there.
func (f *Facts) readable() bool { return len(f.Lacks) == 0 && f.Tables <= f.Newest }

// patience is how long a server may take to answer.
const patience = 5 * time.Second

// ErrNoAnswer means that nobody answers there.
var ErrNoAnswer = errors.New("the database does not answer")

// Look looks at a database.
func Look(ctx context.Context, at reach.Address) (f Facts, err error) {
	ctx, cancel := context.WithTimeout(ctx, 4*patience)
	defer cancel()
	c, err := at.Connect(ctx, "accountctl", patience)
	if err != nil {
		return f, silent(err)
	}
	defer func() { _ = c.Close(context.WithoutCancel(ctx)) }() // nothing is left to lose
	f.Host = c.Config().Host
	if secure, ok := c.PgConn().Conn().(*tls.Conn); ok {
		f.Certificate = secure.ConnectionState().PeerCertificates[0]
	}
	for _, look := range []func(context.Context, *pgx.Conn) error{f.server, f.user, f.store} {
		if err := look(ctx, c); err != nil {
			return f, err
		}
	}
	return f, f.pooler(ctx, c, at) // last, as it may lose the connection
}

// There looks at a database that must have a store. Opening it would make one where it is mistaken for another.
func There(ctx context.Context, at reach.Address) (f Facts, err error) {
	f, err = Look(ctx, at)
	switch {
	case err != nil:
	case !f.readable():
		err = fmt.Errorf("the user may not read the tables of the database %s, or they are of a newer version: "+
			"\"accountctl doctor --store\" says more", at.Name())
	case f.Store == "":
		err = fmt.Errorf("no daemon was ever started on the database %s; allowed: one that has ledgers", at.Name())
	}
	return f, err
}

// silent makes the error of a connection that nobody answered an ErrNoAnswer with the same text.
func silent(err error) error {
	var server *pgconn.PgError
	var dial net.Error
	if !errors.As(err, &server) && (errors.As(err, &dial) || errors.Is(err, context.DeadlineExceeded)) {
		return noAnswer{err}
	}
	return err
}

type noAnswer struct{ error }

func (n noAnswer) Unwrap() []error { return []error{ErrNoAnswer, n.error} }

func (f *Facts) server(ctx context.Context, c *pgx.Conn) error {
	for i := range 3 { // the quickest answer tells the clock best
		p, err := Promised(ctx, c)
		if err != nil {
			return err
		}
		if i == 0 || p.Within < f.Within {
			f.Promises = p
		}
	}
	const ask = `SELECT current_setting('server_version'), current_setting('synchronous_commit'),
		current_setting('data_checksums') = 'on', l.*
		FROM (SELECT 'max_connections of the server' AS what, current_setting('max_connections')::int AS most,
				current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
				- coalesce(current_setting('reserved_connections', true)::int, 0)
				- (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend') AS free
			UNION ALL SELECT 'CONNECTION LIMIT of the database', datconnlimit, datconnlimit
				- (SELECT count(*) FROM pg_stat_activity WHERE datname = current_database())
				FROM pg_database WHERE datname = current_database() AND datconnlimit >= 0
			UNION ALL SELECT 'CONNECTION LIMIT of the user', rolconnlimit, rolconnlimit
				- (SELECT count(*) FROM pg_stat_activity WHERE usename = current_user)
				FROM pg_roles WHERE rolname = current_user AND rolconnlimit >= 0) l
		ORDER BY l.free LIMIT 1`
	return c.QueryRow(ctx, ask).Scan(&f.Version, &f.SynchronousCommit, &f.Checksums, &f.Limit, &f.Sessions, &f.Free)
}

func (f *Facts) user(ctx context.Context, c *pgx.Conn) error {
	const ask = `WITH r AS (
			SELECT schemaname, tablename, tableowner, ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE'] AS rights
			FROM pg_tables
			UNION ALL SELECT schemaname, viewname, viewowner, ARRAY['SELECT'] FROM pg_views)
		SELECT current_user, (SELECT rolsuper FROM pg_roles WHERE rolname = current_user),
		coalesce(current_schema(), ''), coalesce(has_schema_privilege(current_schema(), 'CREATE'), false),
		ARRAY(SELECT p || ' on ' || tablename FROM r, unnest(rights) p
			WHERE schemaname = current_schema() AND tablename = ANY($1)
				AND NOT has_table_privilege(quote_ident(schemaname) || '.' || quote_ident(tablename), p)
			ORDER BY 1),
		ARRAY(SELECT tablename::text FROM r
			WHERE schemaname = current_schema() AND tablename = ANY($1) AND NOT pg_has_role(tableowner, 'usage')
			ORDER BY 1)`
	return c.QueryRow(ctx, ask, Tables()).Scan(&f.User, &f.Superuser, &f.Schema, &f.MayCreate, &f.Lacks,
		&f.NotOwner)
}

// store reads which store the database has.
func (f *Facts) store(ctx context.Context, c *pgx.Conn) (err error) {
	f.Newest = NewestVersion()
	if !f.readable() {
		return nil
	}
	f.Tables, err = StoredVersion(func(sql string, to any) error { return c.QueryRow(ctx, sql).Scan(to) })
	if err != nil || f.Tables == 0 || !f.readable() {
		return err
	}
	found, err := c.Query(ctx, "SELECT name, value FROM meta ORDER BY name")
	if err != nil {
		return err
	}
	var name string
	var stored []byte
	_, err = pgx.ForEachRow(found, []any{&name, &stored}, func() error {
		value, err := rows.Unseal(rows.MetaBucket, []byte(name), stored)
		if err != nil {
			return err
		}
		switch {
		case name == "store":
			f.Store = string(value)
		case name == NoteRow+rows.RotatingNote:
			f.Rotating = string(value)
		case name == rows.LeftName:
			left, err := rows.ParseLeft(value)
			f.Moved = &left
			return err
		case strings.HasPrefix(name, rows.KeyPrefix):
			f.Keys, err = rows.AppendKey(f.Keys, []byte(name), []byte(rows.KeyName(len(f.Keys))), stored)
			return err
		}
		return nil
	})
	if err != nil || f.Moved != nil {
		return err
	}
	if f.Lost, err = Lost(ctx, c); err != nil {
		return err
	}
	const room = `SELECT current_setting('autovacuum')::boolean AND current_setting('track_counts')::boolean,
		ARRAY(SELECT relname::text FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND EXISTS (
			SELECT 1 FROM pg_options_to_table(reloptions)
			WHERE option_name = 'autovacuum_enabled' AND NOT option_value::boolean) ORDER BY 1),
		EXISTS (SELECT 1 FROM tail WHERE written < now() - interval '1 hour')`
	return c.QueryRow(ctx, room).Scan(&f.Autovacuum, &f.NoVacuum, &f.Unmerged)
}

// pooler finds out what lies between. A session's process is told at the start by whoever answers there, and by
// the server itself when it is asked. A pooler that gives each transaction another session has to take another one
// while the first is held by somebody else.
func (f *Facts) pooler(ctx context.Context, c *pgx.Conn, at reach.Address) error {
	process := func(ctx context.Context, c *pgx.Conn) (pid uint32, err error) {
		err = c.QueryRow(ctx, "SELECT pg_backend_pid()").Scan(&pid)
		return pid, err
	}
	before, err := process(ctx, c)
	if f.Pooled = before != c.PgConn().PID(); err != nil || !f.Pooled {
		return err
	}
	other, err := at.Connect(ctx, "accountctl", patience)
	if err != nil {
		return err
	}
	defer func() { _ = other.Close(context.WithoutCancel(ctx)) }()
	held, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if _, err := other.Exec(held, "BEGIN"); err != nil {
		return ctx.Err() // this one has kept its session, and there is no other
	}
	asking, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	after, err := process(asking, c)
	f.PerTransaction = err != nil || after != before
	return ctx.Err()
}

// Daemons returns how many sessions of daemons are connected to a database. Those of other users of the database are
// seen by members of pg_monitor only.
func Daemons(ctx context.Context, at reach.Address) (n int, err error) {
	c, err := at.Connect(ctx, "accountctl", patience)
	if err != nil {
		return 0, err
	}
	defer func() { _ = c.Close(context.WithoutCancel(ctx)) }()
	err = c.QueryRow(ctx, "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "+
		"AND application_name = $1", reach.Program).Scan(&n)
	return n, err
}
