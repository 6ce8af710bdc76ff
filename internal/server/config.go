// SPDX-License-Identifier: Apache-2.0

package server

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"github.com/dpaccountant/accountant/internal/access"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/server/bearer"
	"github.com/dpaccountant/accountant/internal/server/endpoint"
	"github.com/dpaccountant/accountant/internal/server/signing"
	"github.com/dpaccountant/accountant/internal/server/spans"
	"github.com/dpaccountant/accountant/internal/server/upkeep"
	"github.com/dpaccountant/accountant/internal/server/webhook"
	"github.com/dpaccountant/accountant/internal/web/login"
)

// Config says what to serve and where. Only Store is required.
type Config struct {
	// Store keeps the ledgers. The caller opened it and closes it after the
	// server has stopped.
	Store ledger.Store
	// Place is what is known of where the ledgers are kept.
	Place upkeep.Place
	// Failed is closed when the store can take no more calls; the server then
	// stops and returns ErrStoreFailed. Nil: never.
	Failed <-chan struct{}

	// Listen are the addresses of the gRPC service: HOST:PORT, where port 0 means any free
	// port, or unix:///PATH for a socket that others may open. Empty: none.
	Listen []string
	// SocketMode and SocketOwner (USER, USER:GROUP or :GROUP, names or numbers) say
	// who may open the sockets in Listen. Zero: 0600, of the daemon's user and group.
	SocketMode  fs.FileMode
	SocketOwner string
	// TLS, if it names files, is used on every TCP address.
	TLS endpoint.TLSFiles
	// Issuers are those whose tokens prove who calls. None: tokens prove nothing. TokenGroups is the
	// claim that lists a caller's groups. Empty: callers have none.
	Issuers     []bearer.Issuer
	TokenGroups string
	// HTTP is the TCP address of /metrics, /healthz and the dashboard. Empty: none.
	HTTP string
	// HTTPConnections is how many connections the HTTP port takes at once (bounds.Listener). Zero: 1,000.
	HTTPConnections int
	// Dashboard adds pages and the API as JSON to the HTTP port where that is safe: see hasPages.
	Dashboard bool
	// PublicURL is where people reach pages and JSON, if that is not HTTP. Nil: they do not. Login logs people
	// in. Nil: nobody can.
	PublicURL *url.URL
	Login     *login.Login
	// Profile adds /debug/pprof to the HTTP port.
	Profile bool
	// Socket is the path of a Unix socket (mode 0600) with the gRPC service. A
	// stale one is replaced: the caller holds the lock of the store that lies
	// beside it. Empty: none.
	Socket string
	// Insecure allows addresses that other machines can reach, without TLS.
	Insecure bool

	// AccessPolicy is the file that says who may do what (package access). It is read again when it
	// changes, and when Reload says so. Empty: everybody may do everything, except what only the
	// daemon's own socket takes.
	AccessPolicy string
	Reload       <-chan struct{}
	// PolicyInterval is how often that file is read, and which policy other daemons of the same store have
	// recorded, without being told. Zero: 1 s.
	PolicyInterval time.Duration
	// Rules are this daemon's, and hold besides those that the access policy has for all daemons of the store.
	Rules access.Rules

	// Webhook says whom to tell of what waits for people. Without addresses nobody is told.
	Webhook webhook.Config

	// SigningKey signs heads (signing.Key). Nil: none. NewestKey is the fingerprint of the key that the store is
	// bound to by now, as in signing.Signer.
	SigningKey ed25519.PrivateKey
	NewestKey  func() (signing.Fingerprint, error)

	// Data and Version are shown when the server is ready.
	Data, Version string

	// Spans records traces. Nil: none.
	Spans *spans.Recorder
	// Metrics are what /metrics shows. They belong to one server only. Nil: new ones.
	Metrics *Metrics
	// Logger takes one record a call and the server's own events. Nil: discarded.
	Logger *slog.Logger
	// BudgetLedgers is the number of open ledgers with budgets whose shares /metrics shows;
	// each adds three series for a budget. Zero: 1,000; below zero: none.
	BudgetLedgers int
	// Deadline is set for unary calls that come without one. Zero: 30 s.
	Deadline time.Duration
	// Analyses is how many questions are computed at once. Up to 16 times as many are admitted,
	// and take turns. Zero: the number of processors less one, at least 1.
	Analyses int
	// QuestionTime is the longest time of one question, whatever its client allows; then
	// the best bound so far is the answer. Zero: 30 s.
	QuestionTime time.Duration
	// ScrubInterval is the time between the end of one check of the store's file and the
	// beginning of the next; the first check begins at the start. Zero: 1 h; below zero: no
	// checks. ScrubRate bounds how many bytes a second a check reads. Zero: 16 MiB.
	ScrubInterval time.Duration
	ScrubRate     int64
	// DrainTimeout bounds how long stopping takes. After three quarters of it, calls that still
	// run are ended. Zero: 20 s, which is below the 30 s after which Kubernetes and systemd
	// kill the process.
	DrainTimeout time.Duration
	// SendTime is within when a caller of the gRPC service must have read an answer; then the connection is closed.
	// Zero: 1 min.
	SendTime time.Duration
}

