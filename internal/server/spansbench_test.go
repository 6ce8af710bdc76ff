// SPDX-License-Identifier: Apache-2.0

//go:build unix

package server_test

import (
	"testing"

	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/dpaccountant/accountant/internal/server"
	"github.com/dpaccountant/accountant/internal/server/servertest"
	"github.com/dpaccountant/accountant/internal/server/spans"
)

// What traces cost a charge: without them, and when one call in a hundred is recorded.
func BenchmarkTraces(b *testing.B) {
	for name, config := range map[string]func() server.Config{
		"off": func() server.Config { return server.Config{} },
		"one in a hundred": func() server.Config {
			return server.Config{Spans: spans.New(trace.NewTracerProvider(
				trace.WithSampler(trace.ParentBased(trace.TraceIDRatioBased(0.01))),
				trace.WithBatcher(tracetest.NewNoopExporter())))}
		},
	} {
		for how, charge := range map[string]func(*testing.B, *servertest.Server){
			"unary": reported, "stream": streamed} {
			b.Run(how+"/"+name, func(b *testing.B) {
				s := servertest.StartWith(b, servertest.Config{Server: config()})
				s.NewLedger("bench")
				perCharge(b, func() { charge(b, s) })
			})
		}
	}
}
