// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"

	"github.com/dpaccountant/accountant/internal/persist"
	"github.com/dpaccountant/accountant/internal/persist/blobs"
	"github.com/dpaccountant/accountant/internal/persist/cold"
	"github.com/dpaccountant/accountant/internal/persist/rows"
	"github.com/dpaccountant/accountant/internal/server"
	"github.com/dpaccountant/accountant/internal/server/endpoint"
)

// cooling says which entries leave the ledgers' file, and where they go.
type cooling struct {
	dir, key string
	after    time.Duration
}

func (c *cooling) addFlags(f *pflag.FlagSet) {
	f.StringVar(&c.dir, "cold", "", "`directory`, or s3://BUCKET/PREFIX, to which old entries, and those of closed "+
		"ledgers, move out of the ledgers' file; the ledgers need it from then on (docs/durability.md)")
	f.DurationVar(&c.after, "cold-after", 365*24*time.Hour, "`age` at which the entries of open ledgers move to --cold")
	f.StringVar(&c.key, "cold-key", "", "`file` of the key, as age-keygen makes it, that encrypts what moves to --cold")
}

func (c *cooling) check(database string) error {
	wrong := func(field, value, allowed string) error {
		return &endpoint.ConfigError{Field: field, Value: value, Allowed: allowed}
	}
	switch {
	case c.dir == "" && c.key != "":
		return wrong("cold-key", c.key, "only with --cold")
	case c.dir != "" && database != "":
		return wrong("cold", c.dir, "only without --store: the entries of a database stay in it")
	case c.after < 0:
		return wrong("cold-after", c.after.String(), "a duration ≥ 0, such as 8760h")
	}
	return c.checkPlace()
}

func (c *cooling) checkPlace() error {
	if _, err := blobs.At(c.dir); err != nil {
		return usageError{fmt.Errorf("--cold: %w", err)}
	}
	return checkKeyOf("cold-key", c.key)
}

// retires is a store whose old entries may leave its file.
type retires interface {
	Retain(rows.Retention) error
	Retire(ctx context.Context, now time.Time) (persist.Retired, error)
}

// coolEvery is how often it is looked what may leave, and coolAgain after a failure.
const (
	coolEvery = time.Hour
	coolAgain = time.Minute
)

// keep moves entries until stop is called.
func (c *cooling) keep(s retires, m *server.Metrics, logger *slog.Logger) (stop func(), err error) {
	place := cold.Place{Dir: c.dir, Key: blobs.Key(c.key)}
	if err := s.Retain(rows.Retention{Place: place, After: c.after}); err != nil {
		return nil, err
	}
	if c.key == "" {
		logger.Warn("entries that move to --cold are not encrypted: whoever reads that directory reads them",
			"cold", c.dir, "do", "give --cold-key")
	}
	newest := prometheus.NewGauge(prometheus.GaugeOpts{Name: "accountant_cold_time_seconds",
		Help: "When all entries that were to leave the ledgers' file had left it, in seconds since 1970."})
	m.Add(newest)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			began, wait := time.Now(), coolEvery
			moved, err := s.Retire(ctx, began)
			if moved.Entries > 0 {
				logger.Info("entries have left the ledgers' file", "cold", c.dir, "entries", moved.Entries, "bytes",
					moved.Bytes, "segments", moved.Segments)
			}
			switch {
			case ctx.Err() != nil:
				return
			case err != nil:
				wait = coolAgain
				logger.Error("entries cannot leave the ledgers' file, where they stay; it is tried again",
					"cold", c.dir, "error", err)
			default:
				newest.Set(float64(began.UnixNano()) / 1e9)
			}
			select {
			case <-ctx.Done():
				return
			case <-time.After(wait):
			}
		}
	}()
	return func() {
		cancel()
		<-done
	}, nil
}
