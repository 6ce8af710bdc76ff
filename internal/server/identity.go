package server

import (
	"context"
	"fmt"

	"github.com/grpc-ecosystem/go-grpc-middleware/v2/interceptors/logging"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"

	"github.com/dpaccountant/accountant/internal/wire"
)

// PrincipalKey is the metadata key in which a client says who it is. Nothing
// verifies it yet, so every principal starts with "unverified:".
const PrincipalKey = "accountant-principal"

const (
	unverified = "unverified:"
	anonymous  = unverified + "anonymous"
)

type (
	principalKey struct{}
	ownSocketKey struct{}
)

// principal is who called; identify has put it into every call's context.
func principal(ctx context.Context) string {
	p, _ := ctx.Value(principalKey{}).(string)
	return p
}

// checkOwnSocket refuses a privileged verb that did not come over the daemon's own
// socket, which only its owner can open: until there are roles that is the proof.
func checkOwnSocket(ctx context.Context) error {
	if own, _ := ctx.Value(ownSocketKey{}).(bool); !own {
		return errNotOwnSocket
	}
	return nil
}

// identify adds the caller's principal, and whether it is the daemon's owner, to the context and to the call's log record.
func identify(ctx context.Context) (context.Context, error) {
	p := anonymous
	switch given := metadata.ValueFromIncomingContext(ctx, PrincipalKey); {
	case len(given) == 0:
	case len(given) > 1:
		return nil, badMetadata("given %d times", len(given))
	case !wire.IsGivenPrincipal(given[0]):
		return nil, badMetadata("%.140q", given[0])
	default:
		p = unverified + given[0]
	}
	logging.AddFields(ctx, logging.Fields{"principal", p})
	// The daemon's own socket is its only listener that is not TCP.
	caller, ok := peer.FromContext(ctx)
	if ok && caller.Addr != nil && caller.Addr.Network() == "unix" {
		ctx = context.WithValue(ctx, ownSocketKey{}, true)
	}
	return context.WithValue(ctx, principalKey{}, p), nil
}

func badMetadata(format string, args ...any) error {
	return &wire.InvalidError{Field: "metadata " + PrincipalKey, Value: fmt.Sprintf(format, args...),
		Allowed: wire.PrincipalAllowed + ", once"}
}
