// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/persist/postgres/pgtest"
	"github.com/dpaccountant/accountant/internal/persist/storetest"
	"github.com/dpaccountant/accountant/internal/record"
)

// BenchmarkMerge writes entries, one by one of each ledger, by one lane a ledger (steps) or by a request ID each, and
// merges them as a daemon would that is charged 800 times a second. It reports how much room an entry takes then.
func BenchmarkMerge(b *testing.B) {
	for _, c := range []struct {
		shape           string
		entries, ledger int // altogether, and of a ledger
	}{{"steps", 100_000, 1000}, {"steps", 1_000_000, 1000}, {"requests", 100_000, 1000}, {"requests", 1_000_000, 1000},
		{"requests", 1_000_000, 10}} {
		b.Run(fmt.Sprintf("%s/entries=%d/ledger=%d", c.shape, c.entries, c.ledger), func(b *testing.B) {
			url := pgtest.Database(b)
			s := mustOpen(b, Config{URL: url, cold: cold{every: time.Hour}})
			defer mustClose(b, s)
			took := time.Duration(0)
			settle := func() {
				began := time.Now()
				merge(b, s)
				took += time.Since(began)
				execute(b, url, "VACUUM tail")
			}
			chargeAll(b, s, c.entries, c.ledger, c.shape == "requests", settle)
			for b.Loop() {
				settle()
			}
			size := func(tables string) float64 {
				return float64(count(b, s, "SELECT sum(pg_total_relation_size(oid)) FROM pg_class WHERE relkind = 'r' "+
					"AND relnamespace = 'public'::regnamespace AND relname ~ '"+tables+"'")) / float64(c.entries)
			}
			b.ReportMetric(size("^(packs_.*|tail)$"), "B/entry")
			b.ReportMetric(size("^tail$"), "B-in-tail/entry")
			b.ReportMetric(size("^singles$"), "B-in-singles/entry")
			b.ReportMetric(size("."), "B-altogether/entry")
			b.ReportMetric(float64(took.Microseconds())/float64(c.entries), "µs-merging/entry")
		})
	}
}

// chargeAll writes entries of many ledgers in turn, and lets them settle after every 50,000.
func chargeAll(b *testing.B, s *Store, entries, each int, requests bool, settle func()) {
	random := rand.New(rand.NewPCG(1, 2))
	v := ledger.Charge{Events: []mechanism.Event{{Mechanism: mechanism.PoissonSampled{SamplingProbability: 0.01,
		Mechanism: mechanism.Gaussian{NoiseMultiplier: 1.1}}, Count: 1}}}
	digest := record.Digest(v)
	now := storetest.Genesis("l").Time
	all := make([]ledger.Proposal, entries/each)
	for i := 0; i < len(all); i += 500 {
		group := all[i:min(i+500, len(all))]
		for j := range group {
			g := storetest.Genesis(fmt.Sprint("l", i+j))
			group[j] = ledger.Proposal{Ledger: g.Spec.Name, Genesis: &g}
		}
		if _, err := s.Append(group); err != nil {
			b.Fatal(err)
		}
		for j := range group {
			heads, err := s.Heads([]string{group[j].Ledger})
			if err != nil {
				b.Fatal(err)
			}
			group[j].Genesis, group[j].Expected = nil, heads[0]
		}
	}
	for done := 0; done < entries; {
		for i := 0; i < len(all); i += 500 {
			group := all[i:min(i+500, len(all))]
			for j := range group {
				p := &group[j]
				now = now.Add(time.Duration(random.Int64N(int64(2500 * time.Microsecond))))
				at := p.Expected.Position + 1
				e := ledger.Entry{Position: at, Sequence: at, Digest: digest, Time: now, Action: v,
					Writer: ledger.Writer{Principal: "cn:trainer",
						Name: fmt.Sprintf("00000000-0000-4000-8000-%012x", i+j)}}
				if requests {
					e.Sequence, e.Writer.Name = 1, fmt.Sprintf("request/%016x%016x", random.Uint64(), random.Uint64())
				}
				p.Entries, p.Total = []ledger.Entry{e}, at
				p.Counts = []ledger.CountChange{{Index: 0, Mechanism: v.Events[0].Mechanism, Total: at}}
			}
			hashes, err := s.Append(group)
			if err != nil {
				b.Fatal(err)
			}
			for j := range group {
				group[j].Expected.Position++
				group[j].Expected.Hash = hashes[j][0]
			}
			if before := done / 50_000; (done+len(group))/50_000 != before {
				settle()
			}
			done += len(group)
		}
	}
}
