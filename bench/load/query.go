// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"time"

	"github.com/dpaccountant/accountant/client"
)

// answers are what a load's queries came to.
type answers struct {
	took []time.Duration
	err  error
}

// ask asks for ε at δ = 1e−5 of a ledger, at an interval, until ctx ends.
func ask(ctx context.Context, c *client.Client, ledger string, every time.Duration) <-chan answers {
	out := make(chan answers, 1)
	if every == 0 {
		out <- answers{}
		return out
	}
	go func() {
		var a answers
		tick := time.NewTicker(every)
		defer tick.Stop()
		for a.err == nil {
			select {
			case <-ctx.Done():
				out <- a
				return
			case <-tick.C:
			}
			start := time.Now()
			_, err := c.Query(ctx, ledger, client.Delta(1e-5))
			switch {
			case err == nil:
				a.took = append(a.took, time.Since(start))
			case ctx.Err() == nil:
				a.err = err
			}
		}
		out <- a
	}()
	return out
}
