package server

import (
	"context"
	"fmt"

	"github.com/grpc-ecosystem/go-grpc-middleware/v2/interceptors/logging"
	"google.golang.org/grpc/metadata"

	"github.com/dpaccountant/accountant/internal/wire"
)

// PrincipalKey is the metadata key in which a client says who it is. Nothing
// verifies it yet, so every principal starts with "unverified:".
const PrincipalKey = "accountant-principal"

const (
	unverified = "unverified:"
	anonymous  = unverified + "anonymous"
)

type principalKey struct{}

// principal is who called; identify has put it into every call's context.
func principal(ctx context.Context) string {
	p, _ := ctx.Value(principalKey{}).(string)
	return p
}

// identify adds the caller's principal to the context and to the call's log record.
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
	return context.WithValue(ctx, principalKey{}, p), nil
}

func badMetadata(format string, args ...any) error {
	return &wire.InvalidError{Field: "metadata " + PrincipalKey, Value: fmt.Sprintf(format, args...),
		Allowed: wire.PrincipalAllowed + ", once"}
}
