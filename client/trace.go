// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc/metadata"
)

// withTrace adds the W3C's trace context to a call's metadata, if the caller's context has an OpenTelemetry span.
// The daemon's spans of the call are then below that span. It leaves a trace context that is there already.
func withTrace(ctx context.Context) context.Context {
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	if len(carrier) == 0 {
		return ctx
	}
	if there, _ := metadata.FromOutgoingContext(ctx); len(there.Get("traceparent")) > 0 {
		return ctx
	}
	for key, value := range carrier {
		ctx = metadata.AppendToOutgoingContext(ctx, key, value)
	}
	return ctx
}

// inTrace returns ctx in the trace of another context, whose end does not end it.
func inTrace(ctx, of context.Context) context.Context {
	return trace.ContextWithSpanContext(ctx, trace.SpanContextFromContext(of))
}
