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
	stream := s.Stream("bench", servertest.Writer())
	charge := step()
	b.ReportAllocs()
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
	charge := step()
	b.ReportAllocs()
	b.SetParallelism(32)
	b.RunParallel(func(p *testing.PB) {
		w := servertest.Writer()
		for i := uint64(1); p.Next(); i++ {
			if _, err := s.Client.Report(b.Context(), &pb.ReportRequest{Ledger: "bench", Writer: w, Sequence: i, Charge: charge}); err != nil {
				b.Error(err)
				return
			}
		}
	})
}
