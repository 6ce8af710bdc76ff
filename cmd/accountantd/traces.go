// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/exporters/stdout/stdouttrace"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"

	"github.com/dpaccountant/accountant/internal/server/spans"
	"github.com/dpaccountant/accountant/internal/version"
)

// tracesTime bounds how long the end of the daemon waits for its last spans to be sent.
const tracesTime = 5 * time.Second

// traces returns a recorder of spans if OpenTelemetry's standard environment variables ask for one: that is, if
// they name an exporter or an endpoint. Otherwise it returns nil, and nothing is recorded. The variables also say
// where spans are sent (OTEL_EXPORTER_OTLP_*) and how many of them (OTEL_TRACES_SAMPLER). stop sends what is left.
//
// OpenTelemetry reads the variables from the process's environment.
func traces(ctx context.Context, logger *slog.Logger) (r *spans.Recorder, stop func(), err error) {
	if !tracesAsked(os.Getenv) {
		return nil, func() {}, nil
	}
	exporter, err := newExporter(ctx, os.Getenv)
	if err != nil {
		return nil, nil, usageError{err}
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { logger.Warn("traces", "error", err) }))
	about, err := resource.New(ctx, resource.WithAttributes(attribute.String("service.name", "accountantd"),
		attribute.String("service.version", version.String())), resource.WithHost(), resource.WithFromEnv())
	if err != nil {
		logger.Warn("traces: what describes this daemon is incomplete", "error", err)
	}
	provider := trace.NewTracerProvider(trace.WithBatcher(exporter), trace.WithResource(about))
	return spans.New(provider), func() {
		ctx, cancel := context.WithTimeout(context.Background(), tracesTime)
		defer cancel()
		if err := provider.Shutdown(ctx); err != nil {
			logger.Warn("traces: the last spans could not be sent", "error", err)
		}
	}, nil
}

// newExporter returns the exporter that the environment names. The exporters of OTLP read their own variables.
func newExporter(ctx context.Context, env func(string) string) (trace.SpanExporter, error) {
	switch name := env("OTEL_TRACES_EXPORTER"); name {
	case "", "otlp":
	case "console":
		return stdouttrace.New()
	default:
		return nil, fmt.Errorf("OTEL_TRACES_EXPORTER: %q; allowed: otlp, console or none", name)
	}
	protocol := cmp.Or(env("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"), env("OTEL_EXPORTER_OTLP_PROTOCOL"), "http/protobuf")
	switch protocol {
	case "http/protobuf":
		return otlptracehttp.New(ctx)
	case "grpc":
		return otlptracegrpc.New(ctx)
	}
	return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_PROTOCOL: %q; allowed: http/protobuf or grpc", protocol)
}

// tracesAsked reports whether the environment asks for traces.
func tracesAsked(env func(string) string) bool {
	if strings.EqualFold(env("OTEL_SDK_DISABLED"), "true") {
		return false
	}
	switch env("OTEL_TRACES_EXPORTER") {
	case "none":
		return false
	case "":
		return env("OTEL_EXPORTER_OTLP_ENDPOINT")+env("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") != ""
	}
	return true
}
