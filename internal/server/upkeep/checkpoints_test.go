// SPDX-License-Identifier: Apache-2.0

package upkeep

import (
	"math"
	"testing"

	"github.com/dpaccountant/accountant/internal/audit/audittest"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/memory"
)

// countedReads counts how many records are read.
type countedReads struct {
	ledger.Store
	records int
}

func (r *countedReads) Records(name string, from uint64, limit int) ([]ledger.Record, error) {
	list, err := r.Store.Records(name, from, limit)
	r.records += len(list)
	return list, err
}

// Long ledgers get checkpoints, of which each pass makes those that are due, and reads little else.
func TestLongLedgersAreMarked(t *testing.T) {
	t.Parallel()
	s, due := &countedReads{Store: memory.New(memory.Config{})}, marking{}
	pass := func(name string) (marks int, head uint64) {
		t.Helper()
		sum, err := s.Load(name)
		if err == nil {
			s.records = 0
			err = due.ledger(t.Context(), s, sum.Summary)
		}
		if err != nil {
			t.Fatal(err)
		}
		list, err := s.Checkpoints(name, 0, math.MaxUint64, math.MaxInt)
		if err != nil {
			t.Fatal(err)
		}
		return len(list), sum.Head.Position
	}
	audittest.Fill(t, s, audittest.Spec("short", 3), 500, 3)
	if n, _ := pass("short"); n > 0 || s.records > 0 {
		t.Errorf("a short ledger has %d checkpoints, for which %d entries were read", n, s.records)
	}
	audittest.Fill(t, s, audittest.Spec("long", 3), 1000, 3)
	for range 20 {
		audittest.Append(t, s, "long", 1000, 4)
		before, most := len(due), 2*markMore
		n, head := pass("long")
		if before == 0 {
			most = int(head) + 1
		}
		if head > markLeast && n == 0 || s.records > most {
			t.Fatalf("of %d entries: %d checkpoints, %d entries read; want at most %d", head, n, s.records, most)
		}
	}
	if due["long"] == 0 {
		t.Error("no pass has come to the end")
	}
}
