// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"time"

	"github.com/dpaccountant/accountant/client"
)

// writer is one lane that is reported to, as a training job would.
type writer struct {
	*client.Client
	index  int
	ledger string
	stream *client.Stream // nil: unary

	clock        clock
	acknowledged []time.Duration
}

// start opens the writer's lane.
func (w *writer) start(ctx context.Context, s settings, names []string) (err error) {
	w.ledger = names[w.index%len(names)]
	w.acknowledged = make([]time.Duration, 0, s.reports/s.streams+1)
	w.clock.took = w.acknowledged
	if s.unary {
		_, err = w.GetLedger(ctx, w.ledger) // connects
		return err
	}
	w.stream, err = w.Stream(ctx, w.ledger)
	return err
}

// report reports n times and returns when all is acknowledged.
func (w *writer) report(ctx context.Context, pool []report, n int, pause time.Duration) error {
	if w.stream == nil {
		for i := range n {
			r, start := pool[(w.index+i)%len(pool)], time.Now()
			if _, err := w.Report(ctx, w.ledger, r.events, r.labels); err != nil {
				return err
			}
			w.acknowledged = append(w.acknowledged, time.Since(start))
			time.Sleep(pause)
		}
		return nil
	}
	for i := range n {
		r := pool[(w.index+i)%len(pool)]
		if err := w.stream.Report(ctx, r.events, r.labels); err != nil {
			return err
		}
		time.Sleep(pause)
	}
	err := w.stream.Close(ctx)
	w.acknowledged = w.clock.took
	return err
}
