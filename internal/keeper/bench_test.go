// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// nullStore takes everything and keeps no log, so that a benchmark times the
// keeper and the decisions.
type nullStore struct {
	ledger.Store
	appends int
}

func (s *nullStore) ID() string { return "store" }

func (s *nullStore) Load(name string) (ledger.Snapshot, error) {
	return ledger.Snapshot{Summary: ledger.Summary{Genesis: ledger.Genesis{Spec: ledger.Spec{Name: name,
		Adjacency: mechanism.AddOrRemoveOne}}}}, nil
}

func (s *nullStore) Writer(string, ledger.Writer) (uint64, uint64, error) { return 0, 0, nil }

func (s *nullStore) Namesakes(string, ledger.Writer) ([]ledger.Record, error) { return nil, nil }

func (s *nullStore) Append(batch []ledger.Proposal) ([][]ledger.Hash, error) {
	s.appends++
	return [][]ledger.Hash{make([]ledger.Hash, len(batch[0].Entries))}, nil
}

// One client that waits for each answer.
func BenchmarkCall(b *testing.B) {
	k := newKeeper(b, Config{Store: &nullStore{}})
	r := charge("w", 0, 1)
	b.ReportAllocs()
	for b.Loop() {
		r.Sequence++
		if _, err := k.Do(b.Context(), "a", r); err != nil {
			b.Fatal(err)
		}
	}
}

// Many clients, each with a lane of its own in one ledger.
func BenchmarkCalls(b *testing.B) {
	for _, clients := range []int{16, 256} {
		b.Run(fmt.Sprint(clients), func(b *testing.B) {
			s := &nullStore{}
			k := newKeeper(b, Config{Store: s})
			b.ReportAllocs()
			var wg sync.WaitGroup
			for c := range clients {
				wg.Go(func() {
					r := charge(fmt.Sprint(c), 0, 1)
					for range b.N / clients {
						r.Sequence++
						if _, err := k.Do(context.Background(), "a", r); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			wg.Wait()
			b.ReportMetric(float64(b.N)/float64(s.appends), "requests/append")
		})
	}
}

// Streams with many requests in flight, all in one ledger.
func BenchmarkStreams(b *testing.B) {
	for _, streams := range []int{1, 16} {
		b.Run(fmt.Sprint(streams), func(b *testing.B) {
			s := &nullStore{}
			k := newKeeper(b, Config{Store: s})
			b.ReportAllocs()
			var wg sync.WaitGroup
			for c := range streams {
				l, _, err := k.Open(b.Context(), "a", writerOf(fmt.Sprint(c)))
				if err != nil {
					b.Fatal(err)
				}
				n := b.N / streams
				wg.Go(func() {
					for got := 0; got < n; {
						results, err := l.Receive(context.Background())
						if err != nil {
							b.Error(err)
							return
						}
						got += len(results)
					}
				})
				wg.Go(func() {
					defer l.Close()
					r := charge("", 0, 1)
					for range n {
						r.Sequence++
						if err := l.Send(context.Background(), r); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			wg.Wait()
			b.ReportMetric(float64(b.N)/float64(s.appends), "requests/append")
		})
	}
}

// What the server asks before each unary charge.
func BenchmarkAdjacency(b *testing.B) {
	k := newKeeper(b, Config{Store: &nullStore{}})
	for b.Loop() {
		if _, err := k.Adjacency(b.Context(), "a"); err != nil {
			b.Fatal(err)
		}
	}
}
