// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
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
	Retention() (rows.Retention, error)
	Outside() (rows.Retention, []cold.Name, error)
}

// coolEvery is how often it is looked what may leave, and lookEvery whether all segments are in their place; both are
// done again after coolAgain where they failed.
const (
	coolEvery = time.Hour
	lookEvery = 10 * time.Minute
	coolAgain = time.Minute
)

// cooled watches the entries that have left the file, and those that are to.
type cooled struct {
	cooling
	store  retires
	logger *slog.Logger

	newest, unreadable prometheus.Gauge

	leaving *tries

	mu       sync.Mutex
	looked   time.Time // when that was
	segments []cold.Name
	missing  []cold.Name
	away     error // why it is not known which are
}

// keep moves entries, and looks after those that have moved, until stop is called. Without --cold nothing more moves.
func (c *cooling) keep(s retires, m *server.Metrics, logger *slog.Logger) (warnings func() []string, stop func(),
	err error) {
	warnings, stop = func() []string { return nil }, func() {}
	if c.dir != "" {
		place := cold.Place{Dir: c.dir, Key: blobs.Key(c.key)}
		if err := s.Retain(rows.Retention{Place: place, After: c.after}); err != nil {
			return nil, nil, err
		}
		if c.key == "" {
			logger.Warn("entries that move to --cold are not encrypted: whoever reads that directory reads them",
				"cold", c.dir, "do", "give --cold-key")
		}
	}
	if r, err := s.Retention(); err != nil || r.Dir == "" {
		return warnings, stop, err
	}
	w := &cooled{cooling: *c, store: s, logger: logger, leaving: begun(),
		newest: prometheus.NewGauge(prometheus.GaugeOpts{Name: "accountant_cold_time_seconds",
			Help: "When all entries that were to leave the ledgers' file had left it, in seconds since 1970."}),
		unreadable: prometheus.NewGauge(prometheus.GaugeOpts{Name: "accountant_cold_unreadable_segments",
			Help: "How many segments of old entries are missing; all of them while their place does not answer or a " +
				"key is missing."})}
	m.Add(w.unreadable)
	if c.dir != "" {
		m.Add(w.newest)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.run(ctx)
	}()
	return func() []string { return w.warnings(ctx) }, func() {
		cancel()
		<-done
	}, nil
}

func (w *cooled) run(ctx context.Context) {
	for cool := time.Now(); ctx.Err() == nil; {
		began, wait := time.Now(), lookEvery
		due := !began.Before(cool)
		// Where segments are missing, a disk may not be mounted, and nothing is to be written in its place.
		well := (!due || w.count()) && w.look(ctx)
		if well && due {
			well = w.cool(ctx, began) && w.count()
			cool = began.Add(coolEvery)
		}
		if !well {
			wait, cool = coolAgain, began.Add(coolAgain)
		}
		select {
		case <-ctx.Done():
		case <-time.After(min(wait, time.Until(cool))):
		}
	}
}

// count finds out which segments are needed. It reports whether it could.
func (w *cooled) count() bool {
	_, segments, err := w.store.Outside()
	if err != nil {
		return false // the store says why to everybody
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.segments = segments
	return true
}

// cool moves what is to leave. It reports whether that is all.
func (w *cooled) cool(ctx context.Context, began time.Time) bool {
	if w.dir == "" {
		return true
	}
	moved, err := w.store.Retire(ctx, began)
	if moved.Entries > 0 {
		w.logger.Info("entries have left the ledgers' file", "cold", w.dir, "entries", moved.Entries, "bytes",
			moved.Bytes, "segments", moved.Segments)
	}
	if ctx.Err() != nil {
		return false
	}
	if err != nil {
		w.logger.Error("entries cannot leave the ledgers' file, where they stay; it is tried again", "cold", w.dir,
			"error", err)
	} else {
		w.newest.Set(float64(began.UnixNano()) / 1e9)
	}
	w.leaving.tried(began, err)
	return err == nil
}

// look finds out which segments are missing. It reports whether none is.
func (w *cooled) look(ctx context.Context) bool {
	w.mu.Lock()
	segments := w.segments
	w.mu.Unlock()
	r, err := w.store.Retention()
	if err == nil {
		err = r.Key.Has(r.Sealed)
	}
	var missing []cold.Name
	if err == nil && len(segments) > 0 {
		missing, err = r.Missing(ctx, segments)
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.looked, w.missing, w.away = time.Now(), missing, err
	switch {
	case err != nil:
		w.unreadable.Set(float64(len(segments)))
		w.logger.Error("old entries cannot be read: calls that need them get UNAVAILABLE", "cold", r.Dir, "segments",
			len(segments), "error", err)
	default:
		w.unreadable.Set(float64(len(missing)))
		if len(missing) > 0 {
			w.logger.Error("segments of old entries are missing: calls that need them get UNAVAILABLE", "cold", r.Dir,
				"missing", len(missing), "of", len(segments), "first", missing[0], "do", "put them back")
		}
	}
	return err == nil && len(missing) == 0
}

// Who asks what is wrong is told how it is now, or was not long ago, and does not wait long.
const (
	lookAgain    = 10 * time.Second
	lookPatience = 5 * time.Second
)

// warnings are for whoever asks what is wrong.
func (w *cooled) warnings(ctx context.Context) (list []string) {
	w.mu.Lock()
	looked := w.looked
	w.mu.Unlock()
	if time.Since(looked) > lookAgain {
		ctx, cancel := context.WithTimeout(ctx, lookPatience)
		defer cancel()
		w.look(ctx)
	}
	r, err := w.store.Retention()
	if err == nil {
		err = r.Key.Has(r.Sealed) // somebody may have exchanged it just now
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err == nil {
		err = w.away
	}
	switch {
	case err != nil:
		list = append(list, fmt.Sprintf("The old entries in %s cannot be read, and calls that need them get "+
			"UNAVAILABLE: %v. Make the place answer, with its key; nothing is lost meanwhile.", r.Dir, err))
	case len(w.missing) > 0:
		list = append(list, fmt.Sprintf("%d of %d segments with old entries are missing in %s, such as %s, and calls "+
			"that need them get UNAVAILABLE. Put them back, from a copy of that place.", len(w.missing),
			len(w.segments), r.Dir, w.missing[0]))
	}
	if since, err := w.leaving.failing(); err != nil {
		list = append(list, fmt.Sprintf("No old entries have left the ledgers' file since %s, where they stay: %v.",
			since.UTC().Format(time.RFC3339), err))
	}
	return list
}
