// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist"
	"github.com/dpaccountant/accountant/internal/persist/storetest"
	"github.com/dpaccountant/accountant/internal/server"
	"github.com/dpaccountant/accountant/internal/server/servertest"
)

// A list among 10⁵ ledgers that the caller may not see: how long it takes, and the slowest of its pages.
func BenchmarkListAmongHiddenLedgers(b *testing.B) {
	store, err := persist.Open(persist.Config{Path: filepath.Join(b.TempDir(), "s.db")})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = store.Close() })
	const each = 1000
	for from := 0; from < 100_000; from += each {
		var batch []ledger.Proposal
		for i := range each {
			g := storetest.Genesis(fmt.Sprintf("hidden/%06d", from+i))
			batch = append(batch, ledger.Proposal{Ledger: g.Spec.Name, Genesis: &g})
		}
		if _, err := store.Append(batch); err != nil {
			b.Fatal(err)
		}
	}
	policy := filepath.Join(b.TempDir(), "policy.yaml")
	if err := os.WriteFile(policy, []byte("version: 1\ngrants:\n  - {roles: viewer, to: 'unverified:ann', "+
		"on: ['prefix:team/']}\n"), 0o600); err != nil {
		b.Fatal(err)
	}
	s := servertest.StartWith(b, servertest.Config{Store: store, Server: server.Config{AccessPolicy: policy}})
	pages, slowest := 0, time.Duration(0)
	for b.Loop() {
		for token := ""; ; {
			start := time.Now()
			page, err := s.Client.ListLedgers(as(b, "ann"), &pb.ListLedgersRequest{PageToken: token})
			if err != nil {
				b.Fatal(err)
			}
			pages, slowest = pages+1, max(slowest, time.Since(start))
			if token = page.GetNextPageToken(); token == "" {
				break
			}
		}
	}
	b.ReportMetric(float64(pages)/float64(b.N), "pages/op")
	b.ReportMetric(slowest.Seconds()*1000, "slowest-ms")
}
