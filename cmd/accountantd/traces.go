package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"go.opentelemetry.io/contrib/exporters/autoexport"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
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
	exporter, err := autoexport.NewSpanExporter(ctx)
	if err != nil {
		return nil, nil, usageError{fmt.Errorf("OpenTelemetry's variables OTEL_…: %w", err)}
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
