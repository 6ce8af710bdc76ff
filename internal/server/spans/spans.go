// SPDX-License-Identifier: Apache-2.0

// Package spans records what the daemon does as OpenTelemetry spans: each call and stream, each batch of charges
// with its decision, its append and the store's sync below it, and each analysis below the call that asked for it.
// There is no span or event for a single message of a stream.
//
// A batch serves many calls, and its decision begins when the last batch has ended. So its span begins a trace of
// its own, which links to the calls that it has answered.
package spans

import (
	"context"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"

	"github.com/dpaccountant/accountant/internal/keeper"
)

// Recorder records spans. A nil Recorder records nothing and costs nothing. It is safe for concurrent use.
type Recorder struct {
	provider trace.TracerProvider
	tracer   trace.Tracer

	mu      sync.Mutex
	commits [16]commit // the newest of the store, in turn
	next    int
}

// commit is when the store has written something, and when of that time it was syncing.
type commit struct{ began, syncing, synced, ended time.Time }

// New returns a Recorder of spans for the provider, or nil for nil.
func New(provider trace.TracerProvider) *Recorder {
	if provider == nil {
		return nil
	}
	return &Recorder{provider: provider, tracer: provider.Tracer("github.com/dpaccountant/accountant")}
}

// Options returns what a gRPC server needs so that its calls and streams are recorded. A call's span is below that
// of its client where the client sends the W3C's trace context.
func (r *Recorder) Options() []grpc.ServerOption {
	if r == nil {
		return nil
	}
	return []grpc.ServerOption{grpc.StatsHandler(newCalls(r.provider))}
}

// Batch returns what a keeper is to call after each batch; nil for a nil Recorder.
func (r *Recorder) Batch() keeper.Observer {
	if r == nil {
		return nil
	}
	return r.batch
}

func (r *Recorder) batch(b keeper.Batch) {
	var links []trace.Link
	for _, caller := range b.Callers {
		if l := trace.LinkFromContext(caller); l.SpanContext.IsSampled() {
			links = append(links, l)
		}
	}
	ctx, span := r.tracer.Start(context.Background(), "batch", trace.WithTimestamp(b.Began), trace.WithLinks(links...))
	defer span.End(trace.WithTimestamp(b.Ended))
	if !span.IsRecording() {
		return
	}
	span.SetAttributes(attribute.String("accountant.ledger", b.Ledger), attribute.Int("accountant.ledgers", b.Ledgers),
		attribute.Int("accountant.requests", b.Requests), attribute.Int("accountant.entries", b.Entries))
	if b.Err != nil {
		span.SetStatus(codes.Error, b.Err.Error())
	}
	r.part(ctx, "decide", b.Began, b.Decided)
	if b.Entries == 0 {
		return
	}
	below := r.part(ctx, "append", b.Decided, b.Ended)
	if c, ok := r.commitAfter(b.Decided); ok && b.Err == nil {
		r.part(below, "sync", c.syncing, c.synced)
	}
}

// part records what was done from one time to another, and returns a context to put more below it.
func (r *Recorder) part(ctx context.Context, what string, from, to time.Time) context.Context {
	ctx, span := r.tracer.Start(ctx, what, trace.WithTimestamp(from))
	span.End(trace.WithTimestamp(to))
	return ctx
}

// Commit is to be called after each commit of the store: it took so long, and of that its sync took the last part.
func (r *Recorder) Commit(took, sync time.Duration) {
	if r == nil {
		return
	}
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.commits[r.next] = commit{began: now.Add(-took), syncing: now.Add(-sync), synced: now, ended: now}
	r.next = (r.next + 1) % len(r.commits)
}

// commitAfter returns the first commit that began after an append was handed to the store, which is the one that
// has written it: while a commit is under way nothing is added to it.
func (r *Recorder) commitAfter(handed time.Time) (first commit, found bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.commits {
		if !c.began.Before(handed) && (!found || c.began.Before(first.began)) {
			first, found = c, true
		}
	}
	return first, found
}

// Analysis begins the span of an analysis below the call that asked for it. The function that it returns ends it.
func (r *Recorder) Analysis(ctx context.Context) func(error) {
	if r == nil {
		return func(error) {}
	}
	_, span := r.tracer.Start(ctx, "analysis")
	return func(err error) {
		if err != nil {
			span.SetStatus(codes.Error, err.Error())
		}
		span.End()
	}
}

// ID returns the identifier of the trace that a call belongs to, or "" if it is not recorded.
func ID(ctx context.Context) string {
	if s := trace.SpanContextFromContext(ctx); s.IsSampled() {
		return s.TraceID().String()
	}
	return ""
}
