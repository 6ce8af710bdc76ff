// SPDX-License-Identifier: Apache-2.0

// Package web is what the daemon serves over HTTP: metrics and health for machines that watch it, and,
// where that is safe, pages for people and the API as JSON.
//
// Pages and JSON are clients of the gRPC service in the same process (package inside): they show what it
// answers, to the caller for whom a request comes, and decide nothing themselves. This package finds out who
// that is, and keeps web sites that somebody visits from using the visitor's browser against the daemon.
//
// It is a package of its own because it is a client of the service like any other.
package web

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/pprof"
	"net/url"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/dpaccountant/accountant/internal/web/bounds"
	"github.com/dpaccountant/accountant/internal/web/jsonapi"
	"github.com/dpaccountant/accountant/internal/web/login"
)

// Config says what the HTTP port serves.
type Config struct {
	// Metrics shows the metrics, and Health returns why the daemon does not serve, nil if it does.
	Metrics http.Handler
	Health  func() error
	// Profile adds /debug/pprof.
	Profile bool
	// Certificates is set where clients must have a certificate: for everything but /healthz.
	Certificates bool
	// Conn is the connection to the gRPC service by which pages and JSON ask (inside.Way.Dial). Nil: there
	// are no pages and no JSON.
	Conn grpc.ClientConnInterface
	// Local is set where only this machine reaches the port. Elsewhere pages and JSON need a caller whose
	// identity is proven.
	Local bool
	// Certified reports whether the daemon's certificate is for a host. Nil without TLS.
	Certified func(host string) bool
	// URL is where people reach the port, "https://accountant.example.org", if they reach it by a proxy or by
	// another name than its address. Nil: they do not.
	URL *url.URL
	// Login logs people in. Nil: nobody can.
	Login *login.Login

	Logger *slog.Logger
}

// Timeouts of the HTTP port. A request must have come whole after readTime. An answer may be computed as
// long as its call lasts; what is written of it must be read within writeTime.
const (
	headerTime = 5 * time.Second
	readTime   = 10 * time.Second
	writeTime  = 30 * time.Second
	maxHeader  = 16 << 10
)

// maxStreams is how many requests a connection of HTTP/2 may have under way; with HTTP/1.1 it has one.
const maxStreams = 32

// NewServer returns the server of the HTTP port.
func NewServer(c Config) (*http.Server, error) {
	mux := http.NewServeMux()
	handle := func(pattern string, handler http.HandlerFunc) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if c.Certificates && len(r.TLS.VerifiedChains) == 0 {
				http.Error(w, "a client certificate is needed", http.StatusForbidden)
				return
			}
			handler(w, r)
		})
	}
	handle("GET /metrics", c.Metrics.ServeHTTP)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		if err := c.Health(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "serving")
	})
	if c.Profile {
		handle("GET /debug/pprof/", pprof.Index)
		handle("GET /debug/pprof/profile", pprof.Profile)
		handle("GET /debug/pprof/trace", pprof.Trace)
	}
	if c.Conn != nil {
		d, err := newDoor(c)
		if err != nil {
			return nil, err
		}
		mux.Handle("/", d)
	}
	return &http.Server{
		Handler:           bounded(mux),
		ConnContext:       bounds.Context,
		HTTP2:             &http.HTTP2Config{MaxConcurrentStreams: maxStreams},
		ErrorLog:          slog.NewLogLogger(bounds.Seldom(c.Logger).Handler(), slog.LevelWarn),
		ReadHeaderTimeout: headerTime,
		ReadTimeout:       readTime,
		WriteTimeout:      writeTime,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    maxHeader,
	}, nil
}

// bounded refuses the requests of a connection that is one too many, and then closes it. Only those who look after
// the daemon are answered.
func bounded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		refused := bounds.Of(r.Context())
		if refused == nil {
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Connection", "close")
		if r.URL.Path == "/healthz" || r.URL.Path == "/metrics" {
			next.ServeHTTP(w, r)
			return
		}
		protect(w.Header())
		w.Header().Set("Retry-After", "5")
		answered, code := http.StatusServiceUnavailable, codes.Unavailable
		if refused.Yours {
			answered, code = http.StatusTooManyRequests, codes.ResourceExhausted
		}
		if strings.HasPrefix(r.URL.Path, jsonapi.Prefix) {
			jsonapi.Refuse(w, r, answered, code, refused.Error())
			return
		}
		http.Error(w, refused.Error(), answered)
	})
}
