// SPDX-License-Identifier: Apache-2.0

//go:build unix

package server_test

import (
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist"
	"github.com/dpaccountant/accountant/internal/persist/postgres/pgtest"
	"github.com/dpaccountant/accountant/internal/server/servertest"
)

// Sets of a hundred ledgers by 16 callers, of a file, of a database with a synchronous standby and one daemon, and of
// three daemons that all write to the same ledgers, where each caller keeps to one of them or takes them in turn; an
// operation is a set.
func BenchmarkSetsOfAFleet(b *testing.B) {
	run := func(name string, daemons int, inTurn bool, open func(b *testing.B) ledger.Store) {
		b.Run(name, func(b *testing.B) {
			var all []*servertest.Server
			for range daemons {
				all = append(all, servertest.StartWith(b, servertest.Config{Store: open(b)}))
			}
			var names []string
			for i := range 100 {
				names = append(names, fmt.Sprintf("bench/%03d", i))
				all[0].NewLedger(names[i])
			}
			charge := step()
			var callers sync.WaitGroup
			var sent atomic.Int64
			b.ResetTimer()
			for i := range 16 {
				callers.Go(func() {
					w := servertest.Writer()
					at := i
					for n := uint64(1); sent.Add(1) <= int64(b.N); n++ {
						if inTurn {
							at++
						}
						if _, err := all[at%daemons].Client.Report(b.Context(), &pb.ReportRequest{Charge: charge,
							Lane: &pb.Lane{Contribution: pb.SetPart_OVER_ALL, Writer: w, Sequence: n,
								Ledgers: &pb.LedgerSet{Ledgers: names}}}); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			callers.Wait()
			b.StopTimer()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "sets/s")
		})
	}
	run("file", 1, false, func(b *testing.B) ledger.Store {
		store, err := persist.Open(persist.Config{Path: filepath.Join(b.TempDir(), "s.db")})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = store.Close() })
		return store
	})
	server := pgtest.Start(b, pgtest.Config{Fsync: true, Synchronous: true})
	for _, c := range []struct {
		daemons int
		inTurn  bool
	}{{1, false}, {3, false}, {3, true}} {
		url := server.Database(b)
		run(fmt.Sprintf("standby/daemons=%d/in-turn=%v", c.daemons, c.inTurn), c.daemons, c.inTurn,
			func(b *testing.B) ledger.Store { return openShared(b, url) })
	}
}
