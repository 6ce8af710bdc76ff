// SPDX-License-Identifier: Apache-2.0

package spans

import (
	"context"
	"strings"

	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	metrics "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/stats"
)

// healthCheck is asked every few seconds by whatever runs the daemon.
const healthCheck = "/grpc.health.v1.Health/Check"

// calls begins the spans of calls and streams. It asks the sampler first, and hands only what is recorded to
// OpenTelemetry's handler: that one would make the attributes of every call, recorded or not. The sampler knows a
// call's name and what its caller has decided; the samplers of OpenTelemetry's variables need no more.
type calls struct {
	stats.Handler // OpenTelemetry's
	tracer        trace.Tracer
	options       []trace.SpanStartOption
}

func newCalls(provider trace.TracerProvider) stats.Handler {
	return &calls{
		Handler: otelgrpc.NewServerHandler(otelgrpc.WithTracerProvider(begun{}),
			otelgrpc.WithPropagators(propagation.TraceContext{}),
			otelgrpc.WithMeterProvider(metrics.NewMeterProvider())),
		tracer:  provider.Tracer(otelgrpc.ScopeName, trace.WithInstrumentationVersion(otelgrpc.Version)),
		options: []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindServer)},
	}
}

// TagRPC implements stats.Handler. The context of a call that is not recorded says so, for all that is below it.
func (c *calls) TagRPC(ctx context.Context, info *stats.RPCTagInfo) context.Context {
	if info.FullMethodName == healthCheck {
		return ctx
	}
	ctx = propagation.TraceContext{}.Extract(ctx, incoming{ctx})
	ctx, span := c.tracer.Start(ctx, strings.TrimPrefix(info.FullMethodName, "/"), c.options...)
	if !span.IsRecording() {
		return ctx
	}
	return c.Handler.TagRPC(context.WithValue(ctx, begunKey{}, span), info)
}

// HandleRPC implements stats.Handler.
func (c *calls) HandleRPC(ctx context.Context, s stats.RPCStats) {
	if trace.SpanFromContext(ctx).IsRecording() {
		c.Handler.HandleRPC(ctx, s)
	}
}

// incoming reads the metadata of a call without copying all of it.
type incoming struct{ ctx context.Context }

// Get implements propagation.TextMapCarrier.
func (i incoming) Get(key string) string {
	if values := metadata.ValueFromIncomingContext(i.ctx, key); len(values) > 0 {
		return values[0]
	}
	return ""
}

// Set implements propagation.TextMapCarrier.
func (incoming) Set(string, string) {}

// Keys implements propagation.TextMapCarrier.
func (incoming) Keys() []string { return nil }

// begun has a tracer for OpenTelemetry's handler, whose spans are those that calls has begun.
type begun struct{ noop.TracerProvider }

type begunKey struct{}

// Tracer implements trace.TracerProvider.
func (begun) Tracer(string, ...trace.TracerOption) trace.Tracer { return begunTracer{} }

type begunTracer struct{ noop.Tracer }

// Start implements trace.Tracer.
func (begunTracer) Start(ctx context.Context, name string,
	options ...trace.SpanStartOption) (context.Context, trace.Span) {
	span, ok := ctx.Value(begunKey{}).(trace.Span)
	if !ok {
		span = noop.Span{}
	}
	config := trace.NewSpanStartConfig(options...)
	span.SetName(name)
	span.SetAttributes(config.Attributes()...)
	return trace.ContextWithSpan(ctx, span), span
}
