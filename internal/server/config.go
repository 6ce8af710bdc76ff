package server

import (
	"crypto/ed25519"
	"fmt"
	"log/slog"
	"time"

	"github.com/dpaccountant/accountant/internal/ledger"
)

// Config says what to serve and where. Only Store is required.
type Config struct {
	// Store keeps the ledgers. The caller opened it and closes it after the
	// server has stopped.
	Store ledger.Store
	// Failed is closed when the store can take no more calls; the server then
	// stops and returns ErrStoreFailed. Nil: never.
	Failed <-chan struct{}

	// Listen is the TCP address of the gRPC service, port 0 for any free one.
	// Empty: none.
	Listen string
	// HTTP is the TCP address of /metrics and /healthz. Empty: none.
	HTTP string
	// Profile adds /debug/pprof to the HTTP port.
	Profile bool
	// Socket is the path of a Unix socket (mode 0600) with the gRPC service. A
	// stale one is replaced: the caller holds the lock of the store that lies
	// beside it. Empty: none.
	Socket string
	// Insecure allows addresses that other machines can reach, without TLS.
	Insecure bool

	// SigningKey signs heads (see the function of that name). Nil: none.
	SigningKey ed25519.PrivateKey

	// Data and Version are printed when the server is ready.
	Data, Version string

	// Metrics are what /metrics shows; of one server only. Nil: new ones.
	Metrics *Metrics
	// Logger takes one record a call and the server's own events. Nil: discarded.
	Logger *slog.Logger
	// BudgetLedgers is how many open ledgers with budgets /metrics shows the shares
	// of: each adds three series a budget. Zero: 1,000; below zero: none.
	BudgetLedgers int
	// Deadline is set for unary calls that come without one. Zero: 30 s.
	Deadline time.Duration
	// DrainTimeout bounds the graceful part of stopping. Zero: 10 s.
	DrainTimeout time.Duration
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
	if c.DrainTimeout == 0 {
		c.DrainTimeout = 10 * time.Second
	}
	return c
}

// Check returns a *ConfigError for what is wrong before anything is opened.
func (c Config) Check() error {
	for _, a := range []struct{ field, address string }{{"listen", c.Listen}, {"http", c.HTTP}} {
		if a.address == "" {
			continue
		}
		if _, err := resolve(a.field, a.address, c.Insecure); err != nil {
			return err
		}
	}
	if n := len(c.Socket); n > maxSocketPath {
		return &ConfigError{"socket", fmt.Sprintf("%s, a path of %d bytes", c.Socket, n),
			fmt.Sprintf("at most %d bytes: choose a shorter data directory, or a relative one", maxSocketPath)}
	}
	return nil
}

// ConfigError says which setting is wrong, what it was and what is allowed.
type ConfigError struct{ Field, Value, Allowed string }

func (e *ConfigError) Error() string {
	return fmt.Sprintf("%s: %s; allowed: %s", e.Field, e.Value, e.Allowed)
}
