// SPDX-License-Identifier: Apache-2.0

package web

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/server/inside"
)

// access is a service that says who calls, or refuses to.
type access struct {
	principal string
	err       error
}

func (a access) Invoke(_ context.Context, _ string, _, answer any, _ ...grpc.CallOption) error {
	answer.(*pb.GetAccessResponse).Principal = a.principal
	return a.err
}

func (a access) NewStream(context.Context, *grpc.StreamDesc, string, ...grpc.CallOption) (grpc.ClientStream, error) {
	return nil, a.err
}

// Whoever sends a large body counts as the principal that is proven, and as one with all others under whatever name
// where nothing is proven. A body is not read for somebody who has no call left or whose token is not valid.
func TestWhoSendsLargeBodies(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		service access
		want    string
		refused int
	}{
		"a token":               {access{principal: "oidc:https://issuer#ann"}, "oidc:https://issuer#ann", 0},
		"a certificate":         {access{principal: "cn:job"}, "cn:job", 0},
		"a made-up name":        {access{principal: "unverified:ann"}, "", 0},
		"a made-up proven name": {access{principal: "unverified:cn:job"}, "", 0},
		"no role for the call":  {access{err: status.Error(codes.PermissionDenied, "x")}, "", 0},
		"a token that is not":   {access{err: status.Error(codes.Unauthenticated, "x")}, "", http.StatusUnauthorized},
		"a daemon that stops":   {access{err: status.Error(codes.Unavailable, "x")}, "", 503},
		"more than is fair":     {access{err: status.Error(codes.ResourceExhausted, "x")}, "", 429},
	} {
		d := &door{Config: Config{Conn: c.service}}
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", nil)
		who, why := d.verify(r, inside.Caller{}, true)
		refused := 0
		if why != nil {
			refused = why.status
		}
		if who != c.want || refused != c.refused {
			t.Errorf("%s: %q, %d; want %q, %d", name, who, refused, c.want, c.refused)
		}
	}
}
