// SPDX-License-Identifier: Apache-2.0

// Package server is the daemon's edge: the gRPC service over a keeper and the
// accountant, its interceptors, health, reflection, sockets, and the HTTP port
// with metrics. Handlers translate and delegate; package wire validates, one
// table (errors.go) maps errors to codes.
//
// A charge passes: interceptors → handler → wire → keeper's lane → commit →
// reply. A query passes: interceptors → handler → wire → committed state →
// accountant.
package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/access"
	"github.com/dpaccountant/accountant/internal/api"
	"github.com/dpaccountant/accountant/internal/keeper"
	"github.com/dpaccountant/accountant/internal/keeper/fleet"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/record"
	"github.com/dpaccountant/accountant/internal/server/bearer"
	"github.com/dpaccountant/accountant/internal/server/endpoint"
	"github.com/dpaccountant/accountant/internal/server/fairuse"
	"github.com/dpaccountant/accountant/internal/server/gate"
	"github.com/dpaccountant/accountant/internal/server/inside"
	"github.com/dpaccountant/accountant/internal/server/overview"
	"github.com/dpaccountant/accountant/internal/server/sessions"
	"github.com/dpaccountant/accountant/internal/server/signing"
	"github.com/dpaccountant/accountant/internal/server/turns"
	"github.com/dpaccountant/accountant/internal/server/upkeep"
	"github.com/dpaccountant/accountant/internal/web/bounds"
	"github.com/dpaccountant/accountant/internal/wire/pages"
)

// Server is a listening server.
type Server struct {
	config  Config
	metrics *Metrics
	keeper  *keeper.Keeper
	shared  fleet.Shared // of a store that other daemons write to as well; otherwise nil
	expiry  *expiry
	census  *census
	gate    *gate.Gate
	grpc    *grpc.Server
	health  *health.Server

	listeners []*endpoint.Listener // of the gRPC service
	open      *endpoint.Connections
	inside    *inside.Way      // of pages and JSON
	pages     *grpc.ClientConn // nil: there are none
	http      net.Listener
	tls       *endpoint.Certificates        // nil: plain
	tokens    *bearer.Verifier              // nil: none are taken
	rules     atomic.Pointer[access.Rules]  // of the store and of this daemon; set by keep
	accounts  atomic.Pointer[fairuse.Table] // nil: nobody is limited
	upkeep    *upkeep.Upkeep
	overviews *overviews
	events    *events // nil: nobody is told

	webStreams fairuse.Streams
	answers    *fairuse.Answers

	process string        // what request ids begin with
	calls   atomic.Uint64 // of this process

	draining context.Context // done when stopping begins
	drain    func()
}

