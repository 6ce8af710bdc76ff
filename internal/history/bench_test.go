// SPDX-License-Identifier: Apache-2.0

package history

import (
	"fmt"
	"testing"
	"time"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// BenchmarkTake is what an entry costs once it is read: of groups, and of a walk. Every tenth entry reserves, and the
// next one commits that.
func BenchmarkTake(b *testing.B) {
	var records []ledger.Record
	for i := range uint64(100_000) {
		events := []mechanism.Event{{Mechanism: mechanism.Gaussian{NoiseMultiplier: float64(20 + i/10%5)}, Count: 1}}
		labels := []ledger.Label{{Key: "run", Value: fmt.Sprint(i % 100)}}
		var v ledger.Action = ledger.Charge{Events: events, Labels: labels}
		switch i % 10 {
		case 0:
			v = ledger.Reserve{Events: events, Labels: labels, Lifetime: time.Hour}
		case 1:
			v = ledger.Commit{Events: events, Reservation: i}
		}
		records = append(records, ledger.Record{Entry: ledger.Entry{Position: i + 1, Action: v,
			Writer: ledger.Writer{Principal: "p", Name: "w"}, Time: time.Unix(int64(i), 0)}})
	}
	for name, of := range map[string]func() interface{ Take([]ledger.Record) error }{
		"label":     func() interface{ Take([]ledger.Record) error } { return NewGroups(nil, "l", ByLabel, "run") },
		"mechanism": func() interface{ Take([]ledger.Record) error } { return NewGroups(nil, "l", ByMechanism, "") },
		"walk":      func() interface{ Take([]ledger.Record) error } { return NewWalk(ledger.Genesis{}) },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				x := of()
				for i := 0; i < len(records); i += step {
					if err := x.Take(records[i : i+step]); err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(records)), "ns/entry")
		})
	}
}
