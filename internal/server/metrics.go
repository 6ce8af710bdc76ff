// SPDX-License-Identifier: Apache-2.0

package server

import (
	"errors"
	"math"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"google.golang.org/grpc/codes"

	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/keeper"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/server/bearer"
	"github.com/dpaccountant/accountant/internal/server/gate"
	"github.com/dpaccountant/accountant/internal/server/turns"
	"github.com/dpaccountant/accountant/internal/server/webhook"
	"github.com/dpaccountant/accountant/internal/version"
	"github.com/dpaccountant/accountant/internal/web/bounds"
)

// Metrics holds everything that the daemon measures, in a registry of its own.
type Metrics struct {
	registry *prometheus.Registry

	calls    *calls // grpc_server_*
	panics   prometheus.Counter
	charges  *prometheus.CounterVec // by outcome and code
	streams  prometheus.Gauge
	ledgers  prometheus.Gauge
	budgets  *budgetShares
	watchers prometheus.Gauge
	refusals *prometheus.CounterVec   // of writes, by reason
	queries  *prometheus.HistogramVec // seconds of the accountant, by winner
	gaps     *prometheus.HistogramVec // of the answers, by winner

	questionsRefused, questionsCut prometheus.Counter

	tokens *prometheus.CounterVec // by outcome
	fair   *prometheus.CounterVec // by limit

	batchSeconds, batchEntries  prometheus.Histogram   // of one Store.Append
	batchFailures               *prometheus.CounterVec // by code
	commitSeconds, commitGroup  prometheus.Histogram   // of the store's commits
	commitRecords, commitBytes  prometheus.Counter
	committed                   atomic.Int64       // when the last commit ended: Unix ns
	accepted, replayed, checked prometheus.Counter // of charges

	webhooks *prometheus.CounterVec // messages by outcome

	scrubbed prometheus.Counter // bytes
	damaged  prometheus.Gauge
	clean    atomic.Int64 // when the store's file was last found whole, or these metrics began: Unix ns
}

