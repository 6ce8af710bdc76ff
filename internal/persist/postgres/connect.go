package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/dpaccountant/accountant/internal/ledger"
)

// parse reads the connection string and refuses one whose connection would not be safe.
func (c Config) parse() (*pgxpool.Config, error) {
	config, err := pgxpool.ParseConfig(c.URL)
	if err != nil {
		return nil, fmt.Errorf("store: %w", errors.Unwrap(err)) // without the URL, which may have a password
	}
	cc := config.ConnConfig
	if u, err := url.Parse(c.URL); err == nil && (u.Query().Has("password") || hasPassword(u.User)) {
		return nil, fmt.Errorf("store %s: the address has a password in it, where other users of this machine see it; "+
			"allowed: a password in a file, --store-password-file", c.name())
	}
	if err := c.password(&cc.Config); err != nil {
		return nil, err
	}
	if err := safe(&cc.Config); err != nil {
		return nil, fmt.Errorf("store %s: %w", c.name(), err)
	}
	cc.RuntimeParams["application_name"] = "accountantd"
	cc.ConnectTimeout = c.ReadLimit / time.Duration(hosts(&cc.Config)) // of each; one that was stopped never answers
	cc.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	cc.OnNotice = onNotice
	config.BeforeConnect = func(_ context.Context, cc *pgx.ConnConfig) error {
		neverCancel(cc)
		return c.password(&cc.Config)
	}
	config.MinConns, config.MaxConns = 0, poolSize
	config.MaxConnLifetime = 24 * time.Hour // a new connection costs a write
	return config, nil
}

// hosts counts the servers that the address names.
func hosts(c *pgconn.Config) int {
	all := map[string]bool{net.JoinHostPort(c.Host, fmt.Sprint(c.Port)): true}
	for _, f := range c.Fallbacks {
		all[net.JoinHostPort(f.Host, fmt.Sprint(f.Port))] = true
	}
	return len(all)
}

// poolSize bounds the connections of one daemon: the committer's and those of reads.
const poolSize = 16

// name is the store's URL for messages, without its password.
func (c Config) name() string {
	config, err := pgconn.ParseConfig(c.URL)
	if err != nil {
		return "postgres"
	}
	return fmt.Sprintf("postgres://%s/%s", net.JoinHostPort(config.Host, fmt.Sprint(config.Port)), config.Database)
}

// safe refuses a connection that others may read or pretend to be the end of.
func safe(c *pgconn.Config) error {
	check := func(host string, verified bool) error {
		if verified || local(host) {
			return nil
		}
		return fmt.Errorf("the connection to %s would not be proven to end there; allowed: sslmode=verify-full, with "+
			"sslrootcert=FILE for the certificate of an authority of your own (other modes only for a server on this "+
			"machine)", host)
	}
	verified := c.TLSConfig != nil && !c.TLSConfig.InsecureSkipVerify
	if err := check(c.Host, verified); err != nil {
		return err
	}
	for _, f := range c.Fallbacks {
		if err := check(f.Host, f.TLSConfig != nil && !f.TLSConfig.InsecureSkipVerify); err != nil {
			return err
		}
	}
	return nil
}

// local reports whether a host is a socket's directory or this machine.
func local(host string) bool {
	ip := net.ParseIP(host)
	return strings.HasPrefix(host, "/") || host == "localhost" || ip != nil && ip.IsLoopback()
}

// neverCancel keeps pgx from sending requests to cancel, which it does over another connection when
// it gives one up. PostgreSQL would end a COMMIT's wait for the standby, and show as committed what
// was never replicated.
func neverCancel(c *pgx.ConnConfig) {
	dial := c.DialFunc
	var connected atomic.Bool
	c.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		if connected.Load() {
			return nil, errors.New("requests to cancel are never sent")
		}
		return dial(ctx, network, addr)
	}
	after := c.AfterConnect
	c.AfterConnect = func(ctx context.Context, p *pgconn.PgConn) error {
		connected.Store(true)
		if after != nil {
			return after(ctx, p)
		}
		return nil
	}
}

func hasPassword(u *url.Userinfo) bool {
	if u == nil {
		return false
	}
	_, has := u.Password()
	return has
}

// password reads the password's file, if there is one.
func (c Config) password(config *pgconn.Config) error {
	if c.PasswordFile == "" {
		return nil
	}
	content, err := os.ReadFile(c.PasswordFile)
	if err != nil {
		return fmt.Errorf("the database's password: %w", err)
	}
	config.Password = strings.TrimRight(string(content), "\r\n")
	return nil
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
// role's defaults are: a commit returns when it is durable and no time limit ends it; a
// transaction whose client is gone lets go of its locks; and who waits for a lock gives up in time.
const settings = `SELECT
	set_config('synchronous_commit', CASE WHEN current_setting('synchronous_commit') = 'remote_apply'
		THEN 'remote_apply' ELSE 'on' END, false),
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
	b.Queue("INSERT INTO meta (name, value) VALUES ('store', $1) ON CONFLICT (name) DO NOTHING", newID())
	b.Queue("INSERT INTO marks (daemon, session, n) VALUES ($1, $2, 1) ON CONFLICT DO NOTHING", s.fence()...)
	b.Queue(raise, s.mark(c)...)
	b.Queue("SELECT value, current_setting('synchronous_commit'), (SELECT value FROM meta WHERE name = 'final') " +
		"FROM meta WHERE name = 'store'")
	results := c.SendBatch(ctx, &b)
	var value, final []byte
	var synchronous string
	err := func() error {
		for range b.Len() - 1 {
			if _, err := results.Exec(); err != nil {
				return err
			}
		}
		return results.QueryRow().Scan(&value, &synchronous, &final)
	}()
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
	if final != nil {
		if err := s.setMoved(final); err != nil {
			return err
		}
	}
	if s.id == "" {
		s.id = id
	} else if s.id != id {
		return fmt.Errorf("%w: the database now has store %s; this daemon serves %s", ledger.ErrDamaged, id, s.id)
	}
	return nil
}

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

// leave removes the store's rows from marks. Nothing depends on it.
func (s *Store) leave() {
	if s.away.reason() != nil {
		return
	}
	ctx, cancel := context.WithTimeout(s.closing, s.config.ReadLimit)
	defer cancel()
	_, _ = s.pool.Exec(ctx, "DELETE FROM marks WHERE daemon = $1", s.daemon)
}
