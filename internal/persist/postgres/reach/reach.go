// SPDX-License-Identifier: Apache-2.0

// Package reach says how a database is reached: by an address that is safe, with a password from a file, and
// without requests to cancel. It explains in plain words why it cannot be reached.
package reach

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

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Address is where a database is.
type Address struct {
	// URL is a connection string, such as postgres://user@host:5432/database. The connection must
	// be encrypted and the server's certificate verified, unless the server is on this machine.
	URL string
	// PasswordFile has the user's password. It is read for each connection.
	PasswordFile string
}

// Program is the name that the sessions of daemons have in the database.
const Program = "accountantd"

// Sessions is how many sessions a daemon has at most: the committer's, those of reads and one that listens. Ten daemons
// fit into a server with PostgreSQL's usual max_connections, 100.
const Sessions = 9

// Parse reads the connection string, and refuses one whose connection would not be safe. A server that does not
// answer within patience is given up; where the address names several, they share it.
func (a Address) Parse(patience time.Duration) (*pgxpool.Config, error) {
	if err := a.tellsNoPassword(); err != nil {
		return nil, fmt.Errorf("store %s: %w", a.Name(), err)
	}
	config, err := pgxpool.ParseConfig(a.URL)
	if err != nil { // the error has the URL in it, which may have a password
		why := errors.Unwrap(err)
		if why == nil {
			why = errors.New("it cannot be read as an address; allowed: postgres://USER@HOST:PORT/DATABASE with a " +
				"port up to 65535, and a password in a file")
		}
		return nil, fmt.Errorf("store: %w", why)
	}
	cc := config.ConnConfig
	if err := a.password(&cc.Config); err != nil {
		return nil, err
	}
	if err := safe(&cc.Config); err != nil {
		return nil, fmt.Errorf("store %s: %w", a.Name(), err)
	}
	cc.RuntimeParams["application_name"] = Program
	cc.ConnectTimeout = patience / time.Duration(hosts(&cc.Config)) // of each; one that was stopped never answers
	cc.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	config.BeforeConnect = func(_ context.Context, cc *pgx.ConnConfig) error {
		neverCancel(cc)
		return a.password(&cc.Config)
	}
	return config, nil
}

// Connect makes one connection, for a program of that name. Each statement is one message, without a prepared one,
// so that it also works through what gives each transaction another session.
func (a Address) Connect(ctx context.Context, program string, patience time.Duration) (*pgx.Conn, error) {
	config, err := a.Parse(patience)
	if err != nil {
		return nil, err
	}
	neverCancel(config.ConnConfig)
	config.ConnConfig.RuntimeParams["application_name"] = program
	config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol
	c, err := pgx.ConnectConfig(ctx, config.ConnConfig)
	if err != nil {
		return nil, fmt.Errorf("store %s: %w", a.Name(), Explained(err))
	}
	return c, nil
}

// hosts counts the servers that the address names.
func hosts(c *pgconn.Config) int {
	all := map[string]bool{net.JoinHostPort(c.Host, fmt.Sprint(c.Port)): true}
	for _, f := range c.Fallbacks {
		all[net.JoinHostPort(f.Host, fmt.Sprint(f.Port))] = true
	}
	return len(all)
}

// Name is the store's URL for messages, without its password.
func (a Address) Name() string {
	config, err := pgconn.ParseConfig(a.URL)
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

// tellsNoPassword refuses an address with a password in it, which other users of this machine see.
func (a Address) tellsNoPassword() error {
	u, err := url.Parse(a.URL)
	if err != nil {
		return nil // it is refused as a whole
	}
	_, has := u.User.Password() // false for no user
	switch {
	case has || u.Query().Has("password"):
		return errors.New("the address has a password in it, where other users of this machine see it; allowed: a " +
			"password in a file, --store-password-file")
	case u.Query().Has("sslpassword"):
		return errors.New("the address has the password of the client's TLS key in it (sslpassword), where other " +
			"users of this machine see it; allowed: an sslkey=FILE without a password, that only the " +
			"daemon's user can read")
	}
	return nil
}

// password reads the password's file, if there is one.
func (a Address) password(config *pgconn.Config) error {
	if a.PasswordFile == "" {
		return nil
	}
	content, err := os.ReadFile(a.PasswordFile)
	if err != nil {
		return fmt.Errorf("the database's password: %w", err)
	}
	config.Password = strings.TrimRight(string(content), "\r\n")
	return nil
}
