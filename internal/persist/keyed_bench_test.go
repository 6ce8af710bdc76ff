// SPDX-License-Identifier: Apache-2.0

package persist

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/rows"
	"github.com/dpaccountant/accountant/internal/persist/storetest"
)

// BenchmarkKeyed appends entries that each have a request ID of their own, which is a writer with one entry.
func BenchmarkKeyed(b *testing.B) {
	for _, c := range []struct{ ledgers, group int }{{1, 16}, {64, 1}, {64, 16}} {
		b.Run(fmt.Sprintf("ledgers=%d/group=%d", c.ledgers, c.group), func(b *testing.B) {
			path := filepath.Join(b.TempDir(), "s.db")
			s := mustOpen(b, Config{Path: path})
			defer s.Close()
			appenders := make([]*appender, c.ledgers)
			for i := range appenders {
				a, err := newAppender(s, i)
				if err != nil {
					b.Fatal(err)
				}
				appenders[i] = a
			}
			b.ReportAllocs()
			batch := make([]ledger.Proposal, c.ledgers)
			random := rand.New(rand.NewPCG(1, 2))
			now := storetest.Genesis("l").Time
			c0 := cpu()
			b.ResetTimer()
			n := 0
			for ; n < b.N; n += c.ledgers * c.group {
				for i, a := range appenders {
					a.next(c.group)
					for j := range a.proposal.Entries {
						e := &a.proposal.Entries[j]
						now = now.Add(1e6)
						e.Sequence, e.Time = 1, now
						e.Writer.Name = fmt.Sprintf("request/%08x-%04x-4%03x-%016x", random.Uint32(),
							random.Uint32()&0xffff, random.Uint32()&0xfff, random.Uint64())
					}
					batch[i] = a.proposal
				}
				hashes, err := s.Append(batch)
				if err != nil {
					b.Fatal(err)
				}
				for i, a := range appenders {
					a.done(hashes[i])
				}
			}
			b.StopTimer()
			b.ReportMetric((cpu()-c0)/float64(n), "cpu-µs/entry")
			live, singles := 0, 0
			if err := s.db.View(func(tx *bolt.Tx) error {
				return tx.ForEach(func(name []byte, bucket *bolt.Bucket) error {
					in := bucket.Stats().LeafInuse
					if live += in; string(name) == rows.SinglesBucket.String() {
						singles = in
					}
					return nil
				})
			}); err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(live)/float64(n), "B/entry")
			b.ReportMetric(float64(singles)/float64(n), "B/key")
			stats := s.db.Stats()
			b.ReportMetric(float64(stats.TxStats.GetWrite())/float64(n), "pages/entry")
		})
	}
}
