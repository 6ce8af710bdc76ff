//go:build unix

package server_test

import (
	"errors"
	"io"
	"sync"
	"testing"

	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
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
		b.Run("unary/"+name, func(b *testing.B) {
			s := servertest.StartWith(b, servertest.Config{Server: config()})
			s.NewLedger("bench")
			charge := step()
			perCharge(b, func() {
				b.SetParallelism(32)
				b.RunParallel(func(p *testing.PB) {
					w := servertest.Writer()
					for i := uint64(1); p.Next(); i++ {
						if _, err := s.Client.Report(b.Context(),
							&pb.ReportRequest{Ledger: "bench", Writer: w, Sequence: i, Charge: charge}); err != nil {
							b.Error(err)
							return
						}
					}
				})
			})
		})
		b.Run("stream/"+name, func(b *testing.B) {
			s := servertest.StartWith(b, servertest.Config{Server: config()})
			s.NewLedger("bench")
			charge := step()
			stream := s.Stream("bench", servertest.Writer())
			perCharge(b, func() {
				var answers sync.WaitGroup
				answers.Go(func() {
					for {
						if _, err := stream.Recv(); err != nil {
							if !errors.Is(err, io.EOF) {
								b.Error(err)
							}
							return
						}
					}
				})
				for i := range b.N {
					stream.Charge(uint64(i+1), charge)
				}
				if err := stream.CloseSend(); err != nil {
					b.Error(err)
				}
				answers.Wait()
			})
		})
	}
}
