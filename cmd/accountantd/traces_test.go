// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"
)

// Traces are off unless OpenTelemetry's variables ask for them.
func TestTracesAsked(t *testing.T) {
	const address = "http://127.0.0.1:4318"
	for _, c := range []struct {
		env  map[string]string
		want bool
	}{
		{nil, false},
		{map[string]string{"OTEL_SERVICE_NAME": "x", "OTEL_TRACES_SAMPLER": "always_on"}, false},
		{map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": address}, true},
		{map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": address + "/v1/traces"}, true},
		{map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": address, "OTEL_TRACES_EXPORTER": "none"}, false},
		{map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": address, "OTEL_SDK_DISABLED": "TRUE"}, false},
		{map[string]string{"OTEL_TRACES_EXPORTER": "otlp"}, true},
		{map[string]string{"OTEL_TRACES_EXPORTER": "console"}, true},
	} {
		if got := tracesAsked(func(name string) string { return c.env[name] }); got != c.want {
			t.Errorf("%v: %v; want %v", c.env, got, c.want)
		}
	}
}

// An exporter that does not exist is a mistake in the settings, which ends the daemon with status 2.
func TestWrongExporter(t *testing.T) {
	for _, c := range []struct{ name, value, allowed string }{
		{"OTEL_TRACES_EXPORTER", "carrier-pigeon", "otlp, console or none"},
		{"OTEL_EXPORTER_OTLP_PROTOCOL", "http/json", "http/protobuf or grpc"},
		{"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "smtp", "http/protobuf or grpc"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318")
			t.Setenv(c.name, c.value)
			_, _, err := traces(t.Context(), slog.New(slog.DiscardHandler))
			var usage usageError
			if !errors.As(err, &usage) || !strings.Contains(err.Error(), c.allowed) {
				t.Errorf("%v; want a usageError with %q", err, c.allowed)
			}
		})
	}
}

// Each exporter that the variables may name is made; none of them connects before there is a span.
func TestExporters(t *testing.T) {
	for _, c := range []struct {
		env  map[string]string
		want string
	}{
		{nil, "*otlptracehttp.client"},
		{map[string]string{"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, "*otlptracegrpc.client"},
		{map[string]string{
			"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "http/protobuf",
		}, "*otlptracehttp.client"},
		{map[string]string{"OTEL_TRACES_EXPORTER": "console"}, "*stdouttrace.Exporter"},
	} {
		e, err := newExporter(t.Context(), func(name string) string { return c.env[name] })
		got := fmt.Sprintf("%T", e)
		if o, ok := e.(*otlptrace.Exporter); ok {
			got = fmt.Sprint(o.MarshalLog())
		}
		if err != nil || !strings.Contains(got, c.want) {
			t.Errorf("%v: %s, %v; want %s", c.env, got, err, c.want)
		}
	}
}

// TestTracesArrive: a daemon sends its spans to a collector, by the standard variables, and the last of them when it
// stops.
func TestTracesArrive(t *testing.T) {
	names := make(chan string, 1000)
	service := make(chan string, 1000)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var got collector.ExportTraceServiceRequest
		if err = errors.Join(err, proto.Unmarshal(body, &got)); err != nil || r.URL.Path != "/v1/traces" {
			t.Errorf("%s: %v", r.URL.Path, err)
		}
		for _, resource := range got.GetResourceSpans() {
			for _, a := range resource.GetResource().GetAttributes() {
				if a.GetKey() == "service.name" {
					service <- a.GetValue().GetStringValue()
				}
			}
			for _, scope := range resource.GetScopeSpans() {
				for _, s := range scope.GetSpans() {
					names <- s.GetName()
				}
			}
		}
	}))
	defer server.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", server.URL)
	t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf")
	var log bytes.Buffer
	r, stop, err := traces(t.Context(), slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	r.Analysis(context.Background())(nil)
	stop()
	select {
	case name := <-names:
		if s := <-service; name != "analysis" || s != "accountantd" {
			t.Errorf("span %q of service %q", name, s)
		}
	case <-time.After(time.Minute):
		t.Fatalf("no span has arrived; log:\n%s", log.String())
	}
}
