// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"

	"github.com/dpaccountant/accountant/internal/api"
)

// versionKey is the metadata key under which the answer to a health check carries the daemon's
// version.
const versionKey = "accountant-version"

// healthService is gRPC's own health service, with the daemon's version added to its answers.
type healthService struct {
	*health.Server
	version string
	away    func() error
}

// away returns why the store's database cannot be used now; nil if it can, or if the store is a file.
func (s *Server) away() error {
	if store, ok := s.config.Store.(interface{ Ready() error }); ok {
		return store.Ready()
	}
	return nil
}

// unhealthy turns health red.
func (s *Server) unhealthy() {
	for _, name := range append(api.Services(), "") {
		s.health.SetServingStatus(name, healthpb.HealthCheckResponse_NOT_SERVING)
	}
}

func (h healthService) Check(ctx context.Context,
	req *healthpb.HealthCheckRequest) (*healthpb.HealthCheckResponse, error) {
	if err := grpc.SetHeader(ctx, metadata.Pairs(versionKey, h.version)); err != nil {
		return nil, err
	}
	answer, err := h.Server.Check(ctx, req)
	if err == nil && answer.GetStatus() == healthpb.HealthCheckResponse_SERVING && h.away() != nil {
		answer = &healthpb.HealthCheckResponse{Status: healthpb.HealthCheckResponse_NOT_SERVING}
	}
	return answer, err
}
