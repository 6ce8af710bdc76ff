// SPDX-License-Identifier: Apache-2.0

package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/dpaccountant/accountant/internal/server/endpoint"
	"github.com/dpaccountant/accountant/internal/web"
)

// newHTTP makes the server of the HTTP port. With mutual TLS it serves everything but /healthz only to
// clients with a certificate.
func (s *Server) newHTTP() (*http.Server, error) {
	config := web.Config{
		Metrics: promhttp.HandlerFor(s.metrics.registry, promhttp.HandlerOpts{Registry: s.metrics.registry}),
		Health: func() error {
			if s.draining.Err() != nil {
				return errors.New("not serving")
			}
			if err := cmp.Or(s.upkeep.Damage(), moved(s.config.Store), s.away()); err != nil {
				return fmt.Errorf("not serving: %w", err)
			}
			return nil
		},
		Profile: s.config.Profile, Certificates: s.config.TLS.ClientCA != "",
		Local: endpoint.IsLoopback(s.HTTPAddr()), URL: s.config.PublicURL, Login: s.config.Login,
		Logger: s.config.Logger,
	}
	if s.pages != nil {
		config.Conn = s.pages
	}
	if s.tls != nil {
		config.Certified = s.tls.For
	}
	return web.NewServer(config)
}

// stopHTTP waits a moment for running requests, at most until ctx ends. Then it closes
// connections that have not asked for anything, or do not read their answer.
func (s *Server) stopHTTP(ctx context.Context, h *http.Server) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	err := h.Shutdown(ctx)
	if err != nil {
		err = h.Close()
	}
	if s.pages != nil {
		err = errors.Join(err, s.pages.Close())
	}
	return err
}
