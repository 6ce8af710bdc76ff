// SPDX-License-Identifier: Apache-2.0

//go:build unix

package server_test

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/persist"
	"github.com/dpaccountant/accountant/internal/server/servertest"
)

// onDisk starts a server over a store on disk, with ledgers.
func onDisk(b *testing.B, n int) (*servertest.Server, []string) {
	b.Helper()
	commits, entries := 0, 0
	store, err := persist.Open(persist.Config{Path: filepath.Join(b.TempDir(), "s.db"),
		Observe: func(c persist.Commit) { commits, entries = commits+1, entries+c.Entries }})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = store.Close()
		b.ReportMetric(float64(entries)/float64(commits), "entries/commit")
	})
	s := servertest.StartWith(b, servertest.Config{Store: store})
	var names []string
	for i := range n {
		names = append(names, fmt.Sprintf("bench/%03d", i))
		s.NewLedger(names[i])
	}
	return s, names
}

// cpuUsed is the processor time of this process: server, client and store.
func cpuUsed() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func perCharge(b *testing.B, run func()) {
	b.ReportAllocs()
	b.ResetTimer()
	before := cpuUsed()
	run()
	b.StopTimer()
	b.ReportMetric(float64((cpuUsed()-before).Nanoseconds())/float64(b.N), "cpu-ns/charge")
}

// Streams into a hundred ledgers, one each; an operation is a charge to one ledger.
func BenchmarkStreamsOfAHundredLedgers(b *testing.B) {
	s, names := onDisk(b, 100)
	charge := step()
	perCharge(b, func() {
		var all sync.WaitGroup
		for i, name := range names {
			stream := s.Stream(name, servertest.Writer())
			n := b.N / len(names)
			if i < b.N%len(names) {
				n++
			}
			all.Go(func() {
				for {
					if _, err := stream.Recv(); err != nil {
						if !errors.Is(err, io.EOF) {
							b.Error(err)
						}
						return
					}
				}
			})
			all.Go(func() {
				for j := range n {
					stream.Charge(uint64(j+1), charge)
				}
				_ = stream.CloseSend()
			})
		}
		all.Wait()
	})
}

// Sets of a hundred ledgers; an operation is a charge to one ledger of a set. With more callers a wave has
// more sets, and so fewer commits write the same. internal/persist's BenchmarkWavesOfSets says what the
// disk allows.
func BenchmarkSetsOfAHundredLedgers(b *testing.B) {
	for _, callers := range []int{16, 64} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			s, names := onDisk(b, 100)
			charge := step()
			perCharge(b, func() {
				var all sync.WaitGroup
				var sent atomic.Int64
				for range callers {
					all.Go(func() {
						w := servertest.Writer()
						for i := uint64(1); sent.Add(100) <= int64(b.N)+99; i++ {
							if _, err := s.Client.Report(b.Context(),
								&pb.ReportRequest{Lane: &pb.Lane{Contribution: pb.SetPart_OVER_ALL, Writer: w,
									Sequence: i, Ledgers: &pb.LedgerSet{Ledgers: names}},
									Charge: charge}); err != nil {
								b.Error(err)
								return
							}
						}
					})
				}
				all.Wait()
			})
			b.ReportMetric(float64(b.N)/100/b.Elapsed().Seconds(), "sets/s")
		})
	}
}

// What callers that charge sets of 1,000 ledgers without a pause do to single charges and to sets of three, in
// their own ledgers and in others: the 99th percentile of b.N of each, one after the other, so run it with
// -benchtime 1000x.
func BenchmarkBesideAThousand(b *testing.B) {
	for _, callers := range []int{0, 1, 8} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			s, names := onDisk(b, 1003)
			charge := step()
			stop := make(chan struct{})
			var sets sync.WaitGroup
			var written atomic.Int64
			for range callers {
				sets.Go(func() {
					w := servertest.Writer()
					for i := uint64(1); ; i++ {
						select {
						case <-stop:
							return
						default:
						}
						if _, err := s.Client.Report(b.Context(),
							&pb.ReportRequest{Lane: &pb.Lane{Contribution: pb.SetPart_OVER_ALL, Writer: w,
								Sequence: i, Ledgers: &pb.LedgerSet{Ledgers: names[:1000]}},
								Charge: charge}); err != nil {
							b.Error(err)
							return
						}
						written.Add(1)
					}
				})
			}
			w := servertest.Writer()
			measure := func(what string, do func(sequence uint64) error) {
				took := make([]time.Duration, b.N)
				for i := range took {
					began := time.Now()
					if err := do(uint64(i + 1)); err != nil {
						b.Fatal(err)
					}
					took[i] = time.Since(began)
				}
				slices.Sort(took)
				b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms/"+what)
				b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms/"+what)
			}
			b.ResetTimer()
			for what, at := range map[string]int{"member": 0, "other": 1000} {
				measure(what, func(i uint64) error {
					_, err := s.Client.Report(b.Context(), &pb.ReportRequest{
						Lane:   &pb.Lane{Ledger: names[at], Writer: w, Sequence: i},
						Charge: charge,
					})
					return err
				})
				w := servertest.Writer()
				measure("set-of-3-"+what, func(i uint64) error {
					_, err := s.Client.Report(b.Context(),
						&pb.ReportRequest{Lane: &pb.Lane{Contribution: pb.SetPart_OVER_ALL, Writer: w, Sequence: i,
							Ledgers: &pb.LedgerSet{Ledgers: names[at : at+3]}},
							Charge: charge})
					return err
				})
			}
			b.StopTimer()
			close(stop)
			sets.Wait()
			b.ReportMetric(float64(written.Load())/b.Elapsed().Seconds(), "sets/s")
		})
	}
}

// A question about a thousand ledgers of which each has a mechanism of its own, asked anew each time: at another δ.
func BenchmarkQueryOfAThousandLedgers(b *testing.B) {
	s, names := onDisk(b, 1000)
	for i, name := range names {
		scale := 20 + float64(i)/100
		charge := &pb.Charge{Events: []*pb.Event{{Count: 1, Mechanism: &pb.Mechanism{Kind: &pb.Mechanism_Gaussian{
			Gaussian: &pb.Gaussian{NoiseMultiplier: &scale}}}}}}
		if _, err := s.Client.Report(b.Context(), &pb.ReportRequest{
			Lane:   &pb.Lane{Ledger: name, Writer: servertest.Writer(), Sequence: 1},
			Charge: charge,
		}); err != nil {
			b.Fatal(err)
		}
	}
	b.ResetTimer()
	set := &pb.LedgerSet{Ledgers: names}
	for i := range b.N {
		given := &pb.QueryPrivacySetRequest_Delta{Delta: 1e-6 + float64(i)*1e-12}
		if _, err := s.Client.QueryPrivacySet(b.Context(),
			&pb.QueryPrivacySetRequest{Set: set, Given: given}); err != nil {
			b.Fatal(err)
		}
	}
}
