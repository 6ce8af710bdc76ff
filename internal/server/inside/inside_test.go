// SPDX-License-Identifier: Apache-2.0

package inside_test

import (
	"context"
	"log/slog"
	"net"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/dpaccountant/accountant/internal/server/endpoint"
	"github.com/dpaccountant/accountant/internal/server/inside"
)

// service answers with how the service saw the call.
type service struct {
	healthpb.UnimplementedHealthServer
	way *inside.Way
	saw func(inside.Caller, metadata.MD)
}

func (s service) Check(ctx context.Context, _ *healthpb.HealthCheckRequest) (*healthpb.HealthCheckResponse, error) {
	c, err := s.way.Caller(ctx)
	if err != nil {
		return nil, status.Error(codes.PermissionDenied, err.Error())
	}
	md, _ := metadata.FromIncomingContext(ctx)
	s.saw(c, md)
	if _, err := s.way.Caller(ctx); err == nil {
		return nil, status.Error(codes.Internal, "a ticket was good twice")
	}
	return &healthpb.HealthCheckResponse{}, nil
}

// The service sees the caller of the request's context and nothing that the HTTP side put into the call's
// metadata; a call for nobody, and one whose ticket is not of a call under way, is refused.
func TestWay(t *testing.T) {
	t.Parallel()
	way := inside.New()
	var got inside.Caller
	var md metadata.MD
	l, dial := endpoint.ListenInside(endpoint.NewConnections())
	s := grpc.NewServer(grpc.Creds(endpoint.Credentials(nil, slog.New(slog.DiscardHandler))))
	healthpb.RegisterHealthServer(s, service{way: way, saw: func(c inside.Caller, m metadata.MD) { got, md = c, m }})
	go func() { _ = s.Serve(l) }()
	t.Cleanup(s.Stop)
	conn, err := way.Dial(dial)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	client := healthpb.NewHealthClient(conn)

	if _, err := client.Check(t.Context(), &healthpb.HealthCheckRequest{}); err == nil {
		t.Error("a call for nobody passed")
	}
	ctx := inside.With(t.Context(), inside.Caller{Address: "192.0.2.1:1",
		Session: inside.Session{Principal: "oidc:x#ann"}, Metadata: metadata.Pairs("accountant-principal", "ann",
			"accountant-inside", "stolen")})
	ctx = metadata.AppendToOutgoingContext(ctx, "accountant-principal", "mallory", "accountant-inside", "forged",
		"authorization", "Bearer x")
	if _, err := client.Check(ctx, &healthpb.HealthCheckRequest{}); err != nil {
		t.Fatal(err)
	}
	if got.Session.Principal != "oidc:x#ann" || got.Address != "192.0.2.1:1" || len(md["accountant-principal"]) != 1 ||
		md["accountant-principal"][0] != "ann" || len(md["authorization"]) != 0 {
		t.Errorf("the service saw %+v, %v", got, md)
	}

	// Somebody who could open such a connection, without the way's own interceptors, still has no ticket.
	bare, err := grpc.NewClient("passthrough:///x", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return dial(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = bare.Close() })
	for _, tickets := range [][]string{{}, {"accountant-inside", md["accountant-inside"][0]},
		{"accountant-inside", "a", "accountant-inside", "b"}} {
		ctx := metadata.AppendToOutgoingContext(t.Context(), tickets...)
		_, err := healthpb.NewHealthClient(bare).Check(ctx, &healthpb.HealthCheckRequest{})
		if status.Code(err) != codes.PermissionDenied {
			t.Errorf("with tickets %q: %v", tickets, err)
		}
	}
}
