// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/dpaccountant/accountant/internal/persist/postgres/inspect"
)

// replication tells the metrics how far the database's standbys are, and what a failover has lost. It asks the
// primary for each reading of the metrics. Where the primary does not answer at once, these metrics are missing.
type replication struct {
	database inspected

	standbys, waitedFor, lag, clock, lost *prometheus.Desc
}

// inspected is a database that tells what it promises, and what it has lost.
type inspected interface {
	Promises() (inspect.Promises, error)
	Lost() ([]inspect.Loss, error)
}

func newReplication(database inspected) *replication {
	describe := func(name, help string) *prometheus.Desc { return prometheus.NewDesc(name, help, nil, nil) }
	return &replication{database,
		describe("accountant_store_standbys", "Standbys that are connected to the database's primary."),
		describe("accountant_store_synchronous_standbys", "Standbys that the primary's commits wait for. Missing if "+
			"the database's user may not see them (GRANT pg_monitor)."),
		describe("accountant_store_replication_lag_bytes", "Bytes of its log that the primary has written and the "+
			"standby which is behind most has not replayed. Missing if there is no standby to be seen."),
		describe("accountant_store_clock_ahead_seconds", "By how much the clock of the database's primary is ahead of "+
			"this daemon's; negative if it is behind."),
		describe("accountant_store_lost_ledgers", "Ledgers of which the database has lost acknowledged entries, by a "+
			"failover for example, and that nobody has reconciled since.")}
}

// Describe implements prometheus.Collector.
func (r *replication) Describe(to chan<- *prometheus.Desc) {
	to <- r.standbys
	to <- r.waitedFor
	to <- r.lag
	to <- r.clock
	to <- r.lost
}

// Collect implements prometheus.Collector.
func (r *replication) Collect(to chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, value float64) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value)
	}
	if lost, err := r.database.Lost(); err == nil {
		gauge(r.lost, float64(len(lost)))
	}
	p, err := r.database.Promises()
	if err != nil {
		return
	}
	gauge(r.standbys, float64(p.Standbys))
	if p.SeesStandbys {
		gauge(r.waitedFor, float64(p.Synchronous))
	}
	gauge(r.clock, p.Ahead.Seconds())
	if p.LagBytes != nil {
		gauge(r.lag, *p.LagBytes)
	}
}
