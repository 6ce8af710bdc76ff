// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/dpaccountant/accountant/internal/server"
)

// merging watches whether cold entries are merged. Nobody else would notice that they are not: charges and answers go
// on, and the store takes more and more room.
type merging struct {
	failing prometheus.Gauge
	now     func() time.Time

	mu       sync.Mutex
	failures int       // in a row
	since    time.Time // of the first of them
	told     bool
	newest   error
}

func watchMerging(m *server.Metrics) *merging {
	w := &merging{now: time.Now, failing: prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "accountant_store_merging_failed",
		Help: "1 while cold entries cannot be merged again and again, so that the store takes more and more room."})}
	m.Add(w.failing)
	return w
}

// Merging is said to fail once it has failed so often, for so long: a full disk or a busy database may be over soon.
const (
	failuresToTell = 3
	failingToTell  = 5 * time.Minute
)

// tried is told how each attempt has ended.
func (w *merging) tried(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err == nil {
		if w.told {
			w.failing.Set(0)
			slog.Info("cold entries are merged again")
		}
		w.failures, w.told, w.newest = 0, false, nil
		return
	}
	if w.failures == 0 {
		w.since = w.now()
	}
	w.failures, w.newest = w.failures+1, err
	if !w.told && w.failures >= failuresToTell && w.now().Sub(w.since) >= failingToTell {
		w.told = true
		w.failing.Set(1)
		slog.Warn("cold entries cannot be merged: the store takes more and more room; it is tried again and again",
			"since", w.since, "attempts", w.failures, "error", err)
	}
}

// warnings says for how long merging has failed.
func (w *merging) warnings() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.told {
		return nil
	}
	return []string{fmt.Sprintf("Cold entries could not be merged since %s, so the store takes more and more room: %v.",
		w.since.UTC().Format(time.RFC3339), w.newest)}
}
