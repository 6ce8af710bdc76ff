// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/postgres"
	"github.com/dpaccountant/accountant/internal/server"
	"github.com/dpaccountant/accountant/internal/server/endpoint"
	"github.com/dpaccountant/accountant/internal/server/spans"
)

// observer has a database's store tell what it does to metrics, and to the log when the database goes away and
// comes back.
func observer(m *server.Metrics, r *spans.Recorder) postgres.Observer {
	conflicts := prometheus.NewCounter(prometheus.CounterOpts{Name: "accountant_store_conflicts_total",
		Help: "Batches that met another head than they were decided on: another daemon had written. They are decided " +
			"again."})
	retries := prometheus.NewCounter(prometheus.CounterOpts{Name: "accountant_store_retries_total",
		Help: "Transactions that the database gave up for another daemon's, and that were tried again."})
	trips := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "accountant_store_round_trips",
		Help: "Round trips to the database of one commit.", Buckets: []float64{1, 2, 3, 4, 6, 8, 12, 16}})
	unknown := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "accountant_store_unknown_total",
		Help: "Commits whose outcome had to be found out, as their answer was lost or not certain, by what it was."},
		[]string{"outcome"})
	away := prometheus.NewGauge(prometheus.GaugeOpts{Name: "accountant_store_away",
		Help: "1 while the database cannot be reached: charges and questions are refused with UNAVAILABLE."})
	name := func(o postgres.Outcome) string { return strings.ReplaceAll(string(o), " ", "_") }
	for _, o := range []postgres.Outcome{postgres.Committed, postgres.NotCommitted, postgres.Unresolved} {
		unknown.WithLabelValues(name(o)) // shown before the first
	}
	m.Add(conflicts, retries, trips, unknown, away)
	return postgres.Observer{
		Commit: func(c postgres.Commit) {
			m.Commit(c.Operations, c.Entries, c.Bytes, c.Duration)
			r.Commit(c.Duration, c.Duration)
			conflicts.Add(float64(c.Conflicts))
			retries.Add(float64(c.Retries))
			trips.Observe(float64(c.RoundTrips))
		},
		Unknown: func(o postgres.Outcome) {
			unknown.WithLabelValues(name(o)).Inc()
			slog.Warn("the outcome of a commit was found out", "outcome", string(o))
		},
		Away: func(err error) {
			if err == nil {
				away.Set(0)
				slog.Info("the database can be reached again")
				return
			}
			away.Set(1)
			slog.Warn("the database cannot be reached: charges and questions are refused until it can", "error", err)
		},
		Lost: func(name string, newest ledger.Head, err error) {
			entry := []any{"ledger", name, "entry", newest.Position, "hash", fmt.Sprintf("%x", newest.Hash)}
			if err != nil {
				slog.Error("that the database has lost acknowledged entries could not be written into the ledger: "+
					"this daemon refuses the ledger, and tries again", append(entry, "error", err)...)
				return
			}
			slog.Error("the database has lost acknowledged entries of a ledger: the ledger refuses charges until "+
				"accountctl ledger reconcile", append(entry, "do", "docs/fleet.md, A failover that lost entries")...)
		},
	}
}

// promised logs what the primary's settings promise. If a standby is required, it refuses one that does not
// wait for any.
func promised(store *postgres.Store, requireStandby bool) error {
	p, err := store.Promises()
	if err != nil {
		return err
	}
	slog.Info("database", "fsync", p.Fsync, "full_page_writes", p.FullPageWrites, "synchronous_standby_names",
		p.SynchronousStandbys, "standbys", p.Standbys, "synchronous", p.Synchronous, "timeline", p.Timeline)
	switch {
	case p.SynchronousStandbys != "":
	case requireStandby:
		return &endpoint.ConfigError{Field: "require-standby",
			Value: "the primary's synchronous_standby_names is empty", Allowed: "a primary that waits for a " +
				"standby; without this flag a failover may lose acknowledged charges"}
	default:
		slog.Warn("the database does not wait for a standby: what it has acknowledged can be lost with its machine",
			"allowed", "synchronous_standby_names, and --require-standby: docs/fleet.md")
	}
	if apart := p.Ahead.Abs() - p.Within; apart > time.Second {
		slog.Warn("the clocks of the database's machine and of this one differ: this daemon goes by the database's",
			"ahead", p.Ahead, "allowed", "NTP on both")
	}
	if !p.Fsync || !p.FullPageWrites {
		slog.Warn("the database may lose or damage what it has acknowledged when its machine crashes",
			"allowed", "fsync and full_page_writes on")
	}
	return nil
}
