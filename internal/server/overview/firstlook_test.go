// SPDX-License-Identifier: Apache-2.0

package overview_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/server/servertest"
)

// What it takes to read a ledger of 200,000 entries for the first time: each question has another δ, of which nothing
// is kept. It says how long the first answer with progress takes, in ms, and how long everything in µs an entry.
func BenchmarkFirstLook(b *testing.B) {
	const entries = 200_000
	s := servertest.Start(b)
	name := ledgerName(0)
	if _, err := s.Client.CreateLedger(b.Context(), &pb.CreateLedgerRequest{Spec: servertest.Spec(name)}); err != nil {
		b.Fatal(err)
	}
	stream := openLong(b, s, name)
	go func() {
		for i := uint64(1); i <= entries; i++ {
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
		if a.GetAcknowledged().GetThrough() == entries {
			break
		}
	}
	delta := 1e-6
	var first []float64
	for b.Loop() {
		delta *= 0.99
		began := time.Now()
		for reading, asked := true, 0; reading; asked++ {
			a, err := s.Client.QueryHistory(b.Context(), &pb.QueryHistoryRequest{Ledger: name, Delta: &delta,
				Progress: true})
			if err != nil {
				b.Fatal(err)
			}
			if asked == 0 {
				first = append(first, float64(time.Since(began).Microseconds())/1000)
			}
			reading = a.GetReading() != nil
		}
	}
	slices.Sort(first)
	b.ReportMetric(first[len(first)/2], "first-answer-ms")
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/entries, "µs/entry")
}