// Start listens; Serve must follow. Errors: *endpoint.ConfigError for a wrong setting,
// otherwise what the system said.
func Start(config Config) (*Server, error) {
	config = config.withDefaults()
	if err := config.Check(); err != nil {
		return nil, err
	}
	s := &Server{config: config, metrics: config.Metrics, health: health.NewServer(), open: endpoint.NewConnections(),
		inside: inside.New(), process: newProcessID()}
	s.shared, _ = config.Store.(fleet.Shared)
	kept := &policyLog{Store: config.Store, Shared: s.shared, Deadline: config.Deadline,
		Created: s.metrics.ledgers.Inc, Again: func(position uint64) {
			config.Logger.Warn("an access policy that was replaced is put in force again: the file may be an old copy",
				"file", config.AccessPolicy, "recorded_at", position,
				"compare", "accountctl ledger entries "+ledger.AccessLedger)
		}}
	rights := gate.Config{Path: config.AccessPolicy, Spec: s.spec, Logger: config.Logger, Record: kept.record,
		Interval: config.PolicyInterval, Own: config.Rules, Adopted: s.keep}
	if s.shared != nil {
		rights.Newest = kept.newest
		s.shared, rights.Changed = listenForPolicies(s.shared)
	}
	var err error
	s.gate, err = gate.New(rights)
	if err != nil {
		return nil, &endpoint.ConfigError{Field: "access-policy", Value: err.Error(),
			Allowed: "a file with an access policy: docs/access.md"}
	}
	s.answers = fairuse.NewAnswers(s.metrics.limited)
	if s.tokens, err = config.tokens(config.Logger); err != nil {
		return nil, err
	}
	if err := s.listen(); err != nil {
		return nil, errors.Join(err, s.closeListeners())
	}
	draining, drain := context.WithCancelCause(context.Background())
	s.events = newEvents(config, func(ctx context.Context, name string) (ledger.View, error) {
		return s.keeper.View(ctx, name)
	}, s.dashboard())
	s.draining, s.drain = draining, func() { drain(errDraining) }
	s.upkeep = upkeep.New(upkeep.Config{Store: config.Store, Place: config.Place, Interval: config.ScrubInterval,
		Rate: config.ScrubRate, Version: config.Version, Logger: config.Logger, Read: s.metrics.read,
		Whole: s.metrics.whole, Found: func(damaged bool) {
			if s.metrics.found(damaged); damaged {
				s.events.damaged()
			}
		},
		Damaged: func() { s.metrics.damaged.Set(1); s.unhealthy(); s.events.damaged() }})
	questions := turns.NewInTime(turns.NewRotation(config.Analyses, config.QuestionTime, s.metrics), s.recovered)
	questions.Analysis, questions.Caller = config.Spans.Analysis, provenCaller
	s.keeper = keeper.New(keeper.Config{Store: measured{config.Store, s.metrics, s.events}, Shared: s.shared,
		Digest: record.Digest, RequireDataset: func() bool { return s.rules.Load().RequireDataset },
		Batch:   config.Spans.Batch(),
		Compute: questions.ForWrites(s.draining, errDraining), LongRead: turns.NewReadings(s.metrics).Long})
	kept.Keeper = s.keeper
	s.gate.Begin()
	if s.gate.Policy() == nil && len(config.Listen) > 0 { // only its owner reaches the own socket
		config.Logger.Warn("there is no access policy: whoever reaches this daemon may read and charge every ledger",
			"allowed", "--access-policy FILE, see docs/access.md; a later version will ask for it")
	}
	s.metrics.describe(config.Version)
	s.metrics.watch(s.keeper, config.Store)
	s.metrics.budgets.read(s.keeper, s.shared, config.BudgetLedgers)
	s.census = &census{store: config.Store, shared: s.shared != nil, gauge: s.metrics.ledgers,
		found: s.metrics.budgets.found, logger: config.Logger}
	s.expiry = newExpiry(s.keeper, config.Logger)
	s.grpc = grpc.NewServer(s.options()...)
	s.metrics.watchQuestions(questions)
	s.metrics.watchGate(s.gate)
	s.metrics.watchTokens(s.tokens)
	handlers := &service{keeper: s.keeper, store: config.Store, metrics: s.metrics, inTime: questions,
		sessions: sessions.New(s.keeper, questions), plans: sessions.New(plans{s.keeper}, questions),
		gate: s.gate, draining: s.draining, expiry: s.expiry, census: s.census, version: config.Version,
		signer: signing.Signer{Key: config.SigningKey, Newest: config.NewestKey},
		Upkeep: s.upkeep,
		refusals: newRefusals(refusalConfig{Now: time.Now, Say: said, Summary: s.keeper.Summary,
			Refused: s.events.refused}),
		backups: &backupSender{Store: config.Store,
			Draining: s.draining, Drained: errDraining, Copied: s.upkeep.Copied,
			Sent: func(ctx context.Context, b *pb.StoreBackup) {
				b.Principal = principal(ctx)
				s.upkeep.BackedUp(b)
			}}}
	handlers.overviews = overview.New(overview.Config{Store: config.Store, Ledgers: s.keeper, InTime: questions,
		Places: pages.NewPlaces(config.SigningKey), Now: time.Now, Spent: handlers.sessions, Plans: handlers.plans,
		Dataset: handlers.datasetSubject,
		Passage: func(ctx context.Context) overview.Passage { return passage(ctx) }})
	s.overviews = handlers.overviews
	for adj := range handlers.charges {
		handlers.charges[adj] = record.NewCharges(mechanism.Adjacency(adj), knownCharges)
	}
	register(s.grpc, handlers)
	healthpb.RegisterHealthServer(s.grpc, healthService{s.health, config.Version, s.away})
	reflection.Register(s.grpc)
	s.metrics.calls.register(s.grpc)
	for _, name := range api.Services() {
		s.health.SetServingStatus(name, healthpb.HealthCheckResponse_SERVING)
	}
	return s, nil
}

