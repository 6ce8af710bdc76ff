// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"errors"
	"io"
	"testing"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/server/servertest"
)

// step is what a training job reports: one event, two labels.
func step() *pb.Charge {
	q, z := 0.01, 1.0
	return &pb.Charge{
		Events: []*pb.Event{{Count: 1, Mechanism: &pb.Mechanism{Kind: &pb.Mechanism_PoissonSampled{
			PoissonSampled: &pb.PoissonSampled{SamplingProbability: &q, Mechanism: &pb.Mechanism{
				Kind: &pb.Mechanism_Gaussian{Gaussian: &pb.Gaussian{NoiseMultiplier: &z}}}}}}}},
		Labels: map[string]string{"run": "a1", "step": "1000"},
	}
}

// One stream with many charges in flight: server, client and store in one process.
func BenchmarkReportStream(b *testing.B) {
	s := servertest.Start(b)
	s.NewLedger("bench")
	b.ReportAllocs()
	streamed(b, s)
}

// streamed charges the ledger "bench" b.N times in one stream.
func streamed(b *testing.B, s *servertest.Server) {
	stream := s.Stream("bench", servertest.Writer())
	charge := step()
	b.ResetTimer()
	done := make(chan error, 1)
	go func() {
		for {
			if _, err := stream.Recv(); err != nil {
				done <- err
				return
			}
		}
	}()
	for i := range b.N {
		stream.Charge(uint64(i+1), charge)
	}
	if err := stream.CloseSend(); err != nil {
		b.Fatal(err)
	}
	if err := <-done; !errors.Is(err, io.EOF) {
		b.Fatal(err)
	}
}

// Unary reports from many writers at once.
func BenchmarkReport(b *testing.B) {
	s := servertest.Start(b)
	s.NewLedger("bench")
	b.ReportAllocs()
	reported(b, s)
}

// reported charges the ledger "bench" b.N times by unary calls.
func reported(b *testing.B, s *servertest.Server) {
	charge := step()
	b.SetParallelism(32)
	b.RunParallel(func(p *testing.PB) {
		w := servertest.Writer()
		for i := uint64(1); p.Next(); i++ {
			if _, err := s.Client.Report(b.Context(),
				&pb.ReportRequest{Lane: &pb.Lane{Ledger: "bench", Writer: w, Sequence: i},
					Charge: charge}); err != nil {
				b.Error(err)
				return
			}
		}
	})
}

// One more step is charged, not timed; then ε of the ledger, through the server.
func BenchmarkQueryOneMoreStep(b *testing.B) { benchmarkQuery(b, 1) }

// The same in a ledger of a thousand distinct mechanisms.
func BenchmarkQueryOneMoreStepOfAThousand(b *testing.B) { benchmarkQuery(b, 1000) }

func benchmarkQuery(b *testing.B, distinct int) {
	s := servertest.Start(b)
	s.NewLedger("bench")
	ctx, w := b.Context(), servertest.Writer()
	steps := many(distinct)
	s.Report("bench", w, 1, steps)
	next := &pb.Charge{Events: []*pb.Event{{Count: 1, Mechanism: steps.Events[0].Mechanism}}}
	query := &pb.QueryPrivacyRequest{Subject: &pb.QueryPrivacyRequest_Ledger{Ledger: "bench"},
		Given: &pb.QueryPrivacyRequest_Delta{Delta: 1e-5}}
	for i := uint64(2); b.Loop(); i++ {
		b.StopTimer()
		s.Report("bench", w, i, next)
		b.StartTimer()
		if _, err := s.Client.QueryPrivacy(ctx, query); err != nil {
			b.Fatal(err)
		}
	}
}

// The same question about a workload, which has no session.
func BenchmarkQueryCold(b *testing.B) { benchmarkCold(b, 1) }

// Cold, of a thousand distinct mechanisms.
func BenchmarkQueryColdThousand(b *testing.B) { benchmarkCold(b, 1000) }

func benchmarkCold(b *testing.B, distinct int) {
	s := servertest.Start(b)
	query := &pb.QueryPrivacyRequest{Given: &pb.QueryPrivacyRequest_Delta{Delta: 1e-5},
		Subject: &pb.QueryPrivacyRequest_Workload{
			Workload: &pb.Workload{Adjacency: pb.Workload_ADD_OR_REMOVE_ONE, Events: many(distinct).Events}}}
	for b.Loop() {
		if _, err := s.Client.QueryPrivacy(b.Context(), query); err != nil {
			b.Fatal(err)
		}
	}
}

// many is 10,000 steps or so of distinct Poisson-sampled Gaussians; 1,000 of a single one.
func many(distinct int) *pb.Charge {
	c := &pb.Charge{}
	for i := range distinct {
		q, z := 0.01, 1.0
		count := uint32(1000)
		if distinct > 1 {
			q, z, count = 0.005+1e-5*float64(i), 0.8+1e-3*float64(i), 10
		}
		c.Events = append(c.Events, &pb.Event{Count: count, Mechanism: &pb.Mechanism{Kind: &pb.Mechanism_PoissonSampled{
			PoissonSampled: &pb.PoissonSampled{SamplingProbability: &q, Mechanism: &pb.Mechanism{
				Kind: &pb.Mechanism_Gaussian{Gaussian: &pb.Gaussian{NoiseMultiplier: &z}}}}}}})
	}
	return c
}