func (c Config) withDefaults() Config {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Metrics == nil {
		c.Metrics = NewMetrics()
	}
	if c.BudgetLedgers == 0 {
		c.BudgetLedgers = 1000
	}
	if c.Deadline == 0 {
		c.Deadline = 30 * time.Second
	}
	if c.QuestionTime == 0 {
		c.QuestionTime = 30 * time.Second
	}
	if c.ScrubInterval == 0 {
		c.ScrubInterval = time.Hour
	}
	if c.ScrubRate == 0 {
		c.ScrubRate = 16 << 20
	}
	if c.DrainTimeout == 0 {
		c.DrainTimeout = 20 * time.Second
	}
	if c.SendTime == 0 {
		c.SendTime = sendTime
	}
	return c
}

// Check returns an *endpoint.ConfigError for what is wrong before anything is opened.
func (c Config) Check() error {
	for _, a := range c.Listen {
		path, ok := endpoint.SocketPath(a)
		if !ok {
			if _, err := endpoint.Resolve("listen", a, c.open()); err != nil {
				return err
			}
		} else if path == "" {
			return &endpoint.ConfigError{Field: "listen", Value: fmt.Sprintf("%q", a),
				Allowed: "unix:///PATH, or HOST:PORT"}
		} else if len(path) > endpoint.MaxSocketPath {
			return longPath("listen", path, "choose a shorter one")
		}
	}
	if c.HTTP != "" {
		if _, err := endpoint.Resolve("http", c.HTTP, c.open()); err != nil {
			return err
		}
	}
	if n := c.HTTPConnections; n != 0 && (n < 10 || n > 1_000_000) {
		return &endpoint.ConfigError{Field: "http-connections", Value: fmt.Sprint(n),
			Allowed: "a whole number from 10 to 1000000"}
	}
	if len(c.Socket) > endpoint.MaxSocketPath {
		return longPath("socket", c.Socket, "choose a shorter data directory, or a relative one")
	}
	if c.SocketMode&^0o777 != 0 {
		return &endpoint.ConfigError{Field: "socket-mode", Value: fmt.Sprintf("%#o", uint32(c.SocketMode)),
			Allowed: "permissions from 0 to 0777"}
	}
	if _, err := endpoint.NewAccess(c.SocketOwner, c.SocketMode); err != nil {
		return err
	}
	if c.Analyses < 0 {
		return &endpoint.ConfigError{Field: "analyses", Value: fmt.Sprint(c.Analyses), Allowed: "a whole number ≥ 0"}
	}
	if c.ScrubRate < 0 {
		return &endpoint.ConfigError{Field: "scrub-rate", Value: fmt.Sprint(c.ScrubRate), Allowed: "a number > 0"}
	}
	if c.QuestionTime < 0 {
		return &endpoint.ConfigError{Field: "question-time", Value: c.QuestionTime.String(),
			Allowed: "a duration > 0, such as 30s"}
	}
	var rule *access.RuleError
	if errors.As(c.Rules.Check(), &rule) {
		return &endpoint.ConfigError{Field: strings.ReplaceAll(rule.Field, "_", "-"), Value: rule.Value,
			Allowed: rule.Allowed}
	}
	if _, err := c.tokens(slog.New(slog.DiscardHandler)); err != nil {
		return err
	}
	return c.TLS.Check()
}

// open reports whether addresses that other machines can reach are allowed.
func (c Config) open() bool { return c.Insecure || c.TLS.Cert != "" }

// hasPages reports whether the HTTP port has pages and JSON: where they are wanted, and only this machine
// reaches the port, or TLS keeps what is sent secret and something proves who calls.
func (c Config) hasPages(address string) bool {
	identity := c.TLS.ClientCA != "" || len(c.Issuers) > 0
	return c.Dashboard && (endpoint.IsLoopback(address) || c.TLS.Cert != "" && identity)
}

// tokens makes the verifier of tokens, nil if none are taken. The error is an *endpoint.ConfigError.
func (c Config) tokens(logger *slog.Logger) (*bearer.Verifier, error) {
	if len(c.Issuers) == 0 {
		return nil, nil
	}
	v, err := bearer.New(bearer.Config{Issuers: c.Issuers, Groups: c.TokenGroups, Logger: logger})
	if err != nil {
		return nil, &endpoint.ConfigError{Field: "token-issuer", Value: err.Error(), Allowed: "see docs/identities.md"}
	}
	return v, nil
}

func longPath(field, path, advice string) error {
	return &endpoint.ConfigError{Field: field, Value: fmt.Sprintf("%s, a path of %d bytes", path, len(path)),
		Allowed: fmt.Sprintf("at most %d bytes: %s", endpoint.MaxSocketPath, advice)}
}