// NewMetrics returns metrics that count from zero.
func NewMetrics() *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		calls:    newCalls(),
		panics: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "accountant_panics_total", Help: "Calls that ended in a panic."}),
		charges: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "accountant_charges_total",
			Help: "Charges, reservations and other writes decided: accepted, replayed (a duplicate got its first " +
				"receipt), checked (nothing was to be written), refused, failed (the outcome may be unknown); with " +
				"the gRPC code."},
			[]string{"outcome", "code"}),
		refusals: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "accountant_refusals_total", Help: "Writes that were refused: nothing was charged. By reason."},
			[]string{"reason"}),
		streams: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "accountant_streams", Help: "Open report streams."}),
		ledgers: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "accountant_ledgers", Help: "Ledgers, open and closed."}),
		budgets: newBudgetShares(),
		watchers: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "accountant_watchers", Help: "Open streams of watched ledgers."}),
		batchSeconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "accountant_batch_seconds",
			Help:    "Time until one ledger's batch was durable, waiting for others included.",
			Buckets: prometheus.ExponentialBuckets(0.0001, 2, 16)}),
		batchEntries: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "accountant_batch_entries", Help: "Entries of one ledger's batch.",
			Buckets: prometheus.ExponentialBuckets(1, 2, 12)}),
		batchFailures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "accountant_batch_failures_total", Help: "Batches that the store did not take, by gRPC code."},
			[]string{"code"}),
		commitSeconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "accountant_commit_seconds", Help: "Time of one durable commit of the store.",
			Buckets: prometheus.ExponentialBuckets(0.0001, 2, 16)}),
		commitGroup: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "accountant_commit_group", Help: "Batches and new ledgers that one commit made durable.",
			Buckets: prometheus.ExponentialBuckets(1, 2, 12)}),
		commitRecords: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "accountant_commit_records_total",
			Help: "Records of the log made durable: entries and beginnings of ledgers."}),
		commitBytes: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "accountant_commit_bytes_total", Help: "Bytes of keys and values made durable."}),
		queries: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "accountant_query_seconds", Help: "Time to answer a privacy query, by the winning analysis.",
			Buckets: prometheus.ExponentialBuckets(0.00001, 4, 12)}, []string{"analysis"}),
		gaps: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "accountant_query_gap", Help: "How far an answered ε may be above the truth: upper less lower " +
				"bound, over max(1, ε). By the winning analysis; without a lower bound not counted.",
			Buckets: prometheus.ExponentialBuckets(1e-12, 10, 13)}, []string{"analysis"}),
	}
	m.questionsRefused = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "accountant_questions_refused_total",
		Help: "Questions that were refused, with a time to come back, because too many were being answered."})
	m.questionsCut = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "accountant_questions_cut_total",
		Help: "Questions whose time ran out: the best bound proven by then was the answer, if there was one."})
	m.fair = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "accountant_fair_use_total",
		Help: "Calls refused because their principal takes too much (calls, computing), waits of streams for that " +
			"reason (stream), streams over HTTP that were refused as too many (http_streams), and answers for which " +
			"there was no memory (answers)."}, []string{"limit"})
	for _, limit := range []string{"calls", "computing", "stream", "http_streams", "answers"} {
		m.fair.WithLabelValues(limit) // shown before the first
	}
	m.tokens = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "accountant_tokens_total",
		Help: "Tokens of callers: accepted, or the check that refused one, or unreachable where their issuer did not " +
			"give its keys."}, []string{"outcome"})
	m.webhooks = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "accountant_webhook_messages_total",
		Help: "Messages to the addresses of --webhook: delivered, failed attempts that are made again, and dropped, " +
			"for which there was no room or which failed too often."}, []string{"outcome"})
	for _, outcome := range webhook.Outcomes {
		m.webhooks.WithLabelValues(outcome) // shown before the first
	}
	m.scrubbed = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "accountant_scrub_bytes_total", Help: "Bytes of the store that were read to look for damage."})
	m.damaged = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "accountant_store_damaged", Help: "1 if the store was found damaged. Of a file everything is " +
			"refused then; of a database, what needs the damaged rows."})
	m.clean.Store(time.Now().UnixNano())
	m.registry.MustRegister(m.scrubbed, m.damaged, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "accountant_scrub_age_seconds",
		Help: "Since the store was last gone through and found whole; before the first time, since the start."},
		func() float64 { return time.Since(time.Unix(0, m.clean.Load())).Seconds() }))
	m.tokens.WithLabelValues("accepted")                       // shown before the first
	for c := codes.Canceled; c <= codes.Unauthenticated; c++ { // likewise: an alert is about their increase
		m.batchFailures.WithLabelValues(c.String())
	}
	m.accepted = m.charges.WithLabelValues("accepted", codes.OK.String())
	m.replayed = m.charges.WithLabelValues("replayed", codes.OK.String())
	m.checked = m.charges.WithLabelValues("checked", codes.OK.String())
	m.registry.MustRegister(m.calls, m.panics, m.charges, m.streams, m.ledgers, m.budgets, m.watchers, m.refusals,
		m.queries, m.gaps, m.questionsRefused, m.questionsCut, m.tokens, m.fair, m.webhooks,
		m.batchSeconds, m.batchEntries, m.batchFailures, m.commitSeconds, m.commitGroup, m.commitRecords, m.commitBytes,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Add adds what the store measures by itself.
func (m *Metrics) Add(more ...prometheus.Collector) { m.registry.MustRegister(more...) }

// AddAsked adds metrics for which the store is asked. They are missing where it does not answer in time.
func (m *Metrics) AddAsked(c prometheus.Collector) { m.registry.MustRegister(&asked{Collector: c}) }

// describe shows which build of the daemon this is.
func (m *Metrics) describe(release string) {
	revision, _ := version.Commit()
	build := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "accountant_build_info",
		Help: "Always 1. The labels say which build of the daemon this is."},
		[]string{"version", "revision", "goversion"})
	build.WithLabelValues(release, revision, runtime.Version()).Set(1)
	m.registry.MustRegister(build)
}

// Commit counts one durable commit of the store: the number of batches and new ledgers in it,
// of their log records, and of bytes.
func (m *Metrics) Commit(group, records, bytes int, took time.Duration) {
	m.commitSeconds.Observe(took.Seconds())
	m.commitGroup.Observe(float64(group))
	m.commitRecords.Add(float64(records))
	m.commitBytes.Add(float64(bytes))
	m.committed.Store(time.Now().UnixNano())
}

// read counts bytes that were read to look for damage.
func (m *Metrics) read(bytes int64) { m.scrubbed.Add(float64(bytes)) }

// whole notes that the store was gone through until then and is not damaged.
func (m *Metrics) whole(at time.Time) { m.clean.Store(at.UnixNano()) }

// found notes whether a database is damaged.
func (m *Metrics) found(damaged bool) {
	if damaged {
		m.damaged.Set(1)
	} else {
		m.damaged.Set(0)
	}
}

// watch adds metrics of what waits in k, and of the store's size if the store knows it.
func (m *Metrics) watch(k *keeper.Keeper, store ledger.Store) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "accountant_queue_depth",
		Help: "Writes that wait to be decided, of all ledgers; those in a commit are not among them."},
		func() float64 { return float64(k.Waiting()) }))
	if sized, ok := store.(interface{ Size() int64 }); ok {
		m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "accountant_store_bytes", Help: "Bytes that the store's pages take, free ones among them."},
			func() float64 { return float64(sized.Size()) }))
	}
}