// keep puts rules in force. A stream that is open keeps the limits under which it began.
func (s *Server) keep(r access.Rules) {
	was := s.rules.Swap(&r)
	limits := fairuse.Limits{Calls: r.FairCalls, Computing: r.FairComputing}
	if was == nil || limits != (fairuse.Limits{Calls: was.FairCalls, Computing: was.FairComputing}) {
		s.accounts.Store(fairuse.New(limits, s.metrics.limited))
	}
	if store, ok := s.config.Store.(interface{ RequireStandby(bool) }); ok {
		store.RequireStandby(r.RequireStandby)
	} else if r.RequireStandby {
		s.config.Logger.Warn("the access policy asks for a standby, which only a PostgreSQL database can have",
			"allowed", "--store, or a policy without require_standby")
	}
}

// spec returns what a ledger that exists was created with.
func (s *Server) spec(name string) (ledger.Spec, error) {
	raw, _, err := s.config.Store.GenesisRecord(name)
	if err != nil {
		return ledger.Spec{}, err
	}
	g, err := record.UnmarshalGenesis(raw)
	return g.Spec, err
}

func (s *Server) listen() (err error) {
	c := s.config
	if c.TLS.Cert != "" {
		files := c.TLS
		files.OrToken = s.tokens != nil
		if s.tls, err = endpoint.NewCertificates(files, c.Logger); err != nil {
			return err
		}
	}
	sockets, err := endpoint.NewAccess(c.SocketOwner, c.SocketMode)
	if err != nil {
		return err
	}
	for _, address := range c.Listen {
		l, err := endpoint.Listen(address, c.open(), sockets, s.open)
		if err != nil {
			return err
		}
		s.listeners = append(s.listeners, l)
	}
	if c.HTTP != "" {
		if s.http, err = endpoint.ListenTCP("http", c.HTTP, c.open()); err != nil {
			return err
		}
	}
	if s.http != nil && c.hasPages(s.HTTPAddr()) {
		l, dial := endpoint.ListenInside(s.open)
		s.listeners = append(s.listeners, l)
		if s.pages, err = s.inside.Dial(dial); err != nil {
			return err
		}
	}
	if c.Socket != "" {
		l, err := endpoint.ListenOwn(c.Socket, s.open)
		if err != nil {
			return err
		}
		s.listeners = append(s.listeners, l)
	}
	return nil
}

func (s *Server) closeListeners() error {
	var errs []error
	for _, l := range s.listeners {
		errs = append(errs, l.Close())
	}
	if s.http != nil {
		errs = append(errs, s.http.Close())
	}
	if s.pages != nil {
		errs = append(errs, s.pages.Close())
	}
	return errors.Join(errs...)
}

// Addrs are the addresses of the gRPC service, as Config.Listen orders them.
func (s *Server) Addrs() []string {
	var all []string
	for _, l := range s.listeners {
		if name := l.Name(); name != "" {
			all = append(all, name)
		}
	}
	return all
}

// HTTPAddr is the TCP address of the HTTP port, "" without one.
func (s *Server) HTTPAddr() string {
	if s.http == nil {
		return ""
	}
	return s.http.Addr().String()
}

// dashboard is the address of the dashboard for people, "" without one.
func (s *Server) dashboard() string {
	scheme := "http"
	if s.tls != nil {
		scheme = "https"
	}
	switch {
	case s.config.PublicURL != nil:
		return strings.TrimSuffix(s.config.PublicURL.String(), "/")
	case s.pages == nil:
		return ""
	}
	return scheme + "://" + s.HTTPAddr()
}

// Stopping is closed when the server takes nothing more.
func (s *Server) Stopping() <-chan struct{} { return s.draining.Done() }

