package server

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/pprof"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// newHTTP serves /metrics and /healthz, and profiles if they are enabled. With mutual TLS it
// serves everything but /healthz only to clients with a certificate.
func (s *Server) newHTTP() *http.Server {
	mux := http.NewServeMux()
	handle := func(pattern string, handler http.HandlerFunc) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if s.config.TLS.ClientCA != "" && len(r.TLS.VerifiedChains) == 0 {
				http.Error(w, "a client certificate is needed", http.StatusForbidden)
				return
			}
			handler(w, r)
		})
	}
	handle("GET /metrics",
		promhttp.HandlerFor(s.metrics.registry, promhttp.HandlerOpts{Registry: s.metrics.registry}).ServeHTTP)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		if s.draining.Err() != nil {
			http.Error(w, "not serving", http.StatusServiceUnavailable)
			return
		}
		if err := s.damage(); err != nil {
			http.Error(w, "not serving: "+err.Error(), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "serving")
	})
	if s.config.Profile {
		handle("GET /debug/pprof/", pprof.Index)
		handle("GET /debug/pprof/profile", pprof.Profile)
		handle("GET /debug/pprof/trace", pprof.Trace)
	}
	return &http.Server{
		Handler:           mux,
		ErrorLog:          slog.NewLogLogger(s.config.Logger.Handler(), slog.LevelWarn),
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    16 << 10,
	}
}

// stopHTTP waits a moment for running requests, at most until ctx ends. Then it closes
// connections that have not asked for anything, or do not read their answer.
func stopHTTP(ctx context.Context, h *http.Server) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if err := h.Shutdown(ctx); err != nil {
		return h.Close()
	}
	return nil
}
