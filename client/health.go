// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"crypto/tls"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
)

// versionKey is the metadata key under which the daemon sends its version.
const versionKey = "accountant-version"

// Health is a daemon's answer about its own condition.
type Health struct {
	Serving bool                 // false while it stops
	Version string               // "" from one that does not say
	TLS     *tls.ConnectionState // of the connection; nil without TLS
}

// Health asks the daemon's health service (grpc.health.v1) once; it does not retry.
func (c *Client) Health(ctx context.Context) (Health, error) {
	ctx, cancel := context.WithTimeout(c.outgoing(ctx), c.cfg.Timeout)
	defer cancel()
	defer context.AfterFunc(c.alive, cancel)()
	var header metadata.MD
	var other peer.Peer
	answer, err := healthpb.NewHealthClient(c.conn).Check(ctx,
		&healthpb.HealthCheckRequest{Service: pb.Charges_ServiceDesc.ServiceName},
		grpc.Header(&header), grpc.Peer(&other))
	if err != nil {
		return Health{}, failed("Health", "", err, c.ended(ctx))
	}
	h := Health{Serving: answer.GetStatus() == healthpb.HealthCheckResponse_SERVING}
	if v := header.Get(versionKey); len(v) == 1 {
		h.Version = v[0]
	}
	if info, ok := other.AuthInfo.(credentials.TLSInfo); ok {
		h.TLS = &info.State
	}
	return h, nil
}
