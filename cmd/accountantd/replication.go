package main

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/dpaccountant/accountant/internal/persist/postgres/inspect"
)

// replication tells the metrics how far the database's standbys are. It asks the primary once for each reading
// of the metrics. While the primary does not answer, these metrics are missing.
type replication struct {
	ask                             func() (inspect.Promises, error)
	standbys, waitedFor, lag, clock *prometheus.Desc
}

func newReplication(ask func() (inspect.Promises, error)) *replication {
	describe := func(name, help string) *prometheus.Desc { return prometheus.NewDesc(name, help, nil, nil) }
	return &replication{ask,
		describe("accountant_store_standbys", "Standbys that are connected to the database's primary."),
		describe("accountant_store_synchronous_standbys", "Standbys that the primary's commits wait for. Missing "+
			"standbys and a user who may not see them look the same: 0."),
		describe("accountant_store_replication_lag_bytes", "Bytes of its log that the primary has written and the "+
			"standby which is behind most has not replayed. Missing if there is no standby to be seen."),
		describe("accountant_store_clock_ahead_seconds", "By how much the clock of the database's primary is ahead of "+
			"this daemon's; negative if it is behind.")}
}

// Describe implements prometheus.Collector.
func (r *replication) Describe(to chan<- *prometheus.Desc) {
	to <- r.standbys
	to <- r.waitedFor
	to <- r.lag
	to <- r.clock
}

// Collect implements prometheus.Collector.
func (r *replication) Collect(to chan<- prometheus.Metric) {
	p, err := r.ask()
	if err != nil {
		return
	}
	gauge := func(d *prometheus.Desc, value float64) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value)
	}
	gauge(r.standbys, float64(p.Standbys))
	gauge(r.waitedFor, float64(p.Synchronous))
	gauge(r.clock, p.Ahead.Seconds())
	if p.LagBytes != nil {
		gauge(r.lag, *p.LagBytes)
	}
}
