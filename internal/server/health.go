package server

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
)

// VersionKey is the metadata key under which the answer to a health check carries the daemon's
// version.
const VersionKey = "accountant-version"

// healthService is gRPC's own health service, with the daemon's version added to its answers.
type healthService struct {
	*health.Server
	version string
}

func (h healthService) Check(ctx context.Context,
	req *healthpb.HealthCheckRequest) (*healthpb.HealthCheckResponse, error) {
	if err := grpc.SetHeader(ctx, metadata.Pairs(VersionKey, h.version)); err != nil {
		return nil, err
	}
	return h.Server.Check(ctx, req)
}
