// SPDX-License-Identifier: Apache-2.0

package overview

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/dpaccountant/accountant/internal/history"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/persist"
	"github.com/dpaccountant/accountant/internal/server/turns"
)

// ledgersOf are a store's ledgers, read anew each time.
type ledgersOf struct{ store ledger.Store }

func (l ledgersOf) View(_ context.Context, name string) (ledger.View, error) {
	snapshot, err := l.store.Load(name)
	return ledger.NewState(snapshot).View(), err
}

func (l ledgersOf) Summary(ctx context.Context, name string) (ledger.Summary, error) {
	v, err := l.View(ctx, name)
	return v.Summary, err
}

// fillLong appends charges to a new ledger of a store, as one job writes them.
func fillLong(t testing.TB, store ledger.Store, name string, entries int) {
	t.Helper()
	sum, _, err := store.Create(ledger.Genesis{Spec: ledger.Spec{Name: name, Adjacency: mechanism.AddOrRemoveOne},
		Principal: "p", Time: time.Unix(0, 0)})
	if err != nil {
		t.Fatal(err)
	}
	state := ledger.NewState(ledger.Snapshot{Summary: sum})
	w := ledger.Writer{Principal: "p", Name: "00000000-0000-4000-8000-000000000001"}
	for done := 0; done < entries; {
		b := ledger.NewBatch(state)
		for range min(5000, entries-done) {
			done++
			step := mechanism.Event{Mechanism: mechanism.Gaussian{NoiseMultiplier: float64(20 + done%5)}, Count: 1}
			r := ledger.Request{Writer: w, Sequence: uint64(done), Action: ledger.Charge{
				Events: []mechanism.Event{step},
				Labels: []ledger.Label{{Key: "run", Value: fmt.Sprint(done % 100)}}}}
			at := ledger.Lane{Sequence: uint64(done - 1), Position: uint64(done - 1)}
			if d := b.Decide(r, at, time.Unix(int64(done), 0)); d.Err != nil {
				t.Fatal(d.Err)
			}
		}
		hashes, err := store.Append([]ledger.Proposal{b.Proposal()})
		if err != nil {
			t.Fatal(err)
		}
		state.Apply(b, ledger.Head{Position: uint64(done), Hash: hashes[0][len(hashes[0])-1]})
	}
}

// BenchmarkFirstHistory is the first look at the history of a long ledger after a start, without checkpoints and with
// those that upkeep makes. It says how long these take.
func BenchmarkFirstHistory(b *testing.B) {
	for _, entries := range []int{1e6, 1e7} {
		b.Run(fmt.Sprintf("%.0e", float64(entries)), func(b *testing.B) {
			path := filepath.Join(b.TempDir(), persist.FileName)
			store, err := persist.Open(persist.Config{Path: path})
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = store.Close() }()
			began := time.Now()
			fillLong(b, store, "long", entries)
			b.Logf("filled in %v: %d bytes", time.Since(began), store.Size())
			b.Run("read", func(b *testing.B) { benchmarkFirstHistory(b, store) })
			began = time.Now()
			for read := uint64(0); read < uint64(entries); {
				sum, err := store.Load("long")
				if err == nil {
					read, _, err = history.Mark(store, sum.Genesis, uint64(entries), 20_000)
				}
				if err != nil {
					b.Fatal(err)
				}
			}
			b.Logf("checkpoints made in %v: %d bytes", time.Since(began), store.Size())
			b.Run("marked", func(b *testing.B) { benchmarkFirstHistory(b, store) })
		})
	}
}

func benchmarkFirstHistory(b *testing.B, store ledger.Store) {
	in := turns.NewInTime(turns.NewRotation(1, time.Hour, unmeasured{}), nil)
	for b.Loop() {
		h := New(Config{Store: store, Ledgers: ledgersOf{store}, InTime: in, Now: time.Now})
		v, err := h.Ledgers.View(b.Context(), "long")
		if err != nil {
			b.Fatal(err)
		}
		points, err := h.past(b.Context(), v, wholePast(v, 1e-6, nil), 300)
		if err != nil {
			b.Fatal(err)
		}
		h.beyond.close()
		b.ReportMetric(float64(len(points)), "points")
	}
}
