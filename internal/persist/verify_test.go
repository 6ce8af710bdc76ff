// SPDX-License-Identifier: Apache-2.0

package persist

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"

	"github.com/dpaccountant/accountant/internal/audit"
	"github.com/dpaccountant/accountant/internal/audit/audittest"
	"github.com/dpaccountant/accountant/internal/persist/rows"
	"github.com/dpaccountant/accountant/internal/persist/verify"
)

// Whatever was decided and stored, is found as it should be.
func TestVerifyRandomStores(t *testing.T) {
	longest, closed, open, amended, n := 0, 0, 0, 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		path := filepath.Join(t.TempDir(), fmt.Sprint(n, ".db"))
		s, err := Open(Config{Path: path, AllocationStep: 1 << 16, hooks: hooks{noSync: true}})
		if err != nil {
			rt.Fatal(err)
		}
		seed := rapid.Uint64()
		names := []string{"a", "a/b", "c"}[:rapid.IntRange(0, 3).Draw(rt, "ledgers")]
		for _, name := range names {
			spec := audittest.Spec(name, rapid.IntRange(0, audittest.Kinds-1).Draw(rt, "kind"))
			audittest.Fill(rt, s, spec,
				rapid.SampledFrom([]int{0, 1, 5, 10, 20, 20, 30, 40, 50, 800}).Draw(rt, "requests"),
				seed.Draw(rt, "seed"))
		}
		for _, name := range names {
			audittest.Append(rt, s, name, 20, seed.Draw(rt, "seed")) // after all others
		}
		want, kept := uint64(0), []audit.Witness{}
		for _, name := range names {
			snapshot, err := s.Load(name)
			if err != nil {
				rt.Fatal(err)
			}
			want += snapshot.Head.Position
			longest = max(longest, int(snapshot.Head.Position))
			kept = append(kept, audit.Witness{Ledger: name, Position: snapshot.Head.Position, Hash: snapshot.Head.Hash})
			open += len(snapshot.Open)
			amended += len(snapshot.Amended)
			if snapshot.Closed {
				closed++
			}
		}
		if err := s.Close(); err != nil {
			rt.Fatal(err)
		}
		v, err := verify.File(context.Background(), verify.Config{Path: path, Kept: kept})
		if err != nil || v.Entries != want || v.Ledgers != uint64(len(names)) || v.Witnesses != len(kept) {
			rt.Fatalf("%+v, %v; want %d entries of %d ledgers", v, err, want, len(names))
		}
		if err := os.Remove(path); err != nil {
			rt.Fatal(err)
		}
	})
	t.Logf("longest ledger: %d entries; %d closed; %d open reservations, %d refunds and raises",
		longest, closed, open, amended)
	if longest < 2*rows.IndexEvery || closed == 0 || open == 0 || amended == 0 {
		t.Error("the ledgers are too much alike")
	}
}
