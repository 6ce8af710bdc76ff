package server

import (
	"time"

	grpcprom "github.com/grpc-ecosystem/go-grpc-middleware/providers/prometheus"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"google.golang.org/grpc/codes"

	"github.com/dpaccountant/accountant/internal/ledger"
)

// metrics is everything the server measures, in a registry of its own.
type metrics struct {
	registry *prometheus.Registry

	calls   *grpcprom.ServerMetrics // grpc_server_*
	panics  prometheus.Counter
	charges *prometheus.CounterVec // by outcome and code
	streams prometheus.Gauge
	created prometheus.Counter
	append  prometheus.Histogram // seconds of one Store.Append
	entries prometheus.Histogram // entries of one Store.Append
	failed  *prometheus.CounterVec
	queries *prometheus.HistogramVec // seconds of the accountant, by winner

	accepted, replayed, checked prometheus.Counter // of charges
}

func newMetrics() *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		calls: grpcprom.NewServerMetrics(grpcprom.WithServerHandlingTimeHistogram(
			grpcprom.WithHistogramBuckets([]float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}))),
		panics: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "accountant_panics_total", Help: "Calls that ended in a panic."}),
		charges: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "accountant_charges_total",
			Help: "Charges and closings decided: accepted, replayed (a duplicate got its first receipt), checked (nothing was to be written), refused, failed (the outcome may be unknown); with the gRPC code."},
			[]string{"outcome", "code"}),
		streams: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "accountant_streams", Help: "Open report streams."}),
		created: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "accountant_ledgers_created_total", Help: "Ledgers created since the start."}),
		append: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "accountant_commit_seconds", Help: "Time until a ledger's batch was durable.",
			Buckets: prometheus.ExponentialBuckets(0.0001, 2, 16)}),
		entries: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "accountant_commit_entries", Help: "Entries of a ledger's batch that were made durable together.",
			Buckets: prometheus.ExponentialBuckets(1, 2, 12)}),
		failed: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "accountant_commit_failures_total", Help: "Batches that the store did not take, by gRPC code."},
			[]string{"code"}),
		queries: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "accountant_query_seconds", Help: "Time to answer a privacy query, by the winning analysis.",
			Buckets: prometheus.ExponentialBuckets(0.00001, 4, 12)}, []string{"analysis"}),
	}
	m.accepted = m.charges.WithLabelValues("accepted", codes.OK.String())
	m.replayed = m.charges.WithLabelValues("replayed", codes.OK.String())
	m.checked = m.charges.WithLabelValues("checked", codes.OK.String())
	m.registry.MustRegister(m.calls, m.panics, m.charges, m.streams, m.created, m.append, m.entries, m.failed, m.queries,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// charge counts one decided request.
func (m *metrics) charge(accepted, replayed bool, err error) {
	switch {
	case err != nil:
		outcome, code := "failed", statusOf(err).Code()
		if isRefusal(err) {
			outcome = "refused"
		}
		m.charges.WithLabelValues(outcome, code.String()).Inc()
	case replayed:
		m.replayed.Inc()
	case accepted:
		m.accepted.Inc()
	default:
		m.checked.Inc()
	}
}

// measured is a store whose writes are measured.
type measured struct {
	ledger.Store
	metrics *metrics
}

// Append implements ledger.Store.
func (s measured) Append(batch []ledger.Proposal) ([][]ledger.Hash, error) {
	start := time.Now()
	hashes, err := s.Store.Append(batch)
	if err != nil {
		s.metrics.failed.WithLabelValues(statusOf(err).Code().String()).Inc()
		return nil, err
	}
	s.metrics.append.Observe(time.Since(start).Seconds())
	for _, p := range batch {
		s.metrics.entries.Observe(float64(len(p.Entries)))
	}
	return hashes, nil
}
