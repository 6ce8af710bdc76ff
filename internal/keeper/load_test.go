// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// slowStore takes its time to load a ledger.
type slowStore struct {
	*testStore
	release chan struct{}
	loading atomic.Int64
}

func (s *slowStore) Load(name string) (ledger.Snapshot, error) {
	s.loading.Add(1)
	<-s.release
	return s.testStore.Load(name)
}

// Those who need a ledger that takes long to read wait for one reading together, each
// until its own call ends, also when the first of them does not wait for it any more.
func TestLoadsAreShared(t *testing.T) {
	s := &slowStore{testStore: newTestStore("l"), release: make(chan struct{})}
	k := New(Config{Store: s})
	short, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := k.Summary(short, "l"); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("a ledger that is not there yet: %v; want the end of the call", err)
	}
	var asked sync.WaitGroup
	for range 20 {
		asked.Go(func() {
			if _, err := k.View(t.Context(), "l"); err != nil {
				t.Error(err)
			}
		})
	}
	time.Sleep(10 * time.Millisecond) // for those who ask
	close(s.release)
	asked.Wait()
	if n := s.loading.Load(); n != 1 {
		t.Errorf("the ledger was read %d times; want once", n)
	}
	if err := k.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// A ledger that takes long to read pauses again and again, and says when it has ended; one
// that is read at once does not.
func TestLongReadsPause(t *testing.T) {
	store := newTestStore("quick")
	spec := ledger.Spec{
		Name: "costly", Adjacency: mechanism.AddOrRemoveOne, Policy: ledger.Filtered,
		Budgets: []accountant.Budget{{Guard: accountant.GuardRDP, Epsilon: 1e9, Delta: 1e-6, Order: 3.5}},
	}
	resolution, err := ledger.Resolve(spec, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := store.Create(ledger.Genesis{Spec: spec, Resolution: resolution}); err != nil {
		t.Fatal(err)
	}
	step := mechanism.PoissonSampled{SamplingProbability: 0.003, Mechanism: mechanism.Gaussian{NoiseMultiplier: 30}}
	charge := ledger.Charge{Events: []mechanism.Event{{Mechanism: mechanism.Group{Size: 255, Mechanism: step},
		Count: 1}}}
	first := New(Config{Store: store})
	if _, err := first.Do(t.Context(), "costly",
		ledger.Request{Writer: ledger.Writer{Principal: "p", Name: "w"}, Sequence: 1, Action: charge}); err != nil {
		t.Fatal(err)
	}
	begun, paused, ended := 0, 0, 0
	k := New(Config{Store: store, LongRead: func() (pause, done func()) {
		begun++
		return func() { paused++ }, func() { ended++ }
	}})
	for _, c := range []struct {
		name string
		long int
	}{{"quick", 0}, {"costly", 1}} {
		if _, err := k.View(t.Context(), c.name); err != nil {
			t.Fatal(err)
		}
		if begun != c.long || ended != c.long || paused < c.long {
			t.Errorf("%s: began %d times, paused %d times, ended %d times", c.name, begun, paused, ended)
		}
	}
}
