// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"fmt"
	"testing"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/postgres/pgtest"
	"github.com/dpaccountant/accountant/internal/persist/storetest"
)

// BenchmarkList walks all ledgers by pages, and all of a prefix: the cost of a ledger must not grow with their number.
func BenchmarkList(b *testing.B) {
	for _, n := range []int{10_000, 40_000} {
		s, err := Open(Config{URL: pgtest.Database(b)})
		if err != nil {
			b.Fatal(err)
		}
		for i := 0; i < n; {
			var batch []ledger.Proposal
			for ; len(batch) < 500; i++ {
				g := storetest.Genesis(fmt.Sprintf("team-%d/%07d", i%2, i))
				batch = append(batch, ledger.Proposal{Ledger: g.Spec.Name, Genesis: &g})
			}
			if _, err := s.Append(batch); err != nil {
				b.Fatal(err)
			}
		}
		for prefix, want := range map[string]int{"": n, "team-0/": n / 2} {
			b.Run(fmt.Sprintf("ledgers=%d/prefix=%q", n, prefix), func(b *testing.B) {
				for b.Loop() {
					found := 0
					for after := ""; ; {
						page, err := s.List(prefix, after, 500)
						if err != nil {
							b.Fatal(err)
						}
						if len(page) == 0 {
							break
						}
						found, after = found+len(page), page[len(page)-1].Genesis.Spec.Name
					}
					if found != want {
						b.Fatalf("%d ledgers; want %d", found, want)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*want), "µs/ledger")
			})
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
