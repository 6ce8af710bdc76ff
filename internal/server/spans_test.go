// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/dpaccountant/accountant/client"
	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/server"
	"github.com/dpaccountant/accountant/internal/server/servertest"
	"github.com/dpaccountant/accountant/internal/server/spans"
	"github.com/dpaccountant/accountant/internal/testaid"
)

// TestSpans: a caller's span has the daemon's span of the call below it, a question's analysis is below that, and
// the batch that wrote a charge links to the call and has its decision, its append and the store's sync below it.
func TestSpans(t *testing.T) {
	kept := tracetest.NewInMemoryExporter()
	provider := trace.NewTracerProvider(trace.WithSyncer(kept))
	var log testaid.Log
	s := servertest.StartWith(t, servertest.Config{Server: server.Config{Spans: spans.New(provider),
		Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))}})
	s.NewLedger("traced")
	kept.Reset()

	ctx, root := provider.Tracer("test").Start(servertest.Context(t), "job")
	c, err := client.New(client.Config{Server: s.Addr})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	events := []*pb.Event{client.Event(client.Gaussian(1), 1)}
	if _, err := c.Report(ctx, "traced", events, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Query(ctx, "traced", client.Delta(1e-5)); err != nil {
		t.Fatal(err)
	}
	other, err := c.NewWriter()
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	stream, err := other.Stream(ctx, "traced")
	if err != nil {
		t.Fatal(err)
	}
	const streamed = 50
	for range streamed {
		if err := stream.Report(ctx, events, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := stream.Close(ctx); err != nil {
		t.Fatal(err)
	}
	root.End()

	report := "accountant.v1.Charges/Report"
	streams := "accountant.v1.Charges/ReportStream"
	await(t, func() bool { return len(named(kept, streams)) == 1 })
	for _, method := range []string{report, streams, "accountant.v1.Questions/QueryPrivacy"} {
		calls := named(kept, method)
		if len(calls) != 1 || calls[0].Parent.SpanID() != root.SpanContext().SpanID() {
			t.Fatalf("%s: %v; want one span below the caller's", method, calls)
		}
		if !strings.Contains(log.String(), "trace_id="+root.SpanContext().TraceID().String()) {
			t.Errorf("the log does not have the trace's identifier:\n%s", log.String())
		}
	}
	call, question := named(kept, report)[0], named(kept, "accountant.v1.Questions/QueryPrivacy")[0]
	if a := named(kept, "analysis"); len(a) == 0 || a[0].Parent.SpanID() != question.SpanContext.SpanID() {
		t.Errorf("analyses %v; want one below the question", a)
	}
	linked := 0
	for _, b := range named(kept, "batch") {
		for _, l := range b.Links {
			if l.SpanContext.SpanID() != call.SpanContext.SpanID() {
				continue
			}
			linked++
			decide, written := below(kept, b, "decide"), below(kept, b, "append")
			if len(decide) != 1 || len(written) != 1 {
				t.Fatalf("below the batch: %d decide, %d append", len(decide), len(written))
			}
			sync := below(kept, written[0], "sync")
			if len(sync) != 1 || sync[0].StartTime.Before(written[0].StartTime) ||
				sync[0].EndTime.After(written[0].EndTime) || !sync[0].EndTime.After(sync[0].StartTime) {
				t.Errorf("sync %v within append %v to %v", sync, written[0].StartTime, written[0].EndTime)
			}
		}
	}
	if linked != 1 {
		t.Errorf("%d batches link to the call; want 1", linked)
	}
	// One span for the stream and some for its batches, not one for each message, and no events.
	for _, span := range kept.GetSpans() {
		if len(span.Events) > 0 {
			t.Errorf("%s has events: %v", span.Name, span.Events)
		}
	}
}

// TestNoSpans: without a provider the daemon records nothing, and the log has no trace.
func TestNoSpans(t *testing.T) {
	if spans.New(nil) != nil || (*spans.Recorder)(nil).Batch() != nil || (*spans.Recorder)(nil).Options() != nil {
		t.Error("a Recorder without a provider does something")
	}
	(*spans.Recorder)(nil).Commit(time.Second, time.Second)
	(*spans.Recorder)(nil).Analysis(context.Background())(nil)
}

func named(kept *tracetest.InMemoryExporter, name string) (list []tracetest.SpanStub) {
	for _, s := range kept.GetSpans() {
		if s.Name == name {
			list = append(list, s)
		}
	}
	return list
}

func below(kept *tracetest.InMemoryExporter, parent tracetest.SpanStub, name string) (list []tracetest.SpanStub) {
	for _, s := range named(kept, name) {
		if s.Parent.SpanID() == parent.SpanContext.SpanID() {
			list = append(list, s)
		}
	}
	return list
}

// await waits until what a finished call leaves behind is there.
func await(t *testing.T, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !done(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("not there after a minute")
		}
	}
}