// Serve serves until ctx ends (then it returns nil), the store fails
// (ErrStoreFailed) or a listener breaks, and stops in order: no call and no connection
// is taken any more, and health says NOT_SERVING; connections in their handshake are
// closed; streams end with what they queued decided and answered; running calls end, for
// three quarters of DrainTimeout at most; the keeper drains. The store stays open.
func (s *Server) Serve(ctx context.Context) error {
	broken := make(chan error, len(s.listeners)+1)
	var serving sync.WaitGroup // each closes its listener
	for _, l := range s.listeners {
		serving.Go(func() { broken <- s.grpc.Serve(l) })
	}
	web, err := s.newHTTP()
	if err != nil {
		return errors.Join(err, s.closeListeners())
	}
	if s.http != nil {
		bounded := bounds.Listen(s.http, s.config.HTTPConnections, s.config.Logger)
		s.metrics.watchConnections(bounded)
		go func() {
			if err := web.Serve(endpoint.WithTLS(bounded, s.tls)); !errors.Is(err, http.ErrServerClosed) {
				broken <- err
			}
		}()
	}
	var working sync.WaitGroup
	working.Go(func() { s.expiry.run(s.draining) })
	working.Go(func() { s.gate.Run(s.draining, s.config.Reload) })
	working.Go(func() { s.upkeep.Run(s.draining) })
	working.Go(func() { s.overviews.Background(s.draining) })
	working.Go(func() { s.events.run(s.draining) })
	working.Go(func() { s.census.run(s.draining) })
	if s.tokens != nil {
		working.Go(func() { s.tokens.Run(s.draining) })
	}
	select {
	case <-ctx.Done():
	case <-s.config.Failed:
		err = ErrStoreFailed
	case err = <-broken:
	}
	s.config.Logger.Info("stopping", "reason", reason(err))
	err = errors.Join(err, s.stop(web, &serving))
	working.Wait()
	return err
}

func reason(err error) string {
	if err == nil {
		return "asked to"
	}
	return err.Error()
}

func (s *Server) stop(web *http.Server, serving *sync.WaitGroup) error {
	began := time.Now()
	s.drain()
	s.health.Shutdown()
	s.open.StopHandshakes()
	hard := time.AfterFunc(s.config.DrainTimeout/4*3, func() {
		s.open.StopAll()
		s.grpc.Stop()
	})
	// A part of the time is the store's, to close.
	ctx, cancel := context.WithDeadline(context.Background(), began.Add(s.config.DrainTimeout/16*15))
	defer cancel()
	over := make(chan struct{})
	go func() { s.grpc.GracefulStop(); serving.Wait(); hard.Stop(); close(over) }()
	select {
	case <-over: // so little is left in the keeper
	case <-ctx.Done(): // the keeper takes nothing from calls that have not noticed
		s.config.Logger.Warn("calls have not ended in time")
	}
	ended := make(chan error, 1)
	go func() { ended <- s.stopHTTP(ctx, web) }()
	return errors.Join(s.keeper.Close(ctx), <-ended)
}

// Run starts a server, writes one line to ready once it listens, and serves.
func Run(ctx context.Context, config Config, ready io.Writer) error {
	s, err := Start(config)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(ready, s.readyLine()); err != nil {
		return errors.Join(err, s.closeListeners())
	}
	return s.Serve(ctx)
}

// readyLine is "accountantd ready key=value …"; values with spaces are quoted.
func (s *Server) readyLine() string {
	var b strings.Builder
	b.WriteString("accountantd ready")
	for _, f := range [][2]string{
		{"listen", strings.Join(s.Addrs(), ",")}, {"http", s.HTTPAddr()}, {"socket", s.config.Socket},
		{"data", s.config.Data},
		{"store", s.config.Store.ID()}, {"version", s.config.Version},
	} {
		value := f[1]
		if strings.ContainsAny(value, " \t\n\"=") {
			value = fmt.Sprintf("%q", value)
		}
		b.WriteString(" " + f[0] + "=" + value)
	}
	return b.String()
}
