// SPDX-License-Identifier: Apache-2.0

package reach

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"slices"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"
)

// Heals reports whether waiting may mend what kept a connection from being made: nobody answers, or a server that
// starts, stops or has too many connections. A refusal, such as of a password, has to be mended by somebody; of several
// servers one that refuses is enough.
func Heals(err error) bool {
	heals, final := weigh(err)
	return heals && !final
}

// passing are the states in which a server refuses for now: admin_shutdown, crash_shutdown, cannot_connect_now and
// too_many_connections.
var passing = []string{"57P01", "57P02", "57P03", "53300"}

// unanswered is what a system says where nobody answers; ENOENT of a socket, whose server makes it when it starts.
var unanswered = []error{syscall.ECONNREFUSED, syscall.ECONNRESET, syscall.EHOSTUNREACH, syscall.ENETUNREACH,
	syscall.EHOSTDOWN, syscall.ENETDOWN, syscall.ETIMEDOUT, syscall.EPIPE, syscall.ENOENT}

// weigh goes through all errors in err. heals is true if one of them may pass, and final if one of them will not.
func weigh(err error) (heals, final bool) {
	if err == nil {
		return false, false
	}
	switch e := err.(type) { //nolint:errorlint // it is this error that is weighed, not one within it
	case *pgconn.PgError:
		heals = slices.Contains(passing, e.Code)
		return heals, !heals
	case *tls.CertificateVerificationError:
		return false, true
	case *net.DNSError:
		heals = e.IsTemporary || e.IsTimeout
		return heals, !heals
	case *net.OpError:
		var name *net.DNSError
		if errors.As(e.Err, &name) {
			return weigh(name)
		}
		heals = e.Timeout() || slices.ContainsFunc(unanswered, func(u error) bool { return errors.Is(e.Err, u) })
		return heals, !heals
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			h, f := weigh(one)
			heals, final = heals || h, final || f
		}
		return heals, final
	}
	if err == io.EOF || err == io.ErrUnexpectedEOF || err == context.DeadlineExceeded { //nolint:errorlint // as above
		return true, false
	}
	return weigh(errors.Unwrap(err))
}
