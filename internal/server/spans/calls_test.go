// SPDX-License-Identifier: Apache-2.0

package spans

import (
	"context"
	"fmt"
	"net"
	"slices"
	"testing"
	"time"

	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	metrics "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
)

// call has a handler told of a call as gRPC does, and returns the call's context.
func call(h stats.Handler, method string, err error, parent ...string) context.Context {
	md := metadata.MD{"user-agent": {"test"}}
	if len(parent) > 0 {
		md.Set("traceparent", parent...)
	}
	ctx := h.TagRPC(metadata.NewIncomingContext(context.Background(), md), &stats.RPCTagInfo{FullMethodName: method})
	at := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1}
	for _, s := range []stats.RPCStats{&stats.InHeader{FullMethod: method, RemoteAddr: at, LocalAddr: at},
		&stats.Begin{}, &stats.InPayload{}, &stats.OutHeader{}, &stats.OutPayload{}, &stats.OutTrailer{},
		&stats.End{Error: err}} {
		h.HandleRPC(ctx, s)
	}
	return ctx
}

// plain is OpenTelemetry's handler alone.
func plain(p trace.TracerProvider) stats.Handler {
	return otelgrpc.NewServerHandler(otelgrpc.WithTracerProvider(p),
		otelgrpc.WithPropagators(propagation.TraceContext{}), otelgrpc.WithMeterProvider(metrics.NewMeterProvider()))
}

const (
	report = "/accountant.v1.Charges/Report"
	trace1 = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0"
)

// A recorded call has the span that OpenTelemetry's handler alone records, whatever its caller has decided and
// however it ends; one that is not recorded has none, and nothing below it is recorded.
func TestCallsAreRecordedAsOpenTelemetryDoes(t *testing.T) {
	t.Parallel()
	parents := [][]string{nil, {trace1 + "1"}, {trace1 + "0"}, {"nonsense"}, {trace1 + "1", trace1 + "0"}}
	ends := []error{nil, status.Error(codes.Internal, "broken"), status.Error(codes.NotFound, "x")}
	for name, sampler := range map[string]sdk.Sampler{"always": sdk.AlwaysSample(), "never": sdk.NeverSample(),
		"as the caller, otherwise never":  sdk.ParentBased(sdk.NeverSample()),
		"as the caller, otherwise always": sdk.ParentBased(sdk.AlwaysSample())} {
		for _, parent := range parents {
			for _, err := range ends {
				want, got := recorded(sampler, plain, parent, err), recorded(sampler, newCalls, parent, err)
				if want != got {
					t.Errorf("%s, parent %q, error %v:\n%s\nOpenTelemetry alone:\n%s", name, parent, err, got, want)
				}
			}
		}
	}
	if r := recorded(sdk.AlwaysSample(), newCalls, nil, nil); r == "" {
		t.Error("nothing is recorded")
	}
	if ctx := call(newCalls(sdk.NewTracerProvider()), healthCheck, nil); trace.SpanFromContext(ctx).IsRecording() {
		t.Error("the health check is recorded")
	}
}

// recorded is what a call leaves, and whether a span below it would be recorded.
func recorded(sampler sdk.Sampler, handler func(trace.TracerProvider) stats.Handler, parent []string,
	err error) string {
	kept := tracetest.NewInMemoryExporter()
	p := sdk.NewTracerProvider(sdk.WithSampler(sampler), sdk.WithSyncer(kept))
	ctx := call(handler(p), report, err, parent...)
	_, below := p.Tracer("below").Start(ctx, "below")
	out := fmt.Sprintln("below:", below.IsRecording(), "in the caller's trace:",
		below.SpanContext().TraceID().String() == trace1[3:35])
	for _, s := range kept.GetSpans() {
		about := []string{}
		for _, a := range s.Attributes {
			about = append(about, fmt.Sprint(a.Key, "=", a.Value.String()))
		}
		slices.Sort(about)
		out += fmt.Sprintln(s.Name, s.SpanKind, s.Parent.SpanID(),
			s.Parent.IsValid() && s.Parent.IsRemote(), about, s.Status, len(s.Events),
			s.InstrumentationScope.Name, s.InstrumentationScope.Version, s.EndTime.After(time.Time{}))
	}
	return out
}

// What a call costs that is recorded once in a hundred times, and what it would by OpenTelemetry's handler alone.
func BenchmarkCalls(b *testing.B) {
	provider := sdk.NewTracerProvider(sdk.WithSampler(sdk.ParentBased(sdk.TraceIDRatioBased(0.01))),
		sdk.WithBatcher(tracetest.NewNoopExporter()))
	for name, h := range map[string]stats.Handler{"OpenTelemetry alone": plain(provider), "ours": newCalls(provider)} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				call(h, report, nil)
			}
		})
	}
}
