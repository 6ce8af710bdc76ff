// SPDX-License-Identifier: Apache-2.0

package server

import (
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/dpaccountant/accountant/internal/keeper"
	"github.com/dpaccountant/accountant/internal/ledger"
)

// stuckStore reads no ledger before it is released.
type stuckStore struct {
	ledger.Store
	released chan struct{}
}

func (stuckStore) ID() string { return "stuck" }

func (s stuckStore) Load(string) (ledger.Snapshot, error) {
	<-s.released
	return ledger.Snapshot{}, ledger.ErrNotFound
}

// readingOf is how long one reading of a collector takes, and what it gives.
func readingOf(c prometheus.Collector) (took time.Duration, found []prometheus.Metric) {
	start := time.Now()
	to := make(chan prometheus.Metric, 100)
	c.Collect(to)
	close(to)
	for m := range to {
		found = append(found, m)
	}
	return time.Since(start), found
}

// askedOf is a collector that answers once it is released.
type askedOf struct{ released chan struct{} }

func (askedOf) Describe(chan<- *prometheus.Desc) {}
func (a askedOf) Collect(to chan<- prometheus.Metric) {
	<-a.released
	to <- prometheus.NewGauge(prometheus.GaugeOpts{Name: "answered"})
}

// A store that does not answer holds one reading of the metrics up for a moment, and no other before it answers.
func TestMetricsDoNotWaitForTheStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := askedOf{make(chan struct{})}
		c := &asked{Collector: a}
		for n, want := range []time.Duration{storeTime, 0, 0} {
			if took, found := readingOf(c); took != want || len(found) > 0 {
				t.Errorf("reading %d: %v, %v; want nothing in %v", n, took, found, want)
			}
		}
		close(a.released)
		synctest.Wait()
		if took, found := readingOf(c); took != 0 || len(found) != 1 {
			t.Errorf("after the answer: %v, %v", took, found)
		}
	})
}

// A ledger that takes long to read does not keep the metrics from being read; it is
// looked at again the next time.
func TestMetricsDoNotWaitForLedgers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := stuckStore{released: make(chan struct{})}
		k := keeper.New(keeper.Config{Store: store})
		b := newBudgetShares()
		b.read(k, nil, 10)
		for _, name := range []string{"a", "b", "c"} {
			b.found(ledger.Summary{Genesis: ledger.Genesis{Spec: ledger.Spec{Name: name, Policy: ledger.Filtered}}})
		}
		if took, _ := readingOf(b); took > storeTime {
			t.Errorf("the metrics were read in %v", took)
		}
		time.Sleep(sharesTime)
		synctest.Wait()
		if again := b.take(t.Context()); len(again) != 3 {
			t.Errorf("looked at again: %v; want all three", again)
		}
		close(store.released)
		if err := k.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}

// listed is a store that lists ledgers with budgets.
type listed struct {
	ledger.Store
	names []string
}

func (s *listed) List(_, after string, _ int) (all []ledger.Summary, err error) {
	for _, name := range s.names {
		if name > after {
			spec := ledger.Spec{Name: name, Policy: ledger.Filtered}
			all = append(all, ledger.Summary{Genesis: ledger.Genesis{Spec: spec}})
		}
	}
	return all, nil
}

// A ledger that another daemon has made is shown here too, so no budget is without a daemon that shows it
// if its own is gone.
func TestLedgersOfOtherDaemonsAreShown(t *testing.T) {
	t.Parallel()
	store := &listed{names: []string{"a"}}
	m := NewMetrics()
	c := &census{store: store, shared: true, gauge: m.ledgers, found: m.budgets.found,
		logger: slog.New(slog.DiscardHandler)}
	m.budgets.read(nil, nil, 10)
	c.count(t.Context())
	m.budgets.take(t.Context())
	store.names = append(store.names, "b")
	c.count(t.Context())
	changed := m.budgets.take(t.Context())
	if _, found := changed["b"]; !found || len(changed) != 1 {
		t.Errorf("to be read: %v; want b alone, as a was read before", changed)
	}
}
