// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"google.golang.org/grpc"

	"github.com/dpaccountant/accountant/client"
	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
)

// figures are what a load came to. Times in milliseconds and microseconds; what
// was not measured is absent.
type figures struct {
	Policy    string   `json:"policy,omitempty"`
	Reports   int      `json:"reports"`
	Seconds   float64  `json:"seconds"`
	Rate      float64  `json:"reportsPerSecond"`
	P50       float64  `json:"acknowledgedP50Milliseconds"`
	P99       float64  `json:"acknowledgedP99Milliseconds"`
	ClientCPU float64  `json:"clientMicrosecondsPerReport"`
	ServerCPU *float64 `json:"serverMicrosecondsPerReport,omitempty"`
	Queries   int      `json:"queries,omitempty"`
	QueryP50  *float64 `json:"queryP50Milliseconds,omitempty"`
	QueryP99  *float64 `json:"queryP99Milliseconds,omitempty"`
	Attack    attacked `json:"attack,omitzero"`
}

// outcome is the object that is printed: all runs together, and each where there
// are several.
type outcome struct {
	Streams     int  `json:"streams"`
	Window      int  `json:"window,omitempty"`
	Ledgers     int  `json:"ledgers"`
	Connections int  `json:"connections"`
	Unary       bool `json:"unary"`
	figures
	Runs []figures `json:"runs,omitempty"`
}

// load runs the load that s describes.
func load(ctx context.Context, s settings) (outcome, error) {
	out := outcome{Streams: s.streams, Ledgers: s.ledgers, Connections: s.connections, Unary: s.unary}
	if !s.unary {
		out.Window = s.window
	}
	plan, filter := pb.LedgerSpec_PLAN, pb.LedgerSpec_FILTER
	if s.ledgers > 1 {
		t, err := run(ctx, s, plan, filter)
		out.figures = t.figures(s)
		return out, err
	}
	var all tally
	for _, policy := range []pb.LedgerSpec_Policy{plan, filter} {
		t, err := run(ctx, s, policy)
		if err != nil {
			return out, err
		}
		one := t.figures(s)
		one.Policy = policy.String()
		out.Runs = append(out.Runs, one)
		all.add(t)
	}
	out.figures = all.figures(s)
	return out, nil
}

// tally is what was measured.
type tally struct {
	reports        int
	took           time.Duration
	acknowledged   []time.Duration
	queries        []time.Duration
	client, server float64 // seconds of CPU
	attack         attacked
}

func (t *tally) add(u tally) {
	t.reports += u.reports
	t.took += u.took
	t.acknowledged = append(t.acknowledged, u.acknowledged...)
	t.queries = append(t.queries, u.queries...)
	t.client += u.client
	t.attack.Answered += u.attack.Answered
	t.attack.Refused += u.attack.Refused
	t.attack.Late += u.attack.Late
	t.server += u.server
}

func (t tally) figures(s settings) figures {
	f := figures{Reports: t.reports, Seconds: t.took.Seconds(), Queries: len(t.queries), Attack: t.attack}
	if t.reports == 0 {
		return f
	}
	n := float64(t.reports)
	f.Rate = n / t.took.Seconds()
	f.P50, f.P99 = quantiles(t.acknowledged)
	f.ClientCPU = t.client / n * 1e6
	if s.http != "" {
		cpu := t.server / n * 1e6
		f.ServerCPU = &cpu
	}
	if len(t.queries) > 0 {
		p50, p99 := quantiles(t.queries)
		f.QueryP50, f.QueryP99 = &p50, &p99
	}
	return f
}

// quantiles returns the median and the 99th percentile, in milliseconds.
func quantiles(d []time.Duration) (p50, p99 float64) {
	if len(d) == 0 {
		return 0, 0
	}
	slices.Sort(d)
	at := func(percent int) float64 { return float64(d[(len(d)-1)*percent/100]) / float64(time.Millisecond) }
	return at(50), at(99)
}

// run reports once through, to new ledgers of these policies in turn.
func run(ctx context.Context, s settings, policies ...pb.LedgerSpec_Policy) (t tally, err error) {
	id, err := uuid.NewRandom()
	if err != nil {
		return t, err
	}
	writers, questions, closeAll, err := connect(s)
	if err != nil {
		return t, err
	}
	defer closeAll()
	names, err := create(ctx, writers[0].Client, s, id.String()[:8], policies...)
	if err != nil {
		return t, err
	}
	for _, w := range writers { // connected, and the lanes open, before the clock starts
		if err := w.start(ctx, s, names); err != nil {
			return t, err
		}
	}
	before, err := serverCPU(ctx, s.http, s.config)
	if err != nil {
		return t, err
	}
	endProfile, err := profile(s.profile)
	if err != nil {
		return t, err
	}
	asking, stop := context.WithCancel(ctx)
	asked := ask(asking, questions, names[0], s.queries)
	hit := make(chan error, 1)
	go func() {
		var err error
		if s.attack != "" {
			t.attack, err = attacks[s.attack].run(asking, s)
		}
		hit <- err
	}()
	own, start := ownCPU(), time.Now()
	err = together(ctx, writers, s)
	t.took, t.client = time.Since(start), ownCPU()-own
	stop()
	answers := <-asked
	if err = errors.Join(err, answers.err, <-hit, endProfile()); err != nil {
		return t, err
	}
	after, err := serverCPU(ctx, s.http, s.config)
	if err != nil {
		return t, err
	}
	t.server, t.queries = after-before, answers.took
	for _, w := range writers {
		t.acknowledged = append(t.acknowledged, w.acknowledged...)
	}
	t.reports = len(t.acknowledged)
	if t.reports != s.reports {
		return t, fmt.Errorf("reports: %d acknowledged; sent were %d", t.reports, s.reports)
	}
	return t, nil
}

// together has all writers report until they are done. The first error ends all.
func together(ctx context.Context, writers []*writer, s settings) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var all sync.WaitGroup
	pool := reports()
	for i, w := range writers {
		n := s.reports / len(writers)
		if i < s.reports%len(writers) {
			n++
		}
		all.Go(func() {
			if err := w.report(ctx, pool, n, s.pause); err != nil {
				cancel(err)
			}
		})
	}
	all.Wait()
	return context.Cause(ctx)
}

// connect makes the writers, of which the first of each connection owns it, and a
// client for questions with a connection of its own.
func connect(s settings) (writers []*writer, questions *client.Client, closeAll func(), err error) {
	var cfg client.Config
	cfg.Server, cfg.Window, cfg.Insecure, cfg.TLS = s.server, s.window, s.insecure, s.config
	if questions, err = client.New(cfg); err != nil {
		return nil, nil, nil, err
	}
	var clocks clocks
	cfg.DialOptions = []grpc.DialOption{grpc.WithStreamInterceptor(clocks.intercept)}
	closeAll = func() {
		for _, w := range slices.Backward(writers) { // owners last
			_ = w.Close()
		}
		_ = questions.Close()
	}
	for i := range s.streams {
		w := &writer{index: i}
		if i < s.connections {
			w.Client, err = client.New(cfg)
		} else {
			w.Client, err = writers[i%s.connections].NewWriter()
		}
		if err != nil {
			closeAll()
			return nil, nil, nil, err
		}
		clocks.Store(w.Writer(), &w.clock)
		writers = append(writers, w)
	}
	return writers, questions, closeAll, nil
}
