// SPDX-License-Identifier: Apache-2.0

package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"

	"github.com/dpaccountant/accountant/internal/access"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/server/bearer"
	"github.com/dpaccountant/accountant/internal/server/endpoint"
	"github.com/dpaccountant/accountant/internal/server/gate"
	"github.com/dpaccountant/accountant/internal/server/inside"
	"github.com/dpaccountant/accountant/internal/wire"
)

// PrincipalKey is the metadata key in which a client says who it is. If a token proves who calls
// ("oidc:…"), or the connection does, by a client certificate or a Unix socket's peer ("cn:ann",
// "uid:1000"), that is the principal, and the metadata is ignored. Otherwise the principal is what
// the client says, after "unverified:".
const PrincipalKey = "accountant-principal"

// tokenKey is the metadata key in which a client sends "Bearer " and its token (RFC 6750 §2.1).
const tokenKey = "authorization"

const (
	unverified = ledger.Unverified
	anonymous  = "anonymous"
)

// principal returns the caller's principal, which identify has found out.
func principal(ctx context.Context) string {
	if c := callerOf(ctx); c != nil {
		return c.principal
	}
	return ""
}

// provenCaller returns the caller's principal, and "" if nothing proves it.
func provenCaller(ctx context.Context) string {
	if c := callerOf(ctx); c != nil && c.identity().Proven() {
		return c.principal
	}
	return ""
}

// passage returns what the call may do. Every call of the API has one: the gate has let it pass.
func passage(ctx context.Context) *gate.Passage { return callerOf(ctx).passage }

// identity returns who calls, for the gate. The owner of the daemon is known by the daemon's own
// socket, which nobody else can open.
func (c *caller) identity() gate.Identity {
	who := access.Caller{Principal: c.principal, Groups: c.groups}
	return gate.Identity{Caller: who, Owner: c.ownSocket, OnlyReads: c.web && !who.Proven()}
}

// identify finds the caller's principal, whether the caller is the daemon's owner, and the name
// of the call in the log. A token says more than the connection: that may be a gateway's, which
// sends the calls of many.
func (s *Server) identify(ctx context.Context, c *caller) error {
	said, err := given(c.header, PrincipalKey)
	if err != nil {
		return err
	}
	var proven endpoint.Proof
	if p, ok := peer.FromContext(ctx); ok {
		proven, _ = p.AuthInfo.(endpoint.Proof)
	}
	var session inside.Session
	if proven.Inside {
		web, err := s.inside.Caller(ctx)
		if err != nil {
			return err
		}
		proven, session, c.web, c.address, c.release = web.Proof, web.Session, true, web.Address, web.Answered.Then
	}
	c.principal, c.connection, c.ownSocket = proven.Principal, proven.Principal, proven.Own
	if c.principal == "" {
		c.principal = unverified + cmp.Or(said, anonymous)
	}
	if c.id, err = given(c.header, RequestIDKey); err != nil {
		return err
	}
	by, err := s.byToken(ctx, c.header, proven)
	switch {
	case err != nil:
		return err
	case by.Principal != "":
		c.principal, c.groups, c.until = by.Principal, by.Groups, by.Expiry
	case session.Principal != "":
		c.principal, c.groups, c.until = session.Principal, session.Groups, session.Until
	case proven.Unproven:
		return errNoProof
	}
	if !c.ownSocket { // its owner may have to put things right
		c.account = s.accounts.Load().Of(c.principal, c.identity().Proven())
	}
	return nil
}

var (
	errToken     = errors.New("token")
	errTokenRead = fmt.Errorf("%w: it came in plain text from another machine, so others may have read it; "+
		"allowed: TLS, a Unix socket or a loopback address; take this token back at its issuer", errToken)
	errTokenTwice = fmt.Errorf("%w: the metadata authorization is given more than once; allowed: one token", errToken)
	errTokenForm  = fmt.Errorf("%w: the metadata authorization is not of the form \"Bearer TOKEN\"; allowed: that "+
		"form, or none", errToken)
	errNoProof      = fmt.Errorf("%w: there is none, and no client certificate; allowed: one of them", errToken)
	errTokenUseless = fmt.Errorf("%w: this daemon takes none, as it was started without --token-issuer, and nothing "+
		"else proves who calls; allowed: no token, such as without ACCOUNTANT_TOKEN_FILE", errToken)
	errTokenEnded = errors.New("token: its time is over, so the stream ends, after all answers that were due; " +
		"open it again with a new token")
)

// byToken returns what the call's token proves, or nothing if there is none. A token that proves
// nothing is an error even where the connection proves something: whoever sends one means to be its
// holder. A daemon that takes no tokens leaves them alone where the connection proves who calls.
func (s *Server) byToken(ctx context.Context, header metadata.MD, connection endpoint.Proof) (bearer.Identity, error) {
	values := header[tokenKey]
	if len(values) == 0 {
		return bearer.Identity{}, nil
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	isToken := strings.EqualFold(scheme, "Bearer")
	if s.tokens == nil {
		if isToken && connection.Principal == "" {
			return bearer.Identity{}, errTokenUseless
		}
		return bearer.Identity{}, nil
	}
	identity, err := bearer.Identity{}, error(nil)
	switch {
	case !connection.Private:
		err = errTokenRead
	case len(values) > 1:
		err = errTokenTwice
	case !isToken:
		err = errTokenForm
	default:
		identity, err = s.tokens.Verify(ctx, strings.TrimSpace(token))
	}
	s.metrics.token(err)
	return identity, err
}

// given returns what the client sent under a metadata key, "" if nothing.
func given(header metadata.MD, key string) (string, error) {
	switch values := header[key]; {
	case len(values) == 0:
		return "", nil
	case len(values) > 1:
		return "", badMetadata(key, "given %d times", len(values))
	case !wire.IsGivenPrincipal(values[0]):
		return "", badMetadata(key, "%.140q", values[0])
	default:
		return values[0], nil
	}
}

func badMetadata(key, format string, args ...any) error {
	return &wire.InvalidError{Field: "metadata " + key, Value: fmt.Sprintf(format, args...),
		Allowed: wire.PrincipalAllowed + ", once"}
}
