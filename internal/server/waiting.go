// SPDX-License-Identifier: Apache-2.0

package server

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/dpaccountant/accountant/internal/server/endpoint"
	"github.com/dpaccountant/accountant/internal/web"
	"github.com/dpaccountant/accountant/internal/web/bounds"
)

// Wait serves the HTTP port of a daemon that cannot serve yet, until stop is called: /healthz answers 503 with the
// cause, and /metrics as always. There is no gRPC service. Errors are those of Start.
func Wait(config Config, cause func() error) (stop func(), err error) {
	config = config.withDefaults()
	if err := config.Check(); err != nil || config.HTTP == "" {
		return func() {}, err
	}
	var certificates *endpoint.Certificates
	if config.TLS.Cert != "" {
		if certificates, err = endpoint.NewCertificates(config.TLS, config.Logger); err != nil {
			return nil, err
		}
	}
	l, err := endpoint.ListenTCP("http", config.HTTP, config.open())
	if err != nil {
		return nil, err
	}
	registry := config.Metrics.registry
	port, err := web.NewServer(web.Config{
		Metrics:      promhttp.HandlerFor(registry, promhttp.HandlerOpts{Registry: registry}),
		Health:       func() error { return fmt.Errorf("not serving: %w", cause()) },
		Certificates: config.TLS.ClientCA != "", Local: endpoint.IsLoopback(l.Addr().String()), Logger: config.Logger,
	})
	if err != nil {
		_ = l.Close()
		return nil, err
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		bounded := bounds.Listen(l, config.HTTPConnections, config.Logger)
		if err := port.Serve(endpoint.WithTLS(bounded, certificates)); !errors.Is(err, http.ErrServerClosed) {
			config.Logger.Warn("the HTTP port does not answer while the daemon waits", "error", err)
		}
	}()
	return func() { _ = port.Close(); <-ended }, nil
}
