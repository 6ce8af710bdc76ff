// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/dpaccountant/accountant/client"
)

// training is one run of DP-SGD that reports its steps.
type training struct {
	settings
	data     []example
	random   *rand.Rand
	ledger   string
	stepTime time.Duration
	dealt    [][]int // the batches of the epoch that is under way, with random allocation
	after    func(step int, stream *client.Stream) error
}

// run trains a model. Each step is reported before its noise is drawn, so a
// step that was made is always one that was reported; the stream lets training
// go on while reports travel, and while the daemon is away. Nothing of the model
// leaves this function before all of them are durable. A run that dies in
// between has charged steps that nobody saw, which errs on the safe side.
func (t *training) run(ctx context.Context, c *client.Client) (*model, error) {
	stream, err := c.Stream(ctx, t.ledger)
	if err != nil {
		return nil, err
	}
	m := &model{}
	if err := t.steps(ctx, stream, m); err != nil {
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = stream.Close(end) // for the steps made so far; err says why there are no more
		return nil, err
	}
	if err := stream.Close(ctx); err != nil {
		return nil, fmt.Errorf("nothing is released: %w", err)
	}
	return m, nil
}

func (t *training) steps(ctx context.Context, stream *client.Stream, m *model) error {
	events := t.events()
	for n := 1; n <= t.settings.steps; n++ {
		began := time.Now()
		if t.epochSteps == 0 || (n-1)%t.epochSteps == 0 { // an epoch of random allocation is one report
			if err := stream.Report(ctx, events, map[string]string{"step": strconv.Itoa(n)}); err != nil {
				return err
			}
		}
		t.step(m, t.data, t.batch(n), t.random)
		if err := t.after(n, stream); err != nil {
			return err
		}
		select {
		case <-time.After(time.Until(began.Add(t.stepTime))):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// batch returns the examples of step n: a Poisson sample, or with random allocation one of
// the batches that were dealt at the epoch's first step.
func (t *training) batch(n int) []int {
	if t.epochSteps == 0 {
		return t.sample(len(t.data), t.random)
	}
	at := (n - 1) % t.epochSteps
	if at == 0 {
		t.dealt = t.deal(len(t.data), t.random)
	}
	return t.dealt[at]
}

// checkLane makes sure that this client's lane has exactly one number per report.
func checkLane(ctx context.Context, c *client.Client, ledger string, reports int) error {
	w, err := c.GetWriter(ctx, ledger, "")
	if err != nil {
		return err
	}
	if w.LastSequence != uint64(reports) {
		return fmt.Errorf("ledger %s: %d charges of this run; made: %d", ledger, w.LastSequence, reports)
	}
	return nil
}
