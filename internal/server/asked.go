// SPDX-License-Identifier: Apache-2.0

package server

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// storeTime bounds how long a reading of the metrics waits for what the store is asked for it.
const storeTime = time.Second

// inquiry asks the store something for a reading of the metrics. A store that cannot be reached must not keep the
// metrics from being read, which would hide that it cannot be reached. So a reading waits for storeTime, and if an
// earlier one has waited in vain and there is still no answer, it does not wait at all.
type inquiry[A any] struct {
	mu     sync.Mutex
	newest *question[A] // nil: nothing was asked yet
}

// question is one question to the store. Readings that come while it has no answer share it.
type question[A any] struct {
	answered chan struct{}
	answer   A
	late     bool // a reading has waited for it in vain
}

// ask returns the answer of f, which runs in a goroutine of its own; false if there is none in time.
func (i *inquiry[A]) ask(f func() A) (answer A, inTime bool) {
	i.mu.Lock()
	q := i.newest
	if q == nil || q.over() {
		q = &question[A]{answered: make(chan struct{})}
		i.newest = q
		go func() {
			q.answer = f()
			close(q.answered)
		}()
	}
	late := q.late
	i.mu.Unlock()
	if late {
		return answer, false
	}
	timer := time.NewTimer(storeTime)
	defer timer.Stop()
	select {
	case <-q.answered:
		return q.answer, true
	case <-timer.C:
		i.mu.Lock()
		defer i.mu.Unlock()
		q.late = true
		return answer, false
	}
}

// over reports whether the question was answered.
func (q *question[A]) over() bool {
	select {
	case <-q.answered:
		return true
	default:
		return false
	}
}

// asked is a collector that asks the store. Its metrics are missing from a reading that gets no answer in time.
type asked struct {
	prometheus.Collector
	inquiry inquiry[[]prometheus.Metric]
}

// Collect implements prometheus.Collector.
func (a *asked) Collect(to chan<- prometheus.Metric) {
	found, _ := a.inquiry.ask(func() (all []prometheus.Metric) {
		each := make(chan prometheus.Metric)
		go func() {
			a.Collector.Collect(each)
			close(each)
		}()
		for m := range each {
			all = append(all, m)
		}
		return all
	})
	for _, m := range found {
		to <- m
	}
}
