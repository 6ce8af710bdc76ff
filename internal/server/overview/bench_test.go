// SPDX-License-Identifier: Apache-2.0

package overview_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/server/servertest"
)

const (
	manyLedgers = 10_000
	manyEntries = 1_000_000
	manyStreams = 64
)

// asking is a page of the dashboard.
type asking struct {
	name string
	ask  func(context.Context) error
}

// What a dashboard asks of a daemon with 10,000 ledgers, of which one has 10⁶ entries, while 64 streams report to
// 64 of the ledgers on the first pages, the long one among them. It says for each page how long it takes cold, and at
// the median and the 95th percentile warm, in ms, one call after the other with half a second between; and which
// part of their rate the streams keep meanwhile, in turns with as much time without questions. It runs for a few
// minutes, once: go test ./internal/server/overview -run xxx -bench Dashboard -benchtime 1x
func BenchmarkDashboard(b *testing.B) {
	s := servertest.Start(b)
	fill(b, s)
	page := func(token string) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := s.Client.QueryOverview(ctx, &pb.QueryOverviewRequest{Prefix: "l/", PageToken: token})
			return err
		}
	}
	pages := []asking{
		{"overview", page("")},
		{"history", func(ctx context.Context) error {
			_, err := s.Client.QueryHistory(ctx, &pb.QueryHistoryRequest{Ledger: ledgerName(0)})
			return err
		}},
		{"spending", func(ctx context.Context) error {
			_, err := s.Client.QuerySpending(ctx, &pb.QuerySpendingRequest{Ledger: ledgerName(0),
				By: pb.QuerySpendingRequest_LABEL, LabelKey: "run"})
			return err
		}},
	}
	for b.Loop() {
		for _, p := range pages {
			b.ReportMetric(time1(b, p.ask), p.name+"-cold-ms")
		}
		stop, reported := report(b, s)
		took, kept := map[string][]float64{}, []float64{}
		rate := func(d time.Duration, each func()) float64 {
			before, began := reported.Load(), time.Now()
			for end := began.Add(d); time.Now().Before(end); {
				each()
			}
			return float64(reported.Load()-before) / time.Since(began).Seconds()
		}
		for range 6 {
			quiet := rate(5*time.Second, func() { time.Sleep(100 * time.Millisecond) })
			asked := rate(10*time.Second, func() {
				for _, p := range pages {
					took[p.name] = append(took[p.name], time1(b, p.ask))
					time.Sleep(500 * time.Millisecond)
				}
			})
			kept = append(kept, asked/quiet)
			b.ReportMetric(quiet, "charges/s")
		}
		stop()
		for _, p := range pages {
			slices.Sort(took[p.name])
			n := len(took[p.name])
			b.ReportMetric(took[p.name][n/2], p.name+"-p50-ms")
			b.ReportMetric(took[p.name][n*95/100], p.name+"-p95-ms")
		}
		slices.Sort(kept)
		b.ReportMetric(kept[len(kept)/2], "streams-keep")
	}
}

func ledgerName(i int) string { return fmt.Sprintf("l/%05d", i) }

// time1 is how long one call takes, in ms. One that its time ends is made again, as it goes on from there.
func time1(b *testing.B, ask func(context.Context) error) float64 {
	b.Helper()
	began := time.Now()
	for tries := 0; ; tries++ {
		ctx, cancel := context.WithTimeout(b.Context(), 30*time.Second)
		err := ask(ctx)
		cancel()
		if err == nil {
			return float64(time.Since(began).Microseconds()) / 1000
		}
		if tries == 10 {
			b.Fatal(err)
		}
	}
}

// fill creates the ledgers, every second one with a budget, and charges the first one 10⁶ times and each other once.
func fill(b *testing.B, s *servertest.Server) {
	b.Helper()
	began := time.Now()
	var making sync.WaitGroup
	var next atomic.Int64
	for range manyStreams {
		making.Go(func() {
			for i := int(next.Add(1)) - 1; i < manyLedgers; i = int(next.Add(1)) - 1 {
				spec := servertest.Spec(ledgerName(i))
				if i%2 == 0 {
					spec = servertest.Filter(ledgerName(i), &pb.Budget{Guard: pb.Budget_ZCDP, Rho: proto.Float64(1e5)})
				}
				ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
				_, err := s.Client.CreateLedger(ctx, &pb.CreateLedgerRequest{Spec: spec})
				if err == nil {
					_, err = s.Client.Report(ctx, &pb.ReportRequest{
						Lane:   &pb.Lane{Ledger: ledgerName(i), Writer: servertest.Writer(), Sequence: 1},
						Charge: servertest.Gaussian(float64(10+i%7), 1),
					})
				}
				cancel()
				if err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	making.Wait()
	stream := openLong(b, s, ledgerName(0))
	go func() {
		for i := uint64(1); i <= manyEntries; i++ {
			charge := servertest.Gaussian(float64(20+i%5), 1)
			charge.Labels = map[string]string{"run": fmt.Sprint(i % 100)}
			if stream.Send(chargeOf(i, charge)) != nil {
				return
			}
		}
	}()
	for {
		a, err := stream.Recv()
		if err != nil {
			b.Fatal(err)
		}
		if a.GetAcknowledged().GetThrough() == manyEntries {
			break
		}
	}
	b.Logf("filled in %v", time.Since(began).Round(time.Second))
}

func chargeOf(sequence uint64, c *pb.Charge) *pb.ReportStreamRequest {
	return &pb.ReportStreamRequest{Message: &pb.ReportStreamRequest_Charge{
		Charge: &pb.ReportStreamRequest_SequencedCharge{Sequence: sequence, Charge: c}}}
}

// openLong opens a stream that lasts as long as the benchmark.
func openLong(b *testing.B, s *servertest.Server, name string) pb.Charges_ReportStreamClient {
	b.Helper()
	stream, err := s.Client.ReportStream(b.Context())
	if err == nil {
		err = stream.Send(&pb.ReportStreamRequest{Message: &pb.ReportStreamRequest_Open_{
			Open: &pb.ReportStreamRequest_Open{Ledger: name, Writer: servertest.Writer()}}})
	}
	if err == nil {
		_, err = stream.Recv()
	}
	if err != nil {
		b.Fatal(err)
	}
	return stream
}

// report has 64 streams report as fast as they can, each with at most 256 charges in flight.
func report(b *testing.B, s *servertest.Server) (stop func(), reported *atomic.Int64) {
	b.Helper()
	reported = new(atomic.Int64)
	var over atomic.Bool
	var streams sync.WaitGroup
	for i := range manyStreams {
		stream := openLong(b, s, ledgerName(i))
		flight := make(chan struct{}, 256)
		streams.Go(func() {
			charge := servertest.Gaussian(20, 1)
			for n := uint64(1); !over.Load(); n++ {
				flight <- struct{}{}
				if stream.Send(chargeOf(n, charge)) != nil {
					return
				}
			}
			_ = stream.CloseSend()
		})
		streams.Go(func() {
			for last := uint64(0); ; {
				a, err := stream.Recv()
				if err != nil {
					return
				}
				for through := a.GetAcknowledged().GetThrough(); last < through; last++ {
					reported.Add(1)
					<-flight
				}
			}
		})
	}
	return func() { over.Store(true); streams.Wait() }, reported
}