// watchQuestions adds a metric of how many questions are being answered.
func (m *Metrics) watchQuestions(a turns.InTime) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "accountant_questions",
		Help: "Questions that are being answered, those that wait for their turn among them."},
		func() float64 { return float64(a.Admitted()) }))
}

// watchConnections adds metrics of the HTTP port's connections.
func (m *Metrics) watchConnections(l *bounds.Listener) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "accountant_http_connections",
		Help: "Open connections to the HTTP port, those not among them that are refused."},
		func() float64 { return float64(l.Open()) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "accountant_http_connections_limit",
			Help: "How many connections the HTTP port takes at once (--http-connections)."},
			func() float64 { return float64(l.Most()) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "accountant_http_connections_refused_total",
			Help: "Connections to the HTTP port that were refused because there were too many."},
			func() float64 { return float64(l.Refused()) }))
}

// QuestionRefused counts a question that was refused because too many were being answered.
func (m *Metrics) QuestionRefused() { m.questionsRefused.Inc() }

// QuestionCut counts a question whose time ran out.
func (m *Metrics) QuestionCut() { m.questionsCut.Inc() }

// LastCommit is when the last commit of the store ended, in Unix ns.
func (m *Metrics) LastCommit() int64 { return m.committed.Load() }

// watchGate adds metrics of the access policy.
func (m *Metrics) watchGate(g *gate.Gate) {
	one := func(is func() bool) func() float64 {
		return func() float64 {
			if is() {
				return 1
			}
			return 0
		}
	}
	m.registry.MustRegister(
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "accountant_access_policy",
			Help: "1 if an access policy is in force, 0 if everybody may do everything."},
			one(func() bool { return g.Policy() != nil })),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "accountant_access_policy_stale",
			Help: "1 if the newest access policy could not be put in force, so that the one before is."},
			one(func() bool { return g.Problem() != "" })))
}

// watchTokens adds metrics of the keys by which tokens are verified.
func (m *Metrics) watchTokens(v *bearer.Verifier) {
	if v == nil {
		return
	}
	for issuer := range v.KeyAges() {
		m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "accountant_token_keys_age_seconds", ConstLabels: prometheus.Labels{"issuer": issuer},
			Help: "Since an issuer's keys, by which tokens are verified, were last read; until then, since the start."},
			func() float64 { return v.KeyAges()[issuer].Seconds() }))
	}
}

// limited counts what a limit of fair use has refused or held up.
func (m *Metrics) limited(limit string) { m.fair.WithLabelValues(limit).Inc() }

// webhook counts what became of a message.
func (m *Metrics) webhook(outcome string) { m.webhooks.WithLabelValues(outcome).Inc() }

// token counts a caller's token.
func (m *Metrics) token(err error) {
	outcome := "accepted"
	var refused *bearer.Refusal
	switch {
	case errors.As(err, &refused):
		outcome = refused.Check
	case err != nil:
		outcome = "header"
	}
	m.tokens.WithLabelValues(outcome).Inc()
}

// answered counts an answer to a privacy query.
func (m *Metrics) answered(a accountant.Answer, took time.Duration) {
	m.queries.WithLabelValues(string(a.Analysis)).Observe(took.Seconds())
	if a.EpsilonLower != nil && !math.IsInf(a.Epsilon, 1) {
		m.gaps.WithLabelValues(string(a.Analysis)).Observe((a.Epsilon - *a.EpsilonLower) / max(1, a.Epsilon))
	}
}

// write counts one decided request.
func (m *Metrics) write(accepted, replayed bool, err error) {
	switch {
	case err != nil:
		outcome, code := "failed", codeOf(err)
		if isRefusal(err) {
			outcome = "refused"
			m.refusals.WithLabelValues(reasonOf(err)).Inc()
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

// measured is a store whose writes are timed.
type measured struct {
	ledger.Store
	metrics *Metrics
	events  *events
}

// Append implements ledger.Store.
func (s measured) Append(batch []ledger.Proposal) ([][]ledger.Hash, error) {
	start := time.Now()
	hashes, err := s.Store.Append(batch)
	if err != nil {
		s.metrics.batchFailures.WithLabelValues(statusOf(err).Code().String()).Inc()
		return nil, err
	}
	s.metrics.batchSeconds.Observe(time.Since(start).Seconds())
	for _, p := range batch {
		s.metrics.batchEntries.Observe(float64(len(p.Entries)))
		s.metrics.budgets.changed(p.Ledger)
		s.events.changed(p.Ledger)
	}
	return hashes, nil
}
