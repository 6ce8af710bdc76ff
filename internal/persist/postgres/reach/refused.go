// SPDX-License-Identifier: Apache-2.0

package reach

import (
	"crypto/tls"
	"errors"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// refusal says in the reader's words why no connection was made, and what to do about it.
type refusal struct {
	what, allowed string
	err           error
}

func (r *refusal) Error() string {
	return r.what + "; allowed: " + r.allowed + " (" + strings.Join(strings.Fields(r.err.Error()), " ") + ")"
}

func (r *refusal) Unwrap() error { return r.err }

// Explained explains why no connection was made. Another error it returns as it is.
func Explained(err error) error {
	var connect *pgconn.ConnectError
	if !errors.As(err, &connect) {
		return err
	}
	because := func(what, allowed string) error { return &refusal{what: what, allowed: allowed, err: err} }
	user := connect.Config.User
	var server *pgconn.PgError
	if errors.As(err, &server) {
		switch server.Code {
		case "28P01": // invalid_password
			if connect.Config.Password == "" {
				return because("the database asks for a password, and none was given",
					"--store-password-file, a file that has the password of the user "+user)
			}
			return because("the database does not accept the password of the user "+user,
				"the user's password in the file of --store-password-file")
		case "28000": // invalid_authorization_specification
			return because("the database does not let the user "+user+" in from this machine",
				"a user that exists, with a line of the server's pg_hba.conf that lets it in from here")
		case "3D000": // invalid_catalog_name
			return because("the server has no database "+connect.Config.Database,
				"a database that exists; CREATE DATABASE makes an empty one")
		}
		return err
	}
	if errors.Is(err, pgconn.ErrReadOnlyConnection) {
		return because("the server takes no writes: it is a standby, or set to be read only",
			"the primary's address, or the addresses of all servers, HOST:PORT,HOST:PORT")
	}
	var certificate *tls.CertificateVerificationError
	var name *net.DNSError
	var dial *net.OpError
	switch {
	case errors.As(err, &certificate):
		return because("the server's certificate does not prove that the connection ends there",
			"a certificate with the host's name, from an authority of this machine or of sslrootcert=FILE")
	case strings.Contains(err.Error(), "server refused TLS connection"):
		return because("the server does not take connections with TLS",
			"ssl = on in its postgresql.conf, with a certificate; without TLS only a server on this machine")
	case errors.As(err, &name):
		return because("the name of the host is not known", "the name or the address of the database server")
	case errors.As(err, &dial):
		return because("nobody answers at this address",
			"the host and port of a PostgreSQL server that runs and can be reached from here")
	}
	return err
}
